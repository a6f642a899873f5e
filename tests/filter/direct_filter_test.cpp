// The ramp filter as a direct sum against its definition in double and MBIRJAX, and requirements on both of its forms.
// Tolerances are derived in support.hpp, those of the transforms in fourier_filter_test.cpp.
#include "mbirk/filter/direct_filter.hpp"

#include <cstring>
#include <limits>

#include "core/messages.hpp"
#include "filter/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// The worst error over its bound.
double worst_over_bound(any_scan const& s, array<3> const& y, array<3> const& q, std::vector<double> const& expected) {
  return visit_direct([&](auto const& scan) {
    auto const magnitude = filter_magnitude(scan, y.data);
    double const roundings = filter_roundings(scan.geometry());
    double worst = 0;
    for (std::size_t k = 0; k < expected.size(); ++k)
      worst = std::max(worst,
                       std::abs(static_cast<double>(q.data[k]) - expected[k]) / (roundings * 0x1p-24 * magnitude[k]));
    return worst;
  }, s);
}

struct DirectFilter : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  array<3> const y = random_array<3>(sinogram_shape(s), 51);
};

TEST_P(DirectFilter, IsTheDefinition) {
  auto const expected = visit_direct([&](auto const& scan) { return define_filter(scan, y.data); }, s);
  double const worst = worst_over_bound(s, y, filtered(s, y, direct_sum()), expected);
  EXPECT_LE(worst, 1);
  RecordProperty("worst over bound", std::to_string(worst));
}

TEST_P(DirectFilter, DoesNotDependOnThreadsOrStrides) {
  for (auto const& options : either) {
    auto const one = filtered(s, y, options);
    for (int const threads : {2, 3, 7})
      EXPECT_TRUE(same_bits(one.data, filtered(s, y, options, threads).data)) << threads;
    spread in(y), out(array<3>(y.shape, 0.0f));
    visit_direct([&](auto const& scan) { direct_filter(on_host(2), scan, in.all(), out.all(), options); }, s);
    EXPECT_TRUE(same_bits(out.dense(), one.data));
    EXPECT_TRUE(in.gaps_untouched() && out.gaps_untouched());
  }
}

TEST_P(DirectFilter, InPlace) {
  for (auto const& options : either) {
    auto copy = y;
    visit_direct([&](auto const& scan) { direct_filter(on_host(2), scan, copy.all(), copy.all(), options); }, s);
    EXPECT_TRUE(same_bits(copy.data, filtered(s, y, options).data));
  }
}

// The kernel between channel-major arrays, in the chunks of the projectors: equal bits, zero guards, zeros in rows
// beyond the last.
void expect_same_channel_major(any_scan const& s, array<3> const& y, filter_options const& options) {
  auto const expected = filtered(s, y, options);
  visit_direct([&](auto const& scan) {
    auto const ctx = on_host(2);
    using context_type = std::remove_const_t<decltype(ctx)>;
    auto const& g = scan.geometry();
    for (index_t const most : {index_t{1}, index_t{2}, index_t{4}, std::max<index_t>(1, g.rows)}) {
      auto const shape = kernel::make_chunks(g.views, g.channels, g.rows, simd::native_lanes, most);
      temporary<float, context_type> in(ctx, "in", shape.size()), out(ctx, "out", shape.size()),
          direct(ctx, "direct", shape.size());
      detail::load_sinogram(ctx, view<float const, 3>(y.all()), in, shape);
      std::vector<float> const loaded(in.data(), in.data() + in.size());
      std::fill_n(out.data(), out.size(), -1.0f);
      std::fill_n(direct.data(), direct.size(), -1.0f);
      detail::filter_channel_major(ctx, scan, in, out, shape, options);
      detail::filter_to_channel_major(ctx, scan, view<float const, 3>(y.all()), direct, shape, options);
      EXPECT_TRUE(std::equal(loaded.begin(), loaded.end(), in.data())) << "the input changed";
      detail::filter_channel_major(ctx, scan, in, in, shape, options);
      EXPECT_EQ(std::memcmp(in.data(), out.data(), static_cast<std::size_t>(out.size()) * 4), 0) << "in place";
      EXPECT_EQ(std::memcmp(direct.data(), out.data(), static_cast<std::size_t>(out.size()) * 4), 0) << "from rows";
      index_t wrong = 0;
      for (index_t c = 0; c < shape.chunks; ++c)
        for (index_t v = 0; v < g.views; ++v)
          for (index_t n = -kernel::guard_channels; n < g.channels + kernel::guard_channels; ++n)
            for (index_t r = 0; r < shape.width; ++r) {
              float const found = out.data()[shape.offset(c, v) + (n + kernel::guard_channels) * shape.width + r];
              bool const exists = n >= 0 && n < g.channels && r < shape.used(c);
              wrong += found != (exists ? expected.all()(v, c * shape.width + r, n) : 0.0f);
            }
      EXPECT_EQ(wrong, 0) << "chunks of " << most;
    }
  }, s);
}
TEST_P(DirectFilter, ChannelMajor) {
  for (auto const& options : either) expect_same_channel_major(s, y, options);
}

