// A session: a block of your own code, an mbirk operation, memory and a counter on one trace, written to files.
// docs/profiling_your_code.md shows the marked part.
#include <cmath>
#include <cstdio>
#include <vector>

#include "mbirk/instrument/tracing.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/profile/profile.hpp"
#include "output_folder.hpp"

int main(int argc, char** argv) {
  output_folder const folder(argc, argv);
  using namespace mbirk;
  std::vector<float> const angles{0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 2.5f};
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {6, 8, 24}, .angles = angles});
  std::vector<float> sinogram(6 * 8 * 24, 1.0f), recon(24 * 24 * 8);
  view<float, 3> const y(sinogram.data(), scan.sinogram_shape()), x(recon.data(), scan.recon_shape());

  // example: begin
  profile::session session(folder.path(), "gradient", {.events = 10'000});  // throws when the folder cannot be written
  context const ctx{exec::host{}, instrument::tracing{session.trace()}};
  profile::note_allocation(session, "recon", static_cast<index_t>(recon.size() * sizeof(float)));
  for (int k = 0; k < 3; ++k) {
    profile::scope const step(session, "step");
    {
      profile::scope const timed(session, "my own part", {.items = 6 * 8 * 24});  // within a scope: a stage of it
      for (auto& v : sinogram) v = std::sqrt(v + 1);
    }
    back_project(ctx, scan, y, x);  // its own spans lie within the step
    profile::sample(session, "centre", static_cast<double>(x(12, 12, 4)));
  }
  profile::session_report const& report = session.close();
  for (auto const& file : report.files) std::printf("%s\n", file.filename().string().c_str());
  for (auto const& warning : report.warnings) std::printf("%s\n", warning.c_str());  // such as dropped events
  // example: end
  return report.dropped == 0 && report.warnings.empty() && report.files.size() >= 3 ? 0 : 1;
}
