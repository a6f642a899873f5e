// Calibration: planted offsets and rolls are found, by cone beams, parallel rays and noisy measurements.
#include "mbirk/recon/calibrate.hpp"

#include <numbers>
#include <random>

#include "recon/recon_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

constexpr double degree = std::numbers::pi / 180;

/// Balls of different sizes beside the axis.
void put_balls(view<float, 3> x) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> place(0.2, 0.8), size(0.05, 0.15);
  for (int ball = 0; ball < 12; ++ball) {
    std::array<double, 3> middle;
    for (int d = 0; d < 3; ++d) middle[static_cast<std::size_t>(d)] = place(random) * static_cast<double>(x.extent(d));
    double const radius = size(random) * static_cast<double>(x.extent(0));
    for (index_t i = 0; i < x.extent(0); ++i)
      for (index_t j = 0; j < x.extent(1); ++j)
        for (index_t k = 0; k < x.extent(2); ++k)
          if (std::hypot(static_cast<double>(i) - middle[0], static_cast<double>(j) - middle[1],
                         static_cast<double>(k) - middle[2]) < radius)
            x(i, j, k) += 1;
  }
}

/// What a misaligned scanner measures.
array<3> measured(general_parameters const& p, misalignment const& m, double noise = 0) {
  general_scan const s(misaligned(p, m));
  array<3> object(s.recon_shape()), y(s.sinogram_shape());
  put_balls(object.all());
  forward_project(on_host(), s, object.all(), y.all());
  std::mt19937 random(5);
  std::normal_distribution<double> value(0, noise * *std::max_element(y.data.begin(), y.data.end()));
  if (noise > 0)
    for (float& v : y.data) v += static_cast<float>(value(random));
  return y;
}

general_parameters some_cone() { return to_general(cone_geometry::typical_scan({24, 16, 24})); }

general_parameters some_rays() {
  parallel_parameters p{.sinogram_shape = {24, 12, 24}, .angles = {}};
  for (int v = 0; v < 24; ++v) p.angles.push_back(static_cast<float>(2 * std::numbers::pi * v / 24));
  return to_general(p);
}

TEST(Calibrate, MisalignedMovesAndTurnsDetectors) {
  auto const p = some_cone();
  auto const same = misaligned(p, {});
  EXPECT_EQ(same.view_vectors, p.view_vectors);
  auto const q = misaligned(p, {.det_channel_offset = 0.5, .det_row_offset = -0.25, .detector_roll = 90 * degree});
  for (index_t v = 0; v < p.sinogram_shape[0]; ++v) {
    auto const before = mbirk::detail::general_view::of(p.view_vectors, v),
               after = mbirk::detail::general_view::of(q.view_vectors, v);
    double const pitch = length(before.u), row_pitch = length(before.v);
    EXPECT_LE(length(after.detector - (before.detector - before.u * (0.5 / pitch) + before.v * (0.25 / row_pitch))),
              1e-12);
    EXPECT_LE(length(after.u - before.v * (pitch / row_pitch)), 1e-12);
    EXPECT_LE(length(after.v + before.u * (row_pitch / pitch)), 1e-12);
  }
  // An offset of the detector is that of the cone beam.
  auto cone = cone_geometry::typical_scan({24, 16, 24});
  auto const shifted = misaligned(to_general(cone), {.det_channel_offset = 0.5, .det_row_offset = -0.25});
  cone.det_channel_offset = 0.5, cone.det_row_offset = -0.25;
  auto const direct = to_general(cone);
  for (std::size_t k = 0; k < direct.view_vectors.size(); ++k)
    EXPECT_NEAR(shifted.view_vectors[k], direct.view_vectors[k], 1e-9) << k;
}

TEST(Calibrate, FindsOffsetAndRollOfAConeBeam) {
  auto const p = some_cone();
  double const pitch = length(mbirk::detail::general_view::of(p.view_vectors, 0).u);
  misalignment const planted{.det_channel_offset = 1.3 * pitch, .detector_roll = -1.7 * degree};
  auto const y = measured(p, planted);
  int called = 0;
  auto const c = calibrate(on_host(), p, y.all(), {.iterations = 20, .progress = [&](int done) {
                             EXPECT_EQ(done, called++);
                           }});
  EXPECT_NEAR(c.found.det_channel_offset / pitch, 1.3, 0.03);
  EXPECT_NEAR(c.found.detector_roll, planted.detector_roll, 0.1 / 12);
  EXPECT_EQ(c.found.det_row_offset, 0);
  EXPECT_EQ(c.deviation.det_row_offset, 0);
  EXPECT_GT(c.deviation.detector_roll, 0);
  EXPECT_EQ(c.reconstructions, called);
  EXPECT_LT(c.residual, 0.7 * c.residual_before);
}