INSTANTIATE_TEST_SUITE_P(Filter, DirectFilter, ::testing::ValuesIn(direct_cases()), case_name);

// Every remainder of channels by parity and blocks, every remainder of rows by lanes and packs, partial sums, wide
// detectors.
TEST(DirectFilterSizes, IsTheDefinition) {
  auto const check = [](index_t rows, index_t channels) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(channels) + " channels");
    double const size = static_cast<double>(std::max(rows, channels));
    parallel_scan const parallel(parallel_parameters{.sinogram_shape = {2, rows, channels}, .angles = {0.0f, 1.0f}});
    cone_scan const cone(cone_parameters{.sinogram_shape = {2, rows, channels},
                                         .angles = {0.0f, 1.0f},
                                         .source_detector_dist = 3 * size,
                                         .source_iso_dist = 2 * size,
                                         .det_channel_offset = 0.3,
                                         .det_row_offset = -0.2});
    for (any_scan const& s : {any_scan(parallel), any_scan(cone)}) {
      auto const y = random_array<3>(sinogram_shape(s), 52);
      EXPECT_LE(worst_over_bound(s, y, filtered(s, y, direct_sum()),
                                 visit_direct([&](auto const& scan) { return define_filter(scan, y.data); }, s)),
                1);
    }
  };
  for (index_t channels = 1; channels <= 36; ++channels) check(3, channels);
  for (index_t const channels : {63, 64, 65, 127, 255, 256, 257, 258, 511, 512, 515}) check(5, channels);
  for (index_t const rows : {1, 15, 16, 17, 31, 33, 48, 63, 64, 65, 80, 96, 127, 129, 200}) check(rows, 21);
}

// A sum of thousands of small taps onto a large one would lose them, in every view alike.
TEST(DirectFilterSizes, FarTapsAreNotLost) {
  index_t const channels = 6001;
  parallel_scan const s(parallel_parameters{.sinogram_shape = {1, 1, channels}, .angles = {0.0f}});
  array<3> const ones({1, 1, channels}, 1.0f);
  auto const q = filtered(s, ones, direct_sum());
  // A partial sum stays near its maximum for up to 128 roundings, evenly spread over +- 1/2: sqrt(128 / 12) = 3.3
  // roundings. The bound is three such sums plus the rounding of the taps. In one sum over all inputs it would be a
  // hundred.
  for (index_t n = 0; n < channels; n += 500) {  // the definition for these channels alone
    double expected = 0, magnitude = 0;
    for (index_t k = 0; k < channels; ++k) {
      double const tap =
          definition::ramp_scale(s.geometry()) * definition::ramp_tap(static_cast<double>(std::abs(n - k)));
      expected += tap;
      magnitude += std::abs(tap);
    }
    EXPECT_NEAR(static_cast<double>(q.data[static_cast<std::size_t>(n)]), expected, 8 * 0x1p-24 * magnitude) << n;
  }
}

