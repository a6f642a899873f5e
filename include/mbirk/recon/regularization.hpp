// Automatic regularisation: noise and prior scales of a reconstruction, from the sinogram alone; also the data checks
// at the start of an iterative reconstruction.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/kernel/shared/support.hpp"
#include "mbirk/prior/parameters.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/operation.hpp"
#include "mbirk/util/histogram.hpp"

namespace mbirk {

/// Scales of the data and prior terms, each rounded to float32.
struct regularization {
  float sigma_y = 1;                  ///< standard deviation of a sample of weight 1
  float sigma_x = 1, sigma_prox = 1;  ///< scales of the qGGMRF prior and of the proximal prior; they are equal
  std::vector<std::string> warnings;
};

namespace detail {

/// Checks a sinogram in one pass. @throws parameter_error that names the first non-finite sample.
template <class Context>
void require_finite_sinogram(Context const& ctx, view<float const, 3> sinogram, char const* operation) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("check sinogram");
  auto const range =
      find_range(ctx, kernel::make_strided_cursor(observe(ctx, sinogram, "sinogram", array_role::argument), sinogram),
                 kernel::make_elementwise_range(kernel::any_tasks, sinogram));
  require(range.finite() || sinogram.size() == 0, [&] {
    return detail::message(operation, ": ",
                           first_bad(ctx, sinogram, "sinogram", [](float x) { return !std::isfinite(x); }),
                           ", expected finite values");
  });
}

/// Checks in one pass that weights are finite, none is negative, and not all are 0. @throws parameter_error
template <class Context> void require_weights(Context const& ctx, view<float const, 3> weights, char const* operation) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("check weights");
  auto const range =
      find_range(ctx, kernel::make_strided_cursor(observe(ctx, weights, "weights", array_role::argument), weights),
                 kernel::make_elementwise_range(kernel::any_tasks, weights));
  if (weights.size() == 0) return;
  require(range.finite() && range.minimum >= 0, [&] {
    return detail::message(operation, ": ",
                           first_bad(ctx, weights, "weights", [](float x) { return !(std::isfinite(x) && x >= 0); }),
                           ", expected finite values >= 0");
  });
  require(range.maximum > 0, [&] {
    return detail::message(operation, ": every one of the weights is 0, expected at least one that is positive");
  });
}

/// Upper end of the background of a sinogram, from its histogram: twice the distance from the left to the right foot of
/// the peak nearest to 0.
inline float background_end(histogram const& h) {
  auto const bins = h.counts.size();
  std::vector<float> centres(bins);
  for (std::size_t b = 0; b < bins; ++b) centres[b] = (h.edges[b] + h.edges[b + 1]) / 2;
  auto const is_peak = [&](std::size_t b) {
    return (b == 0 || h.counts[b] >= h.counts[b - 1]) && b + 1 < bins && h.counts[b] > h.counts[b + 1];
  };
  auto const nearest_to_zero = [&](auto const& candidate) {
    auto found = bins;
    for (std::size_t b = 0; b < bins; ++b)
      if (candidate(b) && (found == bins || std::abs(centres[b]) < std::abs(centres[found]))) found = b;
    return found;
  };
  auto peak = nearest_to_zero(is_peak);
  if (peak == bins) peak = nearest_to_zero([](std::size_t) { return true; });
  auto const on_peak = [&](std::size_t b) {
    return static_cast<double>(h.counts[b]) > 0.1 * static_cast<double>(h.counts[peak]);
  };
  auto left = peak, right = peak;
  while (left > 0 && on_peak(left)) --left;
  while (right < bins - 1 && on_peak(right)) ++right;
  return centres[right] + (centres[right] - centres[left]);
}

