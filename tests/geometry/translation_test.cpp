// Translation: automatic sizes as MBIRJAX 0.7.3 finds them, positions of views, and errors of making a scan.
#include "geometry/support.hpp"

#include <cmath>

#include "mbirk/geometry/translation.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using shape = std::array<index_t, 3>;

translation_parameters good_translation() {
  return {.sinogram_shape = {3, 4, 5},
          .translation_vectors = {-1, 0, 1, 0, 0.5f, 0, 1, -0.5f, -1},
          .source_detector_dist = 40,
          .source_iso_dist = 20,
          .delta_voxel = 0.5,
          .voxel_row_aspect = 3,
          .recon_shape = shape{4, 6, 5}};
}

/// MBIRJAX's TranslationModel(shape, gen_translation_vectors(...), D, D_0) with these pitches: recon_shape, delta_voxel,
/// voxel_row_aspect.
struct known_size {
  shape sinogram_shape;
  double x_spacing, z_spacing, dist, iso_dist, channel, row;
  std::optional<double> row_aspect;
  double slice_aspect;
  shape recon_shape;
  double delta_voxel, voxel_row_aspect;
};
known_size const known_sizes[] = {
    {{24, 85, 79}, 16.2, 4.3, 391.0, 136.3, 1.33, 0.94, std::nullopt, 1.0, {3, 105, 47}, 0.46362918615341187, 78.29787050227637},
    {{16, 62, 79}, 16.0, 19.7, 226.7, 190.7, 1.11, 1.03, std::nullopt, 0.9, {3, 52, 71}, 0.9337317943572998, 56.79924725924999},
    {{28, 36, 67}, 18.9, 13.6, 373.0, 151.7, 1.34, 1.5, 3.1, 1.3, {8, 93, 103}, 0.6100535988807678, 3.1},
    {{28, 12, 16}, 7.6, 5.3, 209.2, 124.7, 1.15, 1.93, 0.8, 1.0, {8, 20, 28}, 1.150434970855713, 0.8},
    {{8, 49, 53}, 10.3, 13.8, 376.9, 244.7, 0.76, 1.88, std::nullopt, 0.9, {1, 26, 13}, 1.2205784320831299, 149.71201784869822},
    {{20, 14, 45}, 9.7, 7.9, 102.5, 73.3, 1.61, 0.62, std::nullopt, 1.3, {0, 26, 22}, 1.1513464450836182, 188.94009542570797},
    {{28, 19, 89}, 1.8, 18.4, 385.8, 320.4, 0.95, 1.56, 3.1, 1.0, {24, 5, 86}, 1.2955520153045654, 3.1},
    {{8, 32, 50}, 19.5, 9.2, 331.7, 154.4, 0.94, 0.89, 0.8, 0.9, {4, 134, 24}, 0.43755197525024414, 0.8},
    {{20, 47, 13}, 3.0, 8.5, 363.2, 195.0, 0.82, 1.67, std::nullopt, 1.3, {0, 11, 30}, 0.8966134190559387, 545.1407224924128},
    {{28, 82, 79}, 12.8, 5.5, 368.7, 162.3, 0.43, 1.64, std::nullopt, 1.0, {1, 54, 46}, 0.7219202518463135, 173.6591076545772},
    {{12, 48, 17}, 13.3, 8.0, 286.0, 176.2, 1.5, 0.45, 3.1, 0.9, {6, 44, 20}, 0.9241259098052979, 3.1},
    {{4, 52, 47}, 2.2, 5.3, 147.5, 100.4, 1.27, 1.35, 0.8, 1.3, {8, 8, 0}, 0.9189152717590332, 0.8},};

TEST(TranslationSize, IsThatOfMbirjax) {
  for (auto const& k : known_sizes) {
    SCOPED_TRACE(detail::shape_text(k.recon_shape));
    translation_parameters const p{
        .sinogram_shape = k.sinogram_shape,
        .translation_vectors = gen_translation_vectors(4, k.sinogram_shape[0] / 4, k.x_spacing, k.z_spacing),
        .source_detector_dist = k.dist,
        .source_iso_dist = k.iso_dist,
        .delta_det_channel = k.channel,
        .delta_det_row = k.row,
        .voxel_row_aspect = k.row_aspect,
        .voxel_slice_aspect = k.slice_aspect};
    auto const size = auto_size(p);
    EXPECT_EQ(size.recon_shape, k.recon_shape);
    EXPECT_EQ(size.delta_voxel, k.delta_voxel);
    EXPECT_EQ(size.voxel_row_aspect, k.voxel_row_aspect);
  }
}

TEST(TranslationVectors, AreARaster) {
  EXPECT_EQ(gen_translation_vectors(3, 2, 1.5, 4),
            (std::vector<float>{-1.5f, 0, -2, 0, 0, -2, 1.5f, 0, -2, -1.5f, 0, 2, 0, 0, 2, 1.5f, 0, 2}));
  EXPECT_TRUE(gen_translation_vectors(0, 2, 1, 1).empty());
  EXPECT_THROW(gen_translation_vectors(-1, 2, 1, 1), parameter_error);
  EXPECT_THROW(gen_translation_vectors(1, 2, not_a_number, 1), parameter_error);
}

