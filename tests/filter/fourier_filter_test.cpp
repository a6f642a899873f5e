// The ramp filter by Fourier transforms against a direct sum in double, and the rule that selects it. Requirements on
// both forms: direct_filter_test.cpp.
#include <limits>

#include "filter/support.hpp"
#include "mbirk/filter/direct_filter.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// The sum in double, with either taps.
template <class Scan> std::vector<double> define_sum(Scan const& s, array<3> const& y, ramp_taps taps) {
  if (taps == ramp_taps::closed) return define_filter(s, y.data);
  auto const& g = s.geometry();
  std::vector<double> q, by_distance;
  for (index_t d = 0; d < g.channels; ++d)
    by_distance.push_back(definition::ramp_scale(g) * static_cast<double>(definition::ramp_tap_float32(d)));
  for (index_t v = 0; v < g.views; ++v)
    for (index_t m = 0; m < g.rows; ++m)
      for (index_t n = 0; n < g.channels; ++n) {
        double sum = 0;
        for (index_t k = 0; k < g.channels; ++k)
          sum += by_distance[static_cast<std::size_t>(std::abs(n - k))] *
                 definition::ramp_weight(g, static_cast<double>(m), static_cast<double>(k)) *
                 static_cast<double>(y.all()(v, m, k));
        q.push_back(sum);
      }
  return q;
}

/// The other row of a transform: (view, row), beyond the last view where there is none.
std::pair<index_t, index_t> partner(index_t rows, index_t view, index_t row) {
  index_t const lanes = simd::native_lanes, packs = ceil_div(rows, lanes), pack = row / lanes;
  if (pack + 1 == packs && packs % 2 == 1) return {view ^ 1, row};
  return {view, (pack ^ 1) * lanes + row % lanes};
}

/// The error of every row in the 2-norm, over its bound. A transform of L samples has log2(L) levels, each of which
/// adds some two roundings (product with a twiddle, sum) relative to both rows; they have no common sign, so the errors
/// of all levels of both transforms add in squares. (In the worst case they would add up, to ten times that: Higham,
/// Accuracy and Stability of Numerical Algorithms, 24.1.) Weights, spectrum, its product and the result add one each;
/// the spectrum is at most Gamma/2.
double worst_over_bound(any_scan const& s, array<3> const& y, array<3> const& q, ramp_taps taps = ramp_taps::closed) {
  return visit_direct([&](auto const& scan) {
    auto const& g = scan.geometry();
    auto const expected = define_sum(scan, y, taps);
    double const length = static_cast<double>(kernel::fourier::length_of(g.channels));
    double const roundings = 2 * std::sqrt(2 * std::log2(length)) + 4, largest = definition::ramp_scale(g) / 2;
    auto const square = [&](index_t v, index_t m) {
      double sum = 0;
      for (index_t n = 0; v < g.views && m < g.rows && n < g.channels; ++n)
        sum += std::pow(static_cast<double>(y.all()(v, m, n)), 2);
      return sum;
    };
    double worst = 0;
    for (index_t v = 0; v < g.views; ++v)
      for (index_t m = 0; m < g.rows; ++m) {
        auto const [view, row] = partner(g.rows, v, m);
        double error = 0;
        for (index_t n = 0; n < g.channels; ++n)
          error += std::pow(static_cast<double>(q.all()(v, m, n)) -
                                expected[static_cast<std::size_t>((v * g.rows + m) * g.channels + n)],
                            2);
        worst = std::max(
            worst, std::sqrt(error) / (roundings * 0x1p-24 * largest * std::sqrt(square(v, m) + square(view, row))));
      }
    return worst;
  }, s);
}

struct FourierFilter : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  array<3> const y = random_array<3>(sinogram_shape(s), 61);
};
TEST_P(FourierFilter, IsTheDefinition) {
  double worst = 0;
  for (auto const taps : {ramp_taps::closed, ramp_taps::float32})
    worst = std::max(worst, worst_over_bound(s, y, filtered(s, y, by_transforms(taps)), taps));
  EXPECT_LE(worst, 1);
  RecordProperty("worst over bound", std::to_string(worst));
}
INSTANTIATE_TEST_SUITE_P(Filter, FourierFilter, ::testing::ValuesIn(direct_cases()), case_name);

any_scan parallel_of(index_t views, index_t rows, index_t channels) {
  return parallel_scan(
      parallel_parameters{.sinogram_shape = {views, rows, channels}, .angles = equal_angles(views, definition::pi)});
}

