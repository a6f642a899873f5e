// Corrections on smooth sinograms with the defect planted: what is left is at most a tenth of what was planted. Each
// test prints the two errors, which docs/real_data.md lists.
#include "mbirk/util/corrections.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/util/preprocess.hpp"
#include "mbirk/util/stripes.hpp"

namespace mbirk {
namespace {

context const ctx{exec::host{2}, instrument::none{}};

using shifts = std::vector<std::array<double, 2>>;

struct sinogram {
  index_t views, rows, channels;
  std::vector<float> values;
  std::vector<float> angles;

  /// A disc beside the axis and one around it, with soft edges, whose height is a bump over the rows.
  /// @param drift  (row, channel) by which each view is moved on the detector
  sinogram(index_t v, index_t r, index_t c, bool bump = false, shifts const& drift = {})
      : views(v), rows(r), channels(c) {
    for (index_t i = 0; i < views; ++i) {
      double const theta = std::numbers::pi * static_cast<double>(i) / static_cast<double>(views);
      angles.push_back(static_cast<float>(theta));
      for (index_t m = 0; m < rows; ++m)
        for (index_t n = 0; n < channels; ++n) {
          auto const [down, beside] = drift.empty() ? std::array{0.0, 0.0} : drift[static_cast<std::size_t>(i)];
          double const u = (static_cast<double>(n) - beside - static_cast<double>(channels - 1) / 2) /
                           static_cast<double>(channels);
          double const z =
              (static_cast<double>(m) - down - static_cast<double>(rows - 1) / 2) / static_cast<double>(rows);
          double const w = u - 0.15 * std::cos(theta) - 0.1 * std::sin(theta);
          double const height = bump ? std::exp(-z * z / (2 * 0.01)) : 1;
          values.push_back(
              static_cast<float>(height * (std::exp(-w * w / (2 * 0.004)) + 0.5 * std::exp(-u * u / (2 * 0.015)))));
        }
    }
  }
  void add_noise(float sigma) {
    std::mt19937 random(9);
    std::normal_distribution<float> normal(0, sigma);
    for (auto& x : values) x += normal(random);
  }
  view<float, 3> y() { return {values.data(), {views, rows, channels}}; }
  float& at(index_t v, index_t m, index_t n) { return values[static_cast<std::size_t>((v * rows + m) * channels + n)]; }
};

double rms(sinogram const& a, sinogram const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    sum += std::pow(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]), 2);
  return std::sqrt(sum / static_cast<double>(a.values.size()));
}

/// The error that is left, at most a tenth of what it was.
void expect_a_tenth(char const* defect, double after, double before) {
  std::printf("%-36s before %.4f, after %.5f: %.1f %%\n", defect, before, after, 100 * after / before);
  EXPECT_LT(after, 0.1 * before) << defect;
}

TEST(Corrections, Zingers) {
  for (index_t const rows : {1, 9}) {
    sinogram const truth(40, rows, 64);
    auto y = truth;
    std::mt19937 random(1);
    index_t planted = 0;
    for (index_t v = 0; v < 40; ++v)
      for (index_t n = static_cast<index_t>(random() % 9); n < 64; n += 17, ++planted) y.at(v, (v * 3) % rows, n) -= 3;
    double const before = rms(y, truth);
    EXPECT_EQ(remove_zingers(ctx, y.y(), 0.5), planted);
    expect_a_tenth(rows == 1 ? "zingers, one row" : "zingers", rms(y, truth), before);
  }
  sinogram y(2, 2, 8);
  EXPECT_THROW(remove_zingers(ctx, y.y(), 0), parameter_error);
}

TEST(Corrections, Stripes) {
  sinogram truth(180, 1, 512);
  truth.add_noise(0.0005f);
  auto planted = truth;
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (index_t m = 0; m < 1; ++m)
    for (index_t n = 3; n < 512; n += 7) {
      float const gain = 0.2f * normal(random);
      for (index_t v = 0; v < 180; ++v) planted.at(v, m, n) += gain;
    }
  double const before = rms(planted, truth);
  auto sorted = planted;
  remove_stripes(ctx, sorted.y(), sorted_stripes{7});
  expect_a_tenth("stripes, sorting", rms(sorted, truth), before);
  // Wavelets damp what is constant along the views, of which the object has a little too.
  auto waves = planted;
  remove_stripes(ctx, waves.y(), wavelet_stripes{4, 1.0});
  EXPECT_LT(rms(waves, truth), 0.5 * before);
}

