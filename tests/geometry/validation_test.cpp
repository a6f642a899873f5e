// Errors of making a scan, one test each: the type of the exception, and that the message names the parameter, the
// value found and the expected one. Errors of arrays are in projector/validation_test.cpp, compile-time errors in
// compile_fail/.
#include "geometry/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

TEST(Validation, TheParametersThatTheTestsChangeAreGood) {
  EXPECT_NO_THROW(parallel_scan{good_parallel()});
  EXPECT_NO_THROW(cone_scan{good_cone()});
}

TEST(Validation, NumberOfAngles) {
  expect_refused_in_both([](auto& p) { p.angles.pop_back(); }, {"angles", "2", "one per view = 3"});
  expect_refused_in_both([](auto& p) { p.angles.push_back(0); }, {"angles", "4", "one per view = 3"});
  expect_refused_in_both([](auto& p) { p.angles.clear(); }, {"angles", "0", "one per view = 3"});
}

TEST(Validation, AnglesAreFinite) {
  expect_refused_in_both([](auto& p) { p.angles[1] = std::numeric_limits<float>::quiet_NaN(); },
                         {"angles", "nan", "finite"});
  expect_refused_in_both([](auto& p) { p.angles[2] = std::numeric_limits<float>::infinity(); },
                         {"angles", "inf", "finite"});
}

TEST(Validation, NumberOfZShifts) {
  auto p = good_cone();
  p.helical_z_shifts = {0.0f, 0.1f};
  expect_refused<cone_geometry>(p, {"helical_z_shifts", "2", "one per angle = 3"});
  p.helical_z_shifts = {0.0f, 0.1f, 0.2f, 0.3f};
  expect_refused<cone_geometry>(p, {"helical_z_shifts", "4", "one per angle = 3"});
}

TEST(Validation, ZShiftsAreFinite) {
  auto p = good_cone();
  p.helical_z_shifts = {0.0f, std::numeric_limits<float>::quiet_NaN(), 0.2f};
  expect_refused<cone_geometry>(p, {"helical_z_shifts", "nan", "finite"});
}

TEST(Validation, NegativeSizes) {
  expect_refused_in_both([](auto& p) { p.sinogram_shape[1] = -4; }, {"sinogram_shape", "(3, -4, 5)", ">= 0"});
  expect_refused_in_both([](auto& p) { p.recon_shape = {5, -1, 4}; }, {"recon_shape", "(5, -1, 4)", ">= 0"});
}

TEST(Validation, ParallelSlicesAreDetectorRows) {
  auto p = good_parallel();
  p.recon_shape = {5, 5, 3};
  expect_refused<parallel_geometry>(p, {"recon_shape", "3", "detector rows = 4"});
}

TEST(Validation, ParallelAutomaticSlicesAreDetectorRowsToo) {
  auto p = good_parallel();
  p.delta_det_row = 2;  // sizes 8 slices for 4 rows: invalid until the user sets recon_shape
  expect_refused<parallel_geometry>(p, {"recon_shape", "8", "detector rows = 4"});
  p.recon_shape = {5, 5, 4};
  EXPECT_NO_THROW(parallel_scan{p});
}

TEST(Validation, ParallelSliceAspectIsOne) {
  auto p = good_parallel();
  p.voxel_slice_aspect = 1.5;
  expect_refused<parallel_geometry>(p, {"voxel_slice_aspect", "1.5", "expected 1"});
}

TEST(Validation, AspectsArePositive) {
  for (double const bad : {0.0, -0.5, infinity, not_a_number}) {
    expect_refused_in_both([&](auto& p) { p.voxel_row_aspect = bad; },
                           {"voxel_row_aspect", detail::number_text(bad), "positive"});
    expect_refused_in_both([&](auto& p) { p.voxel_slice_aspect = bad; },
                           {"voxel_slice_aspect", detail::number_text(bad), "positive"});
  }
}

TEST(Validation, PitchesArePositive) {
  for (double const bad : {0.0, -0.5, infinity, not_a_number}) {
    expect_refused_in_both([&](auto& p) { p.delta_voxel = bad; },
                           {"delta_voxel", detail::number_text(bad), "positive"});
    expect_refused_in_both([&](auto& p) { p.delta_det_channel = bad; },
                           {"delta_det_channel", detail::number_text(bad), "positive"});
    expect_refused_in_both([&](auto& p) { p.delta_det_row = bad; },
                           {"delta_det_row", detail::number_text(bad), "positive"});
  }
}

TEST(Validation, OffsetsAreFinite) {
  expect_refused_in_both([](auto& p) { p.det_channel_offset = infinity; }, {"det_channel_offset", "inf", "finite"});
  expect_refused_in_both([](auto& p) { p.det_row_offset = not_a_number; }, {"det_row_offset", "nan", "finite"});
  auto p = good_cone();
  p.recon_slice_offset = infinity;
  expect_refused<cone_geometry>(p, {"recon_slice_offset", "inf", "finite"});
}

