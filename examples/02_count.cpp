// One operation under three policies: counted exactly, modelled without data, traced. All use one kernel source.
#include <cstdio>
#include <vector>

#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/mbirk.hpp"

int main() {
  using namespace mbirk;
  std::vector<float> const angles{0.0f, 0.4f, 0.8f, 1.2f, 1.6f, 2.0f, 2.4f, 2.8f};
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {8, 40, 50}, .angles = angles});
  std::vector<float> sinogram(8 * 40 * 50, 1.0f), recon(50 * 50 * 40);
  view<float, 3> const y(sinogram.data(), scan.sinogram_shape()), x(recon.data(), scan.recon_shape());

  instrument::ledger counted, modelled;
  back_project(context{exec::host{}, instrument::counting<>{counted}}, scan, y, x);
  // The model needs no data, only shapes.
  view<float, 3> const no_y(nullptr, scan.sinogram_shape()), no_x(nullptr, scan.recon_shape());
  back_project(context{exec::host{}, instrument::cost_model<>{modelled}}, scan, no_y, no_x);
  auto const& r = counted.last();
  unsigned long long const flops = r.operations.flops(), accessed = bytes_accessed(r.arrays),
                           compulsory = bytes_compulsory(r.arrays, false);
  std::printf("%s: %llu flops, %llu bytes accessed, %llu compulsory\n", r.name.c_str(), flops, accessed, compulsory);

  instrument::trace_buffer trace(100);
  back_project(context{exec::host{}, instrument::tracing{trace}}, scan, y, x);
  for (auto const& e : trace.events())
    if (e.kind != instrument::event_kind::memory)
      std::printf("%-22s %8.1f us\n", e.name, static_cast<double>(e.end - e.begin) * 1e-3);
  return r.operations == modelled.last().operations ? 0 : 1;
}
