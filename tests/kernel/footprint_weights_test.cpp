// The weights of a group of pixels, in float over packs, against the footprints of the definition in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "mbirk/definition/cone.hpp"
#include "mbirk/kernel/host/cone_view.hpp"
#include "mbirk/kernel/shared/layout.hpp"

namespace {

using namespace mbirk;
using B = simd::native_backend;

parallel_scan parallel_with(double voxel) {
  parallel_parameters p{.sinogram_shape = {9, 2, 11},
                        .angles = {},
                        .det_channel_offset = 0.3,
                        .delta_voxel = voxel,
                        .voxel_row_aspect = 1.1,
                        .recon_shape = std::array<index_t, 3>{8, 8, 2}};
  for (int v = 0; v < 9; ++v) p.angles.push_back(0.2f + 0.71f * static_cast<float>(v));
  return parallel_scan(p);
}

/// Weights that a pass gives to channels, by the definition: 0 for channels of another pass.
double defined_weight(parallel_scan const& s, index_t view, index_t i, index_t j, index_t channel) {
  auto const& g = s.geometry();
  auto const& at = s.positions()[static_cast<std::size_t>(view)];
  auto const f = definition::parallel_footprint(g, at.cosine, at.sine, definition::column_x(g, static_cast<double>(j)),
                                                definition::row_y(g, static_cast<double>(i)));
  return f.chord * definition::overlap(f.centre - static_cast<double>(channel), f.width);
}

TEST(Overlap, IsAShareOfItsLargestValue) {
  for (double const width : {1e-6, 0.3, 1.0, 1.4, 7.3}) {
    double const unit = std::min(1.0, width);
    for (double distance = -5; distance <= 5; distance += 0.05)
      ASSERT_NEAR(unit * definition::overlap_share(distance / unit, 0.5 * (width + 1) / unit),
                  definition::overlap(distance, width), 1e-15)
          << width << ' ' << distance;
  }
}

// All passes of a view together give each channel its weight, once; taps beside the detector fall into the guards.
// Error of each weight: the fraction to 2^-25, the width and three sums of numbers up to 1 + W, the chord and the
// product: 8 roundings of 1 + W, times the chord (squared: twice).
TEST(ParallelPasses, AddUpToTheFootprint) {
  for (double const voxel : {0.3, 0.9, 1.4, 2.6, 7.3}) {
    auto const s = parallel_with(voxel);
    auto const& g = s.geometry();
    auto const plan = kernel::plan_grid(8, 8, nullptr, 8, 1);
    for (auto const& [squared, is_tile] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      std::vector<double> sum(static_cast<std::size_t>(9 * 64 * 11));
      std::vector<std::int32_t> first(64 + B::lanes);
      std::vector<float> weights(3 * 64 + B::lanes);
      for (auto const& pass : kernel::make_view_taps(s)) {
        kernel::footprint_weights<B>(
            pass, squared, g.channels, is_tile, plan.rows.data(), plan.cols.data(), 64, first.data(),
            [&](int tap, int k, auto value) { B::store(weights.data() + tap * 64 + k, value); });
        for (std::size_t p = 0; p < 64; ++p)
          for (int t = 0; t < pass.taps; ++t) {
            index_t const channel = first[p] + t - kernel::guard_channels;
            ASSERT_TRUE(channel >= -kernel::guard_channels && channel < g.channels + kernel::guard_channels);
            if (channel >= 0 && channel < g.channels)
              sum[static_cast<std::size_t>((pass.view * 64 + static_cast<index_t>(p)) * 11 + channel)] +=
                  weights[static_cast<std::size_t>(t) * 64 + p];
          }
      }
      double const largest = g.delta_x * g.delta_y / std::min(g.delta_x, g.delta_y) * 1.5, width = 1.1 * voxel;
      for (index_t v = 0; v < 9; ++v)
        for (index_t p = 0; p < 64; ++p)
          for (index_t n = 0; n < 11; ++n) {
            double const w =
                defined_weight(s, v, plan.rows[static_cast<std::size_t>(p)], plan.cols[static_cast<std::size_t>(p)], n);
            double const error = 8 * (1 + width) * 0x1p-24 * largest;
            EXPECT_NEAR(sum[static_cast<std::size_t>((v * 64 + p) * 11 + n)], squared ? w * w : w,
                        squared ? 2 * largest * error : error)
                << voxel << ": " << v << ", " << p << ", " << n;
          }
    }
  }
}

TEST(ParallelPasses, TapsFollowTheWidth) {
  auto const count = [](double voxel, int taps, bool window) {
    int n = 0, views = 0;
    for (auto const& p : kernel::make_view_taps(parallel_with(voxel)))
      n += p.taps == taps && p.window == window, views += p.first_tap == 0;
    EXPECT_EQ(views, 9) << "each view begins with its first tap";
    return n;
  };
  EXPECT_EQ(count(0.3, 2, false), 9);
  EXPECT_EQ(count(1.9, 3, false) + count(1.9, 3, true) / 2, 9)
      << "a footprint of up to 2.09 takes two passes where it is wider than 2";
  EXPECT_GE(count(7.3, 3, true), 9 * 2);
}

TEST(ParallelPasses, TilesAreSortedByChannel) {
  for (auto const& pass : kernel::make_view_taps(parallel_with(0.9))) {
    std::int32_t order[kernel::group_pixels];
    kernel::sort_tile(pass, order);
    std::set<std::int32_t> seen;
    double last = -1e30;
    for (auto const k : order) {
      seen.insert(k);
      double const edge = pass.row_step * (k / 8) + pass.col_step * (k % 8);
      EXPECT_GE(edge, last);
      last = edge;
    }
    EXPECT_EQ(seen.size(), 64u);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), 63);
  }
}

