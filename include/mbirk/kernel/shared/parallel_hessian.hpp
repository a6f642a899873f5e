// Unweighted Hessian diagonal of the parallel projector: sum over views and channels of a^2. It is the same for all
// slices and needs no sinogram.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_unweighted_hessian {
  using I = typename B::index_backend;

  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_taps const> passes;
  index_t all_passes, channels, slices;
  device_span<pixel_group> groups;                                        // one per task
  scratch_layout layout{};
  scratch_part first{}, weights{}, sums{};

  void plan_scratch() {
    first = layout.add<std::int32_t>("first channel", group_pixels);
    weights = layout.add<float>("weights", 3 * group_pixels);
    sums = layout.add<double>("sums", group_pixels);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = groups[task];
    using wide = typename I::wide;
    auto const w = s.template at<float>(weights);
    auto const l = s.template at<std::int32_t>(first);
    auto const sum = s.template at<double>(sums);
    for (int k = 0; k < group.count; k += I::lanes) I::store(sum + k, I::broadcast(0.0));
    wide const lowest = I::broadcast(static_cast<double>(guard_channels)),
        highest = I::broadcast(static_cast<double>(channels + guard_channels));
    for (index_t p = 0; p < all_passes; ++p) {
      auto const pass = I::load_value(passes + p);
      footprint_weights<I>(pass, true, channels, group.tile_mask != 0, rows + group.first, cols + group.first,
                           group.count, l, [&](int tap, int k, auto value) MBIRK_FLAT {
                             I::store(w + (tap * group_pixels + k), value);
                           });
      for (int k = 0; k < group.count; k += I::lanes) {
        wide total = I::load_wide(sum + k);
        wide const channel = I::to_wide(I::load_ints(l + k));
        for (int t = 0; t < pass.taps; ++t) {  // detector cells only
          wide const at = channel + I::broadcast(static_cast<double>(t)),
              square = I::to_wide(I::load(w + (t * group_pixels + k)));
          total = total + select(at < lowest, I::broadcast(0.0), select(at < highest, square, I::broadcast(0.0)));
        }
        I::store(sum + k, total);
      }
    }
    order_lanes<B>();
    for (int p = 0; p < group.count; ++p) {
      auto const value = B::broadcast(static_cast<float>(I::load_value(sum + p)));
      auto const out = voxel_columns + I::load_value(offsets + (group.first + p));
      for (index_t k = 0; k < slices; k += B::lanes) store_lanes<B>(out + k, value, valid_lanes<B>(k, slices));
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