TEST(Translation, PositionsAreInCells) {
  translation_scan s(good_translation());
  EXPECT_EQ(s.geometry().side_extent, 0);
  EXPECT_EQ(s.geometry().delta_y, 1.5);
  ASSERT_EQ(s.positions().size(), 3u);
  auto const& at = s.positions()[2];
  EXPECT_EQ(at.cosine, 1);
  EXPECT_EQ(at.sine, 0);
  EXPECT_EQ(at.z_shift, -1);
  EXPECT_EQ(at.column_shift, 2);
  EXPECT_EQ(at.row_shift, -0.5 / 1.5);
  s.set_views(std::vector<float>{0, 0, 0, 0.25f, 0, 0, 0, 0, 0});
  EXPECT_EQ(s.positions()[1].column_shift, 0.5);
  EXPECT_TRUE(angles_of(s).empty());
}
TEST(Translation, TheWholeGridIsReconstructed) {
  EXPECT_EQ(translation_scan(good_translation()).full_indices().size(), 24u);
}

void expect_refused_with(std::initializer_list<std::string> words, auto const& change) {
  auto p = good_translation();
  change(p);
  expect_refused<translation_geometry>(p, words);
}
TEST(TranslationValidation, NumberOfVectors) {
  expect_refused_with({"translation_vectors", "6", "three per view = 9"},
                      [](auto& p) { p.translation_vectors.resize(6); });
  expect_refused_with({"translation_vectors", "12", "three per view = 9"},
                      [](auto& p) { p.translation_vectors.resize(12); });
  expect_refused_with({"translation_vectors", "nan", "finite"},
                      [](auto& p) { p.translation_vectors[4] = std::numeric_limits<float>::quiet_NaN(); });
  expect_refused_with({"translation_vectors", "1e+20", "2^28"}, [](auto& p) { p.translation_vectors[0] = 1e20f; });
}
TEST(TranslationValidation, Distances) {
  for (double const bad : {0.0, -1.0, infinity, not_a_number}) {
    expect_refused_with({"source_detector_dist", detail::number_text(bad), "positive"},
                        [&](auto& p) { p.source_detector_dist = bad; });
    expect_refused_with({"source_iso_dist", detail::number_text(bad), "positive"},
                        [&](auto& p) { p.source_iso_dist = bad; });
  }
}
TEST(TranslationValidation, Aspects) {
  for (double const bad : {0.0, -1.0, infinity, not_a_number}) {
    expect_refused_with({"voxel_row_aspect", detail::number_text(bad), "positive"},
                        [&](auto& p) { p.voxel_row_aspect = bad; });
    expect_refused_with({"voxel_slice_aspect", detail::number_text(bad), "positive"},
                        [&](auto& p) { p.voxel_slice_aspect = bad; });
  }
}
TEST(TranslationValidation, EmptyGrids) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    expect_refused_with({"recon_shape", "0", "sizes >= 1"}, [&](auto& p) { (*p.recon_shape)[axis] = 0; });
  expect_refused_with({"recon_shape", "range of the translations"}, [](auto& p) {
    p.recon_shape.reset();
    p.translation_vectors.assign(9, 1);
  });
}
TEST(TranslationValidation, TheSourceIsOutsideTheGrid) {
  // The grid is 3 deep on either side, and view 2 moves it by 0.5 towards the source.
  expect_refused_with({"source_iso_dist is 3.5", "half the depth", "= 3", "0.5", "view 2"},
                      [](auto& p) { p.source_iso_dist = 3.5; });
  auto p = good_translation();
  p.source_iso_dist = 3.75;
  translation_scan s(p);
  EXPECT_THROW(s.set_views(std::vector<float>{0, 0, 0, 0, -0.75f, 0, 0, 0, 0}), parameter_error);
  EXPECT_THROW(s.set_views(std::vector<float>{0, 0, 0, 0, 0, 0}), parameter_error);
  EXPECT_EQ(s.positions()[2].z_shift, -1) << "a refused list must change nothing";
  EXPECT_NO_THROW(s.set_views(std::vector<float>{0, 0, 0, 0, 5, 0, 0, 0, 0}));
}
TEST(TranslationValidation, SteepConesAreWarnedOf) {
  auto p = good_translation();
  EXPECT_TRUE(translation_scan(p).warnings().empty());
  p.delta_det_row = 21;
  p.voxel_slice_aspect = 20;
  ASSERT_EQ(translation_scan(p).warnings().size(), 1u);
  EXPECT_NE(translation_scan(p).warnings()[0].find("45 degrees"), std::string::npos);
}

}  // namespace