/// One group of a cone scan with its scratch.
struct cone_group {
  explicit cone_group(cone_parameters const& p)
      : s(p),
        padded(round_up(s.geometry().slices, B::lanes)),
        table(kernel::make_elevations(s, padded)),
        plan(kernel::plan_grid(s.geometry().recon_rows, s.geometry().recon_cols, nullptr, 8, 1)),
        view{s.geometry(),         plan.rows.data(), plan.cols.data(),
             s.positions().data(), table.t.data(),   table.largest.data(),
             table.stride,         padded,           false} {
    kernel::scratch_layout layout;
    view.plan_scratch(layout);
    memory.resize(static_cast<std::size_t>(layout.bytes() / 8));
  }
  definition::cone_footprint<double> footprint(index_t v, std::size_t q) const {
    return definition::cone_footprint_at<double>(s, v, index_t{plan.rows[q]} * s.geometry().recon_cols + plan.cols[q]);
  }
  kernel::native_scratch scratch() { return {reinterpret_cast<std::byte*>(memory.data())}; }
  cone_scan s;
  index_t padded;
  kernel::elevation_table table;
  kernel::pixel_plan plan;
  kernel::cone_view<B> view;
  std::vector<double> memory;
};

cone_parameters cone_with(double iso, double voxel) {
  return {.sinogram_shape = {3, 6, 11},
          .angles = {0.2f, 1.7f, 4.0f},
          .source_detector_dist = 2 * iso,
          .source_iso_dist = iso,
          .delta_voxel = voxel,
          .recon_shape = std::array<index_t, 3>{8, 8, 21},
          .recon_slice_offset = 0.4};
}

// sec = sqrt(1 + G t): to first order for groups that allow it (a remainder of two roundings), by the root elsewhere;
// then one rounding each of the root, the slope, the difference of G, and the sum.
TEST(ConeSecants, AreTheRootsWhicheverWayTheyAreTaken) {
  int linear = 0, roots = 0;
  for (double iso = 9; iso < 500; iso *= 1.17) {  // through the border between the two ways
    for (bool const helical : {false, true}) {
      auto p = cone_with(iso, 0.8);
      if (helical) p.helical_z_shifts = {-1.0f, 4.0f, 9.0f};  // views of one scan on either side of it
      cone_group group(p);
      auto const s = group.scratch();
      for (index_t v = 0; v < 3; ++v) {
        auto const sum = group.view.prepare(group.plan.groups[0], v, true, false, s);
        float const centre = group.view.prepare_secants(v, sum, s);
        (centre >= 0 ? linear : roots)++;
        if (centre < 0) continue;
        auto const* value = s.at<float>(group.view.secants);
        auto const* square = group.view.found(s).square();
        for (std::size_t q = 0; q < 64; ++q)
          for (index_t k = 0; k < 21; ++k) {
            double const m = group.footprint(v, q).magnification;
            double const z = definition::slice_z(group.s.geometry(), static_cast<double>(k),
                                                 group.s.positions()[static_cast<std::size_t>(v)].z_shift);
            double const sec = std::hypot(1.0, m * z * group.s.geometry().inverse_detector_dist);
            double const found = value[k] + (static_cast<double>(square[q]) - static_cast<double>(centre)) *
                                                static_cast<double>(value[group.padded + k]);
            EXPECT_NEAR(found, sec, 6 * 0x1p-24 * sec) << iso << ": " << v << ", " << q << ", " << k;
          }
      }
    }
  }
  EXPECT_GT(linear, 0);
  EXPECT_GT(roots, 0);
}