/// Finite values too must be small enough for positions in fixed point, and for weights in float32.
TEST(Validation, LengthsAndPositionsAreBounded) {
  for (double const bad : {1e-300, 1e-13, 1e13, 1e300}) {
    expect_refused_in_both([&](auto& p) { p.delta_voxel = bad; }, {"delta_voxel", detail::number_text(bad), "length"});
    expect_refused_in_both([&](auto& p) { p.recon_shape = {5, 5, 4}, p.delta_det_channel = bad, p.delta_voxel = 1; },
                           {"delta_det_channel", detail::number_text(bad), "length"});
    auto p = good_cone();
    p.recon_shape = {5, 5, 4};
    p.delta_det_row = bad;
    expect_refused<cone_geometry>(p, {"delta_det_row", detail::number_text(bad), "length"});
    p = good_cone();
    p.delta_voxel = 1;
    p.recon_shape = {5, 5, 4};
    p.voxel_slice_aspect = bad;
    expect_refused<cone_geometry>(p, {"voxel_slice_aspect times delta_voxel", detail::number_text(bad), "length"});
  }
  expect_refused_in_both([](auto& p) { p.recon_shape = {5, 5, 4}, p.delta_det_channel = 1e10, p.delta_voxel = 1; },
                         {"delta_voxel is 1,", "2^28 times more or less than delta_det_channel = 1e+10"});
  for (double const bad : {1e39, -1e39, 1e40, 3e8}) {
    expect_refused_in_both([&](auto& p) { p.delta_det_channel = 1, p.det_channel_offset = bad; },
                           {"det_channel_offset", detail::number_text(bad), "2^28"});
    auto p = good_cone();
    p.delta_voxel = 1;
    p.recon_shape = {5, 5, 4};
    p.recon_slice_offset = bad;
    expect_refused<cone_geometry>(p, {"recon_slice_offset", detail::number_text(bad), "2^28"});
    p.recon_slice_offset = 0;
    p.delta_det_row = 1;
    p.det_row_offset = bad;
    expect_refused<cone_geometry>(p, {"det_row_offset", detail::number_text(bad), "2^28"});
  }
  auto p = good_cone();
  p.delta_voxel = 1;
  p.recon_shape = {5, 5, 4};
  p.recon_slice_offset = 0;
  cone_scan s(p);
  p.helical_z_shifts = {0, 3e38f, 0};
  expect_refused<cone_geometry>(p, {"helical_z_shifts", "3e+38", "2^28"});
  EXPECT_THROW(s.set_views(std::vector<float>(3), p.helical_z_shifts), parameter_error);
  p = good_cone();
  p.source_detector_dist = 1e25;
  p.source_iso_dist = 1e20;
  p.recon_shape = {5, 5, 4};
  p.delta_voxel = 1;
  expect_refused<cone_geometry>(p, {"source_detector_dist", "1e+25"});
  p.source_detector_dist = 1e20;  // nearly parallel
  EXPECT_NO_THROW(cone_scan{p});
  p.source_iso_dist = 1e5;
  expect_refused<cone_geometry>(p, {"source_detector_dist", "1e9 times", "source_iso_dist = 100000"});
}

TEST(Validation, Distances) {
  for (double const bad : {0.0, -3.0, not_a_number}) {
    auto p = good_cone();
    p.source_detector_dist = bad;
    expect_refused<cone_geometry>(p, {"source_detector_dist", detail::number_text(bad), "positive number or infinity"});
    p = good_cone();
    p.source_iso_dist = bad;
    expect_refused<cone_geometry>(p, {"source_iso_dist", detail::number_text(bad), "positive"});
  }
}

TEST(Validation, InfiniteDistance) {
  auto p = good_cone();
  p.source_detector_dist = infinity;
  p.source_iso_dist = 0;  // irrelevant then
  EXPECT_NO_THROW(cone_scan{p});
  p.use_curved_detector = true;
  expect_refused<cone_geometry>(p, {"use_curved_detector", "true", "false", "source_detector_dist"});
}

TEST(Validation, SourceOutsideTheGrid) {
  auto p = good_cone();
  p.recon_shape = {6, 10, 4};
  p.delta_voxel = 2;
  p.voxel_row_aspect = 3;  // 6 rows of 6 reach 18 from the axis, 10 columns of 2 reach 10
  p.source_iso_dist = 18;  // on the edge of the grid
  expect_refused<cone_geometry>(p, {"source_iso_dist", "18", "more than half the width"});
  p.source_iso_dist = 18.001;
  EXPECT_NO_THROW(cone_scan{p});
  p.voxel_row_aspect = 1;
  p.source_iso_dist = 10;
  expect_refused<cone_geometry>(p, {"source_iso_dist", "10", "more than half the width"});
}

