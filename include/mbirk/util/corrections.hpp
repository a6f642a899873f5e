// Corrections of line integrals, view by view: zingers, background, beam hardening, detector rotation, drift, phase.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <new>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/util/fourier.hpp"

namespace mbirk {
namespace detail {

/// Task v replaces bright pixels of view v. Medians are taken of the original values of the lines above and here.
struct zingers_of_view {
  view<float, 3> y;
  float threshold;
  float* lines;     // 2 * channels per view
  index_t* totals;  // replaced, per view

  void operator()(index_t v) const noexcept {
    index_t const rows = y.extent(1), channels = y.extent(2);
    // A detector of one row has neighbours along the channels only.
    index_t const reach = rows > 1 ? 1 : 2;
    float *above = lines + 2 * v * channels, *here = above + channels;
    index_t replaced = 0;
    for (index_t m = 0; m < rows; ++m) {
      for (index_t n = 0; n < channels; ++n) here[n] = y(v, m, n);
      for (index_t n = 0; n < channels; ++n) {
        std::array<float, 9> near{};
        int count = 0;
        for (index_t c = std::max<index_t>(0, n - reach); c <= std::min(channels - 1, n + reach); ++c) {
          if (c != n) near[static_cast<std::size_t>(count++)] = here[c];
          if (m > 0) near[static_cast<std::size_t>(count++)] = above[c];
          if (m + 1 < rows) near[static_cast<std::size_t>(count++)] = y(v, m + 1, c);
        }
        if (count == 0) continue;
        auto const middle = near.begin() + count / 2;
        std::nth_element(near.begin(), middle, near.begin() + count);
        if (*middle - here[n] > threshold) {
          y(v, m, n) = *middle;
          ++replaced;
        }
      }
      std::swap(above, here);
    }
    totals[v] = replaced;
  }
};

struct polynomial_of_view {
  view<float, 3> y;
  double const* coefficients;
  int count;

  void operator()(index_t v) const noexcept {
    for (index_t m = 0; m < y.extent(1); ++m)
      for (index_t n = 0; n < y.extent(2); ++n) {
        double const p = static_cast<double>(y(v, m, n));
        double sum = 0;
        for (int k = count; k-- > 0;) sum = (sum + coefficients[k]) * p;
        y(v, m, n) = static_cast<float>(sum);
      }
  }
};

/// Weights of the samples at -1, 0, 1 and 2 for the value at t in [0, 1): cubic convolution, exact for polynomials of
/// degree 2. Source: Keys, Cubic convolution interpolation for digital image processing, 1981.
inline std::array<float, 4> cubic_weights(float t) noexcept {
  return {((-0.5f * t + 1) * t - 0.5f) * t, (1.5f * t - 2.5f) * t * t + 1, ((-1.5f * t + 2) * t + 0.5f) * t,
          (0.5f * t - 0.5f) * t * t};
}

/// Task v resamples view v at positions that are moved by a shift and turned about the detector's middle, by cubic
/// convolution, which blurs edges less than linear interpolation; outside the detector its edge continues.
struct moved_view {
  view<float, 3> y;
  double cosine, sine;
  double const* shifts;  // (rows, channels) per view, or null
  float* memory;         // rows * channels per task of a block
  index_t first;

  /// Where the four samples around a position are, and their weights.
  struct samples {
    std::array<index_t, 4> at;
    std::array<float, 4> weight;
    samples(double position, index_t size) noexcept {
      double const x = std::clamp(position, 0.0, static_cast<double>(size - 1));
      auto const below = static_cast<index_t>(x);
      for (std::size_t k = 0; k < 4; ++k) at[k] = std::clamp<index_t>(below + static_cast<index_t>(k) - 1, 0, size - 1);
      weight = cubic_weights(static_cast<float>(x - static_cast<double>(below)));
    }
  };

  void operator()(index_t task) const noexcept {
    index_t const v = first + task, rows = y.extent(1), channels = y.extent(2);
    float* const frame = memory + task * rows * channels;
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n) frame[m * channels + n] = y(v, m, n);
    double const row_shift = shifts ? shifts[2 * v] : 0, channel_shift = shifts ? shifts[2 * v + 1] : 0;
    double const middle_row = static_cast<double>(rows - 1) / 2, middle_channel = static_cast<double>(channels - 1) / 2;
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n) {
        double const r = static_cast<double>(m) - middle_row, c = static_cast<double>(n) - middle_channel;
        samples const row(middle_row + cosine * r - sine * c + row_shift, rows);
        samples const channel(middle_channel + sine * r + cosine * c + channel_shift, channels);
        float sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          float const* const line = frame + row.at[i] * channels;
          float part = 0;
          for (std::size_t k = 0; k < 4; ++k) part += channel.weight[k] * line[channel.at[k]];
          sum += row.weight[i] * part;
        }
        y(v, m, n) = sum;
      }
  }
};

