// Tuned forward projection of general views: a task owns a few views. Per view and pixel, packs of rows gather the
// slices that they see, and add them to the channels of the footprints.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/general_column.hpp"
#include "mbirk/kernel/shared/plan.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Everything except the epilogue. Split out so that it is compiled once for all epilogues.
template <class B> struct general_columns {
  using I = typename B::index_backend;

  index_t slices, views_per_task;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major, one chunk
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<general_position const> views;
  chunked_shape shape;
  device_span<pixel_group> groups;

  MBIRK_NOINLINE void add_group(pixel_group const& group, general_position const& view,
                                typename B::template cursor<float> y) const noexcept {
    for (int p = 0; p < group.count; ++p) {
      general_column const c(view, I::load_value(rows + (group.first + p)), I::load_value(cols + (group.first + p)));
      general_rows const seen(view, c, slices);
      double const end = min(seen.high, static_cast<double>(shape.rows));
      auto const x = voxel_columns + I::load_value(offsets + (group.first + p));
      index_t row = seen.low > 0 ? static_cast<index_t>(min(seen.low, end)) / B::lanes * B::lanes : 0;
      for (; static_cast<double>(row) < end; row += B::lanes) {
        auto const range = seen.channels(view, c, slices, shape.channels, static_cast<double>(row),
                                         static_cast<double>(row + B::lanes - 1));
        auto const to = y + ((range.first + guard_channels) * shape.width + row);
        each_taps<B>(seen, view, c, slices, row, static_cast<double>(range.first), x, [&](auto const& taps) MBIRK_FLAT {
          for (index_t n = 0; n < range.end - range.first; ++n) {
            auto sum = B::load(to + n * shape.width);
            for (auto const& tap : taps) sum = tap.at(n, sum);
            B::store(to + n * shape.width, sum);
          }
        });
      }
    }
    B::note_lanes(group.count * shape.rows, group.count * shape.width);
  }
};

/// Forward projection with an epilogue that processes the views of a task once they are summed (epilogue.hpp).
template <class B, class Epilogue = store_epilogue<B>> struct general_forward : general_columns<B> {
  using I = typename B::index_backend;
  Epilogue epilogue{};

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& at = this->shape;
    index_t const first = task * this->views_per_task, end = min(at.views, first + this->views_per_task);
    for (index_t v = first; v < end; ++v)
      for (index_t k = 0; k < at.view_size(); k += B::lanes)
        B::store(this->sinogram + (at.offset(0, v) + k), B::constant(0));
    bool const empty = this->slices == 0 || at.channels == 0 || at.rows == 0;
    for (index_t g = 0; g < (empty ? 0 : this->groups.size()); ++g)
      for (index_t v = first; v < end; ++v)
        this->add_group(this->groups[g], I::load_value(this->views + v), this->sinogram + at.offset(0, v));
    Epilogue out = epilogue;
    out.begin();
    for (index_t v = first; v < end; ++v) out.view(this->sinogram + at.offset(0, v), 0, v);
    out.end(task);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
