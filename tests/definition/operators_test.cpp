// Properties of the defined operators that follow from the mathematics, and guarantees of the plain interpreter to a
// definition.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

#include "definition/support.hpp"
#include "mbirk/definition/minimal.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

double const eps = std::numeric_limits<double>::epsilon();
double const infinity = std::numeric_limits<double>::infinity();

std::vector<double> random_values(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> in(0, 1);
  std::vector<double> v(n);
  for (auto& x : v) x = in(engine);
  return v;
}
pixel_list every_pixel(std::array<index_t, 3> const& recon) {
  pixel_list p(static_cast<std::size_t>(recon[0] * recon[1]));
  std::iota(p.begin(), p.end(), 0);
  return p;
}

cone_parameters some_cone() {
  return {.sinogram_shape = {5, 6, 40},
          .angles = {0.1f, 0.9f, 2.2f, 3.3f, 5.0f},
          .source_detector_dist = 60,
          .source_iso_dist = 35,
          .delta_det_row = 1.1,
          .det_row_offset = 0.2,
          .delta_voxel = 0.8,
          .recon_shape = std::array<index_t, 3>{7, 8, 5}};
}
parallel_parameters some_parallel() {
  return {.sinogram_shape = {5, 4, 24},
          .angles = {0.1f, 0.9f, 2.2f, 3.3f, 5.0f},
          .det_channel_offset = 0.3,
          .delta_voxel = 1.2,
          .voxel_row_aspect = 1.3,
          .recon_shape = std::array<index_t, 3>{7, 8, 4}};
}

// No footprint of the 8 x 7 grid leaves the 24 channels, so a column of the matrix sums to its mass: 40 roundings of
// numbers of size 24.
TEST(DefinedParallel, ColumnSumsDoNotDependOnTheAngle) {
  parallel_scan const s(some_parallel());
  auto const& g = s.geometry();
  for (auto const p : every_pixel(s.recon_shape())) {
    auto const y = define_forward(s, std::vector<double>{1, 0, 0, 0}, {p});
    for (index_t v = 0; v < g.views; ++v) {
      auto const from = y.begin() + v * g.rows * g.channels;
      EXPECT_NEAR(std::accumulate(from, from + g.channels, 0.0), g.delta_x * g.delta_y / g.delta_det_channel,
                  40 * 24 * eps)
          << p << ", " << v;
    }
  }
}

TEST(DefinedCone, ChannelSumsAreTheMagnifiedArea) {
  for (bool const curved : {false, true}) {
    auto parameters = some_cone();
    parameters.use_curved_detector = curved;
    cone_scan const s(parameters);
    auto const& g = s.geometry();
    for (auto const p : every_pixel(s.recon_shape()))
      for (index_t v = 0; v < g.views; ++v) {
        auto const f = definition::cone_footprint_at<double>(s, v, index_t{p});
        double sum = 0;
        for (index_t n = 0; n < g.channels; ++n)
          sum += f.channel.chord * definition::overlap(f.channel.centre - static_cast<double>(n), f.channel.width);
        double const u = (f.channel.centre - 19.5) * g.delta_det_channel,
                     secant = curved ? 1 : std::hypot(1.0, u * g.inverse_detector_dist);
        EXPECT_NEAR(sum, g.delta_x * g.delta_y * f.magnification * secant / g.delta_det_channel, 80 * 40 * eps)
            << p << ", " << v;
      }
  }
}

TEST(DefinedCone, InfiniteDistanceIsParallelBeam) {
  auto const from = some_parallel();
  parallel_scan const parallel(from);
  cone_parameters p{.sinogram_shape = from.sinogram_shape,
                    .angles = from.angles,
                    .source_detector_dist = infinity,
                    .source_iso_dist = 0};
  p.delta_voxel = from.delta_voxel, p.voxel_row_aspect = from.voxel_row_aspect, p.recon_shape = from.recon_shape,
  p.det_channel_offset = 0.3;
  p.delta_det_row = *p.delta_voxel;  // the slice pitch: slice k is row k
  cone_scan const cone(p);
  for (index_t v = 0; v < 5; ++v)
    for (index_t q = 0; q < 56; ++q) {
      auto const& at = parallel.positions()[static_cast<std::size_t>(v)];
      auto const& g = parallel.geometry();
      auto const a =
          definition::parallel_footprint(g, at.cosine, at.sine, definition::column_x(g, static_cast<double>(q % 8)),
                                         definition::row_y(g, static_cast<double>(q / 8)));
      auto const b = definition::cone_footprint_at<double>(cone, v, q);
      EXPECT_EQ(a.centre, b.channel.centre);
      EXPECT_EQ(a.width, b.channel.width);
      EXPECT_EQ(a.chord, b.channel.chord);
    }
  auto const pixels = every_pixel(parallel.recon_shape());
  auto const x = random_values(pixels.size() * 4, 3);
  auto const a = define_forward(parallel, x, pixels), b = define_forward(cone, x, pixels);
  for (std::size_t k = 0; k < a.size(); ++k)
    EXPECT_NEAR(a[k], b[k], 60 * 8 * eps) << k;  // W_r and m_p are 1 and k to a rounding; sums of 56
}