TEST(DirectFilter, Float32TapsAreUsedAsTheyAre) {
  for (any_scan const& s : {any_scan(known_parallel()), any_scan(known_cone())}) {
    auto const y = random_array<3>(sinogram_shape(s), 53);
    visit_direct([&](auto const& scan) {
      auto const& g = scan.geometry();
      std::vector<double> expected;
      for (index_t v = 0; v < g.views; ++v)
        for (index_t m = 0; m < g.rows; ++m)
          for (index_t n = 0; n < g.channels; ++n) {
            double sum = 0;
            for (index_t k = 0; k < g.channels; ++k)
              sum += definition::ramp_scale(g) * static_cast<double>(definition::ramp_tap_float32(n - k)) *
                     definition::ramp_weight(g, static_cast<double>(m), static_cast<double>(k)) *
                     static_cast<double>(y.all()(v, m, k));
            expected.push_back(sum);
          }
      EXPECT_LE(worst_over_bound(s, y, filtered(s, y, direct_sum(ramp_taps::float32)), expected), 1);
    }, s);
  }
}

// The response to a single sample is the taps themselves, to the bit: every other product is 0.
TEST(DirectFilter, ImpulseResponse) {
  index_t const channels = 300, at = 41;
  parallel_scan const s(parallel_parameters{.sinogram_shape = {1, 1, channels}, .angles = {0.0f}});
  array<3> y({1, 1, channels});
  y.data[at] = 1;
  auto const closed = filtered(s, y, direct_sum()), float32 = filtered(s, y, direct_sum(ramp_taps::float32));
  double const scale = definition::ramp_scale(s.geometry());
  for (index_t n = 0; n < channels; ++n) {
    index_t const d = std::abs(n - at);
    EXPECT_EQ(closed.data[static_cast<std::size_t>(n)],
              static_cast<float>(scale * definition::ramp_tap(static_cast<double>(d))))
        << n;
    EXPECT_EQ(float32.data[static_cast<std::size_t>(n)],
              static_cast<float>(scale * static_cast<double>(definition::ramp_tap_float32(d))))
        << n;
  }
}

// Results of MBIRJAX 0.7.3, given to seven decimals; its transform in float32 adds an error of 1e-7.
TEST(DirectFilter, KnownValues) {
  auto const y = known_sinogram();
  auto const check = [&](any_scan const& s, std::array<double, 4> const& expected) {
    for (auto const& options : either) {
      auto const q = filtered(s, y, options);
      for (std::size_t n = 0; n < 4; ++n)
        EXPECT_NEAR(static_cast<double>(q.data[n]), expected[n], 2e-6 * 1.2) << n;  // gate 5e-6 of the peak
    }
  };
  check(known_parallel(), {.065292, .06146, .1128017, .3032566});
  check(known_cone(), {.2559228, .2444451, .4516967, 1.2149904});
}

// With an infinite source the weights are 1, and the result is that of the parallel beam at another scale.
TEST(DirectFilter, InfiniteSource) {
  cone_parameters p{.sinogram_shape = {3, 5, 20},
                    .angles = {0.1f, 1.0f, 2.0f},
                    .source_detector_dist = std::numeric_limits<double>::infinity()};
  p.source_iso_dist = 10;
  cone_scan const cone(p);
  parallel_scan const parallel(parallel_parameters{.sinogram_shape = p.sinogram_shape, .angles = p.angles});
  auto const y = random_array<3>(p.sinogram_shape, 54);
  for (auto const& options : either)
    EXPECT_TRUE(same_bits(filtered(cone, y, options).data,
                          filtered(parallel, y, options).data));  // all pitches are 1, so the scales are equal
}

TEST(DirectFilter, NamesOfGeometries) {
  auto const y = random_array<3>({6, 2, 7}, 55);
  array<3> fbp(y.shape), fdk(y.shape);
  fbp_filter(on_host(), known_parallel(), y.all(), fbp.all());
  fdk_filter(on_host(), known_cone(), y.all(), fdk.all());
  EXPECT_TRUE(same_bits(fbp.data, filtered(known_parallel(), y).data));
  EXPECT_TRUE(same_bits(fdk.data, filtered(known_cone(), y).data));
  EXPECT_EQ(operation_name([&](auto const& ctx) { direct_filter(ctx, known_parallel(), y.all(), fbp.all()); }),
            "parallel_direct_filter");
  EXPECT_EQ(operation_name([&](auto const& ctx) { direct_filter(ctx, known_cone(), y.all(), fbp.all()); }),
            "cone_direct_filter");
  EXPECT_EQ(operation_name([&](auto const& ctx) { fbp_filter(ctx, known_parallel(), y.all(), fbp.all()); }),
            "parallel_fbp_filter");
  EXPECT_EQ(operation_name([&](auto const& ctx) { fdk_filter(ctx, known_cone(), y.all(), fbp.all()); }),
            "cone_fdk_filter");
}
template <class Scan>
concept has_fbp_filter = requires(Scan const& s, view<float, 3> y) { fbp_filter(on_host(), s, y, y); };
template <class Scan>
concept has_fdk_filter = requires(Scan const& s, view<float, 3> y) { fdk_filter(on_host(), s, y, y); };
static_assert(has_fbp_filter<parallel_scan> && !has_fbp_filter<cone_scan> && has_fdk_filter<cone_scan> &&
              !has_fdk_filter<parallel_scan>);

