// Unfused operations match the fused ones: wide footprints, helical scans, odd sizes, any number of threads.
#include "mbirk/profile/staged.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace mbirk::test {
namespace {

namespace staged = profile::staged;

std::vector<float> random_values(std::array<index_t, 3> const& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (auto& v : values) v = uniform(random);
  return values;
}

/// Every operation in both forms; the unfused one with another number of threads too. A value is a sum of at most
/// `terms` nonnegative terms, except in the filters, where the magnitudes add up to a few times the largest result.
template <class Scan> void expect_same(Scan const& s, double terms) {
  context const one{exec::host{1}, instrument::none{}}, three{exec::host{3}, instrument::none{}};
  auto const x = random_values(s.recon_shape()), y = random_values(s.sinogram_shape());
  view<float const, 3> const recon(x.data(), s.recon_shape()), sinogram(y.data(), s.sinogram_shape());
  auto const compare = [&](char const* what, std::array<index_t, 3> const& shape, auto const& fused,
                           auto const& stages) {
    std::vector<float> a(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), -1), b = a, c = a;
    fused(one, view<float, 3>(a.data(), shape)), stages(one, view<float, 3>(b.data(), shape)),
        stages(three, view<float, 3>(c.data(), shape));
    EXPECT_EQ(b, c) << what << ": threads";
    float largest = 0;
    for (auto const v : a) largest = std::max(largest, std::abs(v));
    ASSERT_GT(largest, 0) << what;
    for (std::size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], 2 * terms * 0x1p-24 * largest) << what << " at " << k;
  };
  auto const rays = s.sinogram_shape(), voxels = s.recon_shape();
  compare(
      "forward", rays, [&](auto const& c, auto out) { forward_project(c, s, recon, out); },
      [&](auto const& c, auto out) { staged::forward_project(c, s, recon, out); });
  compare(
      "back", voxels, [&](auto const& c, auto out) { back_project(c, s, sinogram, out); },
      [&](auto const& c, auto out) { staged::back_project(c, s, sinogram, out); });
  for (auto const& w : {std::optional<view<float const, 3>>{}, std::optional(sinogram)})
    compare(
        "hessian", voxels, [&](auto const& c, auto out) { hessian_diagonal(c, s, w, out); },
        [&](auto const& c, auto out) { staged::hessian_diagonal(c, s, w, out); });
  compare(
      "filter", rays, [&](auto const& c, auto out) { direct_filter(c, s, sinogram, out); },
      [&](auto const& c, auto out) { staged::direct_filter(c, s, sinogram, out); });
  compare(
      "direct", voxels, [&](auto const& c, auto out) { direct_recon(c, s, sinogram, out); },
      [&](auto const& c, auto out) { staged::direct_recon(c, s, sinogram, out); });
  std::vector<std::int32_t> pixels;  // a third, in no order
  for (index_t k = 0; k < voxels[0] * voxels[1]; k += 3) pixels.push_back(static_cast<std::int32_t>(k));
  std::shuffle(pixels.begin(), pixels.end(), std::mt19937(5));
  auto const count = static_cast<index_t>(pixels.size());
  view<std::int32_t const, 1> const listed(pixels.data(), {count});
  view<float const, 2> const columns(x.data(), {count, voxels[2]});
  compare(
      "sparse forward", rays, [&](auto const& c, auto out) { sparse_forward_project(c, s, columns, listed, out); },
      [&](auto const& c, auto out) { staged::sparse_forward_project(c, s, columns, listed, out); });
  for (int const power : {1, 2})
    compare(
        "sparse back", {count, voxels[2], 1},
        [&](auto const& c, auto out) {
          sparse_back_project(c, s, sinogram, listed, view<float, 2>(out.data(), {count, voxels[2]}), power);
        },
        [&](auto const& c, auto out) {
          staged::sparse_back_project(c, s, sinogram, listed, view<float, 2>(out.data(), {count, voxels[2]}), power);
        });
  EXPECT_THROW(staged::back_project(one, s, sinogram, view<float, 3>(nullptr, {1, 1, 1})), shape_error);
}

template <class Parameters> Parameters parameters(index_t views, index_t rows, index_t channels) {
  Parameters p;
  p.sinogram_shape = {views, rows, channels};
  for (index_t v = 0; v < views; ++v) p.angles.push_back(0.4f * static_cast<float>(v));
  return p;
}

TEST(Unfused, ParallelWithWideFootprints) {
  auto p = parameters<parallel_parameters>(7, 19, 90);  // filtered by transforms
  p.voxel_row_aspect = 2.5, p.delta_voxel = 1.7;
  expect_same(parallel_scan(p), 600);  // some 90 pixels along a ray with up to six taps
}

TEST(Unfused, ConeThatIsHelicalCurvedAndWide) {
  auto p = parameters<cone_parameters>(7, 19, 29);  // filtered by a direct sum
  p.source_detector_dist = 116, p.source_iso_dist = 60, p.use_curved_detector = true;
  p.delta_voxel = 1.9, p.recon_shape = {{21, 23, 17}};
  for (index_t v = 0; v < 7; ++v) p.helical_z_shifts.push_back(0.7f * static_cast<float>(v));
  expect_same(cone_scan(p), 600);
}

TEST(Unfused, ConeWithMirroredRowsAndSlices) {
  auto p = parameters<cone_parameters>(5, 32, 25);
  p.source_detector_dist = 100, p.source_iso_dist = 50, p.recon_shape = {{13, 12, 32}}, p.delta_voxel = 0.8;
  expect_same(cone_scan(p), 600);
}

}  // namespace
}  // namespace mbirk::test