/// auto_regularization of arrays that have been checked.
template <class Context, class Geometry>
regularization find_regularization(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                                   std::optional<view<float const, 3>> weights, double snr_db, double sharpness) {
  using B = typename Context::backend;
  [[maybe_unused]] auto const guard = ctx.instr.stage("regularization");
  auto const& g = s.geometry();
  // Uses every step-th view; the arrays are observed whole, as other steps of an algorithm see them.
  index_t const step = sampling_step(g.views);
  auto const some = [&](view<float const, 3> const& v) {
    return view<float const, 3>(v.data(), {ceil_div(g.views, step), g.rows, g.channels},
                                {step * v.stride(0), v.stride(1), v.stride(2)});
  };
  auto const y = some(sinogram);
  auto const cursor = observe(ctx, sinogram, "sinogram", array_role::argument);
  auto const in = kernel::make_strided_cursor(cursor, y);
  auto const coarse = kernel::make_elementwise_range(counting_tasks<Context>, y);

  // Support: samples of at least a quarter of the median of those clearly above the background.
  constexpr float everything = -std::numeric_limits<float>::infinity();
  regularization result;
  auto const range = find_range(ctx, in, coarse);
  auto const h = find_histogram(ctx, in, coarse, range, 400);
  float end = everything;
  if constexpr (B::has_data) {
    end = background_end(h);
    if (!(range.maximum > 0)) {
      result.warnings.push_back(
          "the sinogram has no positive value, so all of it is taken as the support of the object; its sign or scale "
          "may be wrong");
      end = everything;
    } else if (range.maximum < end) {
      result.warnings.push_back(
          "the background of the sinogram was not found, so all of it is taken as the support of the object");
      end = everything;
    }
  }
  auto const [lower, upper] = find_middle(ctx, in, coarse, end);
  float const median = (lower + upper) / 2;
  float const threshold = end == everything ? everything : 0.25f * median;

  index_t const views = y.extent(0);
  temporary<double, Context> edges(ctx, "edge counts", 2 * views);
  launch(ctx, views,
         kernel::edge_support<B>{cursor, y.stride(0), y.stride(1), g.rows, g.channels, observe(ctx, edges), threshold});
  kernel::elementwise_range w;
  constexpr index_t numbers = kernel::support_sums<B, true>::numbers;
  auto const sum = [&](auto const& kernel, temporary<double, Context> const& partial) {
    launch(ctx, w.tasks(), kernel);
    return reduce_each<numbers>(ctx, partial);
  };
  w = weights ? kernel::make_elementwise_range(kernel::any_tasks, y, some(*weights))
              : kernel::make_elementwise_range(kernel::any_tasks, y);
  temporary<double, Context> partial(ctx, "support sums", numbers * w.tasks());
  auto const [square, number, size] =
      weights ? sum(kernel::support_sums<B, true>{in,
                                                  kernel::make_strided_cursor(
                                                      observe(ctx, *weights, "weights", array_role::argument),
                                                      some(*weights)),
                                                  observe(ctx, partial), threshold, w},
                    partial)
              : sum(kernel::support_sums<B, false>{in, in, observe(ctx, partial), threshold, w}, partial);
  if constexpr (!B::has_data) return result;

  auto const [first_edge, last_edge] = reduce_each<2>(ctx, edges);
  double const rays = static_cast<double>(views * g.rows), cut = std::max(first_edge, last_edge) / rays;
  if (!Geometry::expects_truncation && threshold != everything && cut > 0.02)
    result.warnings.push_back("the object reaches the edge of the detector in " + number_text(100 * cut) +
                              " % of the rows: the projections are truncated, so a larger reconstruction is advisable "
                              "(scale its rows and columns by 1.1 or more)");
  double const cell = g.delta_det_channel * g.inverse_magnification;  // channel pitch, projected to the rotation axis
  result.sigma_y =
      static_cast<float>(std::pow(10.0, -snr_db / 20) * std::sqrt(square / number) * std::sqrt(g.delta_x / cell));
  result.sigma_x = static_cast<float>(sharpness_factor(sharpness) * (size / number) / object_length(g));
  result.sigma_prox = result.sigma_x;
  require(result.sigma_y > 0, [] {
    return std::string(
        "auto_regularization: sigma_y is 0, because the sinogram is zero, or too small for float32, wherever it has "
        "weight; "
        "expected some sample that is not");
  });
  require(std::isfinite(result.sigma_y) && result.sigma_x > 0 && std::isfinite(result.sigma_x), [&] {
    return detail::message("auto_regularization: sigma_y is ", result.sigma_y, " and sigma_x is ", result.sigma_x,
                           ", expected positive numbers that float32 can hold: the scale of the data is out of reach");
  });
  return result;
}

}  // namespace detail

/// Noise and prior scales from a sinogram y. With I the support of the object in every step-th view (20 to 39 views):
///   sigma_y = 10^(-snr_db/20) sqrt(sum I w y^2 / sum I) sqrt(delta M / delta_c),
///   sigma_x = sigma_prox = 0.2 2^sharpness (sum I |y| / sum I) / l, l = min(2 N_r N_c/(N_r + N_c) delta, C delta_c/M).
/// I = [y >= m/4], where m is the median of the samples beyond the background peak of the histogram; I includes all
/// samples if there is no such peak or nothing beyond it (with a warning).
/// @param ctx       execution and instrumentation. The call returns when the result is complete; on a device it waits
///                  for it.
/// @param s         the geometry: parallel_scan or cone_scan.
/// @param sinogram  (views, rows, channels), line integrals, dimensionless; finite.
/// @param weights   (views, rows, channels), finite, >= 0, some positive; or nothing for 1.
/// @return the scales, and warnings as text: no positive value, no background, an object that reaches the edge of the
/// detector. All scales are 1 under a policy without data.
/// @throws shape_error before anything runs; parameter_error when the data, snr_db or sharpness are not as above, when
///         the sinogram or the reconstruction is empty, or when sigma_y would be 0.
/// Cost: one pass over the data, eight over the selected views. The result is bitwise independent of the number of
/// threads. Source: MBIRJAX 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
regularization auto_regularization(context<Exec, Instr> const& ctx, scan<Geometry> const& s,
                                   view<float const, 3> sinogram, std::optional<view<float const, 3>> weights = {},
                                   double snr_db = 30, double sharpness = 1) {
  constexpr char const* name = "auto_regularization";
  detail::check(ctx, sinogram, s.sinogram_shape(), name, "sinogram", "(views, rows, channels)");
  if (weights) detail::check(ctx, *weights, s.sinogram_shape(), name, "weights", "(views, rows, channels)");
  require(sinogram.size() > 0, [&] {
    return "auto_regularization: sinogram has shape " + detail::shape_text(sinogram.extents()) +
           ", expected some samples";
  });
  auto const recon = s.recon_shape();
  require(recon[0] > 0 && recon[1] > 0, [&] {
    return "auto_regularization: the reconstruction has shape " + detail::shape_text(recon) + ", expected some pixels";
  });
  require(std::isfinite(snr_db), [&] {
    return detail::message("auto_regularization: snr_db is ", snr_db, ", expected a finite number");
  });
  require(std::isfinite(sharpness), [&] {
    return detail::message("auto_regularization: sharpness is ", sharpness, ", expected a finite number");
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope({name, sinogram.size()});
  detail::require_finite_sinogram(ctx, sinogram, name);
  if (weights) detail::require_weights(ctx, *weights, name);
  return detail::find_regularization(ctx, s, sinogram, weights, snr_db, sharpness);
}

}  // namespace mbirk