TEST(Corrections, LargeAndDeadStripes) {
  sinogram truth(180, 1, 512);
  truth.add_noise(0.0005f);
  // Dead channels are told by their noise from that of the others, which must be above what the object does.
  auto noisy = truth;
  noisy.add_noise(0.002f);
  auto large = truth, dead = noisy;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (index_t v = 0; v < 180; ++v) {
    for (index_t n = 240; n < 244; ++n) large.at(v, 0, n) += 0.8f;
    dead.at(v, 0, 350) = 2 + normal(random);
  }
  double const before_large = rms(large, truth), before_dead = rms(dead, noisy);
  remove_stripes(ctx, large.y(), large_stripes{21, 3});
  expect_a_tenth("wide stripes, large", rms(large, truth), before_large);
  remove_stripes(ctx, dead.y(), dead_stripes{21, 3});
  expect_a_tenth("dead channels, dead", rms(dead, noisy), before_dead);
}

TEST(Corrections, WaveletsAreInvertible) {
  std::vector<double> x(32), work(32);
  for (std::size_t i = 0; i < 32; ++i) x[i] = std::sin(static_cast<double>(i * i));
  auto y = x;
  detail::wavelet_step(y.data(), 32, 1, false, work.data());
  detail::wavelet_step(y.data(), 32, 1, true, work.data());
  // The coefficients have 15 digits.
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(y[i], x[i], 1e-11);
}

TEST(Corrections, BackgroundAndBeamHardening) {
  sinogram const truth(20, 3, 64);
  auto y = truth;
  for (auto& x : y.values) x += 0.25f;
  // The object is not quite 0 at the edges: the sum of the tails there is below 0.02.
  EXPECT_NEAR(background_offset(y.y(), 4), 0.25, 0.02);
  EXPECT_THROW(background_offset(y.y(), 40), parameter_error);
  // p -> 0.8 p + 0.1 p^2 inverts a hardening q(p) that solves it.
  auto hard = truth;
  for (auto& x : hard.values) x = static_cast<float>((-0.8 + std::sqrt(0.64 + 0.4 * static_cast<double>(x))) / 0.2);
  double const before = rms(hard, truth);
  double const coefficients[] = {0.8, 0.1};
  correct_beam_hardening(ctx, hard.y(), coefficients);
  EXPECT_LT(rms(hard, truth), 1e-5 * before + 1e-6);
  EXPECT_THROW(correct_beam_hardening(ctx, hard.y(), {}), parameter_error);
}

// A beam of two energies, and the coefficients that two steps of a wedge give.
TEST(Corrections, BeamHardeningByAWedge) {
  sinogram const truth(20, 3, 64);
  auto const hardened = [](double p) { return -std::log(0.6 * std::exp(-1.3 * p) + 0.4 * std::exp(-0.55 * p)); };
  double const thin = 0.6, thick = 1.4, a = hardened(thin), b = hardened(thick);
  double const second = (thick / b - thin / a) / (b - a), coefficients[] = {thin / a - second * a, second};
  auto y = truth;
  for (auto& x : y.values) x = static_cast<float>(hardened(static_cast<double>(x)));
  double const before = rms(y, truth);
  correct_beam_hardening(ctx, y.y(), coefficients);
  expect_a_tenth("beam hardening, two energies", rms(y, truth), before);
}

// Dead pixels count nothing: without the repair they would be pixels without attenuation.
TEST(Corrections, DeadPixels) {
  sinogram const truth(20, 24, 64);
  auto counts = truth, uncorrected = truth;
  std::vector<float> const white(24 * 64, 60000.0f), dark(24 * 64, 0.0f);
  for (auto& x : counts.values) x = 60000 * std::exp(-x);
  std::mt19937 random(6);
  for (index_t m = 0; m < 24; ++m)
    for (index_t n = 0; n < 64; ++n) {
      if (random() % 50 != 0) continue;
      for (index_t v = 0; v < 20; ++v) uncorrected.at(v, m, n) = counts.at(v, m, n) = 0;
    }
  counts_to_line_integrals(ctx, counts.y(), view<float const, 2>(white.data(), {24, 64}),
                           view<float const, 2>(dark.data(), {24, 64}), counts.y());
  expect_a_tenth("dead pixels", rms(counts, truth), rms(uncorrected, truth));
}