template <class Context> void move_views(Context const& ctx, view<float, 3> y, double angle, double const* shifts) {
  index_t const views = y.extent(0), pixels = y.extent(1) * y.extent(2);
  index_t const block =
      std::clamp<index_t>((index_t{1} << 22) / std::max<index_t>(1, pixels), 1, std::max<index_t>(1, views));
  temporary<float, Context> const memory(ctx, "moved views", block * pixels);
  for (index_t first = 0; first < views; first += block)
    launch(ctx, std::min(block, views - first),
           moved_view{y, std::cos(angle), std::sin(angle), shifts, memory.data(), first});
}

/// Task v filters view v in the Fourier domain, padded by its edges to twice its size.
struct phase_of_view {
  view<float, 3> y;
  double strength;  // per squared cycle per pixel
  index_t* failed;

  void operator()(index_t v) const noexcept {
    failed[v] = 1;
    try {
      index_t const rows = y.extent(1), channels = y.extent(2);
      auto const padded = [](index_t n) {
        return static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(n > 1 ? 2 * n : 1)));
      };
      index_t const height = padded(rows), width = padded(channels);
      fourier_plan const along(width), across(height);
      std::vector<std::complex<double>> x(static_cast<std::size_t>(height * width)),
          column(static_cast<std::size_t>(height));
      // The edge continues to the middle of the padding on both sides, so that the periodic continuation has no step
      // but there.
      auto const edge = [](index_t n, index_t size, index_t full) {
        return n < size ? n : n < (size + full) / 2 ? size - 1 : 0;
      };
      for (index_t m = 0; m < height; ++m)
        for (index_t n = 0; n < width; ++n)
          x[static_cast<std::size_t>(m * width + n)] =
              std::exp(-static_cast<double>(y(v, edge(m, rows, height), edge(n, channels, width))));
      auto const frequency = [](index_t k, index_t size) {
        return static_cast<double>(std::min(k, size - k)) / static_cast<double>(size);
      };
      for (index_t m = 0; m < height; ++m) along.forward(x.data() + m * width, nullptr);
      for (index_t n = 0; n < width; ++n) {
        for (index_t m = 0; m < height; ++m)
          column[static_cast<std::size_t>(m)] = x[static_cast<std::size_t>(m * width + n)];
        across.forward(column.data(), nullptr);
        double const f = frequency(n, width);
        for (index_t m = 0; m < height; ++m) {
          double const g = frequency(m, height);
          column[static_cast<std::size_t>(m)] /= 1 + strength * (f * f + g * g);
        }
        across.inverse(column.data(), nullptr);
        for (index_t m = 0; m < height; ++m)
          x[static_cast<std::size_t>(m * width + n)] = column[static_cast<std::size_t>(m)];
      }
      for (index_t m = 0; m < rows; ++m) {
        along.inverse(x.data() + m * width, nullptr);
        for (index_t n = 0; n < channels; ++n)
          y(v, m, n) =
              static_cast<float>(-std::log(std::max(x[static_cast<std::size_t>(m * width + n)].real(), 1e-12)));
      }
      failed[v] = 0;
    } catch (std::bad_alloc const&) {
    }
  }
};

}  // namespace detail

/// Replaces zingers, pixels that are much brighter than their neighbours because a photon hit the sensor, by the median
/// of their eight neighbours (of four along a single row). A pixel is replaced if its line integral is more than
/// `threshold` below that median, that is if its intensity is exp(threshold) times that of its neighbours.
/// @param y  (views, rows, channels), line integrals; in place.
/// @return how many pixels were replaced.
/// @throws parameter_error unless threshold > 0; allocation_error.
/// Cost: a median of eight per pixel. The result is bitwise independent of the number of threads.
template <task_policy Exec, class Instr>
index_t remove_zingers(context<Exec, Instr> const& ctx, view<float, 3> y, double threshold = 0.5) {
  require(threshold > 0, [&] {
    return "remove_zingers: threshold is " + detail::number_text(threshold) + ", expected a positive number";
  });
  index_t const views = y.extent(0);
  [[maybe_unused]] auto const guard = ctx.instr.scope({"remove_zingers", y.size()});
  temporary<float, context<Exec, Instr>> const lines(ctx, "zinger lines", 2 * views * y.extent(2));
  temporary<index_t, context<Exec, Instr>> const totals(ctx, "zinger totals", views);
  launch(ctx, views, detail::zingers_of_view{y, static_cast<float>(threshold), lines.data(), totals.data()});
  index_t all = 0;
  for (index_t v = 0; v < views; ++v) all += totals.data()[v];
  return all;
}

