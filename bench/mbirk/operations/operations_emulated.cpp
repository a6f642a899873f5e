// The table of operations over exec::emulated.
#include "mbirk/exec/emulated.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "operations/device_operations.hpp"
#include "operations/device_recon.hpp"
#include "operations/make_devices.hpp"
#include "operations/operations_all.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {
namespace {

class emulated_operations final : public device_operations {
 public:
  explicit emulated_operations(exec::emulation_options const& options) : exec_(options) {}

  void run(operation const& op, any_scan const& scan, operands& x, device_observation const& what,
           caller const& calls) const override {
    if (what.counts)
      return run_on_device(all_bodies(), op.body, context{exec_, counting(*what.counts, what.reuse)}, scan, x, calls);
    auto const observe = what.trace ? instrument::any(exec_, instrument::tracing(*what.trace)) : instrument::any();
    run_on_device(all_bodies(), op.body, context{exec_, observe}, scan, x, calls);
  }
  std::unique_ptr<reconstructor> recon(instrument::live_sites& memory) const override {
    return std::make_unique<device_reconstructor<exec::emulated>>(exec_,
                                                                  instrument::any(exec_, instrument::live(memory)));
  }

 private:
  exec::emulated exec_;
};

}  // namespace

std::unique_ptr<device_operations> make_emulated_operations(exec::emulation_options const& options) {
  return std::make_unique<emulated_operations>(options);
}

}  // namespace mbirk::program
