// Multi-axis parallel beam: automatic sizes worked out by hand, what is refused, warnings, and views.
#include <cmath>

#include "geometry/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using shape = std::array<index_t, 3>;

multiaxis_parameters good_multiaxis() {
  multiaxis_parameters p;
  p.sinogram_shape = {3, 4, 5};
  p.angles = {0.0f, 0.1f, 0.5f, -0.2f, 1.0f, 0.7f};
  return p;
}
template <class Change> void expect_multiaxis_refused(Change const& change, std::initializer_list<std::string> words) {
  auto p = good_multiaxis();
  change(p);
  expect_refused<multiaxis_geometry>(p, words);
}

TEST(MultiaxisSize, IsRoundedDown) {
  auto p = good_multiaxis();
  p.sinogram_shape = {3, 16, 20};
  p.angles = {0.0f, 0.0f, 1.0f, 0.2f, 2.0f, 0.1f};
  auto const size = auto_size(p);
  EXPECT_EQ(size.delta_voxel, 1);
  EXPECT_EQ(size.recon_shape, (shape{20, 20, 16}));  // 16 / cos 0.2 = 16.3
  p.angles[3] = 0.5f;
  EXPECT_EQ(auto_size(p).recon_shape[2], 18);        // 16 / cos 0.5 = 18.2
  p.voxel_row_aspect = 1.3;
  p.voxel_slice_aspect = 0.8;
  EXPECT_EQ(auto_size(p).recon_shape, (shape{15, 20, 22}));  // 15.4, 22.8
}
TEST(MultiaxisSize, SteepElevationsCountAsACosineOfATenth) {
  auto p = good_multiaxis();
  for (float const elevation : {1.5707964f, 1.5f, -1.6f}) {
    p.angles[3] = elevation;
    EXPECT_EQ(auto_size(p).recon_shape[2], 40) << elevation;  // 4 / 0.1
  }
}
TEST(MultiaxisSize, LeavesTheSliceOffsetAlone) {
  auto p = good_multiaxis();
  p.recon_slice_offset = 0.6;
  EXPECT_EQ(auto_size(p).recon_slice_offset, 0.6);
}

TEST(MultiaxisValidation, TwoAnglesPerView) {
  EXPECT_NO_THROW(multiaxis_scan{good_multiaxis()});
  expect_multiaxis_refused([](auto& p) { p.angles.pop_back(); }, {"angles", "5", "(azimuth, elevation)", "2 * 3"});
  expect_multiaxis_refused([](auto& p) { p.angles.push_back(0); }, {"angles", "7"});
  expect_multiaxis_refused([](auto& p) { p.angles.resize(8); }, {"angles", "8"});
  expect_multiaxis_refused([](auto& p) { p.angles[3] = std::numeric_limits<float>::infinity(); },
                           {"angles", "inf", "finite"});
}
TEST(MultiaxisValidation, PitchesAndAspects) {
  for (double const bad : {0.0, -0.5, infinity, not_a_number}) {
    std::string const text = detail::number_text(bad);
    expect_multiaxis_refused([&](auto& p) { p.voxel_row_aspect = bad; }, {"voxel_row_aspect", text, "positive"});
    expect_multiaxis_refused([&](auto& p) { p.voxel_slice_aspect = bad; }, {"voxel_slice_aspect", text, "positive"});
    expect_multiaxis_refused([&](auto& p) { p.delta_voxel = bad; }, {"delta_voxel", text, "positive"});
    expect_multiaxis_refused([&](auto& p) { p.delta_det_row = bad; }, {"delta_det_row", text, "positive"});
    expect_multiaxis_refused([&](auto& p) { p.delta_det_channel = bad; }, {"delta_det_channel", text, "positive"});
  }
  expect_multiaxis_refused([](auto& p) { p.recon_slice_offset = not_a_number; }, {"recon_slice_offset", "nan"});
  expect_multiaxis_refused([](auto& p) { p.recon_slice_offset = 1e10; }, {"recon_slice_offset", "1e+10", "2^28"});
  expect_multiaxis_refused([](auto& p) { p.det_row_offset = 1e10; }, {"det_row_offset", "1e+10", "2^28"});
  expect_multiaxis_refused([](auto& p) { p.delta_det_row = 1e-10; }, {"delta_voxel", "delta_det_row", "2^28"});
  expect_multiaxis_refused([](auto& p) { p.recon_shape = {5, -1, 4}; }, {"recon_shape", "(5, -1, 4)", ">= 0"});
}
TEST(MultiaxisValidation, SlicesNeedNotBeRows) {
  auto p = good_multiaxis();
  p.recon_shape = {{5, 5, 9}};
  EXPECT_EQ(multiaxis_scan(p).recon_shape(), (shape{5, 5, 9}));
}

TEST(Multiaxis, WarnsOfElevationsBeyond45Degrees) {
  auto p = good_multiaxis();
  EXPECT_TRUE(multiaxis_scan(p).warnings().empty());
  p.angles[5] = 0.7853982f;  // pi / 4
  EXPECT_TRUE(multiaxis_scan(p).warnings().empty());
  p.angles[3] = -0.9f;
  auto const warnings = multiaxis_scan(p).warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("angles has elevations up to 51.56"), std::string::npos) << warnings[0];
}
TEST(Multiaxis, SplitsAnglesIntoViews) {
  multiaxis_scan s(good_multiaxis());
  EXPECT_EQ(s.views().angles, (std::vector<float>{0.0f, 0.5f, 1.0f}));
  EXPECT_EQ(s.views().elevations, (std::vector<float>{0.1f, -0.2f, 0.7f}));
  EXPECT_EQ(s.positions()[1].sine, std::sin(0.5));
  EXPECT_EQ(s.positions()[1].cos_elevation, std::cos(static_cast<double>(-0.2f)));
  s.set_views(std::vector<float>{1, 2, 3}, std::vector<float>{0, 0, 0.25f});
  EXPECT_EQ(s.positions()[2].sin_elevation, std::sin(0.25));
  EXPECT_THROW(s.set_views(std::vector<float>{1, 2}, std::vector<float>{0, 0}), parameter_error);
  EXPECT_THROW(s.set_views(std::vector<float>{1, 2, 3}, std::vector<float>{0, 0}), parameter_error);
  EXPECT_THROW(s.set_views(std::vector<float>{1, 2, 3}, std::vector<float>{0, 0, INFINITY}), parameter_error);
  EXPECT_EQ(s.angles()[0], 1.0f);
}

}  // namespace