/// Line integral of the background: the median of all pixels within `edge` channels of the left and right edges, which
/// see air unless the object is wider than the detector. Subtracting it corrects a source that was brighter or darker
/// than in the white field.
/// @throws parameter_error unless 1 <= edge <= channels / 2
inline double background_offset(view<float const, 3> y, index_t edge = 9) {
  index_t const channels = y.extent(2);
  require(edge >= 1 && 2 * edge <= channels, [&] {
    return "background_offset: edge is " + std::to_string(edge) + ", expected 1 to half of the " +
           std::to_string(channels) + " channels";
  });
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(y.extent(0) * y.extent(1) * 2 * edge));
  for (index_t v = 0; v < y.extent(0); ++v)
    for (index_t m = 0; m < y.extent(1); ++m)
      for (index_t n = 0; n < edge; ++n) {
        values.push_back(y(v, m, n));
        values.push_back(y(v, m, channels - 1 - n));
      }
  if (values.empty()) return 0;
  auto const middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

/// Beam hardening: p becomes c[0] p + c[1] p^2 + ... Coefficients come from a wedge or a simulation of the spectrum;
/// Nikon's .xtekct calls them CoefX1, CoefX2, ...
/// @throws parameter_error unless there are 1 to 8 finite coefficients.
/// Cost: one multiplication and addition per coefficient and pixel.
template <task_policy Exec, class Instr>
void correct_beam_hardening(context<Exec, Instr> const& ctx, view<float, 3> y, std::span<double const> coefficients) {
  bool finite = true;
  for (auto const c : coefficients) finite = finite && std::isfinite(c);
  require(!coefficients.empty() && coefficients.size() <= 8 && finite, [&] {
    return "correct_beam_hardening: " + std::to_string(coefficients.size()) +
           " coefficients, expected 1 to 8 finite numbers";
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope({"correct_beam_hardening", y.size()});
  launch(ctx, y.extent(0),
         detail::polynomial_of_view{y, coefficients.data(), static_cast<int>(coefficients.size())});
}

/// Turns each view about the middle of the detector, by cubic convolution, so that a detector that was turned by
/// `angle` (radians, from channels to rows) is upright.
/// @throws allocation_error. Cost: four reads per pixel.
template <task_policy Exec, class Instr>
void correct_detector_rotation(context<Exec, Instr> const& ctx, view<float, 3> y, double angle) {
  require(std::abs(angle) < 0.8, [&] {
    return "correct_detector_rotation: angle is " + detail::number_text(angle) + ", expected less than 0.8 radians";
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope({"correct_detector_rotation", y.size()});
  detail::move_views(ctx, y, -angle, nullptr);
}

/// Moves each view back by its drift, by cubic convolution: pixel (m, n) becomes that at (m + row, n + channel).
/// @param drift  (row, channel) of each view, in pixels.
template <task_policy Exec, class Instr>
void correct_drift(context<Exec, Instr> const& ctx, view<float, 3> y, std::span<std::array<double, 2> const> drift) {
  require(static_cast<index_t>(drift.size()) == y.extent(0), [&] {
    return "correct_drift: " + std::to_string(drift.size()) + " shifts, expected one per view = " +
           std::to_string(y.extent(0));
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope({"correct_drift", y.size()});
  std::vector<double> shifts;
  for (auto const& d : drift) shifts.insert(shifts.end(), d.begin(), d.end());
  detail::move_views(ctx, y, 0, shifts.data());
}

/// Estimates the drift of views of a parallel beam from moments: the mean channel of a view is a + b cos(theta) + c
/// sin(theta), and the mean row is constant (Helgason 1965, Ludwig 1966); what is left is drift. The object must be
/// within the detector in every view.
/// @return (row, channel) of each view in pixels, with mean 0 along rows.
/// @throws parameter_error when there are fewer than four views, or a view has no positive sum.
inline std::vector<std::array<double, 2>> estimate_drift(view<float const, 3> y, std::span<float const> angles) {
  index_t const views = y.extent(0);
  require(views >= 4 && static_cast<index_t>(angles.size()) == views, [&] {
    return "estimate_drift: " + std::to_string(views) + " views with " + std::to_string(angles.size()) +
           " angles, expected at least four and one angle per view";
  });
  std::vector<std::array<double, 2>> mean(static_cast<std::size_t>(views));
  for (index_t v = 0; v < views; ++v) {
    double sum = 0, rows = 0, channels = 0;
    for (index_t m = 0; m < y.extent(1); ++m)
      for (index_t n = 0; n < y.extent(2); ++n) {
        double const p = static_cast<double>(y(v, m, n));
        sum += p;
        rows += p * static_cast<double>(m);
        channels += p * static_cast<double>(n);
      }
    require(sum > 0, [&] { return "estimate_drift: view " + std::to_string(v) + " has no positive sum"; });
    mean[static_cast<std::size_t>(v)] = {rows / sum, channels / sum};
  }
  // Normal equations of a + b cos + c sin, solved by Cramer's rule.
  std::array<std::array<double, 4>, 3> e{};
  double row_mean = 0;
  for (std::size_t v = 0; v < mean.size(); ++v) {
    std::array const basis{1.0, std::cos(static_cast<double>(angles[v])), std::sin(static_cast<double>(angles[v]))};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) e[i][k] += basis[i] * basis[k];
      e[i][3] += basis[i] * mean[v][1];
    }
    row_mean += mean[v][0] / static_cast<double>(views);
  }
  auto const determinant = [&](std::size_t a, std::size_t b, std::size_t c) {
    return e[0][a] * (e[1][b] * e[2][c] - e[1][c] * e[2][b]) - e[0][b] * (e[1][a] * e[2][c] - e[1][c] * e[2][a]) +
           e[0][c] * (e[1][a] * e[2][b] - e[1][b] * e[2][a]);
  };
  double const d = determinant(0, 1, 2);
  require(std::abs(d) > 1e-9, [] { return "estimate_drift: angles are all alike, expected a range of them"; });
  std::array const fit{determinant(3, 1, 2) / d, determinant(0, 3, 2) / d, determinant(0, 1, 3) / d};
  for (std::size_t v = 0; v < mean.size(); ++v) {
    double const expected = fit[0] + fit[1] * std::cos(static_cast<double>(angles[v])) +
                            fit[2] * std::sin(static_cast<double>(angles[v]));
    mean[v] = {mean[v][0] - row_mean, mean[v][1] - expected};
  }
  return mean;
}

/// Retrieves the projected thickness of an object of one material from views in which edges are enhanced by
/// propagation: T' = F^-1( F(T) / (1 + lambda z R/(4 pi) k^2) ), T = exp(-p), p' = -log T', R = delta/beta, k the
/// angular frequency; in cycles per pixel f = k d/(2 pi) the factor is pi lambda z R/d^2.
/// @param strength  pi lambda z R / d^2, see paganin_strength.
/// @throws parameter_error unless strength >= 0; allocation_error.
/// Cost: two transforms of each view, padded to twice its size. Source: Paganin, Mayo, Gureyev, Miller, Wilkins,
/// Simultaneous phase and amplitude extraction from a single defocused image of a homogeneous object, 2002.
template <task_policy Exec, class Instr>
void retrieve_phase(context<Exec, Instr> const& ctx, view<float, 3> y, double strength) {
  require(strength >= 0 && std::isfinite(strength), [&] {
    return "retrieve_phase: strength is " + detail::number_text(strength) + ", expected a number >= 0";
  });
  index_t const views = y.extent(0);
  [[maybe_unused]] auto const guard = ctx.instr.scope({"retrieve_phase", y.size()});
  temporary<index_t, context<Exec, Instr>> const failed(ctx, "failed views", views);
  launch(ctx, views, detail::phase_of_view{y, strength, failed.data()});
  for (index_t v = 0; v < views; ++v)
    require<allocation_error>(failed.data()[v] == 0, [] { return "retrieve_phase: out of memory"; });
}

/// pi lambda z R / d^2 for a photon energy in keV, a distance from object to detector and a pixel size in mm, and
/// R = delta/beta. lambda = 12.398419843 Angstrom keV / energy.
inline double paganin_strength(double energy, double distance, double pixel, double ratio) {
  require(energy > 0 && distance > 0 && pixel > 0 && ratio > 0, [] {
    return "paganin_strength: energy, distance, pixel size and delta/beta must be positive";
  });
  double const wavelength = 12.398419843e-7 / energy;  // mm
  return std::numbers::pi * wavelength * distance * ratio / (pixel * pixel);
}

}  // namespace mbirk
