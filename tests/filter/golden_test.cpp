// The filter against arrays of MBIRJAX 0.7.3.
#include "projector/golden.hpp"

#include "filter/support.hpp"
#include "mbirk/filter/direct_filter.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct GoldenFilter : ::testing::TestWithParam<char const*> {};

// MBIRJAX filters by a transform in float32 of at most 64 samples: its error is a few roundings of the largest sample
// before the filter, which is five times the largest one behind it. The files allow 1e-5 of the peak; measured, with
// either taps, below 2e-6.
TEST_P(GoldenFilter, DirectFilter) {
  golden_case const c(GetParam());
  auto const y = c.floats("sinogram.npy"), expected = c.floats("out_direct_filter.npy");
  for (auto const taps : {ramp_taps::closed, ramp_taps::float32}) {
    array<3> q(y.shape, -1.0f);
    visit_direct([&](auto const& s) { direct_filter(on_host(2), s, y.all(), q.all(), {.taps = taps}); }, c.scan());
    EXPECT_LE(relative_error(q.data, expected.data), 4e-6) << static_cast<int>(taps);
  }
}

auto const folder = [](auto const& info) { return std::string(info.param); };
INSTANTIATE_TEST_SUITE_P(Filter, GoldenFilter, ::testing::ValuesIn(golden_names), folder);

}  // namespace