template <class Scan> void expect_adjoint(Scan const& s, unsigned seed) {
  auto const pixels = every_pixel(s.recon_shape());
  auto const x = random_values(count_of(s.recon_shape()), seed),
             y = random_values(count_of(s.sinogram_shape()), seed + 1);
  auto const ax = define_forward(s, x, pixels), aty = define_back(s, y, pixels, 1);
  double const left = std::inner_product(ax.begin(), ax.end(), y.begin(), 0.0),
               right = std::inner_product(x.begin(), x.end(), aty.begin(), 0.0);
  ASSERT_GT(left, 0);
  EXPECT_NEAR(left / right, 1,
              1e-13);  // sums of positive numbers: some sqrt(5000) roundings, far below 5000 eps = 1e-12
}
TEST(DefinedParallel, BackIsTheTranspose) { expect_adjoint(parallel_scan(some_parallel()), 11); }
TEST(DefinedCone, BackIsTheTranspose) {
  auto p = some_cone();
  expect_adjoint(cone_scan(p), 13);
  p.helical_z_shifts = {-1, 0, 0.5f, 1, 2}, p.use_curved_detector = true, p.delta_det_row = 3;
  expect_adjoint(cone_scan(p), 17);
}

// Entries of A one voxel at a time; the operator of power two has their squares.
TEST(DefinedCone, PowerTwoSquaresTheEntries) {
  auto parameters = some_cone();
  parameters.recon_shape = {3, 4, 3};
  cone_scan const s(parameters);
  auto const pixels = every_pixel(s.recon_shape());
  std::vector<double> const ones(count_of(s.sinogram_shape()), 1.0);
  auto const hessian = define_back(s, ones, pixels, 2);
  for (std::size_t p = 0; p < pixels.size(); ++p)
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<double> x(3);
      x[k] = 1;
      auto const column = define_forward(s, x, {pixels[p]});
      EXPECT_NEAR(std::inner_product(column.begin(), column.end(), column.begin(), 0.0) / hessian[p * 3 + k], 1,
                  100 * eps)
          << p << ", " << k;
    }
}

TEST(Minimal, CountsTheWeightsThatAreNotZero) {
  parallel_scan const s(some_parallel());
  auto const pixels = every_pixel(s.recon_shape());
  std::uint64_t taps = 0;
  for (auto const p : pixels)
    for (double const y : define_forward(s, std::vector<double>{1, 0, 0, 0}, {p})) taps += y != 0;
  EXPECT_EQ(minimal_flops(s, pixels, definition::weight_use::projection), 2 * taps * 4);
  EXPECT_EQ(minimal_flops(s, pixels, definition::weight_use::unweighted_hessian), 2 * taps);
  EXPECT_EQ(minimal_flops(s, {}, definition::weight_use::projection), 0u);
}

