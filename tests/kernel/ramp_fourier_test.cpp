// The Fourier-transform kernel of the ramp filter, for every number of lanes, against sums in double; and the
// factorisation of lengths.
#include "mbirk/kernel/shared/ramp_fourier.hpp"

#include <gtest/gtest.h>

#include <random>

#include "kernel/lane_backends.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::kernel;

TEST(FourierPlan, LengthsAreTheLeast) {
  for (index_t channels = 0; channels < 3000; ++channels) {
    index_t least = 1 << 20;
    for (index_t power = 32; power < 10000; power *= 2)
      for (index_t const length : {power, 3 * power})
        if (length >= 96 && length >= 2 * channels - 1) least = std::min(least, length);
    EXPECT_EQ(fourier::length_of(channels), least) << channels;
  }
}

TEST(FourierPlan, StagesDivideTheLength) {
  for (index_t const channels : {1, 50, 70, 100, 130, 200, 300, 400, 600, 800, 1100, 2000, 3000, 5000, 50000, 100000}) {
    auto const p = fourier::make_plan(channels);
    index_t size = p.length, twiddles = 0;
    ASSERT_GE(p.stages, 1);
    for (int s = 0; s < p.stages; ++s) {
      EXPECT_EQ(p.size[s], size);
      EXPECT_EQ(p.twiddles[s], twiddles);
      EXPECT_TRUE(p.radix[s] == 4 || p.radix[s] == 8);
      EXPECT_EQ(size % p.radix[s], 0);
      twiddles += size / p.radix[s] * (p.radix[s] - 1);
      size /= p.radix[s];
    }
    EXPECT_EQ(size, p.leaf());
    EXPECT_EQ(static_cast<index_t>(fourier::make_twiddles(p).size()), p.all_twiddles);
  }
}

// The spectrum of symmetric taps on the circle, in any order, equals the sum over cosines; the spectrum of one tap is
// constant.
TEST(FourierPlan, SpectrumHasTheRightValues) {
  for (index_t const channels : {40, 64, 90}) {
    auto const p = fourier::make_plan(channels);
    auto const twiddles = fourier::make_twiddles(p);
    for (float const x : fourier::make_spectrum(p, {1.0}, twiddles))
      EXPECT_FLOAT_EQ(x * static_cast<float>(p.length), 1.0f);
    std::vector<double> taps;
    for (index_t d = 0; d < channels; ++d) taps.push_back(1 / (1.0 + static_cast<double>(d * d)));
    auto found = fourier::make_spectrum(p, taps, twiddles);
    std::vector<float> expected;
    for (index_t k = 0; k < p.length; ++k) {
      double sum = taps[0];
      for (index_t d = 1; d < channels; ++d)
        sum += 2 * taps[static_cast<std::size_t>(d)] *
               std::cos(2 * std::numbers::pi * static_cast<double>(k * d) / static_cast<double>(p.length));
      expected.push_back(static_cast<float>(sum / static_cast<double>(p.length)));
    }
    std::sort(found.begin(), found.end()), std::sort(expected.begin(), expected.end());
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_NEAR(found[k], expected[k], 0x1p-24 * expected.back()) << k;
  }
}

std::vector<float> random_floats(index_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) x = any(bits);
  return values;
}

