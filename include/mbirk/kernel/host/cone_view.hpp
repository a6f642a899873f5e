// Cone beam, per view and group of pixels: footprints, weights and elevations, vectorised over the pixels in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "mbirk/kernel/shared/cone_taps.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/kernel/shared/resample.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// t_k = (z_k / D)^2 of every slice, padded to whole packs: one row for a circular scan, one per view for a helical
/// one.
struct elevation_table {
  std::vector<float> t;
  std::vector<float> largest;  ///< maximum of each row
  index_t stride = 0;          ///< 0 if all views share the row
};

template <class Geometry> elevation_table make_elevations(scan<Geometry> const& s, index_t padded_slices) {
  auto const& g = s.geometry();
  auto const& at = s.positions();
  bool const helical = std::any_of(at.begin(), at.end(), [&](auto const& p) { return p.z_shift != at[0].z_shift; });
  elevation_table table;
  table.stride = helical ? padded_slices : 0;
  table.t.resize(static_cast<std::size_t>(padded_slices * (helical ? g.views : 1)));
  for (index_t v = 0; v < (helical ? g.views : std::min<index_t>(1, g.views)); ++v) {
    float largest = 0;
    for (index_t k = 0; k < g.slices; ++k) {
      double const ratio = definition::slice_z(g, static_cast<double>(k), at[static_cast<std::size_t>(v)].z_shift) *
          g.inverse_detector_dist;
      float const t = static_cast<float>(ratio * ratio);
      table.t[static_cast<std::size_t>(v * padded_slices + k)] = t;
      largest = std::max(largest, t);
    }
    table.largest.push_back(largest);
  }
  return table;
}

/// True if rows and slices are symmetric about the source plane in every view, with whole packs on either side. Then
/// rows r and R - 1 - r, and slices k and S - 1 - k, have the same weights, so those of the lower half (rows r < R/2,
/// slices k < S/2) also serve the upper half. In scratch, the upper half of a column follows the lower one, in reverse
/// order.
template <class Geometry> bool is_mirrored(scan<Geometry> const& s, int lanes) {
  auto const& g = s.geometry();
  auto const& at = s.positions();
  return g.rows > 0 && g.rows % (2 * lanes) == 0 && g.slices > 0 && g.slices % (2 * lanes) == 0 &&
         g.det_row_offset == 0 &&
         std::all_of(at.begin(), at.end(), [&](auto const& p) { return g.recon_slice_offset == p.z_shift; });
}