TEST(Calibrate, FindsOffsetAndRollOfParallelRays) {
  auto const p = some_rays();
  misalignment const planted{.det_channel_offset = -0.8, .detector_roll = 1.2 * degree};
  auto const c = calibrate(on_host(), p, measured(p, planted).all());
  EXPECT_NEAR(c.found.det_channel_offset, -0.8, 0.03);
  // A tenth of a row at the outermost channel.
  EXPECT_NEAR(c.found.detector_roll, planted.detector_roll, 0.1 / 12);
}

// Noise of 2 % of the largest value; the deviation that is reported bounds the error with some room.
TEST(Calibrate, NoiseIsSeenInTheDeviation) {
  auto const p = some_rays();
  auto const quiet = calibrate(on_host(), p, measured(p, {.det_channel_offset = 0.6}).all(),
                               {.detector_roll = false, .iterations = 6});
  auto const noisy = calibrate(on_host(), p, measured(p, {.det_channel_offset = 0.6}, 0.02).all(),
                               {.detector_roll = false, .iterations = 6});
  EXPECT_NEAR(noisy.found.det_channel_offset, 0.6, 0.1);
  EXPECT_GT(noisy.deviation.det_channel_offset, quiet.deviation.det_channel_offset);
  EXPECT_GT(noisy.residual, quiet.residual);
}

// A scan of 3 x 2 pixels per cell is reduced to its means, with the rays through the middle of each cell.
TEST(Calibrate, ReducedScansSeeTheSame) {
  auto const p = to_general(cone_geometry::typical_scan({6, 13, 16}));
  array<3> y(p.sinogram_shape);
  for (index_t v = 0; v < 6; ++v)
    for (index_t m = 0; m < 13; ++m)
      for (index_t n = 0; n < 16; ++n) y.all()(v, m, n) = static_cast<float>(100 * v + 10 * m + n);
  auto const small = mbirk::detail::reduce(p, y.all(), 3, 2);
  EXPECT_EQ(small.parameters.sinogram_shape, (std::array<index_t, 3>{3, 4, 5}));
  view<float const, 3> const z(small.sinogram.data(), {3, 4, 5});
  EXPECT_FLOAT_EQ(z(1, 2, 3), 200 + 70 + 10);
  auto const before = mbirk::detail::general_view::of(p.view_vectors, 2),
             after = mbirk::detail::general_view::of(small.parameters.view_vectors, 1);
  auto const pixel = [](mbirk::detail::general_view const& s, double m, double n, double rows, double channels) {
    return s.detector + s.u * (n - 0.5 * (channels - 1)) + s.v * (m - 0.5 * (rows - 1));
  };
  EXPECT_LE(length(pixel(before, 7, 10, 13, 16) - pixel(after, 2, 3, 4, 5)), 1e-12);
  EXPECT_EQ(*small.parameters.recon_shape, (std::array<index_t, 3>{6, 6, 5}));
}

TEST(Calibrate, BadInput) {
  auto const p = some_rays();
  array<3> const y(p.sinogram_shape);
  auto const fails = [&](calibration_options const& o, std::string const& message, general_parameters const& scan,
                         view<float const, 3> values) {
    try {
      calibrate(on_host(), scan, values, o);
      ADD_FAILURE() << message;
    } catch (mbirk::error const& e) {
      EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
    }
  };
  fails({.det_channel_offset = false, .detector_roll = false}, "nothing to search", p, y.all());
  fails({.cells = 8}, "cells is 8", p, y.all());
  fails({.iterations = 0}, "iterations 0", p, y.all());
  fails({.det_row_offset = true}, "expected rays from a source", p, y.all());
  fails({}, "energy 0", p, y.all());
  fails({}, "expected (views, rows, channels)", p, view<float const, 3>(y.data.data(), {1, 2, 3}));
  auto const low = to_general(cone_geometry::typical_scan({24, 4, 24}));
  array<3> const rows(low.sinogram_shape);
  fails({}, "has 4 rows", low, rows.all());
  auto const few = to_general(cone_geometry::typical_scan({4, 16, 24}));
  array<3> const views(few.sinogram_shape);
  fails({}, "has 4 views", few, views.all());
  fails({.progress = [](int done) { require(done < 2, [] { return std::string("enough"); }); }}, "enough", p, [&] {
    static array<3> const some = measured(some_rays(), {});
    return some.all();
  }());
}

}  // namespace
