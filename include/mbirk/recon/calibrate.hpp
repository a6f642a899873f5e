// Calibration: finds the offsets and the roll of a detector from the measurements themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/view.hpp"
#include "mbirk/geometry/view_vectors.hpp"
#include "mbirk/host_context.hpp"
#include "mbirk/projector/general.hpp"

namespace mbirk {

/// How the detector of all views differs from where it was thought to be.
struct misalignment {
  double det_channel_offset = 0;  ///< to be added to that of the scan, in its unit of length
  double det_row_offset = 0;      ///< to be added to that of the scan, in its unit of length
  double detector_roll = 0;       ///< turn in its own plane about its centre, channels towards rows, radians
};

/// The values that a calibration searches, and how finely.
struct calibration_options {
  bool det_channel_offset = true;
  bool det_row_offset = false;
  bool detector_roll = true;
  index_t cells = 96;  ///< views, rows and channels are reduced to at most this number each
  int iterations = 20;  ///< of the reconstructions whose residuals are compared
  /// Called before every reconstruction with the number of those that are done; what it throws is passed on.
  std::function<void(int)> progress = {};
};

/// Result of a calibration.
struct calibration {
  misalignment found;
  /// One standard deviation of each value if the residual were noise; less certain where it is not. 0: not searched.
  misalignment deviation;
  double residual_before = 0, residual = 0;  ///< |y - A x| / |y| of the reduced scan as given and as found
  int reconstructions = 0;
};

/// The scan with a misaligned detector: its centre d becomes d - o_c u/|u| - o_r v/|v|, its steps u and v are turned by
/// the roll r, u cos r + v |u|/|v| sin r and v cos r - u |v|/|u| sin r.
MBIRK_COLD inline general_parameters misaligned(general_parameters p, misalignment const& m) {
  auto const s = std::sin(m.detector_roll), c = std::cos(m.detector_roll);
  for (std::size_t at = 0; at + 12 <= p.view_vectors.size(); at += 12) {
    auto const three = [&](std::size_t k) {
      return vector3{p.view_vectors[at + k], p.view_vectors[at + k + 1], p.view_vectors[at + k + 2]};
    };
    auto const u = three(6), v = three(9);
    double const pitch = length(u), row_pitch = length(v);
    auto const store = [&](std::size_t k, vector3 const& to) {
      p.view_vectors[at + k] = to.x;
      p.view_vectors[at + k + 1] = to.y;
      p.view_vectors[at + k + 2] = to.z;
    };
    store(3, three(3) - u * (m.det_channel_offset / pitch) - v * (m.det_row_offset / row_pitch));
    store(6, u * c + v * (s * pitch / row_pitch));
    store(9, v * c - u * (s * row_pitch / pitch));
  }
  return p;
}

namespace detail {

/// A scan and its measurements with fewer and larger cells.
struct reduced_scan {
  general_parameters parameters;
  std::vector<float> sinogram;
};

/// Every view_step-th view, means of cells x cells pixels (a remainder at the ends is left out), and voxels of
/// cells^3.
inline reduced_scan reduce(general_parameters const& p, view<float const, 3> const& y, index_t cells,
                           index_t view_step) {
  auto const [views, rows, channels] = p.sinogram_shape;
  index_t const kept = ceil_div(views, view_step), m = std::max<index_t>(1, rows / cells), n = channels / cells,
                height = std::min(rows, cells);
  reduced_scan made{p, std::vector<float>(static_cast<std::size_t>(kept * m * n))};
  auto& q = made.parameters;
  q.sinogram_shape = {kept, m, n};
  q.use_ror_mask = false;
  q.view_vectors.clear();
  auto* to = made.sinogram.data();
  for (index_t v = 0; v < views; v += view_step) {
    auto const from = general_view::of(p.view_vectors, v);
    // The middle of the cells that are kept.
    auto const middle = from.detector - from.u * (0.5 * static_cast<double>(channels - n * cells)) -
                        from.v * (0.5 * static_cast<double>(rows - m * height));
    add_view(q.view_vectors, from.source, middle, from.u * static_cast<double>(cells),
             from.v * static_cast<double>(height));
    for (index_t r = 0; r < m; ++r)
      for (index_t c = 0; c < n; ++c) {
        double sum = 0;
        for (index_t a = 0; a < height; ++a)
          for (index_t b = 0; b < cells; ++b) sum += static_cast<double>(y(v, r * height + a, c * cells + b));
        *to++ = static_cast<float>(sum / static_cast<double>(height * cells));
      }
  }
  // A detector of fewer rows than a cell has keeps its slices as thin as its rows.
  double const side = static_cast<double>(cells), tall = static_cast<double>(height);
  auto& shape = *q.recon_shape;
  for (int d = 0; d < 3; ++d) {
    auto& size = shape[static_cast<std::size_t>(d)];
    size = static_cast<index_t>(std::ceil(static_cast<double>(size) / (d < 2 ? side : tall)));
  }
  *q.delta_voxel *= side;
  q.voxel_slice_aspect *= tall / side;
  return made;
}

inline double sum_of_squares(std::vector<float> const& a) {
  return std::transform_reduce(a.begin(), a.end(), 0.0, std::plus<>{},
                               [](float x) { return static_cast<double>(x) * static_cast<double>(x); });
}

/// |y - A x|^2 after a few conjugate gradients for min |y - A x|^2 from 0 (Hestenes and Stiefel 1952).
template <class Context>
double residual_of(Context const& ctx, general_parameters const& p, std::vector<float> residual, int iterations) {
  general_scan const s(p);
  auto const shape = s.recon_shape(), measured = s.sinogram_shape();
  auto const size = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
  std::vector<float> gradient(size), direction(size), projected(residual.size());
  double previous = 0;
  for (int k = 0; k < iterations; ++k) {
    back_project(ctx, s, view<float const, 3>(residual.data(), measured), view<float, 3>(gradient.data(), shape));
    double const norm = sum_of_squares(gradient);
    auto const turn = static_cast<float>(k == 0 ? 0 : norm / previous);
    for (std::size_t i = 0; i < size; ++i) direction[i] = gradient[i] + turn * direction[i];
    previous = norm;
    forward_project(ctx, s, view<float const, 3>(direction.data(), shape), view<float, 3>(projected.data(), measured));
    double const curvature = sum_of_squares(projected);
    if (!(curvature > 0)) break;
    auto const step = static_cast<float>(norm / curvature);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= step * projected[i];
  }
  return sum_of_squares(residual);
}

/// A value that a calibration searches.
struct searched_value {
  using member = double misalignment::*;

