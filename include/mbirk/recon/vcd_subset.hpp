// Inputs of a VCD subset update: settings, and a planned subset. Not for users.
#pragma once

#include <cstdint>
#include <span>
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

/// Subset of a partition, planned once for all its updates. The partition must outlive it.
template <class Context> struct vcd_subset {
  device_plan<Context> plan;
  std::vector<kernel::entry_range> cuts;
  device_table<kernel::entry_range, Context> ranges;
  device_table<std::int32_t, Context> pixels;  // ascending

  vcd_subset(Context const& ctx, std::span<std::int32_t const> ascending, index_t rows, index_t cols, index_t slices)
      : plan(ctx, kernel::plan_list(ascending, rows, cols, slices)),
        cuts(kernel::chunk_without_splitting_duplicates(ascending, kernel::group_pixels)),
        ranges(ctx, cuts, "ranges of pixels"),
        pixels(ctx, ascending.data(), static_cast<index_t>(ascending.size()), "subset") {}
  index_t size() const noexcept { return pixels.size(); }
  vcd_subset(vcd_subset const&) = delete;
  vcd_subset& operator=(vcd_subset const&) = delete;
};

}  // namespace mbirk::detail