template <class B> struct RampFourier : ::testing::Test {
  chunked_shape shape{};
  fourier::plan plan;
  std::vector<double> taps;
  // shape (views, rows, channels); channels: its channel-major copy
  std::vector<float> twiddles, spectrum, weights, rows, channels;

  void prepare(index_t views, index_t row_count, index_t channel_count, int packs) {
    shape = {views, channel_count, row_count, packs, ceil_div(ceil_div(row_count, B::lanes), packs), packs * B::lanes};
    plan = fourier::make_plan(channel_count);
    taps.assign(1, 0.25);
    for (index_t d = 1; d < channel_count; ++d)
      taps.push_back(d % 2 ? -1 / std::pow(std::numbers::pi * static_cast<double>(d), 2) : 1e-8);
    auto const exact = fourier::make_twiddles(plan);
    twiddles.clear();
    for (auto const& w : exact)
      twiddles.push_back(static_cast<float>(w.re)), twiddles.push_back(static_cast<float>(w.im));
    spectrum = fourier::make_spectrum(plan, taps, exact);
    weights = random_floats(shape.chunks * channel_count * shape.width, 2);
    rows = random_floats(views * row_count * channel_count, 1);
    channels.assign(static_cast<std::size_t>(shape.size()), 0.0f);
    each([&](index_t row, index_t chunk_major) {
      channels[static_cast<std::size_t>(chunk_major)] = rows[static_cast<std::size_t>(row)];
    });
  }
  /// f(index of a sample in rows, its index in channels)
  template <class F> void each(F const& f) const {
    index_t k = 0;
    for (index_t v = 0; v < shape.views; ++v)
      for (index_t m = 0; m < shape.rows; ++m)
        for (index_t n = 0; n < shape.channels; ++n, ++k)
          f(k, shape.offset(m / shape.width, v) + (n + guard_channels) * shape.width + m % shape.width);
  }
  std::vector<double> expected(bool weighted) const {
    std::vector<double> q;
    index_t const C = shape.channels;
    for (index_t line = 0; line < shape.views * shape.rows; ++line) {
      index_t const m = line % shape.rows, chunk = m / shape.width;
      for (index_t n = 0; n < C; ++n) {
        double sum = 0;
        for (index_t k = 0; k < C; ++k) {
          double const w = weighted
                               ? static_cast<double>(
                                     weights[static_cast<std::size_t>((chunk * C + k) * shape.width + m % shape.width)])
                               : 1;
          sum += taps[static_cast<std::size_t>(std::abs(n - k))] * w *
                 static_cast<double>(rows[static_cast<std::size_t>(line * C + k)]);
        }
        q.push_back(sum);
      }
    }
    return q;
  }
  template <class In, class Out> void run(In in, Out out, bool weighted) const {
    ramp_fourier<B, In, Out> kernel{{in, out, weights.data(), shape, weighted}, twiddles.data(), spectrum.data(), plan};
    kernel.plan_scratch();
    std::vector<float> scratch(static_cast<std::size_t>(kernel.layout.bytes() / 4),
                               std::nanf(""));  // nothing is read before it is written
    for (index_t task = 0; task < kernel.tasks(); ++task)
      kernel(task, native_scratch{reinterpret_cast<std::byte*>(scratch.data())});
  }
};

TYPED_TEST_SUITE(RampFourier, test::lane_backends, test::lane_names);

// All four pairs of layouts give equal bits, and these equal the sums up to the roundings of 2 log2(L) stages, relative
// to the largest 2-norm of two rows of C samples below 1, at most half of which the filter keeps.
TYPED_TEST(RampFourier, IsTheSum) {
  for (index_t const channels : {1, 2, 17, 48, 64, 65, 129, 300, 520})
    for (index_t const count : {1, 5, 33})
      for (int const packs : {1, 2, 5})
        for (bool const weighted : {false, true}) {
          if (channels > 129 && packs > 1) continue;
          SCOPED_TRACE(std::to_string(channels) + " channels, " + std::to_string(count) + " rows in chunks of " +
                       std::to_string(packs));
          this->prepare(2, count, channels, packs);
          auto const stride = channels * count;
          sinogram_rows<float const*> const in{this->rows.data(), stride, channels};
          std::vector<float> q(this->rows.size(), -1.0f), wide(this->channels.size(), -1.0f);
          this->run(in, sinogram_rows<float*>{q.data(), stride, channels}, weighted);
          this->run(in, sinogram_channels<float*>{wide.data()}, weighted);
          auto const expected = this->expected(weighted);
          double const bound = 0x1p-24 * (2 * std::sqrt(2 * std::log2(this->plan.length)) + 4) * 0.5 *
                               std::sqrt(2.0 * static_cast<double>(channels));
          index_t differ = 0, not_zero = 0;
          for (std::size_t k = 0; k < q.size(); ++k) ASSERT_NEAR(static_cast<double>(q[k]), expected[k], bound) << k;
          this->each([&](index_t k, index_t at) {
            differ += q[static_cast<std::size_t>(k)] != wide[static_cast<std::size_t>(at)];
            wide[static_cast<std::size_t>(at)] = 0;
          });
          for (float const x : wide) not_zero += x != 0.0f;
          EXPECT_EQ(differ, 0);
          EXPECT_EQ(not_zero, 0) << "guards, and rows beyond the last";
          auto copy = this->channels;
          this->run(sinogram_channels<float const*>{copy.data()}, sinogram_channels<float*>{copy.data()}, weighted);
          this->each([&](index_t k, index_t at) {
            differ += q[static_cast<std::size_t>(k)] != copy[static_cast<std::size_t>(at)];
          });
          EXPECT_EQ(differ, 0) << "in place";
          std::vector<float> back(q.size());
          this->run(sinogram_channels<float const*>{this->channels.data()},
                    sinogram_rows<float*>{back.data(), stride, channels}, weighted);
          EXPECT_EQ(back, q);
        }
}

}  // namespace
