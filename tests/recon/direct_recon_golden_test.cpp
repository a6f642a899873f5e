// Direct reconstruction against arrays of MBIRJAX 0.7.3.
#include "projector/golden.hpp"
#include "filter/support.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct GoldenDirectRecon : ::testing::TestWithParam<char const*> {};

// The errors of the filter (filter/golden_test.cpp: 4e-6 of its peak, but averaged over the views) and of the back
// projection (projector/golden_test.cpp: 3e-6). The files allow 3e-5; measured, with either taps, below 2e-6.
TEST_P(GoldenDirectRecon, DirectRecon) {
  golden_case const c(GetParam());
  auto const y = c.floats("sinogram.npy"), expected = c.floats("out_direct_recon.npy");
  for (auto const taps : {ramp_taps::closed, ramp_taps::float32}) {
    array<3> x(expected.shape, -1.0f);
    visit_direct([&](auto const& s) { direct_recon(on_host(2), s, y.all(), x.all(), {.taps = taps}); }, c.scan());
    EXPECT_LE(relative_error(x.data, expected.data), 5e-6) << static_cast<int>(taps);
  }
}

auto const folder = [](auto const& info) { return std::string(info.param); };
INSTANTIATE_TEST_SUITE_P(Recon, GoldenDirectRecon, ::testing::ValuesIn(golden_names), folder);

}  // namespace
