// Hessian diagonal of the parallel projector with unit weights: sum over views and channels of a^2, the same for all slices, no sinogram.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_unit_hessian {
  using G = typename B::geometry;

  typename B::template cursor<float> cylinders;
  typename G::template cursor<std::int32_t const> rows, cols;  // of the planned pixels
  typename G::template cursor<index_t const> offsets;          // of their cylinders
  typename G::template cursor<parallel_pass const> passes;
  index_t all_passes, channels, slices;
  list<pixel_group> groups;                                        // a task each
  scratch_layout layout{};
  scratch_part first{}, weights{}, sums{};

  void plan_scratch() {
    first = layout.add<std::int32_t>("first channel", group_pixels);
    weights = layout.add<float>("weights", 3 * group_pixels);
    sums = layout.add<double>("sums", group_pixels);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = groups[task];
    using wide = typename G::wide;
    auto const w = s.template at<float>(weights);
    auto const l = s.template at<std::int32_t>(first);
    auto const sum = s.template at<double>(sums);
    for (int k = 0; k < group.count; k += G::lanes) G::store(sum + k, G::broadcast(0.0));
    wide const lowest = G::broadcast(static_cast<double>(guard_channels)), highest = G::broadcast(static_cast<double>(channels + guard_channels));
    for (index_t p = 0; p < all_passes; ++p) {
      auto const pass = G::load_value(passes + p);
      footprint_weights<G>(pass, true, channels, group.tile_mask != 0, rows + group.first, cols + group.first, group.count, l,
                           [&](int tap, int k, auto value) MBIRK_FLAT { G::store(w + (tap * group_pixels + k), value); });
      for (int k = 0; k < group.count; k += G::lanes) {
        wide total = G::load_wide(sum + k);
        wide const channel = G::to_wide(G::load_ints(l + k));
        for (int t = 0; t < pass.taps; ++t) {  // only cells of the detector
          wide const at = channel + G::broadcast(static_cast<double>(t)), square = G::to_wide(G::load(w + (t * group_pixels + k)));
          total = total + select(at < lowest, G::broadcast(0.0), select(at < highest, square, G::broadcast(0.0)));
        }
        G::store(sum + k, total);
      }
    }
    for (int p = 0; p < group.count; ++p) {
      auto const value = B::broadcast(static_cast<float>(G::load_value(sum + p)));
      auto const out = cylinders + G::load_value(offsets + (group.first + p));
      for (index_t k = 0; k < slices; k += B::lanes) store_lanes<B>(out + k, value, lanes_at<B>(k, slices));
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
