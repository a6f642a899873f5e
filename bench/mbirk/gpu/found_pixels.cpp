#include "gpu/found_pixels.hpp"

#include <cmath>
#include <optional>

namespace mbirk::program::gpu {
namespace {

/// The channels that something reaches: those whose centres are closer than `reach` to `place`.
struct covered_channels { double place, reach; };

/// Warps, or sets of them, that something concerns, among those that own successive channels.
class warp_set {
 public:
  /// @param all    channels of the detector
  /// @param owned  channels of a warp or set
  warp_set(index_t all, index_t owned) : all_(real(ceil_div(all, owned))), owned_(real(owned)) {}

  void add(covered_channels const& channels) {
    // The centres of the channels of a warp are up to `middle` from the centre of these channels. Open intervals: a
    // footprint that only touches a channel has no weight there.
    double const middle = 0.5 * (owned_ - 1), reach = channels.reach + middle;
    double const first = std::max(0.0, std::floor((channels.place - reach - middle) / owned_) + 1),
                 last = std::min(all_ - 1, std::ceil((channels.place + reach - middle) / owned_) - 1);
    if (first > last) return;
    if (last_ >= first_ && first <= last_ + 1 && last >= first_ - 1) {
      first_ = std::min(first, first_);
      last_ = std::max(last, last_);
      return;
    }
    apart_ += std::max(0.0, last_ - first_ + 1);
    first_ = first;
    last_ = last;
  }
  double count() const { return apart_ + std::max(0.0, last_ - first_ + 1); }

 private:
  double all_, owned_, first_ = 0, last_ = -1, apart_ = 0;
};

/// Half a footprint and half a channel.
double reach_of(double width) { return 0.5 * (width + 1); }

class parallel_view {
 public:
  explicit parallel_view(kernel::view_taps const& taps)
      : taps_(taps), origin_(taps.edge + 0.5 * (taps.width - 1)) {}

  covered_channels box(kernel::group_bounds const& b, std::size_t k) const {
    double const spread = 0.5 * (std::abs(b.row_extent[k] * taps_.row_step) +
                                 std::abs(b.col_extent[k] * taps_.col_step));
    return {origin_ + 0.5 * b.doubled_row_center[k] * taps_.row_step + 0.5 * b.doubled_col_center[k] * taps_.col_step,
            spread + reach_of(taps_.width)};
  }
  covered_channels pixel(double row, double col, std::optional<bool>&) const {
    return {origin_ + row * taps_.row_step + col * taps_.col_step, reach_of(taps_.width)};
  }

 private:
  kernel::view_taps taps_;
  double origin_;
};

class cone_view {
 public:
  cone_view(cone_geometry const& g, view_position const& at) : g_(g), at_(at) {}

  covered_channels box(kernel::group_bounds const& b, std::size_t k) const {
    double low = 1e300, high = -1e300, widest = 0;
    for (int corner = 0; corner < 4; ++corner) {
      double const row = 0.5 * (b.doubled_row_center[k] + (corner & 1 ? 1 : -1) * b.row_extent[k]),
                   col = 0.5 * (b.doubled_col_center[k] + (corner & 2 ? 1 : -1) * b.col_extent[k]);
      auto const channels = footprint_at(g_, at_, row, col).channel;
      low = std::min(low, channels.centre);
      high = std::max(high, channels.centre);
      widest = std::max(widest, channels.width);
    }
    return {0.5 * (low + high), 0.5 * (high - low) + reach_of(widest)};
  }
  /// @param enlarged  whether a slice covers at least a row
  covered_channels pixel(double row, double col, std::optional<bool>& enlarged) const {
    auto const f = footprint_at(g_, at_, row, col);
    enlarged = f.row_width >= 1;  // a row is 1/W_r slices high
    return {f.channel.centre, reach_of(f.channel.width)};
  }

 private:
  cone_geometry const& g_;
  view_position const& at_;
};

template <class View>
found_pixels found_in(std::vector<View> const& views, visited const& seen, index_t channels,
                      warps_together together) {
  found_pixels all;
  for (auto const v : seen.views) {
    auto const first = v - v % together.views, last = std::min(views.size(), first + together.views);
    auto const reached_by_box = [&](std::size_t k) {
      warp_set found(channels, together.channels);
      for (auto w = first; w < last; ++w) found.add(views[w].box(seen.bounds, k));
      return found.count();
    };
    auto const groups = seen.plan.groups.size(), set = std::size_t{kernel::group_bounds::set},
               sets = (groups + set - 1) / set;
    for (std::size_t k = 0; k < sets; ++k) all.sets += reached_by_box(sets * set + k);
    for (std::size_t k = 0; k < groups; ++k) {
      double const count = reached_by_box(k);
      all.groups += count;
      all.pixel_rounds += count * real(ceil_div(index_t{seen.plan.groups[k].count}, index_t{lanes}));
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(seen.plan.pixels); ++k) {
      warp_set found(channels, together.channels);
      std::optional<bool> enlarged;
      for (auto w = first; w < last; ++w) found.add(views[w].pixel(seen.plan.rows[k], seen.plan.cols[k], enlarged));
      all.hits += found.count();
      if (enlarged) (*enlarged ? all.two : all.three) += found.count();
    }
  }
  return all;
}

template <std::derived_from<cone_geometry> Geometry>
found_pixels found_in_cone(scan<Geometry> const& s, visited const& seen, warps_together together) {
  std::vector<cone_view> views;
  for (auto const& at : s.positions()) views.emplace_back(s.geometry(), at);
  return found_in(views, seen, s.geometry().channels, together);
}

}  // namespace

found_pixels found_by(parallel_scan const& s, visited const& seen, warps_together together) {
  std::vector<parallel_view> views;
  for (auto const& taps : kernel::make_view_taps(s))
    if (taps.first_tap == 0) views.emplace_back(taps);
  return found_in(views, seen, s.geometry().channels, together);
}
found_pixels found_by(cone_scan const& s, visited const& seen, warps_together together) {
  return found_in_cone(s, seen, together);
}
found_pixels found_by(translation_scan const& s, visited const& seen, warps_together together) {
  return found_in_cone(s, seen, together);
}

}  // namespace mbirk::program::gpu
