// Automatic sizing: every number below is worked out by hand from the formulas, not by the code under test.
#include "geometry/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using shape = std::array<index_t, 3>;

TEST(ParallelSize, FollowsTheDetector) {
  auto const size = auto_size(
      parallel_parameters{.sinogram_shape = {4, 6, 9}, .angles = {}, .delta_det_channel = 0.5, .delta_det_row = 0.5});
  EXPECT_EQ(size.delta_voxel, 0.5);
  EXPECT_EQ(size.recon_shape, (shape{9, 9, 6}));
  EXPECT_EQ(size.recon_slice_offset, 0);
}

TEST(ParallelSize, RowsAreRoundedUp) {
  EXPECT_EQ(
      auto_size(parallel_parameters{.sinogram_shape = {4, 6, 9}, .angles = {}, .voxel_row_aspect = 2}).recon_shape,
      (shape{5, 9, 6}));  // 4.5
  EXPECT_EQ(
      auto_size(parallel_parameters{.sinogram_shape = {4, 6, 9}, .angles = {}, .voxel_row_aspect = 0.8}).recon_shape,
      (shape{12, 9, 6}));  // 11.25
}

TEST(ParallelSize, SlicesAreRoundedHalfToEven) {
  auto const slices = [](index_t rows, double pitch) {
    return auto_size(parallel_parameters{.sinogram_shape = {1, rows, 8}, .angles = {}, .delta_det_row = pitch})
        .recon_shape[2];
  };
  EXPECT_EQ(slices(5, 0.5), 2);   // 2.5
  EXPECT_EQ(slices(7, 0.5), 4);   // 3.5
  EXPECT_EQ(slices(4, 1.4), 6);   // 5.6
}

TEST(ParallelSize, QuotientsAreFloatBeforeTheyAreRoundedUp) {
  double const pitch = 0.03;
  ASSERT_EQ(13 * pitch / pitch, 13.000000000000002) << "the case that the intermediate float exists for";
  EXPECT_EQ(auto_size(parallel_parameters{.sinogram_shape = {1, 1, 13}, .angles = {}, .delta_det_channel = pitch})
                .recon_shape[1],
            13);
  EXPECT_EQ(auto_size(parallel_parameters{.sinogram_shape = {1, 1, 13}, .angles = {}, .delta_det_channel = pitch})
                .recon_shape[0],
            13);
  ASSERT_EQ(13 * 1.3 / (0.5 * 1.3), 26.000000000000004);
  EXPECT_EQ(
      auto_size(parallel_parameters{
                    .sinogram_shape = {1, 1, 13}, .angles = {}, .delta_det_channel = 1.3, .voxel_row_aspect = 0.5})
          .recon_shape[0],
      26);
}

/// M = 2, so pitches of 2 on the detector are 1 at the axis: 20 channels, 10 rows there.
cone_parameters magnified() {
  return {.sinogram_shape = {2, 10, 20}, .angles = {0, 1}, .source_detector_dist = 100, .source_iso_dist = 50,
          .delta_det_channel = 2, .delta_det_row = 2};
}

TEST(ConeSize, FollowsTheDetectorMappedToTheAxis) {
  auto const size = auto_size(magnified());
  EXPECT_EQ(size.delta_voxel, 1);
  EXPECT_EQ(size.recon_shape, (shape{20, 20, 10}));
  EXPECT_EQ(size.recon_slice_offset, 0);
}

TEST(ConeSize, InfiniteDistanceHasUnitMagnification) {
  auto p = magnified();
  p.source_detector_dist = infinity;
  auto const size = auto_size(p);
  EXPECT_EQ(size.delta_voxel, 2);
  EXPECT_EQ(size.recon_shape, (shape{20, 20, 10}));
}

TEST(ConeSize, RowsAreRoundedHalfToEven) {
  auto const rows = [](index_t channels) {
    cone_parameters const p{.sinogram_shape = {1, 4, channels},
                            .angles = {0},
                            .source_detector_dist = 64,
                            .source_iso_dist = 64,
                            .voxel_row_aspect = 2};
    return auto_size(p).recon_shape;
  };
  EXPECT_EQ(rows(5), (shape{2, 5, 4}));    // 2.5: parallel beam would take 3
  EXPECT_EQ(rows(7), (shape{4, 7, 4}));    // 3.5
}

