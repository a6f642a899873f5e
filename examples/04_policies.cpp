// One source for every pair of policies: policy_pair.hpp chooses where it runs and how it is instrumented. nvcc
// compiles it for a device.
#include <cstdio>
#include <policy_pair.hpp>  // chosen_exec, chosen_instrument
#include <vector>

#include "mbirk/exec/array.hpp"
#include "mbirk/instrument/ledger.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/util/phantom.hpp"

template <class Instr> Instr make_instrument(mbirk::instrument::ledger& notes) {
  if constexpr (Instr::traits.serial) return Instr(notes);
  else return Instr();
}

int main() {
  using namespace mbirk;
  if (!chosen_exec::available()) {
    std::puts("no device here: nothing was run");
    return 77;
  }
  parallel_parameters p{.sinogram_shape = {24, 5, 32}, .angles = {}};  // views, detector rows, detector channels
  for (int v = 0; v < 24; ++v) p.angles.push_back(static_cast<float>(v) * 0.1309f);
  parallel_scan const scan(p);
  std::vector<float> recon(32 * 32 * 5), sinogram(24 * 5 * 32);
  nested_ellipsoids(view<float, 3>(recon.data(), scan.recon_shape()));

  instrument::ledger notes;  // receives the counts
  // example: begin
  context const ctx{chosen_exec(), make_instrument<chosen_instrument>(notes)};
  // Arrays in the memory that the kernels read and write.
  exec::array<float, chosen_exec> const x(ctx.exec, recon), y(ctx.exec, static_cast<index_t>(sinogram.size()));
  forward_project(ctx, scan, view<float const, 3>(x.data(), scan.recon_shape()),
                  view<float, 3>(y.data(), scan.sinogram_shape()));
  y.download(sinogram);  // waits for a device
  // example: end
  std::printf("%s, %s: y(0, 2, 16) = %g\n", chosen_exec::name.data(), chosen_instrument::name.data(),
              static_cast<double>(sinogram[2 * 32 + 16]));
  for (auto const& record : notes.records())
    std::printf("%s: %llu flops\n", record.name.c_str(), static_cast<unsigned long long>(record.operations.flops()));
  return sinogram[2 * 32 + 16] > 0 ? 0 : 1;
}
