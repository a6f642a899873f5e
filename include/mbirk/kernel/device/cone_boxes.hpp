// Which boxes of pixels can reach a few channels of a view in cone beam. The bounds are computed in float32, because
// many devices are slow in float64, and are enlarged by more than they can be off.
#pragma once

#include "mbirk/definition/footprint.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// A view for a warp that owns gather_channels of its channels, in float32. The place and the depth of pixel (i, j) are
/// x'/delta_c = origin + 2 row i + 2 col j and depth + 2 depth_row i + 2 depth_col j (definition/footprint.hpp).
struct alignas(16) cone_view_of_warp {
  float origin, row, col;
  float depth, depth_row, depth_col;
  float across_x, along_x, across_y, along_y;  ///< sides of a pixel across and along the central ray, in channels
  float tangent, inverse_tangent;              ///< of the angle that a channel in the middle covers
  float centre;                                ///< place of the central ray, counted from the warp's first channel
  float place_error, depth_error, centre_error;

  /// @param channel  the warp's first
  MBIRK_HD cone_view_of_warp(cone_geometry const& g, view_position const& at, int channel) noexcept {
    using definition::abs;
    double const c = at.cosine, s = at.sine, inverse_pitch = 1 / g.delta_det_channel,
                 x_side = g.delta_x * inverse_pitch, y_side = g.delta_y * inverse_pitch,
                 x = definition::column_x(g, 0.0, at.column_shift) * inverse_pitch,
                 y = definition::row_y(g, 0.0, at.row_shift) * inverse_pitch,
                 channel_angle = g.delta_det_channel * g.inverse_detector_dist;
    auto const set = [](float& to, double value) { to = static_cast<float>(value); };
    set(origin, c * x - s * y);
    set(row, -0.5 * s * y_side);
    set(col, 0.5 * c * x_side);
    set(depth, g.inverse_magnification - (s * x + c * y) * channel_angle);
    set(depth_row, -0.5 * c * y_side * channel_angle);
    set(depth_col, -0.5 * s * x_side * channel_angle);
    set(across_x, abs(c) * x_side);
    set(along_x, abs(s) * x_side);
    set(across_y, abs(c) * g.side_extent * inverse_pitch);
    set(along_y, abs(s) * g.side_extent * inverse_pitch);
    set(tangent, channel_angle);
    set(inverse_tangent, channel_angle > 0 ? 1 / channel_angle : 0.0);
    double const middle =
        definition::detector_cell(0.0, g.det_channel_offset, g.delta_det_channel, g.channels) - channel;
    set(centre, middle);
    // A place and a depth are sums of such terms, with at most 16 roundings by 2^-24 of each.
    double const rounding = 0x1p-20, rows = static_cast<double>(g.recon_rows), cols = static_cast<double>(g.recon_cols);
    set(place_error, rounding * (abs(c * x) + abs(s * y) + abs(s) * y_side * rows + abs(c) * x_side * cols));
    set(depth_error, rounding * (g.inverse_magnification + (abs(s * x) + abs(c * y) + abs(c) * y_side * rows +
                                                            abs(s) * x_side * cols) * channel_angle));
    set(centre_error, rounding * (abs(middle) + 1));
  }
};

/// Bit mask of the boxes first .. first + 31, of which `count` exist from there on, that can reach the warp's channels.
template <class I>
MBIRK_INLINE unsigned boxes_that_reach(cone_view_of_warp const& view, bool curved, group_boxes<I> const& boxes,
                                       int first, int count) noexcept {
  using pack = typename I::pack;
  auto const number = [](float x) MBIRK_FLAT { return I::broadcast(x); };
  auto const load = [&](auto values) MBIRK_FLAT { return I::to_pack_unsigned(I::load_ints(values + first)); };
  pack const zero = number(0), one = number(1);
  pack const row = load(boxes.doubled_row_center), col = load(boxes.doubled_col_center),
             height = load(boxes.row_extent), width = load(boxes.col_extent);

  pack const depth = fma(row, number(view.depth_row), fma(col, number(view.depth_col), number(view.depth)));
  pack const deep = fma(height, abs(number(view.depth_row)), width * abs(number(view.depth_col)));
  // If part of the box is beside the source, its footprint may be anywhere. Elsewhere a depth is off by less than a
  // thousandth of itself.
  auto const before = number(1024 * view.depth_error) < depth - deep;
  pack const most = one / select(before, depth - deep, one), fewest = one / select(before, depth + deep, one);

  pack const middle = fma(row, number(view.row), fma(col, number(view.col), number(view.origin)));
  pack const reach = fma(height, abs(number(view.row)), width * abs(number(view.col)));
  pack const low = middle - reach, high = middle + reach;
  pack const left = low * select(low < zero, most, fewest), right = high * select(high < zero, fewest, most);
  pack const farthest = max_number(abs(left), abs(right)), slope = farthest * number(view.tangent);
  pack const side = max_number(fma(number(view.along_x), slope, number(view.across_x)),
                               fma(number(view.across_y), slope, number(view.along_y)));
  pack const overlap = fma(most, side, one) * number(0.5f);
  // How far left, right and overlap can be off, the latter also through its slope.
  pack const relative = fma(most, number(view.depth_error), number(0x1p-20f));
  pack const place = fma(most, number(view.place_error), farthest * relative),
             of_side = most * max_number(number(view.along_x), number(view.across_y)) * number(view.tangent);
  pack const error = fma(place, of_side + one, fma(overlap, relative, number(view.centre_error)));
  auto const channel = [&](pack u) MBIRK_FLAT {
    if (curved) u = I::to_pack(atan(I::to_wide(u * number(view.tangent)))) * number(view.inverse_tangent);
    return u + number(view.centre);
  };
  pack const spread = fma(error, number(2.0f), overlap);  // twice: products of errors are left out above
  pack const reaches = select(channel(left) - spread < number(gather_channels - 1),
                              select(zero < channel(right) + spread, one, zero), zero);
  return I::where(zero < I::first_lanes(count) * select(before, reaches, one));
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
