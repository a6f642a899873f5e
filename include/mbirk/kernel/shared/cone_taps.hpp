// Cone beam: footprints of pixels in one view and their weights, for a pack of pixels at a time on the host and one
// pixel per lane on a device.
#pragma once

#include "mbirk/definition/footprint.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/shared/view_taps.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Footprints in one view. `slice` is the slice that row_edge refers to.
template <class I> class cone_footprints {
  using wide = typename I::wide;

 public:
  MBIRK_INLINE cone_footprints(cone_geometry const& g, view_position const& at, index_t slice) noexcept
      : geometry_(g),
        column_shift_(at.column_shift),
        row_shift_(at.row_shift),
        cosine_(I::broadcast(at.cosine)),
        sine_(I::broadcast(at.sine)),
        z_(definition::slice_z(g, I::broadcast(static_cast<double>(slice)), I::broadcast(at.z_shift))) {}

  /// Footprints of pixels (i, j); narrow converts chords to their type.
  template <class Narrow = definition::same_type>
  MBIRK_INLINE auto of(typename I::ints i, typename I::ints j, Narrow const& narrow = {}) const noexcept {
    wide const x = definition::column_x(geometry_, I::to_wide(j), column_shift_),
        y = definition::row_y(geometry_, I::to_wide(i), row_shift_);
    return definition::make_cone_footprint(geometry_, cosine_, sine_, x, y, narrow);
  }
  /// Left edge of the slice's footprint, in detector rows.
  template <class Footprint> MBIRK_INLINE wide row_edge(Footprint const& f) const noexcept {
    return definition::left_edge(definition::detector_row(geometry_, f.magnification, z_), f.row_width);
  }

 private:
  cone_geometry const& geometry_;
  double column_shift_, row_shift_;
  wide cosine_, sine_, z_;
};

/// Part of a footprint's width on the detector and one channel beyond it, because near the source a pixel may cover
/// millions of channels: its first cell, the fraction of that cell before it, its width.
template <class Wide> struct channel_span { Wide cell, fraction, width; };
template <class I, class Chord>
MBIRK_INLINE channel_span<typename I::wide> clip_to_detector(
    cone_geometry const& g, definition::footprint<typename I::wide, Chord> const& f) noexcept {
  using wide = typename I::wide;
  wide const left = definition::left_edge(f.centre, f.width), edge = max(left, I::broadcast(-1.0));
  wide const cell = floor(edge);
  wide const end = min(left + f.width, I::broadcast(static_cast<double>(g.channels + 1)));
  return {cell, edge - cell, max(end - edge, I::broadcast(0.0))};
}

/// Places of a window's taps on the channels of a view, and their weights.
template <class I> class cone_taps {
  using wide = typename I::wide;

 public:
  MBIRK_INLINE cone_taps(cone_geometry const& g, tap_window const& win) noexcept
      : window_(win),
        channels_(static_cast<double>(g.channels)),
        lowest_(I::broadcast(-static_cast<double>(guard_channels))),
        highest_(I::broadcast(channels_)),
        shift_(I::broadcast(static_cast<double>(win.tap0))) {}

  /// Channel of the window's first tap for a footprint that begins in `cell`; at most in the guards.
  MBIRK_INLINE wide first(wide cell) const noexcept { return max(min(cell + shift_, highest_), lowest_); }
  /// Index of a channel, guards counted.
  MBIRK_INLINE typename I::ints index(wide channel) const noexcept {
    return I::to_ints(channel + I::broadcast(static_cast<double>(guard_channels)));
  }

  /// Calls store(tap, weight) for every tap, or store(0, sum), with the sum of those that hit the detector.
  ///
  /// Power: exponent of the weights. T: type of fraction, width and length, which scales the overlaps; narrow converts
  /// a channel to it.
  template <class T, class Narrow, class Store>
  MBIRK_INLINE void weigh(int power, bool clip_sum, wide first, T fraction, T width, T length, Narrow const& narrow,
                          Store const& store) const noexcept {
    T sum(0.0);
    each_overlap(window_, fraction, width, [&](int tap, T overlap) MBIRK_FLAT {
      T const a = overlap * length, value = power == 2 ? a * a : a;
      if (clip_sum) {
        T const n = narrow(first + I::broadcast(static_cast<double>(tap)));
        sum = sum + select(n < T(0.0), T(0.0), select(n < T(channels_), value, T(0.0)));
      } else {
        store(tap, value);
      }
    });
    if (clip_sum) store(0, sum);
  }

 private:
  tap_window window_;
  double channels_;
  wide lowest_, highest_, shift_;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
