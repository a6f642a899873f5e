// Does a loop wait for its data? docs/profiling_your_code.md shows the marked part.
#include <cmath>
#include <cstdio>
#include <future>
#include <vector>

#include "mbirk/profile/profile.hpp"

int main() {
  using namespace mbirk;
  instrument::trace_buffer trace(1000);
  double sum = 0;
  // example: begin
  auto const load = [&](int k) {
    profile::scope const timed(trace, "load");
    return std::vector<double>(50'000, k);
  };
  auto const compute = [&](std::vector<double> const& data) {
    profile::scope const timed(trace, "compute");
    for (double const v : data) sum += std::sqrt(v);
  };
  for (int k = 0; k < 10; ++k) compute(load(k));  // one after the other
  auto const in_turn = profile::times_of_pipeline(trace, "load", "compute");

  trace.clear();
  auto next = load(0);
  for (int k = 0; k < 10; ++k) {  // loads the next data meanwhile
    auto loading = std::async(std::launch::async, load, k + 1);
    compute(next);
    next = loading.get();
  }
  auto const ahead = profile::times_of_pipeline(trace, "load", "compute");
  std::printf("in turn: %s\nahead:   %s\n", in_turn.text().c_str(), ahead.text().c_str());
  // example: end
  return in_turn.overlap == 0 && in_turn.waiting > 0 && ahead.computing > 0 && sum > 0 ? 0 : 1;
}