TEST(Validation, SourceInsideAnAutomaticGrid) {
  // 40 channels of 2, seen from 8 of 36 away, are 80 * 8 / 36 = 17.8 wide at the axis: more than twice the 8.
  cone_parameters const p{.sinogram_shape = {1, 4, 40},
                          .angles = {0},
                          .source_detector_dist = 36,
                          .source_iso_dist = 8,
                          .delta_det_channel = 2};
  expect_refused<cone_geometry>(p,
                                {"source_iso_dist is 8", "more than half the width of the reconstruction = 8.88889"});
}

TEST(Validation, AxialPadFraction) {
  for (auto const& bad : {std::vector<double>{}, std::vector<double>{1, 2, 3}}) {
    auto p = good_cone();
    p.axial_pad_fraction = bad;
    expect_refused<cone_geometry>(p, {"axial_pad_fraction", std::to_string(bad.size()), "one or two"});
  }
  for (double const bad : {-0.1, infinity, not_a_number}) {
    auto p = good_cone();
    p.axial_pad_fraction = {0.5, bad};
    expect_refused<cone_geometry>(p, {"axial_pad_fraction", detail::number_text(bad), ">= 0"});
  }
}

TEST(Validation, CustomMaskShape) {
  expect_refused_in_both(
      [](auto& p) {
        p.recon_shape = {2, 3, 4}, p.use_ror_mask = mask_array{{3, 2}, {1, 1, 1, 1, 1, 1}};
      },
      {"use_ror_mask", "(3, 2)", "(rows, cols) = (2, 3)"});
  expect_refused_in_both(
      [](auto& p) {
        p.recon_shape = {2, 3, 4}, p.use_ror_mask = mask_array{{2, 3}, {1, 1, 1}};
      },
      {"use_ror_mask"});
}

TEST(Validation, CustomMaskValues) {
  expect_refused_in_both([](auto& p) { p.recon_shape = {2, 2, 4}, p.use_ror_mask = mask_array{{2, 2}, {1, 0, 2, 1}}; },
                         {"use_ror_mask", "pixel 2 is 2", "expected 0 or 1"});
}

TEST(Validation, SizesThatIndicesCannotReach) {
  index_t const beyond = (index_t{1} << 30) + 1;
  expect_refused_in_both([&](auto& p) { p.recon_shape = {1 << 16, 1 << 15, 4}; }, {"recon", "65536", "2^30"});
  auto p = good_cone();
  p.recon_shape = {2, 2, beyond};
  expect_refused<cone_geometry>(p, {"recon", "1073741825", "2^30"});
  p = good_cone();
  p.recon_shape = {2, 2, 2};
  p.sinogram_shape[2] = beyond;
  expect_refused<cone_geometry>(p, {"sinogram", "1073741825", "2^30"});
}

TEST(Validation, NewViewsHaveTheOldShape) {
  cone_scan cone(good_cone());
  std::vector<float> const two(2), three(3);
  std::vector<float> const bad{0, std::numeric_limits<float>::quiet_NaN(), 0};
  auto const text = [](auto const& f) -> std::string {
    try {
      f();
    } catch (parameter_error const& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(text([&] { cone.set_views(two); }), "set_views: 2 angles, expected 3");
  EXPECT_EQ(text([&] { cone.set_views(three, two); }), "set_views: 2 z shifts, expected one per angle = 3");
  EXPECT_NE(text([&] { cone.set_views(bad); }).find("finite"), std::string::npos);
  EXPECT_NE(text([&] { cone.set_views(three, bad); }).find("finite"), std::string::npos);
  parallel_scan parallel(good_parallel());
  EXPECT_EQ(text([&] { parallel.set_views(two); }), "set_views: 2 angles, expected 3");
}

TEST(Warnings, ConeAngleBeyondFortyFiveDegrees) {
  auto p = good_cone();
  p.recon_shape = {5, 5, 4};
  p.delta_det_row = 10, p.det_row_offset = -20;  // 4 * 10 / 2 + 20 = 40 = D: allowed
  EXPECT_TRUE(cone_scan{p}.warnings().empty());
  p.det_row_offset = -20.5;
  auto const warnings = cone_scan{p}.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  for (char const* word : {"det_row_offset", "40.5", "source_detector_dist = 40", "45 degrees"})
    EXPECT_NE(warnings[0].find(word), std::string::npos) << "no '" << word << "' in: " << warnings[0];
  p.source_detector_dist = infinity;
  EXPECT_TRUE(cone_scan{p}.warnings().empty());
}

TEST(Warnings, NoneInParallelBeam) {
  auto p = good_parallel();
  p.det_row_offset = 1e6;  // has no effect there
  EXPECT_TRUE(parallel_scan{p}.warnings().empty());
}

}  // namespace