TEST(ConeSize, SlicesAreRoundedUpAndAtLeastOne) {
  auto p = magnified();
  p.voxel_slice_aspect = 0.75;
  EXPECT_EQ(auto_size(p).recon_shape[2], 14);  // 10 / 0.75 = 13.3
  p.voxel_slice_aspect = 3;
  EXPECT_EQ(auto_size(p).recon_shape[2], 4);   // 3.3
  p.voxel_slice_aspect = 1000;
  EXPECT_EQ(auto_size(p).recon_shape[2], 1);
  p.sinogram_shape[1] = 0;
  p.voxel_slice_aspect = 1;
  EXPECT_EQ(auto_size(p).recon_shape[2], 1) << "no detector rows, still one slice";
}

TEST(ConeSize, TheFloatQuotientMayAddASlice) {
  cone_parameters const p{
      .sinogram_shape = {1, 7, 8}, .angles = {0}, .source_detector_dist = 200, .source_iso_dist = 71.3};
  ASSERT_GT(static_cast<float>(7 * (1 / (200 / 71.3))) / static_cast<float>(1 / (200 / 71.3)), 7.0f)
      << "one float above 7";
  EXPECT_EQ(auto_size(p).recon_shape[2], 8) << "as MBIRJAX: one more than the rows";
}

TEST(ConeSize, HelixAddsItsTravelAndMovesTheMiddle) {
  auto p = magnified();
  p.helical_z_shifts = {-1.0f, 4.5f};
  auto const size = auto_size(p);
  EXPECT_EQ(size.recon_shape, (shape{20, 20, 16}));  // 10 + 5.5, rounded up
  EXPECT_EQ(size.recon_slice_offset, 1.75);
  p.helical_z_shifts = {3.0f, 3.0f};
  EXPECT_EQ(auto_size(p).recon_shape[2], 10) << "no travel";
  EXPECT_EQ(auto_size(p).recon_slice_offset, 3);
}

// Detector edges at -10 and 10, seen with s = 1/2 + R_s/100 at the far side of the support. With the mask R_s = 10, s =
// 0.6: 6 on either side, 1 beyond the 5 that the axis sees.
TEST(ConeSize, AxialPadding) {
  auto const with = [](std::vector<double> fraction, mask_setting mask = true) {
    auto p = magnified();
    p.axial_pad_fraction = fraction, p.use_ror_mask = mask;
    auto const size = auto_size(p);
    return std::pair(size.recon_shape[2], size.recon_slice_offset);
  };
  EXPECT_EQ(with({0.9}), std::pair(index_t{12}, 0.0));
  EXPECT_EQ(with({0.9, 0}), std::pair(index_t{11}, -0.5)) << "low slices first: the middle moves down";
  EXPECT_EQ(with({0, 0.9}), std::pair(index_t{11}, 0.5));
  EXPECT_EQ(with({1.5, 3.5}), std::pair(index_t{10 + 2 + 4}, 1.0));
  // Without the mask R_s = hypot(10, 10), s = 0.641: 1.414 beyond. An array does not shrink the support either.
  EXPECT_EQ(with({1}, false), std::pair(index_t{14}, 0.0));
  EXPECT_EQ(with({1}, mask_array{{20, 20}, std::vector<std::uint8_t>(400, 1)}), std::pair(index_t{14}, 0.0));
}

TEST(ConeSize, AxialPaddingFollowsTheRowOffset) {
  auto p = magnified();
  p.det_row_offset = 3;  // edges at -13 and 7: 13 * 0.6 - 5 = 2.8 beyond the top, 4.2 - 5 < 0 at the bottom
  p.axial_pad_fraction = {1};
  auto const size = auto_size(p);
  EXPECT_EQ(size.recon_shape[2], 13);
  EXPECT_EQ(size.recon_slice_offset, -1.5);
}

