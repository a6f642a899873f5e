// A function that times its calls and reports the first ones separately. docs/profiling_your_code.md shows the marked
// part.
#include <cmath>
#include <cstdio>

#include "mbirk/profile/profile.hpp"
#include "output_folder.hpp"

int main(int argc, char** argv) {
  output_folder const folder(argc, argv);
  using namespace mbirk;
  profile::session session(folder.path(), "wrapped");
  // example: begin
  auto const sum_of_roots = [](int n) {
    double sum = 0;
    for (int k = 1; k <= n; ++k) sum += std::sqrt(k);
    return sum;
  };
  profile::wrapped roots(sum_of_roots, "roots", {.warm_up = 2, .into = session});
  double all = 0;
  for (int k = 0; k < 10; ++k) all += roots(10'000);  // called like the function
  std::printf("%lld calls, mean %.2g s; %lld of warm-up, mean %.2g s\n",
              static_cast<long long>(roots.calls().count()), roots.calls().mean(),
              static_cast<long long>(roots.warm_up().count()), roots.warm_up().mean());
  // example: end
  return roots.calls().count() == 8 && roots.warm_up().count() == 2 && all > 0 ? 0 : 1;
}
