// Search for the rotation axis in a parallel-beam sinogram: the channel onto which the axis projects.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/util/fourier.hpp"

namespace mbirk {

/// The axis as other programs and as mbirk describe it.
struct rotation_axis {
  double centre = 0;  ///< channel, counted from 0
  double offset = 0;  ///< det_channel_offset in channels, centre - (C - 1)/2; times the pitch
  std::string method;
};

namespace detail {

/// Spectra of all views along the channels, row by row.
inline std::vector<std::complex<double>> channel_spectra(view<float const, 2> y, bool mirrored) {
  index_t const views = y.extent(0), channels = y.extent(1);
  fourier_plan const plan(channels);
  std::vector<std::complex<double>> all(static_cast<std::size_t>(views * channels)), scratch(plan.scratch());
  for (index_t v = 0; v < views; ++v) {
    auto* const to = all.data() + v * channels;
    for (index_t n = 0; n < channels; ++n) to[n] = static_cast<double>(y(v, mirrored ? channels - 1 - n : n));
    plan.forward(to, scratch.data());
  }
  return all;
}

/// exp(-2 pi i k shift / C), with k from -C/2 to C/2: the spectrum of a row shifted by a fraction of a channel.
inline std::complex<double> shift_phase(index_t k, index_t channels, double shift) {
  double const frequency = static_cast<double>(k <= channels / 2 ? k : k - channels);
  double const turn = -2 * std::numbers::pi * frequency * shift / static_cast<double>(channels);
  return {std::cos(turn), std::sin(turn)};
}

/// Minimum of cost(x) on [low, high]: a scan in steps, then finer ones around the best, then a parabola.
template <class Cost> double minimise(Cost const& cost, double low, double high, double step) {
  double best = low;
  for (int level = 0; level < 4; ++level) {
    double least = std::numeric_limits<double>::infinity(), at = best;
    for (double x = low; x <= high + step / 2; x += step)
      if (double const c = cost(x); c < least) {
        least = c;
        at = x;
      }
    best = at;
    low = best - step;
    high = best + step;
    step /= 5;
  }
  double const h = 5 * step, a = cost(best - h), b = cost(best), c = cost(best + h), bend = a - 2 * b + c;
  return bend > 0 ? best + std::clamp(h * (a - c) / (2 * bend), -h, h) : best;
}

}  // namespace detail

/// Finds the axis from views over half a turn, equally spaced, without the one at 180 degrees (a last view there
/// changes little). The sinogram and its mirror image, shifted by twice the distance of the axis from the middle, make
/// a sinogram of a full turn, whose spectrum lies within a double wedge: |k| >= |m| / R for m turns per turn and an
/// object of radius R. The energy outside the wedge is smallest at the axis. Spectra are computed once, a shift is a
/// phase.
///
/// @param y       (views, channels), line integrals.
/// @param low, high  channels between which the axis is searched.
/// @throws parameter_error when there are too few views or channels, or the range is not within the detector.
/// Cost: two transforms of the sinogram, and about 100 passes over its spectrum.
/// Source: Vo, Drakopoulos, Atwood, Reinhard, Reliable method for calculating the center of rotation in
/// parallel-beam tomography, 2014.
inline double axis_of_half_turn(view<float const, 2> y, double low, double high) {
  index_t const views = y.extent(0), channels = y.extent(1), turn = 2 * views;
  require(views >= 8 && channels >= 8, [&] {
    return "rotation_axis: sinogram has shape " + detail::shape_text(y.extents()) +
           ", expected at least 8 views and 8 channels";
  });
  require(low < high && low >= 0 && high <= static_cast<double>(channels - 1), [&] {
    return "rotation_axis: the range " + detail::number_text(low) + " to " + detail::number_text(high) +
           " is not within channels 0 to " + std::to_string(channels - 1);
  });
  // Transforms over the full turn: the sinogram fills the first half, its mirror image the second.
  auto const spectra = [&](bool mirrored) {
    auto const rows = detail::channel_spectra(y, mirrored);
    fourier_plan const plan(turn);
    std::vector<std::complex<double>> all(static_cast<std::size_t>(turn * channels)), scratch(plan.scratch());
    for (index_t k = 0; k < channels; ++k) {
      auto* const to = all.data() + k * turn;
      for (index_t v = 0; v < views; ++v)
        to[mirrored ? views + v : v] = rows[static_cast<std::size_t>(v * channels + k)];
      plan.forward(to, scratch.data());
    }
    return all;
  };
  auto const direct = spectra(false), mirror = spectra(true);
  // Outside the wedge, without the rows around m = 0, where stripes are, and the mean of the channels. An object may
  // reach from the axis to the farther edge of the detector.
  double const radius = static_cast<double>(channels) / 2;
  index_t const drop = std::min<index_t>(20, std::max<index_t>(1, views / 20));
  std::vector<std::pair<index_t, index_t>> outside;  // (k, m)
  for (index_t k = 0; k < channels; ++k)
    for (index_t m = 0; m < turn; ++m) {
      double const frequency = static_cast<double>(k <= channels / 2 ? k : channels - k);
      double const order = static_cast<double>(m <= turn / 2 ? m : turn - m);
      double const wedge = 2 * std::numbers::pi * frequency / static_cast<double>(channels) * radius;
      if (k > 1 && k < channels - 1 && order > wedge + 2 && order >= static_cast<double>(drop))
        outside.emplace_back(k, m);
    }
  auto const cost = [&](double centre) {
    double const shift = 2 * centre - static_cast<double>(channels - 1);
    double energy = 0;
    index_t phase_of = -1;
    std::complex<double> phase;
    for (auto const& [k, m] : outside) {
      if (k != phase_of) {
        phase = detail::shift_phase(k, channels, shift);
        phase_of = k;
      }
      auto const at = static_cast<std::size_t>(k * turn + m);
      energy += std::norm(direct[at] + phase * mirror[at]);
    }
    return energy;
  };
  return detail::minimise(cost, low, high, 0.5);
}

/// Finds the axis from pairs of opposite views, as a full turn has them and the first and last view of half a turn:
/// view v mirrored is view v' shifted by 2 centre - (C - 1). Cross-spectra of all pairs are summed.
/// @param y      (views, channels), line integrals.
/// @param pairs  pairs of views that are half a turn apart, at least one.
/// @throws parameter_error as axis_of_half_turn.
inline double axis_of_pairs(view<float const, 2> y, std::span<std::pair<index_t, index_t> const> pairs, double low,
                            double high) {
  index_t const channels = y.extent(1);
  require(!pairs.empty() && channels >= 8, [&] {
    return "rotation_axis: " + std::to_string(pairs.size()) + " pairs of opposite views of " +
           std::to_string(channels) + " channels, expected at least one pair and 8 channels";
  });
  auto const direct = detail::channel_spectra(y, false), mirror = detail::channel_spectra(y, true);
  // Squared differences of the pairs: |a|^2 + |b|^2 - 2 Re(a conj(b phase)), of which only the last depends on the
  // shift.
  std::vector<std::complex<double>> cross(static_cast<std::size_t>(channels));
  for (auto const& [a, b] : pairs)
    for (index_t k = 1; k < channels; ++k)
      cross[static_cast<std::size_t>(k)] += direct[static_cast<std::size_t>(a * channels + k)] *
                                            std::conj(mirror[static_cast<std::size_t>(b * channels + k)]);
  auto const cost = [&](double centre) {
    double const shift = 2 * centre - static_cast<double>(channels - 1);
    double sum = 0;
    for (index_t k = 1; k < channels; ++k)
      sum -= (cross[static_cast<std::size_t>(k)] * std::conj(detail::shift_phase(k, channels, shift))).real();
    return sum;
  };
  return detail::minimise(cost, low, high, 0.25);
}

/// Finds the axis of a sinogram by the method that its angles allow: pairs of opposite views if there are many (a full
/// turn), otherwise the spectrum of half a turn.
/// @param y       (views, channels), line integrals of a parallel beam, or of the middle row of a cone beam, for which
///                the result is an approximation.
/// @param angles  one per view, radians, equally spaced.
/// @throws parameter_error also when the angles cover less than half a turn.
inline rotation_axis find_rotation_axis(view<float const, 2> y, std::span<float const> angles) {
  index_t const views = y.extent(0), channels = y.extent(1);
  require(static_cast<index_t>(angles.size()) == views && views >= 8, [&] {
    return "rotation_axis: " + std::to_string(angles.size()) + " angles for " + std::to_string(views) +
           " views, expected one per view and at least 8";
  });
  double const step = std::abs(static_cast<double>(angles.back()) - static_cast<double>(angles.front())) /
                      static_cast<double>(views - 1);
  double const range = step * static_cast<double>(views);
  constexpr double half = std::numbers::pi;
  require(range > 0.97 * half, [&] {
    return "rotation_axis: the views cover " + detail::number_text(range * 180 / half) +
           " degrees, expected at least 180";
  });
  double const last = static_cast<double>(channels - 1), low = 0.25 * last, high = 0.75 * last;
  auto const half_views = static_cast<index_t>(std::llround(half / step));
  std::vector<std::pair<index_t, index_t>> pairs;
  for (index_t v = 0; v + half_views < views; ++v)
    if (std::abs(std::abs(static_cast<double>(angles[static_cast<std::size_t>(v + half_views)]) -
                          static_cast<double>(angles[static_cast<std::size_t>(v)])) - half) < step / 2)
      pairs.emplace_back(v, v + half_views);
  rotation_axis axis;
  if (std::ssize(pairs) * 4 >= views) {
    axis.centre = axis_of_pairs(y, pairs, low, high);
    axis.method = std::to_string(pairs.size()) + " pairs of opposite views";
  } else {
    view<float const, 2> const part(y.data(), {std::min(views, half_views), channels});
    axis.centre = axis_of_half_turn(part, low, high);
    axis.method = "spectrum of half a turn (Vo 2014)";
  }
  axis.offset = axis.centre - last / 2;
  return axis;
}

}  // namespace mbirk