  member value;
  double cell;   ///< a step that moves some projection by a cell of the detector
  double reach;  ///< the first search covers as much on either side
};

/// Searches one value after the other. cost(misalignment) is the square of the residual.
template <class Cost> class misalignment_search {
 public:
  misalignment best;
  double least;  ///< cost of best
  misalignment deviation;

  /// @param samples  number of measurements. @param at_start  cost(start)
  misalignment_search(Cost const& cost, double samples, misalignment const& start, double at_start)
      : best(start), least(at_start), cost_(cost), samples_(samples) {}

  /// Tries values at equal distances on either side.
  void scan(searched_value const& s, double step) {
    auto const middle = best;
    auto const count = static_cast<int>(std::ceil(s.reach / step));
    for (int k = -count; k <= count; ++k)
      if (k != 0) attempt(moved(middle, s, k * step));
  }
  /// Moves by `step` as long as that helps, then to the lowest point of a parabola.
  void descend(searched_value const& s, double step) {
    double below = cost_(moved(best, s, -step)), above = cost_(moved(best, s, step));
    for (int moves = 0; moves < 8 && std::min(below, above) < least; ++moves) {
      bool const up = above < below;
      (up ? below : above) = std::exchange(least, up ? above : below);
      best = moved(best, s, up ? step : -step);
      (up ? above : below) = cost_(moved(best, s, up ? step : -step));
    }
    double const bend = below - 2 * least + above;
    if (!(bend > 0)) return;
    attempt(moved(best, s, std::clamp(0.5 * step * (below - above) / bend, -step, step)));
    deviation.*s.value = step * std::sqrt(2 * least / (samples_ * bend));
  }

 private:
  Cost const& cost_;
  double samples_;

  static misalignment moved(misalignment m, searched_value const& s, double by) {
    m.*s.value += by;
    return m;
  }
  void attempt(misalignment const& m) {
    if (double const c = cost_(m); c < least) {
      least = c;
      best = m;
    }
  }
};

}  // namespace detail

/// Finds offsets and roll of a detector by the residual of reprojection: the values for which a reconstruction explains
/// the measurements best, |y - A x|^2 after a few conjugate gradients. The scan is reduced, first to 32 cells and then
/// to options.cells; each value is searched in steps of a cell over an eighth of the channels (a sixteenth of the rows,
/// 3 degrees), then in finer ones and by parabolas, in turn.
///
/// Where views cover a full turn, the channel offset is found to some hundredths of a cell, and the roll to a tenth of
/// a row at the outermost channel. Over half a turn of parallel beam only the first and the last views disagree:
/// offsets are found to a tenth of a cell, rolls too small, and more iterations help. A row offset acts almost as a
/// shift of the object: its deviation is large.
///
/// @param p  the scan as it is thought to be; those of other geometries by to_general.
/// @param y  (views, rows, channels), line integrals, larger than 0 somewhere.
/// @throws parameter_error when nothing is searched, the scan is too small for what is searched, or a row offset is
///         searched with parallel rays, which do not tell it from a shift of the object; and whatever general_scan
///         throws. shape_error for y.
/// Cost: about 20 reconstructions of options.iterations iterations per value, of at most options.cells^3 voxels.
template <class Context>
calibration calibrate(Context const& ctx, general_parameters const& p, view<float const, 3> const& y,
                      calibration_options const& options = {}) {
  general_scan const whole(p);
  require_shape(y, whole.sinogram_shape(), "calibrate", "sinogram", "(views, rows, channels)");
  auto const [views, rows, channels] = p.sinogram_shape;
  require(options.det_channel_offset || options.det_row_offset || options.detector_roll, [] {
    return std::string("calibrate: nothing to search, expected det_channel_offset, det_row_offset or detector_roll");
  });
  require(options.cells >= 16 && options.iterations >= 1, [&] {
    return detail::message("calibrate: cells is ", options.cells, " and iterations ", options.iterations,
                           ", expected at least 16 and 1");
  });
  require(views >= 8 && channels >= 16, [&] {
    return detail::message("calibrate: the scan has ", views, " views of ", channels,
                           " channels, expected at least 8 views and 16 channels");
  });
  require(rows >= 8 || !(options.detector_roll || options.det_row_offset), [&] {
    return detail::message("calibrate: the detector has ", rows,
                           " rows, expected at least 8 to find its roll or its row offset");
  });
  require(!options.det_row_offset || !p.parallel_rays, [] {
    return std::string("calibrate: det_row_offset is to be found, expected rays from a source: with parallel rays it "
                       "is a shift of the object");
  });

  calibration result;
  auto const step = detail::general_view::of(p.view_vectors, 0);
  double const pitch = length(step.u), row_pitch = length(step.v);
  auto const degrees = [](double x) { return x * std::numbers::pi / 180; };
  bool first = true;
  for (index_t const most : {std::min<index_t>(32, options.cells), options.cells}) {
    index_t const cells = std::max<index_t>(1, ceil_div(std::max(rows, channels), most));
    auto const small = detail::reduce(p, y, cells, std::max<index_t>(1, ceil_div(views, most)));
    double const energy = detail::sum_of_squares(small.sinogram);
    require(energy > 0 && std::isfinite(energy), [&] {
      return detail::message("calibrate: the measurements have the energy ", energy,
                             ", expected finite numbers that are not all 0");
    });
    auto const cost = [&](misalignment const& m) {
      if (options.progress) options.progress(result.reconstructions);
      ++result.reconstructions;
      return detail::residual_of(ctx, misaligned(small.parameters, m), small.sinogram, options.iterations);
    };
    double const across = static_cast<double>(cells) * pitch,
                 along = static_cast<double>(std::min(cells, rows)) * row_pitch,
                 half = 0.5 * static_cast<double>(channels) * pitch;
    std::vector<detail::searched_value> values;
    if (options.det_channel_offset) values.push_back({&misalignment::det_channel_offset, across, 0.25 * half});
    if (options.detector_roll) values.push_back({&misalignment::detector_roll, along / half, degrees(3)});
    if (options.det_row_offset)
      values.push_back({&misalignment::det_row_offset, along, static_cast<double>(rows) * row_pitch / 16});
    double const before = cost({});
    detail::misalignment_search search(cost, static_cast<double>(small.sinogram.size()), result.found,
                                       first ? before : cost(result.found));
    if (first)
      for (auto const& value : values) search.scan(value, std::min(value.cell, value.reach));
    for (double const part : {0.5, 0.25})
      for (auto const& value : values) search.descend(value, part * value.cell);
    result.found = search.best;
    result.deviation = search.deviation;
    result.residual_before = std::sqrt(before / energy);
    result.residual = std::sqrt(search.least / energy);
    first = false;
    if (cells == 1) break;
  }
  return result;
}

}  // namespace mbirk
