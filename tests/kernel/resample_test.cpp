// The vertical step against exact overlaps in double, for every form, power and pack width.
#include "mbirk/kernel/shared/resample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernel/lane_backends.hpp"

namespace {

using namespace mbirk;
using kernel::resample_form;

double const steps[] = {0.001, 0.01, 0.1,  1.0 / 3,  0.5, 0.9,       0.9999999, 1.0, 1.0000001, 1.2, 1.5, 5.0 / 3,
                        1.7,  1.85, 13.0 / 7, 1.9, 29.0 / 15, 1.95,      2.0, 2.5,       7.0, 40.3};
double const starts[] = {0.0,  0.25, 0.999999999, -0.000000001, -0.5,  -1.0, -7.3, 3.0,  11.7,  30.99,
                         36.5, 36.97, 37.0, 39.2,        60.0,         -60.0, 1e4,  -1e4, -36.95, 1e12, -1e12, 1e300};
constexpr index_t cells = 37;

template <class B> struct Resampler : ::testing::Test {
  static constexpr index_t guard = kernel::resample_guard<B>;
  static constexpr int packs = 7;

  /// `cells` values with exactly the promised guard: a sanitizer sees any access beyond it.
  std::vector<float> source(unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<float> u(static_cast<std::size_t>(cells + 2 * guard));
    for (index_t k = 0; k < cells; ++k)
      u[static_cast<std::size_t>(guard + k)] = static_cast<float>(engine() >> 8) * 0x1p-24f;
    return u;
  }

  template <resample_form Form, int Power>
  static kernel::resampler<B, Form, Power> resampler_of(std::vector<float> const& u, index_t length, double start,
                                                        double step, index_t first) {
    auto const w = kernel::resample_state_of<B>(start, step);
    return {u.data() + guard,
            length,
            w.position,
            w.advance,
            static_cast<std::int32_t>(w.lane_words),
            B::broadcast(static_cast<float>(1 / step)),
            first};
  }
  template <resample_form Form, int Power>
  static std::vector<float> run(std::vector<float> const& u, double start, double step) {
    std::vector<float> out(static_cast<std::size_t>(packs * B::lanes));
    float const begin = static_cast<float>(std::clamp(start, -1e30, 1e30)), inverse = static_cast<float>(1 / step);
    auto const reach = kernel::reach_of(begin, inverse, static_cast<float>(cells), static_cast<float>(packs), B::lanes);
    auto const first = static_cast<index_t>(reach.first), end = static_cast<index_t>(reach.end);
    if (first >= end) return out;
    auto r = resampler_of<Form, Power>(u, cells, start, step, first);
    for (index_t n = first; n < end; ++n) B::store(out.data() + n * B::lanes, r.next());
    return out;
  }
  template <int Power> static std::vector<float> run(std::vector<float> const& u, double start, double step) {
    switch (kernel::form_of<B>(step)) {
      case resample_form::two_tap: return run<resample_form::two_tap, Power>(u, start, step);
      case resample_form::three_tap: return run<resample_form::three_tap, Power>(u, start, step);
      default: return run<resample_form::general, Power>(u, start, step);
    }
  }

  /// The mean over [start + s k, start + s (k + 1)), or with power 2 the sum of squared overlaps times the source.
  static double exact(std::vector<float> const& u, double start, double step, index_t k, int power) {
    double const centre =
        start + step * (static_cast<double>(k) + 0.5) - 0.5;  // in cells whose centres are whole numbers
    double sum = 0;
    for (index_t c = 0; c < cells; ++c) {
      double const t = definition::overlap(centre - static_cast<double>(c), step);
      sum += (power == 2 ? t * t : t / step) * static_cast<double>(u[static_cast<std::size_t>(guard + c)]);
    }
    return sum;
  }

  /// A position is cut at 2^-(32 - log2(2 lanes)) once and once per lane, drifts by 2^-32 a pack, and its fraction is
  /// rounded to 2^-25. The two edges of the interval pass that on to weights that are 1/s as steep (power 2: twice the
  /// overlap). Then roundings of weights: 3 of numbers up to 1 + s over s, and of 4 products and sums of at most 1
  /// (power 2: 4); the gathering form adds its ceil(s) + 1 taps one by one.
  static double tolerance(double step, int power) {
    double const lanes = B::lanes, position = (2 * lanes * lanes + packs + 1) * 0x1p-32 + 0x1p-25;
    double const steep = power == 1 ? 1 / step : 2 * std::min(1.0, step),
                 weight = power == 1 ? (1 + step) / step : 2 * (1 + step);
    double const sums = step > 1.6 ? std::ceil(step) + 1 : 4, size = power == 1 ? 1 : std::min(4.0, step + 1);
    return 2 * steep * position + (3 * weight + sums * size) * 0x1p-24;
  }

  template <class F> void sweep(int power, F const& result) {
    double worst = 0;
    for (double const step : steps)
      for (double const start : starts) {
        auto const u = source(static_cast<unsigned>(step * 1000));
        auto const found = result(u, start, step);
        for (std::size_t k = 0; k < found.size(); ++k) {
          double const error = std::abs(found[k] - exact(u, start, step, static_cast<index_t>(k), power));
          worst = std::max(worst, error / tolerance(step, power));
          ASSERT_LE(error, tolerance(step, power)) << "step " << step << ", start " << start << ", destination " << k;
        }
      }
    ::testing::Test::RecordProperty("share_of_tolerance", std::to_string(worst));
  }
};

TYPED_TEST_SUITE(Resampler, test::lane_backends, test::lane_names);

TYPED_TEST(Resampler, Means) {
  this->sweep(1, [](auto const& u, double start, double step) { return TestFixture::template run<1>(u, start, step); });
}
TYPED_TEST(Resampler, SquaredOverlaps) {
  this->sweep(2, [](auto const& u, double start, double step) { return TestFixture::template run<2>(u, start, step); });
}
// The gathering form serves any step and reproduces the short forms.
TYPED_TEST(Resampler, MeansByGathering) {
  this->sweep(1, [](auto const& u, double start, double step) {
    return TestFixture::template run<resample_form::general, 1>(u, start, step);
  });
}
TYPED_TEST(Resampler, SquaredOverlapsByGathering) {
  this->sweep(2, [](auto const& u, double start, double step) {
    return TestFixture::template run<resample_form::general, 2>(u, start, step);
  });
}

// One cell of 1 at a time: every weight by itself, against the definition.
TYPED_TEST(Resampler, WeightsAreTheDefinedOverlaps) {
  for (double const step : {0.37, 0.8, 1.0, 1.3, 1.6, 3.1})
    for (index_t c = 0; c < cells; c += 4) {
      std::vector<float> u(static_cast<std::size_t>(cells + 2 * TestFixture::guard));
      u[static_cast<std::size_t>(TestFixture::guard + c)] = 1;
      auto const found = TestFixture::template run<1>(u, -0.6, step);
      for (std::size_t k = 0; k < found.size(); ++k) {
        double const centre = -0.6 + step * (static_cast<double>(k) + 0.5) - 0.5;
        EXPECT_NEAR(found[k] * step, definition::overlap(centre - static_cast<double>(c), step),
                    step * TestFixture::tolerance(step, 1))
            << k;
      }
    }
}

// After many packs the fixed-point position has drifted by 2^-32 per pack, and no more.
TYPED_TEST(Resampler, DoesNotDriftOverManyPacks) {
  constexpr index_t many = 4096;
  std::vector<float> ramp(static_cast<std::size_t>(many + 2 * TestFixture::guard));
  for (index_t k = 0; k < many; ++k) ramp[static_cast<std::size_t>(TestFixture::guard + k)] = static_cast<float>(k % 2);
  double const step = 0.7310585786;
  auto const packs = static_cast<index_t>(many / step) / TypeParam::lanes - 1;
  auto r = TestFixture::template resampler_of<resample_form::two_tap, 1>(ramp, many, 0.1, step, 0);
  std::vector<float> out(TypeParam::lanes);
  for (index_t n = 0; n < packs; ++n) TypeParam::store(out.data(), r.next());
  for (std::size_t k = 0; k < out.size(); ++k) {
    double const from = 0.1 + step * static_cast<double>((packs - 1) * TypeParam::lanes + static_cast<index_t>(k));
    double sum = 0;
    for (index_t c = 1; c < many; c += 2)
      sum += definition::overlap(from + step / 2 - 0.5 - static_cast<double>(c), step) / step;
    EXPECT_NEAR(out[k], sum, TestFixture::tolerance(step, 1) + 2 / step * static_cast<double>(packs) * 0x1p-32) << k;
  }
}

TYPED_TEST(Resampler, FormsCoverTheirSteps) {
  using B = TypeParam;
  EXPECT_EQ(kernel::form_of<B>(1.0), resample_form::two_tap);
  EXPECT_EQ(kernel::form_of<B>(1.0000001), resample_form::three_tap);
  EXPECT_EQ(kernel::form_of<B>(2.0000001), resample_form::general);
  double const widest = kernel::widest_step<B>;
  EXPECT_EQ(kernel::form_of<B>(widest), resample_form::three_tap);
  EXPECT_GT(widest, 1.6);
  // The last lane's third tap, for the largest fraction, is the last entry of two packs.
  EXPECT_LE(std::floor(0.9999999 + widest * (B::lanes - 1)) + 2, 2 * B::lanes - 1);
}

TYPED_TEST(Resampler, EveryStepHasOneForm) {
  using B = TypeParam;
  double const widest = kernel::widest_step<B>;
  for (double const middle : {0.0, kernel::narrowest_step, 0.5, 1.0, 1.5, widest, 2.0, 1e9})
    for (double const step : {std::nextafter(middle, -1), middle, std::nextafter(middle, 1e300)}) {
      std::vector<resample_form> forms;
      if (kernel::has_form<resample_form::two_tap>(step, widest)) forms.push_back(resample_form::two_tap);
      if (kernel::has_form<resample_form::three_tap>(step, widest)) forms.push_back(resample_form::three_tap);
      if (kernel::has_form<resample_form::general>(step, widest)) forms.push_back(resample_form::general);
      EXPECT_EQ(forms, std::vector{kernel::form_of<B>(step)}) << step;
    }
}

TYPED_TEST(Resampler, FarStartsFitInto64Bits) {
  for (double const start : {1e12, -1e12, 1e300, -1e300})
    for (double const step : {kernel::narrowest_step, 0.5, 1.0, 2.0})
      EXPECT_LT(std::abs(kernel::resample_state_of<TypeParam>(start, step).position), 0x1p63) << start << ' ' << step;
  // Long steps lead from a far start to the cells.
  EXPECT_EQ(kernel::resample_state_of<TypeParam>(-1e12, 1e6).position, -1e12 * 0x1p32);
}

}  // namespace