// Every kind of length and factorisation; rows that fill no pack, an odd and an even number of packs, alone and in
// pairs across views.
TEST(FourierFilterSizes, IsTheDefinition) {
  for (index_t const channels : {1, 2, 3, 5, 16, 17, 31, 48, 49, 64, 65, 100, 129, 255, 256, 300, 449, 513, 769})
    for (shape_3 const shape : {shape_3{1, 1, channels}, shape_3{3, 5, channels}, shape_3{2, 33, channels}}) {
      if (channels > 300 && shape[1] == 33) continue;
      SCOPED_TRACE(std::to_string(channels) + " channels, " + std::to_string(shape[1]) + " rows");
      double const size = static_cast<double>(std::max(shape[1], channels));
      any_scan const cone = cone_scan(cone_parameters{.sinogram_shape = shape,
                                                      .angles = equal_angles(shape[0], 2 * definition::pi),
                                                      .source_detector_dist = 3 * size,
                                                      .source_iso_dist = 2 * size,
                                                      .det_channel_offset = 0.3});
      for (any_scan const& s : {parallel_of(shape[0], shape[1], channels), cone}) {
        auto const y = random_array<3>(shape, 62);
        auto const q = filtered(s, y, by_transforms());
        EXPECT_LE(worst_over_bound(s, y, q), 1);
        EXPECT_TRUE(same_bits(q.data, filtered(s, y, by_transforms(), 3).data));
      }
    }
}

// A wide detector with MBIRJAX's taps, which come from a float32 transform: the error is relative to the largest tap.
TEST(FourierFilter, Float32Taps) {
  index_t const channels = 1025, at = 700;
  parallel_scan const s(parallel_parameters{.sinogram_shape = {1, 1, channels}, .angles = {0.0f}});
  array<3> impulse({1, 1, channels});
  impulse.data[at] = 1;
  auto const q = filtered(s, impulse, by_transforms(ramp_taps::float32));
  double const scale = definition::ramp_scale(s.geometry());
  for (index_t n = 0; n < channels; ++n)
    EXPECT_NEAR(static_cast<double>(q.data[static_cast<std::size_t>(n)]),
                scale * static_cast<double>(definition::ramp_tap_float32(n - at)), scale / 4 * 0x1p-23)
        << n;
}

// Non-finite values stay in their transform: two rows of this view, or one of this and one of the next.
TEST(FourierFilter, OnlyPairsOfRowsAreSpoilt) {
  // three packs: the last ones of the first two views are a pair
  index_t const lanes = simd::native_lanes, rows = 2 * lanes + 3;
  any_scan const s = parallel_of(3, rows, 20);
  auto const y = random_array<3>({3, rows, 20}, 63);
  auto const before = filtered(s, y, by_transforms());
  for (auto const& [view, row] : {std::pair<index_t, index_t>{0, 1}, {0, 2 * lanes + 2}, {1, 0}, {2, rows - 1}}) {
    auto bad = y;
    bad.all()(view, row, 2) = std::numeric_limits<float>::quiet_NaN();
    auto const after = filtered(s, bad, by_transforms());
    EXPECT_TRUE(std::isnan(after.all()(view, row, 2)));
    for (index_t v = 0; v < 3; ++v)
      for (index_t m = 0; m < rows; ++m)
        if (std::pair{v, m} != std::pair{view, row} && std::pair{v, m} != partner(rows, view, row)) {
          for (index_t n = 0; n < 20; ++n) ASSERT_EQ(after.all()(v, m, n), before.all()(v, m, n)) << v << ' ' << m;
        }
  }
}

// Every policy selects the form by the rule of direct_filter: transforms from 80 channels on, from 40 on with float32
// taps.
TEST(FilterMethod, Automatic) {
  for (index_t channels = 0; channels < 300; ++channels) {
    EXPECT_EQ(detail::by_fourier(channels, {}), channels >= 80) << channels;
    EXPECT_EQ(detail::by_fourier(channels, {.taps = ramp_taps::float32}), channels >= 40) << channels;
  }
  for (index_t const channels : {39, 64, 79, 80, 130}) {
    any_scan const s = parallel_of(2, 3, channels);
    auto const y = random_array<3>({2, 3, channels}, 64);
    auto const method = detail::by_fourier(channels, {}) ? filter_method::fourier : filter_method::direct;
    EXPECT_TRUE(same_bits(filtered(s, y, {}).data, filtered(s, y, {.method = method}).data)) << channels;
  }
}

}  // namespace
