// Periodic captures of a long loop: two steps of every hundred; the last three captures are kept.
// docs/profiling_your_code.md shows the marked part.
#include <cmath>
#include <cstdio>

#include "mbirk/profile/profile.hpp"
#include "output_folder.hpp"

int main(int argc, char** argv) {
  output_folder const folder(argc, argv);
  using namespace mbirk;
  double x = 1;
  // example: begin
  profile::periodic_capture capture(folder.path(), "step", {.every = 100, .steps = 2, .keep_last = 3});
  for (int k = 0; k < 650; ++k) {
    capture.step();                                     // costs one comparison, except in 12 of these steps
    profile::scope const timed(capture, "relaxation");  // costs one comparison, except in those steps
    x = std::cos(x);
    profile::sample(capture, "x", x);
  }
  for (auto const& kept : capture.captures()) std::printf("%s\n", kept.filename().string().c_str());
  // example: end
  return capture.captures().size() == 3 && capture.captures().front().filename() == "step_00000400" ? 0 : 1;
}
