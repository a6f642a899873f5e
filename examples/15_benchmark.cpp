// A benchmark, and an assertion for a regression test. docs/profiling_your_code.md shows the marked part.
#include <cstdio>
#include <numeric>
#include <vector>

#include "mbirk/profile/profile.hpp"

int main() {
  using namespace mbirk;
  std::vector<int> const values(100'000, 1);
  // example: begin
  // The compiler cannot drop the computation, because the result is used.
  auto const sum = [&] { return std::accumulate(values.begin(), values.end(), 0LL); };
  auto const result = profile::benchmark(sum, {.warm_up = 3, .runs = 30});
  std::printf("%s\n", result.text().c_str());
  // The baseline, in seconds, comes from an earlier run; 10 % more are allowed.
  auto const check = profile::expect_not_slower(result, 1.0, 0.1);
  std::printf("%s\n", check.text.c_str());
  // example: end
  return check ? 0 : 1;  // one second for a hundred thousand sums is generous on any machine
}
