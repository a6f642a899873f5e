// A table of named pieces: calls, mean, spread, share. docs/profiling_your_code.md shows the marked part.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "mbirk/profile/profile.hpp"

int main() {
  using namespace mbirk;
  std::vector<unsigned> values(20'000);
  std::mt19937 random(1);
  // example: begin
  instrument::trace_buffer trace(1000);  // a session has one too: session.trace()
  for (int k = 0; k < 5; ++k) {
    profile::scope const whole(trace, "pass");
    {
      profile::scope const part(trace, "draw");
      std::generate(values.begin(), values.end(), random);
    }
    profile::scope const part(trace, "sort");
    std::sort(values.begin(), values.end());
  }
  profile::component_table const table(trace);
  std::fputs(table.text().c_str(), stdout);
  for (auto const& c : table.rows())
    if (c.share > 0.5) std::printf("%s takes most of the time\n", c.path.back().c_str());

  profile::component_table own;  // or without a trace
  own.time("sum", [&] { return std::accumulate(values.begin(), values.end(), 0u); });
  own.add("from elsewhere", 1e-3);
  // example: end
  return table.rows().size() == 3 && own.rows().size() == 2 ? 0 : 1;
}
