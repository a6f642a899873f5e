// Flops of the definition: against a count tap by tap, and known values of the golden geometries.
#include "mbirk/definition/minimal.hpp"

#include <gtest/gtest.h>

#include "instrument/operations.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::definition;

/// Nonzero weights, one by one. Below 1e-12 is a touching edge, not an overlap.
template <class T> bool nonzero(T weight) { return weight > 1e-12; }

std::uint64_t brute_force(parallel_scan const& s) {
  auto const& g = s.geometry();
  std::uint64_t taps = 0;
  for (auto const& at : s.positions())
    for (auto const p : s.full_indices()) {
      auto const f = parallel_footprint(g, at.cosine, at.sine, column_x(g, double(p % g.recon_cols)),
                                        row_y(g, double(p / g.recon_cols)));
      for (index_t n = 0; n < g.channels; ++n) taps += nonzero(overlap(f.centre - double(n), f.width));
    }
  return 2 * taps * static_cast<std::uint64_t>(g.slices);
}

std::uint64_t brute_force(cone_scan const& s) {
  auto const& g = s.geometry();
  std::uint64_t total = 0;
  for (auto const& at : s.positions())
    for (auto const p : s.full_indices()) {
      auto const f = make_cone_footprint(g, at.cosine, at.sine, column_x(g, double(p % g.recon_cols)),
                                         row_y(g, double(p / g.recon_cols)));
      std::uint64_t channels = 0, rows = 0, pairs = 0;
      for (index_t n = 0; n < g.channels; ++n)
        channels += nonzero(overlap(f.channel.centre - double(n), f.channel.width));
      for (index_t m = 0; m < g.rows; ++m) {
        std::uint64_t here = 0;
        for (index_t k = 0; k < g.slices; ++k)
          here += nonzero(
              overlap(detector_row(g, f.magnification, slice_z(g, double(k), at.z_shift)) - double(m), f.row_width));
        rows += here > 0, pairs += here;
      }
      if (channels > 0) total += channels * rows + pairs;
    }
  return 2 * total;
}

std::uint64_t brute_force(multiaxis_scan const& s) {
  auto const& g = s.geometry();
  std::uint64_t total = 0;
  for (auto const& at : s.positions())
    for (auto const p : s.full_indices()) {
      double const x = column_x(g, double(p % g.recon_cols)), y = row_y(g, double(p / g.recon_cols));
      auto const a = parallel_footprint(g, at.cosine, at.sine, x, y);
      auto const b = multiaxis_rows(g, at.cosine, at.sine, at.cos_elevation, at.sin_elevation, x, y);
      std::uint64_t channels = 0, rows = 0, pairs = 0;
      for (index_t n = 0; n < g.channels; ++n) channels += nonzero(overlap(a.centre - double(n), a.width));
      for (index_t m = 0; m < g.rows; ++m) {
        std::uint64_t here = 0;
        for (index_t k = 0; k < g.slices; ++k)
          here += nonzero(overlap(b.centre + b.step * double(k) - double(m), b.width));
        rows += here > 0;
        pairs += here;
      }
      if (channels > 0) total += channels * rows + pairs;
    }
  return 2 * total;
}

TEST(MinimalFlops, MultiaxisEqualsBruteForce) {
  for (double const pitch : {1.1, 3.3, 0.23})
    for (float const elevation : {0.4f, 1.3f, 2.9f}) {
      multiaxis_parameters p;
      p.sinogram_shape = {4, 17, 23};
      p.angles = {0.1f, elevation, 1.3f, -elevation, 2.9f, elevation, 4.4f, -elevation};
      p.delta_det_row = pitch;
      p.recon_shape = {{17, 21, 13}};
      multiaxis_scan const s(p);
      EXPECT_EQ(minimal_flops(s, s.full_indices(), weight_use::projection), brute_force(s)) << pitch << ' ' << elevation;
    }
}
TEST(MinimalFlops, ParallelEqualsBruteForce) {
  for (double const voxel : {0.5, 0.8, 3.0}) {
    auto const s = mbirk::testing::odd_parallel(voxel);
    EXPECT_EQ(minimal_flops(s, s.full_indices(), weight_use::projection), brute_force(s));
  }
}
TEST(MinimalFlops, ConeEqualsBruteForce) {
  for (double const pitch : {1.1, 3.3, 0.23}) {
    auto const s = mbirk::testing::odd_cone(pitch, false);
    EXPECT_EQ(minimal_flops(s, s.full_indices(), weight_use::projection), brute_force(s));
  }
  auto const curved = mbirk::testing::odd_cone(1.1, true);
  EXPECT_EQ(minimal_flops(curved, curved.full_indices(), weight_use::projection), brute_force(curved));
}
TEST(MinimalFlops, CountedFlopsAreNotFewer) {
  auto const s = mbirk::testing::square_parallel(16);
  EXPECT_GT(minimal_flops(s, s.full_indices(), weight_use::unweighted_hessian), 0u);
  EXPECT_EQ(minimal_flops(s, s.full_indices(), weight_use::unweighted_hessian) * 16,
            minimal_flops(s, s.full_indices(), weight_use::projection));
}

}  // namespace