/// What no data can tell from a drift: a shift of the object along the rows and in the plane, and another axis. The
/// drift without it.
shifts observable(shifts drift, std::vector<float> const& angles) {
  auto const views = static_cast<double>(drift.size());
  double row = 0;
  for (auto const& d : drift) row += d[0] / views;
  for (auto& d : drift) d[0] -= row;
  // Gram-Schmidt over 1, cos and sin, which half a turn does not make orthogonal.
  std::vector<std::vector<double>> basis(3);
  for (auto const angle : angles) {
    auto const t = static_cast<double>(angle);
    basis[0].push_back(1);
    basis[1].push_back(std::cos(t));
    basis[2].push_back(std::sin(t));
  }
  auto const dot = [&](auto const& a, auto const& b) {
    double sum = 0;
    for (std::size_t v = 0; v < angles.size(); ++v) sum += a(v) * b(v);
    return sum;
  };
  for (std::size_t k = 0; k < 3; ++k) {
    auto const own = [&](std::size_t v) { return basis[k][v]; };
    for (std::size_t j = 0; j < k; ++j) {
      auto const other = [&](std::size_t v) { return basis[j][v]; };
      double const part = dot(own, other) / dot(other, other);
      for (std::size_t v = 0; v < angles.size(); ++v) basis[k][v] -= part * basis[j][v];
    }
    double const part = dot(own, [&](std::size_t v) { return drift[v][1]; }) / dot(own, own);
    for (std::size_t v = 0; v < angles.size(); ++v) drift[v][1] -= part * basis[k][v];
  }
  return drift;
}

TEST(Corrections, DriftIsFoundAndUndone) {
  sinogram const truth(60, 48, 64, true);
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-2, 2);
  shifts drift;
  for (int v = 0; v < 60; ++v) {
    double const row = uniform(random);
    drift.push_back({row, uniform(random)});
  }
  drift = observable(std::move(drift), truth.angles);
  sinogram y(60, 48, 64, true, drift);
  double const before = rms(y, truth);
  auto const found = estimate_drift(y.y(), y.angles);
  double error = 0, planted = 0;
  for (std::size_t v = 0; v < 60; ++v)
    for (std::size_t k = 0; k < 2; ++k) {
      error += std::pow(found[v][k] - drift[v][k], 2);
      planted += std::pow(drift[v][k], 2);
    }
  expect_a_tenth("drift, found shifts (pixels)", std::sqrt(error / 120), std::sqrt(planted / 120));
  correct_drift(ctx, y.y(), found);
  expect_a_tenth("drift", rms(y, truth), before);
}

TEST(Corrections, DetectorRotation) {
  sinogram const truth(4, 48, 64, true);
  auto y = truth;
  double const angle = 0.12;
  correct_detector_rotation(ctx, y.y(), -angle);
  double const before = rms(y, truth);
  correct_detector_rotation(ctx, y.y(), angle);
  expect_a_tenth("tilt", rms(y, truth), before);
}

TEST(Corrections, PhaseOfAThickness) {
  // T' is given; T = T' + strength * f^2 T' in the Fourier domain is what a detector sees. For one cosine it is exact.
  index_t const channels = 64, rows = 64;
  double const strength = 30, f = 4.0 / 128;  // four periods of the padded width: the edge is mirrored for a cosine
  sinogram y(1, rows, channels);
  for (index_t m = 0; m < rows; ++m)
    for (index_t n = 0; n < channels; ++n) {
      double const wave = 0.1 * std::cos(2 * std::numbers::pi * f * static_cast<double>(n));
      y.at(0, m, n) = static_cast<float>(-std::log(1 + wave * (1 + strength * f * f)));
    }
  retrieve_phase(ctx, y.y(), strength);
  // Away from the padding, within the filter's length of about sqrt(strength) / (2 pi) pixels times some.
  for (index_t n = 16; n < 48; ++n) {
    double const wave = 0.1 * std::cos(2 * std::numbers::pi * f * static_cast<double>(n));
    EXPECT_NEAR(y.at(0, 32, n), -std::log(1 + wave), 1e-4) << n;
  }
  EXPECT_NEAR(paganin_strength(12.398419843, 1, 1e-3, 1), std::numbers::pi * 1e-7 / 1e-6, 1e-9);
  EXPECT_THROW(retrieve_phase(ctx, y.y(), -1), parameter_error);
}

}  // namespace
}  // namespace mbirk