// The parallel-beam check, window by window, with 5 more roundings for the chord (narrowed operands, a root, two
// products); and the sum of squares of the taps that hit the detector.
TEST(ConeChannelWeights, AddUpToTheFootprint) {
  for (double const voxel : {0.25, 0.45, 0.8, 2.2}) {
    cone_group group(cone_with(14, voxel));
    auto const& g = group.s.geometry();
    auto const s = group.scratch();
    auto const& pixels = group.plan.groups[0];
    for (index_t v = 0; v < 3; ++v)
      for (int const power : {1, 2}) {
        auto const summary = group.view.prepare(pixels, v, false, false, s);
        std::vector<double> found(64 * 11), clipped(64);
        for (bool const clip : {false, true}) {
          auto window = group.view.first_window(summary.widest);
          do {
            group.view.channel_weights(pixels, window, power, clip, s);
            auto const* w = group.view.found(s).weights;
            auto const* first = group.view.found(s).first_channel;
            for (std::size_t q = 0; q < 64; ++q) {
              if (clip) clipped[q] += w[q];
              for (int t = 0; t < window.taps && !clip; ++t) {
                index_t const n = first[q] + t - kernel::guard_channels;
                ASSERT_TRUE(n >= -kernel::guard_channels && n < g.channels + kernel::guard_channels);
                if (n >= 0 && n < g.channels)
                  found[q * 11 + static_cast<std::size_t>(n)] += w[static_cast<std::size_t>(t) * 64 + q];
              }
            }
          } while (group.view.next_window(window, summary.widest));
        }
        for (std::size_t q = 0; q < 64; ++q) {
          auto const f = group.footprint(v, q).channel;
          double const largest = f.chord * std::min(1.0, f.width),
                       error = (13 + 8 * f.width) * f.chord * 0x1p-24 * (power == 2 ? 2 * largest : 1);
          double sum = 0;
          for (index_t n = 0; n < g.channels; ++n) {
            double const w = f.chord * definition::overlap(f.centre - static_cast<double>(n), f.width),
                         expected = power == 2 ? w * w : w;
            EXPECT_NEAR(found[q * 11 + static_cast<std::size_t>(n)], expected, error)
                << voxel << ": " << v << ", " << q << ", " << n;
            sum += expected;
          }
          EXPECT_NEAR(clipped[q], sum, (f.width + 2) * error) << voxel << ": " << v << ", " << q;
        }
      }
  }
}

// Steps and starts are exact to double: positions of slices in rows, and of rows in slices. Every overlap is in reach,
// and little more.
TEST(ConeRows, StartAndStepMapSlicesToRowsAndBack) {
  for (double const shift : {0.0, 3.5, -60.0}) {  // a helix takes the slices out of sight
    auto p = cone_with(14, 0.45);
    p.helical_z_shifts = {static_cast<float>(shift), 0.0f, -static_cast<float>(shift)};
    cone_group group(p);
    auto const& g = group.s.geometry();
    auto const s = group.scratch();
    auto const found = group.view.found(s);
    for (index_t v = 0; v < 3; ++v)
      for (bool const towards_rows : {false, true}) {
        group.view.prepare(group.plan.groups[0], v, towards_rows, false, s);
        double const z0 = definition::slice_z(g, 0.0, group.s.positions()[static_cast<std::size_t>(v)].z_shift);
        for (std::size_t q = 0; q < 64; ++q) {
          auto const f = group.footprint(v, q);
          double const edge = definition::detector_row(g, f.magnification, z0) + 0.5 - f.row_width / 2;
          double const step = towards_rows ? 1 / f.row_width : f.row_width,
                       start = towards_rows ? -edge / f.row_width : edge;
          EXPECT_NEAR(kernel::step_of<B>(found.advance[q]), step, 1e-14);
          EXPECT_NEAR(found.position[q] * 0x1p-32, start, 1e-12);
          EXPECT_NEAR(found.inverse_step()[q], 1 / step, 0x1p-24 / step);
          index_t const cells = towards_rows ? g.slices : g.rows,
                        packs = ceil_div(towards_rows ? g.rows : g.slices, index_t{B::lanes});
          for (index_t n = 0; n < packs; ++n) {
            double const from = start + step * static_cast<double>(n * B::lanes), to = from + step * B::lanes,
                         slack = 2e-3 * step * B::lanes;
            bool const in_reach = found.reach_first()[q] <= n && n < found.reach_end()[q];
            double const last = static_cast<double>(cells);
            EXPECT_TRUE(in_reach || to <= 0 || from >= last) << shift << ": " << v << ", " << q << ", " << n;
            EXPECT_TRUE(!in_reach || (to >= -slack && from <= last + slack))
                << shift << ": " << v << ", " << q << ", " << n;
          }
        }
      }
  }
}

}  // namespace