/// Shared part of the cone kernels: the scratch layout, and the preparation of one view for a group.
template <class B> struct cone_view {
  using I = typename B::index_backend;

  cone_geometry geometry;
  typename I::template cursor<std::int32_t const> rows, cols;       // rows and columns of the planned pixels
  typename I::template cursor<view_position const> positions;
  typename B::template cursor<float const> elevations;
  float const* largest_elevation;
  index_t elevation_stride, padded_slices;
  bool mirrored;
  scratch_part ints{}, floats{}, doubles{}, secants{};

  void plan_scratch(scratch_layout& layout) {
    ints = layout.add<std::int32_t>("channels and packs", 4 * group_pixels);
    floats = layout.add<float>("footprints", 8 * group_pixels);
    doubles = layout.add<double>("edges and steps", 3 * group_pixels);
    secants = layout.add<float>("secants", 2 * padded_slices);
  }

  /// Footprint data of the pixels of a group, one array per quantity. Arrays of a type are at fixed distances from each
  /// other, so that a loop over pixels needs only three addresses.
  template <class Ints, class Floats, class Doubles> struct found_pixels {
    Ints first_channel;    ///< first channel of the window's first tap, plus guard
    Floats weights;        ///< weights of the window's taps, group_pixels apart
    Doubles position, advance;  ///< resample_state over the rows or slices
    MBIRK_INLINE Ints reach_first() const noexcept { return first_channel + group_pixels; }
    MBIRK_INLINE Ints reach_end() const noexcept { return first_channel + 2 * group_pixels; }
    MBIRK_INLINE Ints lane_words() const noexcept { return first_channel + 3 * group_pixels; }
    MBIRK_INLINE Floats square() const noexcept { return weights + 3 * group_pixels; }  ///< squared magnification
    MBIRK_INLINE Floats inverse_step() const noexcept { return weights + 4 * group_pixels; }
    MBIRK_INLINE Floats fraction() const noexcept { return weights + 5 * group_pixels; }
    MBIRK_INLINE Floats width() const noexcept { return weights + 6 * group_pixels; }
    MBIRK_INLINE Floats chord() const noexcept { return weights + 7 * group_pixels; }
    MBIRK_INLINE Doubles cell() const noexcept { return position + 2 * group_pixels; }  ///< first cell of the footprint

    /// Resampler of pixel p for a column of `cells` cells at u, starting at destination pack `first`.
    template <resample_form Form, int Power, bool Ones = false>
    MBIRK_INLINE auto resampler_at(index_t p, typename B::template cursor<float const> u, index_t cells,
                                   index_t first) const noexcept {
      return resampler<B, Form, Power, Ones>(u, cells, I::load_value(position + p), I::load_value(advance + p),
                                             I::load_value(lane_words() + p), B::load_broadcast(inverse_step() + p),
                                             first);
    }
  };
  template <class Scratch> MBIRK_INLINE auto found(Scratch const& s) const noexcept {
    auto const i = s.template at<std::int32_t>(ints);
    auto const f = s.template at<float>(floats);
    auto const d = s.template at<double>(doubles);
    return found_pixels<std::remove_const_t<decltype(i)>, std::remove_const_t<decltype(f)>,
                        std::remove_const_t<decltype(d)>>{i, f, d, d + group_pixels};
  }

  MBIRK_HD voxel_column_shape shape() const noexcept { return {geometry.slices, padded_slices, mirrored}; }
  /// Slices (or rows) for which weights are computed: half of them if mirrored.
  MBIRK_HD index_t half_slices() const noexcept { return shape().half(); }
  MBIRK_HD index_t half(index_t width) const noexcept { return mirrored ? width / 2 : width; }
  /// Scratch elements for a column to be resampled, with zeros before, between and after its halves; and the distance
  /// between the halves.
  MBIRK_HD static index_t room_for(index_t width) noexcept { return width + 4 * resample_guard<B>; }
  MBIRK_HD static index_t apart(index_t width) noexcept { return width / 2 + 2 * resample_guard<B>; }

  /// Bounds over the pixels of a group in one view.
  struct summary {
    float widest;           ///< widest footprint, in channels
    float lowest, highest;  ///< bounds of the squared magnification
  };

  /// Calls f(form, from, to) for each run of neighbouring pixels whose steps have the same form; most groups are one
  /// run.
  template <class Scratch, class F>
  MBIRK_INLINE void each_run(pixel_group const& group, summary const& sum, bool towards_rows, Scratch const& s,
                             F const& f) const noexcept {
    double const slice = geometry.delta_z / geometry.delta_det_row;
    double const nearest = std::sqrt(static_cast<double>(sum.highest)) * slice;
    double const farthest = std::sqrt(static_cast<double>(sum.lowest)) * slice;
    constexpr double margin = 1e-6;  // covers the float rounding of the squares
    auto const shortest = form_of<B>((towards_rows ? 1 / nearest : farthest) * (1 - margin));
    bool const all = shortest == form_of<B>((towards_rows ? 1 / farthest : nearest) * (1 + margin));
    auto const advances = found(s).advance;
    auto const step_at = [&](int p) MBIRK_FLAT { return step_of<B>(I::load_value(advances + p)); };
    for (int from = 0, to = 0; from < group.count; from = to) {
      with_form(all ? shortest : form_of<B>(step_at(from)), [&](auto form) MBIRK_FLAT {
        if (all) to = group.count;
        else while (++to < group.count && has_form<form()>(step_at(to), widest_step<B>)) {}
        f(form, from, to);
      });
    }
  }

  /// Computes the footprints of a group. towards_rows: steps of a forward projection (from slices to rows), else of a
  /// back projection (from rows to slices). fold_row_width: multiplies the chord by W_r, which the means of a back
  /// projection leave out.
  template <class Scratch>
  MBIRK_NOINLINE summary prepare(pixel_group const& group, index_t view, bool towards_rows, bool fold_row_width,
                                 Scratch const& s) const noexcept {
    using wide = typename I::wide;
    using pack = typename I::pack;
    auto const g = geometry;  // a copy, because the compiler must assume that the stores below may alias *this
    auto const position = I::load_value(positions + view);
    cone_footprints<I> const footprints(g, position, 0);
    float const cells = static_cast<float>(half(towards_rows ? g.slices : g.rows));
    pack const packs = I::broadcast(
        static_cast<float>(ceil_div(half(towards_rows ? g.rows : g.slices), index_t{B::lanes})));
    auto const pixels = found(s);
    pack widest = I::constant(0), lowest = I::constant(1e30), highest = I::constant(0);
    for (int k = 0; k < group.count; k += I::lanes) {
      auto const f = footprints.of(I::load_ints(rows + (group.first + k)), I::load_ints(cols + (group.first + k)),
                                   [](wide value) MBIRK_FLAT { return I::to_pack(value); });
      auto const span = clip_to_detector<I>(g, f.channel);
      wide const row_edge = footprints.row_edge(f);
      pack const channels = I::to_pack(span.width);
      I::store(pixels.cell() + k, span.cell);
      I::store(pixels.fraction() + k, I::to_pack(span.fraction));
      I::store(pixels.width() + k, channels);
      I::store(pixels.chord() + k, fold_row_width ? f.channel.chord * I::to_pack(f.row_width) : f.channel.chord);
      wide const begin = towards_rows ? (I::broadcast(0.0) - row_edge) * f.inverse_row_width : row_edge;
      auto const state = resample_state_of<B>(begin, towards_rows ? f.inverse_row_width : f.row_width);
      pack const inverse_step = I::to_pack(towards_rows ? f.row_width : f.inverse_row_width);
      auto const reach = reach_of(I::to_pack(begin), inverse_step, cells, packs, B::lanes);
      I::store(pixels.position + k, state.position);
      I::store(pixels.advance + k, state.advance);
      I::store(pixels.lane_words() + k, I::to_ints(state.lane_words));
      I::store(pixels.inverse_step() + k, inverse_step);
      I::store(pixels.reach_first() + k, I::to_ints(reach.first));
      I::store(pixels.reach_end() + k, I::to_ints(reach.end));
      pack const square = I::to_pack(f.magnification * f.magnification);
      I::store(pixels.square() + k, square);
      widest = max(widest, channels);
      lowest = min(lowest, square);
      highest = max(highest, square);
    }
    return {reduce_max<I>(widest), reduce_min<I>(lowest), reduce_max<I>(highest)};
  }

  MBIRK_HD static tap_window first_window(float widest) noexcept { return {widest <= 1 ? 2 : 3, 0, widest > 2}; }
  MBIRK_HD static bool next_window(tap_window& w, float widest) noexcept {
    w.tap0 += 3;
    return w.any_width && w.tap0 < static_cast<int>(std::ceil(widest)) + 1;
  }

  /// First channel (plus guard) and weights of the window's taps. power 2 squares the weights; clip_sum replaces the
  /// first weight by the sum of the squares of those taps that hit the detector (unit weights).
  template <class Scratch>
  MBIRK_NOINLINE void channel_weights(pixel_group const& group, tap_window const& win, int power, bool clip_sum,
                                      Scratch const& s) const noexcept {
    using wide = typename I::wide;
    auto const pixels = found(s);
    cone_taps<I> const taps(geometry, win);
    for (int k = 0; k < group.count; k += I::lanes) {
      wide const first = taps.first(I::load_wide(pixels.cell() + k));
      I::store(pixels.first_channel + k, taps.index(first));
      taps.weigh(power, clip_sum, first, I::load(pixels.fraction() + k), I::load(pixels.width() + k),
                 I::load(pixels.chord() + k), [](wide channel) MBIRK_FLAT { return I::to_pack(channel); },
                 [&](int tap, typename I::pack weight) MBIRK_FLAT {
                   I::store(pixels.weights + (tap * group_pixels + k), weight);
                 });
    }
  }

  /// Linearises sec phi_k = sqrt(1 + G t_k) of every slice in G around the group's centre, as c_k + (G - centre) c'_k,
  /// if the remainder t^2 dG^2 / 8 is below float rounding. Returns the centre, or a negative number if the square root
  /// must be computed per pixel.
  template <class Scratch>
  MBIRK_NOINLINE float prepare_secants(index_t view, summary const& sum, Scratch const& s) const noexcept {
    float const centre = (sum.lowest + sum.highest) / 2, reach = (sum.highest - sum.lowest) / 2;
    float const t = largest_elevation[elevation_stride == 0 ? 0 : view];
    if (t * t * reach * reach > 8 * 1.2e-7f) return -1;
    auto const value = s.template at<float>(secants), slope = value + padded_slices;
    auto const row = elevations + view * elevation_stride;
    auto const g = B::broadcast(centre);
    for (index_t k = 0; k < half_slices(); k += B::lanes) {
      auto const tk = B::load(row + k), c = sqrt(fma(g, tk, B::constant(1)));
      B::store(value + k, c);
      B::store(slope + k, tk * B::constant(0.5) / c);
    }
    return centre;
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