TEST(ConeSize, AxialPaddingInSlicesOfAnyHeight) {
  auto p = magnified();
  p.voxel_slice_aspect = 0.3;
  p.axial_pad_fraction = {0, 0.95};  // 34 slices; 0.95 / 0.3 = 3.2: four more at the high end
  auto const size = auto_size(p);
  EXPECT_EQ(size.recon_shape[2], 38);
  EXPECT_DOUBLE_EQ(size.recon_slice_offset, 4 * 0.3 / 2);
}

TEST(ConeSize, ParallelBeamHasNothingBeyond) {
  auto p = magnified();
  p.source_detector_dist = infinity;
  p.axial_pad_fraction = {5};
  EXPECT_EQ(auto_size(p).recon_shape[2], 10);
}

TEST(Geometry, ParallelTakesAutomaticValuesUnlessGiven) {
  auto p = good_parallel();
  p.delta_det_channel = p.delta_det_row = 0.5, p.voxel_row_aspect = 2, p.det_channel_offset = 0.25;
  auto g = make_geometry(p);
  EXPECT_EQ((shape{g.views, g.rows, g.channels}), (shape{3, 4, 5}));
  EXPECT_EQ((shape{g.recon_rows, g.recon_cols, g.slices}), (shape{3, 5, 4}));
  EXPECT_EQ(g.delta_x, 0.5);
  EXPECT_EQ(g.delta_y, 1.0);
  EXPECT_EQ(g.delta_det_channel, 0.5);
  EXPECT_EQ(g.det_channel_offset, 0.25);
  p.delta_voxel = 0.7, p.recon_shape = {8, 9, 4};
  g = make_geometry(p);
  EXPECT_EQ((shape{g.recon_rows, g.recon_cols, g.slices}), (shape{8, 9, 4}));
  EXPECT_EQ(g.delta_x, 0.7);
  EXPECT_EQ(g.delta_y, 1.4);
}

TEST(Geometry, ConeTakesAutomaticValuesUnlessGiven) {
  auto p = magnified();
  p.helical_z_shifts = {1.0f, 2.0f};
  p.voxel_row_aspect = 2, p.voxel_slice_aspect = 0.5, p.det_row_offset = 0.75, p.det_channel_offset = -1;
  auto g = make_geometry(p);
  EXPECT_EQ((shape{g.recon_rows, g.recon_cols, g.slices}), (shape{10, 20, 22}));
  EXPECT_EQ(g.delta_x, 1);
  EXPECT_EQ(g.delta_y, 2);
  EXPECT_EQ(g.delta_z, 0.5);
  EXPECT_EQ(g.recon_slice_offset, 1.5);
  EXPECT_EQ(g.inverse_magnification, 0.5);
  EXPECT_EQ(g.inverse_detector_dist, 0.01);
  EXPECT_EQ(g.det_row_offset, 0.75);
  EXPECT_EQ(g.det_channel_offset, -1);
  EXPECT_FALSE(g.curved);
  p.delta_voxel = 3, p.recon_shape = {4, 5, 6}, p.recon_slice_offset = -0.5, p.use_curved_detector = true;
  g = make_geometry(p);
  EXPECT_EQ((shape{g.recon_rows, g.recon_cols, g.slices}), (shape{4, 5, 6}));
  EXPECT_EQ(g.delta_x, 3);
  EXPECT_EQ(g.delta_y, 6);
  EXPECT_EQ(g.delta_z, 1.5);
  EXPECT_EQ(g.recon_slice_offset, -0.5);
  EXPECT_TRUE(g.curved);
  static_assert(std::is_trivially_copyable_v<cone_geometry> && std::is_trivially_copyable_v<parallel_geometry>,
                "kernels take them by value");
}

TEST(Geometry, InfiniteDistance) {
  auto p = magnified();
  p.source_detector_dist = infinity;
  auto const g = make_geometry(p);
  EXPECT_EQ(g.inverse_magnification, 1);
  EXPECT_EQ(g.inverse_detector_dist, 0);
}

}  // namespace
