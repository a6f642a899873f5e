// Variants of one computation, run in turn and compared pair by pair. docs/profiling_your_code.md shows the marked
// part.
#include <cstdio>
#include <vector>

#include "mbirk/profile/profile.hpp"

int main() {
  using namespace mbirk;
  constexpr std::size_t n = 300;
  std::vector<double> a(n * n, 1.0);
  double sum = 0;
  // example: begin
  auto const add = [&](std::size_t along, std::size_t across) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) sum += a[i * along + j * across];
  };
  auto const by_rows = [&] { add(n, 1); }, by_columns = [&] { add(1, n); };
  auto const result = profile::compare_variants(
      {{"by rows", by_rows}, {"by rows again", by_rows}, {"by columns", by_columns}}, {.rounds = 40});
  std::fputs(result.text().c_str(), stdout);
  // example: end
  return result.variants.size() == 3 && result.variants[0].seconds.count == 40 && sum == 3 * 41 * n * n ? 0 : 1;
}
