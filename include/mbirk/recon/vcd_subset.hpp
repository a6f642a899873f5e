// Inputs of a VCD subset update: settings, and a planned subset. Not for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// Settings of every subset update.
struct vcd_settings {
  double sigma_y = 1, max_alpha = 1.5;
  bool positivity = false;
  std::vector<float> damping;  ///< s_k, or empty
};

/// Pixels per task of the kernels that find a direction, on a device. With slice damping a task has at least two,
/// because it leaves two sums of every slice, which are a third of the bytes that a pixel moves.
inline index_t pixels_of_direction_task(index_t pixels, bool damped) {
  return std::max<index_t>(damped ? 2 : 1, kernel::pixels_of_device_task(pixels, kernel::group_pixels));
}

/// Entries per range of the kernels that update an image on a device. A warp takes the entries of a range one after
/// another, and a warp then adds up their sums, range by range, for a pack of slices: ranges of p of n entries cost
/// a p + b n / p, which is least near p = sqrt(n) / 2, since b is about a quarter of a by prediction (docs/gpu.md).
inline index_t entries_of_device_range(index_t entries) {
  return std::clamp(static_cast<index_t>(0.5 * std::sqrt(static_cast<double>(entries))), index_t{1},
                    index_t{kernel::group_pixels});
}
template <class Context> index_t entries_of_update_range(index_t entries) {
  return on_device<Context> ? entries_of_device_range(entries) : index_t{kernel::group_pixels};
}

/// Appends groups of `each` of the planned pixels [first, first + pixels).
inline void append_pixel_groups(std::vector<kernel::pixel_group>& groups, index_t first, index_t pixels, index_t each) {
  for (index_t p = 0; p < pixels; p += each)
    groups.push_back({first + p, static_cast<int>(std::min(each, pixels - p)), 0});
}

/// Subset of a partition, planned once for all its updates. The partition must outlive it.
template <class Context> struct vcd_subset {
  device_plan<Context> plan;
  std::vector<kernel::entry_range> cuts;
  device_table<kernel::entry_range, Context> ranges;
  device_table<std::int32_t, Context> pixels;  // ascending

  /// @param damped  whether its direction is damped by slices
  template <class Part>
  vcd_subset(Context const& ctx, Part const&, std::span<std::int32_t const> ascending, index_t rows, index_t cols,
             index_t slices, bool damped)
      : vcd_subset(ctx, ascending, kernel::plan_list(ascending, rows, cols, slices, order_of_list<Context>),
                   kernel::chunk_without_splitting_duplicates(
                       ascending, entries_of_update_range<Context>(std::ssize(ascending))),
                   groups_of(std::ssize(ascending), damped)) {}
  /// @param planned       the same pixels
  /// @param pixel_ranges  of the list, which split no repeated pixel
  /// @param groups        planned pixels by tasks of a device that find a direction
  vcd_subset(Context const& ctx, std::span<std::int32_t const> ascending, kernel::pixel_plan planned,
             std::vector<kernel::entry_range> pixel_ranges, std::vector<kernel::pixel_group> groups)
      : plan(ctx, std::move(planned)),
        cuts(std::move(pixel_ranges)),
        ranges(ctx, cuts, "ranges of pixels"),
        pixels(ctx, ascending.data(), static_cast<index_t>(ascending.size()), "subset"),
        small_groups(std::move(groups)),
        device_small_groups(ctx, small_groups, "groups of a task") {}
  index_t size() const noexcept { return pixels.size(); }
  /// The pixels whose voxels this process updates: all.
  vcd_subset const& own() const noexcept { return *this; }
  /// Planned pixels by tasks of the kernels that find a direction: the groups of the plan, or smaller ones on a device.
  device_span<kernel::pixel_group> direction_groups() const noexcept {
    return on_device<Context> ? device_small_groups.all() : plan.groups.all();
  }
  vcd_subset(vcd_subset const&) = delete;
  vcd_subset& operator=(vcd_subset const&) = delete;

 private:
  static std::vector<kernel::pixel_group> groups_of(index_t pixels, bool damped) {
    std::vector<kernel::pixel_group> groups;
    if constexpr (on_device<Context>)
      append_pixel_groups(groups, 0, pixels, pixels_of_direction_task(pixels, damped));
    return groups;
  }

  std::vector<kernel::pixel_group> small_groups;  // empty on the host
  device_table<kernel::pixel_group, Context> device_small_groups;
};

/// The direction of the subset that is being updated, (pixels, slices).
template <class Context> class vcd_step {
 public:
  /// @param pixels  of the largest subset
  template <class Part, class Subsets>
  vcd_step(Context const& ctx, Part const&, Subsets const&, index_t pixels, index_t slices, bool damped)
      : direction_(ctx, "direction", pixels * slices), curvature_(ctx, "curvature", damped ? pixels * slices : 0) {}

  temporary<float, Context> const& direction() const noexcept { return direction_; }
  /// Needed only with damping.
  temporary<float, Context> const& curvature() const noexcept { return curvature_; }
  /// Makes shared() that of all processes, which is the same where one has all pixels.
  void share(vcd_subset<Context> const&) const noexcept {}
  temporary<float, Context> const& shared() const noexcept { return direction_; }

 private:
  temporary<float, Context> direction_, curvature_;
};

}  // namespace mbirk::detail