TEST(DirectFilter, RowsAreIndependent) {
  auto y = random_array<3>({6, 2, 7}, 56);
  auto const before = filtered(known_cone(), y, direct_sum());
  y.all()(3, 1, 2) = std::numeric_limits<float>::quiet_NaN();
  auto const after = filtered(known_cone(), y, direct_sum());
  for (index_t v = 0; v < 6; ++v)
    for (index_t m = 0; m < 2; ++m)
      for (index_t n = 0; n < 7; ++n)
        if (v != 3 || m != 1) { EXPECT_EQ(after.all()(v, m, n), before.all()(v, m, n)); }
  EXPECT_TRUE(std::isnan(after.all()(3, 1, 2)));
}

TEST(DirectFilter, EmptySinograms) {
  for (shape_3 const shape : {shape_3{0, 3, 8}, shape_3{4, 0, 8}, shape_3{4, 3, 0}, shape_3{0, 0, 0}}) {
    auto const angles = std::vector<float>(static_cast<std::size_t>(shape[0]));
    array<3> y(shape), q(shape);
    parallel_parameters p{.sinogram_shape = shape, .angles = angles};
    p.recon_shape = {{4, 4, shape[1]}};
    for (auto const& options : either)
      EXPECT_NO_THROW(direct_filter(on_host(2), parallel_scan(p), y.all(), q.all(), options));
    cone_parameters c{.sinogram_shape = shape, .angles = angles, .source_detector_dist = 40, .source_iso_dist = 20};
    c.recon_shape = {{4, 4, 3}};
    for (auto const& options : either)
      EXPECT_NO_THROW(direct_filter(on_host(2), cone_scan(c), y.all(), q.all(), options));
  }
}

TEST(DirectFilter, RefusesBadInput) {
  auto const s = known_parallel();
  array<3> y({6, 2, 7}), q({6, 2, 7});
  auto const run = [&](shape_3 in, shape_3 out, char const* name) {
    array<3> a(in), b(out);
    direct_filter(on_host(), s, a.all(), b.all(), {.name = name});
  };
  EXPECT_THROW(run({6, 2, 7}, {6, 2, 7}, "shepp"), parameter_error);
  EXPECT_THROW(run({6, 2, 8}, {6, 2, 7}, "ramp"), shape_error);   // MBIRJAX accepts these
  EXPECT_THROW(run({6, 2, 7}, {6, 2, 6}, "ramp"), shape_error);
  EXPECT_THROW(run({6, 3, 7}, {6, 2, 7}, "ramp"), shape_error);
  EXPECT_THROW(run({5, 2, 7}, {6, 2, 7}, "ramp"), shape_error);
  EXPECT_EQ(message_of<error>([&] {
              run({6, 2, 7}, {6, 2, 7}, "hann");
            }),
            "direct_filter: filter_name is \"hann\", expected ramp");
  EXPECT_EQ(message_of<error>([&] { run({6, 2, 8}, {6, 2, 7}, "ramp"); }),
            "direct_filter: sinogram has shape (6, 2, 8), expected (views, rows, channels) = (6, 2, 7)");
  EXPECT_EQ(message_of<error>([&] { fbp_filter(on_host(), s, y.all(), q.all(), {.name = "hann"}); }),
            "fbp_filter: filter_name is \"hann\", expected ramp");
}

}  // namespace
