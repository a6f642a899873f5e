// Tuned back projection of general views: a task owns a batch of groups of pixels, and adds the views one after the
// other to their voxel columns, which are in L2.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/general_column.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Power: exponent of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct general_back {
  using I = typename B::index_backend;

  general_slices<B, Power, Unit> column;
  typename B::template cursor<float const> sinogram;           // channel-major, one chunk; unused if Unit
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<general_position const> views;
  device_span<pixel_group> groups;
  group_batches batches;
  scratch_layout layout{};
  scratch_part tile{};

  MBIRK_HD index_t padded_slices() const noexcept {
    return max<index_t>(1, ceil_div(column.slices, B::lanes)) * B::lanes;
  }
  void plan_scratch() { tile = layout.add<float>("tile", batches.largest() * tile_size()); }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const batch = batches.of(task, groups);
    auto const x = s.template at<float>(tile);
    index_t const padded = padded_slices();
    for (index_t g = 0; g < batch.size(); ++g)
      for (index_t k = 0; k < batch[g].count * padded; k += B::lanes)
        B::store(x + (g * tile_size() + k), B::constant(0));
    bool const empty = column.slices == 0 || column.shape.channels == 0 || column.shape.rows == 0;
    for (index_t v = 0; v < (empty ? 0 : column.shape.views); ++v) {
      auto const view = I::load_value(views + v);
      for (index_t g = 0; g < batch.size(); ++g) {
        auto const to = x + g * tile_size();
        switch (column.short_taps(view)) {
          case 2: add_view<2>(batch[g], view, v, to); break;
          case 3: add_view<3>(batch[g], view, v, to); break;
          default: add_view<0>(batch[g], view, v, to);
        }
        B::note_lanes(batch[g].count * column.slices, batch[g].count * padded);
      }
    }
    for (index_t g = 0; g < batch.size(); ++g)
      for (int p = 0; p < batch[g].count; ++p) {
        auto const from = x + (g * tile_size() + p * padded);
        store_voxel_column<B>({column.slices, padded, false}, [&](index_t k) MBIRK_FLAT { return B::load(from + k); },
                              voxel_columns + I::load_value(offsets + (batch[g].first + p)));
      }
  }

 private:
  MBIRK_HD index_t tile_size() const noexcept { return group_pixels * padded_slices(); }

  template <int Taps>
  MBIRK_NOINLINE void add_view(pixel_group const& group, general_position const& view, index_t v,
                               typename B::template cursor<float> x) const noexcept {
    index_t const padded = padded_slices();
    auto const y = Unit ? sinogram : sinogram + column.shape.offset(0, v);
    for (int p = 0; p < group.count; ++p) {
      general_column const c(view, I::load_value(rows + (group.first + p)), I::load_value(cols + (group.first + p)));
      for (index_t k = 0; k < padded; k += B::lanes) {
        auto const to = x + (p * padded + k);
        B::store(to, B::load(to) + column.template sum_taps<Taps>(view, c, k, y));
      }
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
