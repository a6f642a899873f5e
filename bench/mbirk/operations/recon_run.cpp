#include "operations/recon_run.hpp"

#include "mbirk/distributed/recon_in_slabs.hpp"
#include "mbirk/instances/any.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/fan_recon.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/weights.hpp"
#include "operations/direct_method.hpp"

namespace mbirk::program {

namespace {

class on_host final : public reconstructor {
 public:
  explicit on_host(recon_context const& ctx) : ctx_(ctx) {}

  std::vector<std::string> direct(recon_scan const& scan, view<float const, 3> sinogram,
                                  view<float, 3> recon) const override {
    return direct_recon_of_any(ctx_, scan, sinogram, recon);
  }
  void fan(cone_parameters const& p, view<float const, 3> sinogram, view<float, 3> recon) const override {
    fan_recon(ctx_, p, sinogram, recon);
  }
  recon_log vcd(recon_scan const& scan, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                view<float, 3> recon, recon_options const& options) const override {
    return vcd_recon(ctx_, scan, sinogram, weights, recon, options);
  }
  recon_log vcd_in_slabs(parallel_parameters const& whole, distributed::slab_division const& division,
                         distributed::slab_arrays const& arrays, recon_options const& options) const override {
    return distributed::recon_in_slabs(ctx_, whole, division, arrays, options);
  }

 private:
  recon_context const& ctx_;
};

}  // namespace

std::unique_ptr<reconstructor> host_reconstructor(recon_context const& ctx) { return std::make_unique<on_host>(ctx); }

recon_log vcd_recon(recon_context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                    std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& options) {
  return std::visit([&](auto const& scan) { return mbirk::recon(ctx, scan, sinogram, weights, recon, options); }, any);
}

std::vector<std::string> weight_names() { return {weight_type_names.begin(), weight_type_names.end()}; }

void sinogram_weights(recon_context const& ctx, std::string const& type, view<float const, 3> sinogram,
                      view<float, 3> weights) {
  gen_weights(ctx, sinogram, parse_weight_type(type), weights);
}

}  // namespace mbirk::program
