// Pixels of a list in the order of the channels that they reach, for the forward projections of a device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mbirk/kernel/device/block_sort.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// Whether a device sorts a list of so many pixels by channel in every view before it projects them: their order then
/// takes an eighth of the sinogram's memory at most, and the counters fit.
inline bool sorts_pixels(kernel::chunked_shape const& shape, index_t listed) {
  return 8 * listed <= shape.channels * shape.rows && shape.channels <= kernel::most_sorted_channels;
}
template <class Context> bool sorts_pixels(kernel::chunked_shape const& shape, device_plan<Context> const& plan) {
  return plan.listed && sorts_pixels(shape, plan.pixels);
}

/// Memory for the order.
template <class Context> struct sorted_pixels {
  kernel::channel_bins bins;
  temporary<std::int32_t, Context> order, starts;

  /// @param widest  width of the widest footprint, in channels
  sorted_pixels(Context const& ctx, kernel::chunked_shape const& shape, index_t pixels, double widest)
      : bins{shape.channels, taps_of(shape, widest)},
        order(ctx, "pixels by channel", shape.views * pixels),
        starts(ctx, "first pixels of channels", shape.views * bins.stride()) {}

  kernel::channel_order<typename Context::backend> sorter(Context const& ctx, device_plan<Context> const& plan) const {
    return {observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, order), observe(ctx, starts), plan.pixels,
            bins};
  }

  /// The order, once it is made.
  kernel::sorted_lists<typename Context::backend::index_backend> lists(Context const& ctx, index_t pixels) const {
    return {observe(ctx, order), observe(ctx, starts), pixels, bins};
  }

 private:
  /// Wider than the detector is as good as infinitely wide.
  static index_t taps_of(kernel::chunked_shape const& shape, double widest) {
    return static_cast<index_t>(std::ceil(std::min(widest, static_cast<double>(shape.channels)))) + 1;
  }
};

/// Sorts the pixels of all views, by four warps a view where their counters fit.
template <class Context, class Order> void sort_pixels(Context const& ctx, index_t views, Order const& order) {
  using B = typename Context::backend;
  using by_warps = kernel::block_sort<B, Order, 4>;
  if (by_warps::fits(order.bins)) launch_blocks(ctx, by_warps{order, views});
  else launch_blocks(ctx, kernel::block_sort<B, Order, 1>{order, views});
}

/// Bound of the width of cone-beam footprints, in channels; infinite if the source may be among the pixels. A pixel at
/// distance r from the axis is magnified by m = 1 / (1/M - r/D) at most; its tangent t of the fan angle is at most
/// m r / D, and its side seen from the source at most sqrt(1 + t^2) times its longer side (make_cone_footprint).
template <class Geometry> double widest_cone_footprint(scan<Geometry> const& s) {
  cone_geometry const& g = s.geometry();
  double squared_radius = 0;
  for (auto const& at : s.positions())
    for (int corner = 0; corner < 4; ++corner) {
      double const x = definition::column_x(g, corner & 1 ? static_cast<double>(g.recon_cols - 1) : 0.0,
                                            at.column_shift),
                   y = definition::row_y(g, corner & 2 ? static_cast<double>(g.recon_rows - 1) : 0.0, at.row_shift);
      squared_radius = std::max(squared_radius, x * x + y * y);
    }
  double const radius = std::sqrt(squared_radius) * g.inverse_detector_dist, depth = g.inverse_magnification - radius;
  if (depth <= 0) return std::numeric_limits<double>::infinity();
  double const t = radius / depth;
  return std::sqrt(1 + t * t) * std::max(g.delta_x, g.side_extent) / (depth * g.delta_det_channel);
}

}  // namespace mbirk::detail
