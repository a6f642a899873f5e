// The definitions against the matrix written out, every cell with every voxel.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "definition/matrix.hpp"
#include "definition/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// Every sum has at most 2000 terms and every weight some 60 roundings of numbers up to 40.
constexpr double allowed = 1e-11;

template <class Geometry> void expect_matrix(typename Geometry::parameters const& p) {
  scan<Geometry> const s(p);
  auto const [views, rows, channels] = s.sinogram_shape();
  auto const [recon_rows, recon_cols, slices] = s.recon_shape();
  pixel_list pixels;
  for (std::int32_t q = 0; q < recon_rows * recon_cols; ++q) pixels.push_back(q);
  std::mt19937 engine(77);
  std::uniform_real_distribution<double> in(0, 1);
  std::vector<double> x(count_of(s.recon_shape())), y(count_of(s.sinogram_shape()));
  for (auto& value : x) value = in(engine);
  for (auto& value : y) value = in(engine);

  std::vector<double> ax(y.size()), aty(x.size()), squares(x.size());
  for (index_t v = 0; v < views; ++v)
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n)
        for (index_t i = 0; i < recon_rows; ++i)
          for (index_t j = 0; j < recon_cols; ++j)
            for (index_t k = 0; k < slices; ++k) {
              auto const cell = static_cast<std::size_t>((v * rows + m) * channels + n),
                         voxel = static_cast<std::size_t>((i * recon_cols + j) * slices + k);
              double const a = matrix_element(p, v, m, n, i, j, k);
              ax[cell] += a * x[voxel], aty[voxel] += a * y[cell], squares[voxel] += a * a * y[cell];
            }
  auto const expect_equal = [](std::vector<double> const& found, std::vector<double> const& expected) {
    double largest = 0;
    for (double const e : expected) largest = std::max(largest, e);
    ASSERT_GT(largest, 0);
    for (std::size_t e = 0; e < expected.size(); ++e) ASSERT_NEAR(found[e], expected[e], allowed * largest) << e;
  };
  expect_equal(define_forward(s, x, pixels), ax);
  expect_equal(define_back(s, y, pixels, 1), aty);
  expect_equal(define_back(s, y, pixels, 2), squares);
}

parallel_parameters some_parallel() {
  return {.sinogram_shape = {5, 3, 11},
          .angles = {0.1f, 0.9f, 2.2f, 3.3f, 5.0f},
          .delta_det_channel = 0.9,
          .det_channel_offset = 0.3,
          .delta_voxel = 0.8,
          .voxel_row_aspect = 1.3,
          .recon_shape = std::array<index_t, 3>{7, 8, 3}};
}
cone_parameters some_cone() {
  return {.sinogram_shape = {4, 7, 11},
          .angles = {0.1f, 0.9f, 2.2f, 5.0f},
          .source_detector_dist = 24,
          .source_iso_dist = 14,
          .delta_det_channel = 1.1,
          .delta_det_row = 0.8,
          .det_channel_offset = 0.37,
          .det_row_offset = -0.55,
          .delta_voxel = 0.71,
          .voxel_row_aspect = 1.2,
          .voxel_slice_aspect = 0.9,
          .recon_shape = std::array<index_t, 3>{5, 6, 7},
          .recon_slice_offset = 0.63};
}

TEST(BruteForce, Parallel) { expect_matrix<parallel_geometry>(some_parallel()); }
TEST(BruteForce, ParallelWide) {
  auto p = some_parallel();
  p.delta_voxel = 3.1;
  expect_matrix<parallel_geometry>(p);
}
TEST(BruteForce, Cone) { expect_matrix<cone_geometry>(some_cone()); }
TEST(BruteForce, ConeCurvedHelical) {
  auto p = some_cone();
  p.use_curved_detector = true, p.helical_z_shifts = {-1.5f, 0.2f, 0.4f, 2.0f};
  expect_matrix<cone_geometry>(p);
}
TEST(BruteForce, ConeInfinite) {
  auto p = some_cone();
  p.source_detector_dist = std::numeric_limits<double>::infinity();
  expect_matrix<cone_geometry>(p);
}
TEST(BruteForce, ConeTallRows) {
  auto p = some_cone();
  p.delta_det_row = 3.3;
  expect_matrix<cone_geometry>(p);
}
TEST(BruteForce, ConeShortRows) {
  auto p = some_cone();
  p.delta_det_row = 0.23;
  expect_matrix<cone_geometry>(p);
}
TEST(BruteForce, ConeWideAndStrong) {
  auto p = some_cone();
  // a pixel so near the source that its footprint is 1485 channels wide and 403 rows tall
  p.delta_voxel = 2.9, p.source_iso_dist = 10.2;
  expect_matrix<cone_geometry>(p);
}
translation_parameters some_translation() {
  return {.sinogram_shape = {4, 7, 11},
          .translation_vectors = {0, 0, 0, 1.3f, -2.5f, 0.4f, -2, 1.5f, -1.1f, 0.5f, 0.3f, 3},
          .source_detector_dist = 24,
          .source_iso_dist = 14,
          .delta_det_channel = 1.1,
          .delta_det_row = 0.8,
          .det_channel_offset = 0.37,
          .det_row_offset = -0.55,
          .delta_voxel = 0.71,
          .voxel_row_aspect = 4.2,
          .voxel_slice_aspect = 0.9,
          .recon_shape = std::array<index_t, 3>{5, 6, 7}};
}
TEST(BruteForce, Translation) { expect_matrix<translation_geometry>(some_translation()); }
TEST(BruteForce, TranslationTallRows) {
  auto p = some_translation();
  p.delta_det_row = 3.3;
  expect_matrix<translation_geometry>(p);
}
TEST(BruteForce, TranslationWide) {
  auto p = some_translation();
  p.delta_voxel = 2.3, p.voxel_row_aspect = 0.9;  // 8.3 from the source, and moved by up to 2.5 towards it
  expect_matrix<translation_geometry>(p);
}
TEST(BruteForce, ConeOneRowOneChannel) {
  auto p = some_cone();
  p.sinogram_shape = {4, 1, 1};
  expect_matrix<cone_geometry>(p);
}

}  // namespace
