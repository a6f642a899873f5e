// The filter by fast Fourier transforms against the direct sum's definition.
#include <gtest/gtest.h>

#include "mbirk/filter/fft.hpp"

#include "filter/support.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

array<3> filtered(any_scan const& s, array<3> const& y, filter_options const& options = {}, int threads = 1) {
  array<3> q(y.shape, -1.0f);
  std::visit([&](auto const& scan) { fft_filter(on_host(threads), scan, y.all(), q.all(), options); }, s);
  return q;
}

/// The error of every pair of rows in the 2-norm, over its bound. A transform of L samples has log2(L) levels, each of which moves every sample by
/// some two roundings (product with a twiddle, sum); they have no common sign, so those of all levels of both transforms add in squares. (In the
/// worst case they would add up, to ten times that: Higham, Accuracy and Stability of Numerical Algorithms, 24.1.) Weights, spectrum, its product
/// and the result add one each; the spectrum is at most Gamma/2.
double worst_over_bound(any_scan const& s, array<3> const& y, array<3> const& q) {
  return std::visit([&](auto const& scan) {
    auto const& g = scan.geometry();
    auto const expected = define_filter(scan, y.data);
    double const length = static_cast<double>(detail::good_fft_size(2 * g.channels - 1));
    double const roundings = 2 * std::sqrt(2 * std::log2(length)) + 4, largest = definition::ramp_scale(g) / 2;
    double worst = 0;
    for (index_t v = 0; v < g.views; ++v)
      for (index_t m = 0; m < g.rows; m += 2) {
        double error = 0, norm = 0;
        for (index_t row = m; row < std::min(g.rows, m + 2); ++row)
          for (index_t n = 0; n < g.channels; ++n) {
            double const e = static_cast<double>(q.all()(v, row, n)) - expected[static_cast<std::size_t>((v * g.rows + row) * g.channels + n)];
            error += e * e, norm += std::pow(static_cast<double>(y.all()(v, row, n)), 2);
          }
        worst = std::max(worst, std::sqrt(error) / (roundings * 0x1p-24 * largest * std::sqrt(norm)));
      }
    return worst;
  }, s);
}

struct FftFilter : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  array<3> const y = random_array<3>(sinogram_shape(s), 61);
};
TEST_P(FftFilter, IsTheDefinition) {
  double const worst = worst_over_bound(s, y, filtered(s, y));
  EXPECT_LE(worst, 1);
  RecordProperty("worst over bound", std::to_string(worst));
}
TEST_P(FftFilter, DoesNotDependOnThreadsOrStrides) {
  auto const one = filtered(s, y);
  for (int const threads : {2, 3, 7}) EXPECT_TRUE(same_bits(one.data, filtered(s, y, {}, threads).data)) << threads;
  spread in(y), out(array<3>(y.shape, 0.0f));
  std::visit([&](auto const& scan) { fft_filter(on_host(2), scan, in.all(), out.all()); }, s);
  EXPECT_TRUE(same_bits(out.dense(), one.data));
  EXPECT_TRUE(in.gaps_untouched() && out.gaps_untouched());
  auto copy = y;
  std::visit([&](auto const& scan) { fft_filter(on_host(2), scan, copy.all(), copy.all()); }, s);
  EXPECT_TRUE(same_bits(copy.data, one.data)) << "in place";
}
INSTANTIATE_TEST_SUITE_P(Filter, FftFilter, ::testing::ValuesIn(all_cases()), case_name);

TEST(FftFilterSizes, IsTheDefinition) {
  for (index_t const channels : {1, 2, 3, 4, 5, 7, 8, 13, 14, 31, 64, 65, 128, 129, 256, 300, 513})
    for (index_t const rows : {1, 2, 5}) {
      any_scan const s = parallel_scan(parallel_parameters{.sinogram_shape = {2, rows, channels}, .angles = {0.0f, 1.0f}});
      auto const y = random_array<3>(sinogram_shape(s), 62);
      EXPECT_LE(worst_over_bound(s, y, filtered(s, y)), 1) << channels << " channels, " << rows << " rows";
    }
}

// With the taps of MBIRJAX and by a transform in float32, as it does: so the gate of a wide detector is that of a narrow one.
TEST(FftFilter, Float32Taps) {
  index_t const channels = 1025, at = 700;
  parallel_scan const s(parallel_parameters{.sinogram_shape = {1, 1, channels}, .angles = {0.0f}});
  array<3> impulse({1, 1, channels});
  impulse.data[at] = 1;
  auto const q = filtered(s, impulse, {.taps = ramp_taps::float32});
  double const scale = definition::ramp_scale(s.geometry());
  for (index_t n = 0; n < channels; ++n)  // the transform's error is that of the largest tap
    EXPECT_NEAR(static_cast<double>(q.data[static_cast<std::size_t>(n)]), scale * static_cast<double>(definition::ramp_tap_float32(n - at)),
                scale / 4 * 0x1p-23) << n;
}

TEST(FftFilter, GoodSizes) {
  for (index_t n = 0; n < 2000; ++n) {
    index_t best = 1 << 20;
    for (index_t a = 1; a < 5000; a *= 2)
      for (index_t b = a; b < 5000; b *= 3)
        for (index_t c = b; c < 5000; c *= 5)
          if (c >= n && c > 1) best = std::min(best, c);
    EXPECT_EQ(detail::good_fft_size(n), best) << n;
  }
}

TEST(FftFilter, KnownValues) {
  auto const check = [](any_scan const& s, std::array<double, 4> const& expected) {
    auto const q = filtered(s, known_sinogram());
    for (std::size_t n = 0; n < 4; ++n) EXPECT_NEAR(static_cast<double>(q.data[n]), expected[n], 2e-6 * 1.2) << n;
  };
  check(known_parallel(), {.065292, .06146, .1128017, .3032566});
  check(known_cone(), {.2559228, .2444451, .4516967, 1.2149904});
}

TEST(FftFilter, EmptySinogramsAndBadInput) {
  for (shape_3 const shape : {shape_3{0, 3, 8}, shape_3{4, 0, 8}, shape_3{4, 3, 0}}) {
    parallel_parameters p{.sinogram_shape = shape, .angles = std::vector<float>(static_cast<std::size_t>(shape[0]))};
    p.recon_shape = {{4, 4, shape[1]}};
    array<3> y(shape);
    EXPECT_NO_THROW(fft_filter(on_host(2), parallel_scan(p), y.all(), y.all()));
  }
  array<3> y({6, 2, 7}), wide({6, 2, 8});
  EXPECT_THROW(fft_filter(on_host(), known_parallel(), wide.all(), y.all()), shape_error);
  EXPECT_THROW(fft_filter(on_host(), known_parallel(), y.all(), wide.all()), shape_error);
  EXPECT_THROW(fft_filter(on_host(), known_parallel(), y.all(), y.all(), {.name = "hann"}), parameter_error);
}

template <class Context>
concept has_fft_filter = requires(Context const& ctx, view<float, 3> y) { fft_filter(ctx, known_parallel(), y, y); };
static_assert(has_fft_filter<context<exec::host, instrument::none>> && has_fft_filter<context<exec::host, instrument::tracing>>);
static_assert(!has_fft_filter<context<exec::host, instrument::counting<>>> && !has_fft_filter<context<exec::host, instrument::model<>>>);

}  // namespace
