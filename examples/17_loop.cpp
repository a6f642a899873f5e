// Dispatch overhead: all steps in one launch against one launch per step. docs/profiling_your_code.md shows the marked
// part.
#include <cmath>
#include <cstdio>
#include <future>

#include "mbirk/profile/profile.hpp"

int main() {
  using namespace mbirk;
  double x = 1;
  // example: begin
  auto const step = [&] {
    for (int k = 0; k < 1000; ++k) x = std::cos(x);
  };
  auto const launch = [](auto const& work) { std::async(std::launch::async, work).get(); };  // here: starts a thread
  auto const all = [&](std::int64_t n) {
    launch([&] { for (; n > 0; --n) step(); });
  };
  auto const result = profile::loop_against_steps(all, [&] { launch(step); }, 20);
  std::printf("%s\n", result.text().c_str());
  // example: end
  return result.steps == 20 && result.loop.count == 15 && std::abs(x - 0.7390851332151607) < 1e-12 ? 0 : 1;
}
