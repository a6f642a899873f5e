// Extreme footprints: pixels beside the source, pixels wider than the detector. Results are right, and the time depends
// on the detector only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "definition/matrix.hpp"
#include "mbirk/mbirk.hpp"

namespace {

using namespace mbirk;

std::vector<float> positive(std::size_t n) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(0.1f, 1.0f);
  std::vector<float> x(n);
  for (auto& v : x) v = uniform(random);
  return x;
}

double dot(std::vector<float> const& a, std::vector<float> const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

template <class Scan> double adjoint_error(Scan const& s) {
  context const ctx{exec::host{}, instrument::none{}};
  auto const size = [](std::array<index_t, 3> e) { return static_cast<std::size_t>(e[0] * e[1] * e[2]); };
  auto const x = positive(size(s.recon_shape())), y = positive(size(s.sinogram_shape()));
  std::vector<float> ax(y.size()), aty(x.size());
  forward_project(ctx, s, view<float const, 3>(x.data(), s.recon_shape()),
                  view<float, 3>(ax.data(), s.sinogram_shape()));
  back_project(ctx, s, view<float const, 3>(y.data(), s.sinogram_shape()), view<float, 3>(aty.data(), s.recon_shape()));
  double const a = dot(ax, y), b = dot(x, aty);
  EXPECT_TRUE(std::isfinite(a) && a > 0);
  return std::abs(a - b) / a;
}

/// Distance of the grid's corner from the source in the first view.
cone_scan beside_source(double depth) {
  double const angle = 0.7853982;
  return cone_scan(cone_parameters{.sinogram_shape = {4, 13, 14},
                                   .angles = {0.7853982f, 0.1f, 1.9f, 3.0f},
                                   .source_detector_dist = 20,
                                   .source_iso_dist = 5.4 * (std::sin(angle) + std::cos(angle)) + depth,
                                   .delta_det_channel = 2,
                                   .delta_det_row = 2,
                                   .delta_voxel = 0.9,
                                   .recon_shape = std::array<index_t, 3>{13, 13, 5},
                                   .use_ror_mask = false});
}

TEST(Extreme, APixelBesideTheSource) {
  for (double const depth : {1e-2, 1e-4, 1e-6, 1e-7}) EXPECT_LE(adjoint_error(beside_source(depth)), 1e-6) << depth;
}

TEST(Extreme, ParallelPixelsWiderThanTheDetector) {
  for (double const voxel : {30.0, 1e4, 1e6}) {
    parallel_parameters const p{.sinogram_shape = {3, 5, 9},
                                .angles = {0.2f, 1.1f, 2.5f},
                                .det_channel_offset = 0.3,
                                .delta_voxel = voxel,
                                .recon_shape = std::array<index_t, 3>{4, 5, 5},
                                .use_ror_mask = false};
    parallel_scan const s(p);
    EXPECT_LE(adjoint_error(s), 1e-6) << voxel;
    auto const x = positive(4 * 5 * 5);
    std::vector<std::int32_t> pixels(4 * 5);
    std::iota(pixels.begin(), pixels.end(), 0);
    std::vector<float> y(3 * 5 * 9);
    sparse_forward_project(context{exec::host{}, instrument::none{}}, s, view<float const, 2>(x.data(), {20, 5}),
                           view<std::int32_t const, 1>(pixels.data(), {20}),
                           view<float, 3>(y.data(), s.sinogram_shape()));
    std::vector<double> expected;
    for (index_t v = 0; v < 3; ++v)
      for (index_t m = 0; m < 5; ++m)
        for (index_t n = 0; n < 9; ++n) {
          double& sum = expected.emplace_back(0);
          for (index_t q = 0; q < 20; ++q)
            sum += test::matrix_element(p, v, m, n, q / 5, q % 5, m) *
                   static_cast<double>(x[static_cast<std::size_t>(5 * q + m)]);
        }
    double const largest = *std::max_element(expected.begin(), expected.end());
    // Bound: at most 20 terms per sum and 5 roundings per term, of 2^-24 each.
    for (std::size_t k = 0; k < y.size(); ++k)
      EXPECT_NEAR(static_cast<double>(y[k]), expected[k], 100 * std::exp2(-24) * largest) << voxel << ' ' << k;
  }
}

TEST(Extreme, SetViewsOfAParallelScanTakesNoShifts) {
  parallel_scan s(parallel_parameters{.sinogram_shape = {2, 3, 4}, .angles = {0.0f, 1.0f}});
  std::vector<float> const angles{0.5f, 0.6f}, shifts{0.0f, 1.0f};
  EXPECT_THROW(s.set_views(angles, shifts), parameter_error);
  s.set_views(angles);
  EXPECT_FLOAT_EQ(s.angles()[1], 0.6f);
}

TEST(Extreme, AutomaticSizeChecksItsPads) {
  cone_parameters p{
      .sinogram_shape = {2, 3, 4}, .angles = {0.0f, 1.0f}, .source_detector_dist = 40, .source_iso_dist = 20};
  p.axial_pad_fraction = {};
  EXPECT_THROW((void)auto_size(p), parameter_error);
}

}  // namespace