TEST(Minimal, CountsConeWeightsOfBothSteps) {
  auto parameters = some_cone();
  parameters.sinogram_shape = {5, 3, 9};  // rows and channels miss a part of the grid
  cone_scan const s(parameters);
  auto const& g = s.geometry();
  auto const pixels = every_pixel(s.recon_shape());
  std::uint64_t projection = 0, unit = 0;
  for (index_t v = 0; v < g.views; ++v)
    for (auto const p : pixels) {
      auto const f = definition::cone_footprint_at<double>(s, v, index_t{p});
      std::uint64_t channels = 0, row_taps = 0;
      for (index_t n = 0; n < g.channels; ++n)
        channels += definition::overlap(f.channel.centre - static_cast<double>(n), f.channel.width) > 0;
      std::vector<bool> row(static_cast<std::size_t>(g.rows)), slice(static_cast<std::size_t>(g.slices));
      for (index_t k = 0; k < g.slices; ++k)
        for (index_t m = 0; m < g.rows; ++m) {
          double const z =
              definition::slice_z(g, static_cast<double>(k), s.positions()[static_cast<std::size_t>(v)].z_shift);
          if (definition::cone_row_weight(g, f, z, m) <= 0) continue;
          ++row_taps, row[static_cast<std::size_t>(m)] = true, slice[static_cast<std::size_t>(k)] = true;
        }
      if (channels == 0 || row_taps == 0) continue;
      projection += channels * static_cast<std::uint64_t>(std::count(row.begin(), row.end(), true)) + row_taps;
      unit += channels + row_taps + static_cast<std::uint64_t>(std::count(slice.begin(), slice.end(), true));
    }
  EXPECT_EQ(minimal_flops(s, pixels, definition::weight_use::projection), 2 * projection);
  EXPECT_EQ(minimal_flops(s, pixels, definition::weight_use::unweighted_hessian), 2 * unit);
}

TEST(PlainInterpreter, LoopsSumsAndStores) {
  definition::plain_interpreter<double> m;
  std::vector<int> seen;
  m.each("s", {"a", 2}, {"b", 3}, [&](index_t i, index_t j) { seen.push_back(static_cast<int>(10 * i + j)); });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(m.sum("k", 4, [](index_t i) { return static_cast<double>(i * i); }), 14);
  EXPECT_EQ(m.sum("k", 0, [](index_t) { return 1.0; }), 0) << "an empty sum";
  std::vector<double> data(6, 1.0);
  view<double, 2> const a(data.data(), {2, 3});
  m.store(a, 5.0, index_t{1}, index_t{2});
  m.add(a, 2.0, index_t{0}, index_t{0});
  m.add(a, 9.0, index_t{0}, index_t{3});   // beyond the row: dropped, not added to the next row
  m.add(a, 9.0, index_t{0}, index_t{-1});
  m.add(a, 9.0, index_t{2}, index_t{0});
  EXPECT_EQ(data, (std::vector<double>{3, 1, 1, 1, 1, 5}));
}

// Nothing is loaded if there is no element: memory in front of the array is not read.
TEST(PlainInterpreter, InputsWithoutElementsLoadZero) {
  definition::plain_interpreter<double> m;
  std::vector<float> const data{7, 7, 7, 7};
  EXPECT_EQ(m.input(view<float const, 2>(data.data() + 2, {2, 0})).clamped(index_t{1}, index_t{0}), 0);
  EXPECT_EQ(m.input(view<float const, 2>(data.data() + 2, {0, 2})).clamped(index_t{0}, index_t{1}), 0);
}
TEST(DefinedCone, EmptyAxesAreZero) {
  std::vector<float> const seven{7, 7};
  ASSERT_EQ(
      definition::plain_interpreter<double>{}.input(view<float const, 1>(seven.data() + 1, {0})).clamped(index_t{0}),
      0);
  auto p = some_cone();
  p.recon_shape = {7, 8, 0};
  for (double const y : define_forward(cone_scan(p), std::vector<float>{}, {3, 4})) EXPECT_EQ(y, 0);
  p = some_cone();
  for (std::size_t const axis : {1, 2}) {
    p.sinogram_shape = {5, 6, 40};
    p.sinogram_shape[axis] = 0;
    for (double const x : define_back(cone_scan(p), std::vector<float>{}, {3, 4}, 1)) EXPECT_EQ(x, 0);
  }
}

TEST(PlainInterpreter, InputsConvertAndClamp) {
  definition::plain_interpreter<double> m;
  std::vector<float> const data{1, 2, 3, 4, 5, 6};
  auto const in = m.input(view<float const, 2>(data.data(), {2, 3}));
  static_assert(std::is_same_v<decltype(in.at(0, 0)), double>);
  EXPECT_EQ(in.at(1, 2), 6);
  EXPECT_EQ(in.clamped(index_t{0}, index_t{7}), 3);
  EXPECT_EQ(in.clamped(index_t{-4}, index_t{1}), 2);
  EXPECT_EQ(in.clamped(index_t{9}, index_t{-1}), 4);
}

}  // namespace
