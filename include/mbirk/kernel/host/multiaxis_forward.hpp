// Tuned forward projection of multi-axis parallel beam: a task owns a few views. Per pass and pixel, the voxel column
// is resampled onto the rows and added to the two or three channels of its footprint directly from registers.
#pragma once

#include "mbirk/kernel/host/multiaxis_view.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/simd/prefetch.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Everything except the epilogue. Split out so that it is compiled once for all epilogues.
template <class B> struct multiaxis_columns {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  multiaxis_view<B> view;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                  // channel-major, one chunk
  typename I::template cursor<index_t const> offsets;           // offsets of the planned pixels' voxel columns
  typename I::template cursor<multiaxis_taps const> passes;     // in view order
  device_span<view_taps_range> ranges;
  chunked_shape shape;
  device_span<pixel_group> groups;
  scratch_layout layout{};
  scratch_part tile{};

  void plan_scratch() {
    view.plan_scratch(layout);
    tile = layout.add<float>("tile", group_pixels * stride());
  }

  template <class Scratch>
  MBIRK_NOINLINE void add_pass(pixel_group const& group, multiaxis_taps const& pass,
                               typename B::template cursor<float> y, Scratch const& s) const noexcept {
    view.template prepare<true>(group, pass, false, s);
    with_form(view.template form<true>(pass), [&](auto form) MBIRK_FLAT {
      if (pass.channels.taps == 2) add_pixels<form(), 2>(group.count, pass, y, s);
      else add_pixels<form(), 3>(group.count, pass, y, s);
    });
    B::note_lanes(group.count * shape.rows, group.count * shape.width);
  }

  /// Copies the group's voxel columns to scratch, between zeros.
  template <class Scratch>
  MBIRK_NOINLINE void copy_tile(pixel_group const& group, Scratch const& s) const noexcept {
    auto const x = s.template at<float>(tile);
    for (int p = 0; p < group.count; ++p)
      copy_padded<B>(voxel_columns + I::load_value(offsets + (group.first + p)), view.slices,
                     x + (p * stride() + resample_guard<B>), view.padded_slices());
  }
  /// Zeros the scratch around the voxel columns; called once per task.
  template <class Scratch> MBIRK_HD void clear_guards(Scratch const& s) const noexcept {
    auto const x = s.template at<float>(tile);
    for (int p = 0; p < group_pixels; ++p)
      for (index_t k = 0; k < resample_guard<B>; k += B::lanes) {
        B::store(x + (p * stride() + k), B::constant(0));
        B::store(x + ((p + 1) * stride() - resample_guard<B> + k), B::constant(0));
      }
  }
  /// Prefetches part of the voxel columns of the next group, as parallel_views does.
  MBIRK_HD int prefetch_tile(pixel_group const& group, int from, index_t passes_of_task) const noexcept {
    int const to = from + static_cast<int>(ceil_div(group_pixels, passes_of_task));
    for (int p = from; p < min(to, group.count); ++p)
      prefetch_part(voxel_columns + I::load_value(offsets + (group.first + p)), 0, view.slices, view.slices);
    return to;
  }

 private:
  MBIRK_HD index_t stride() const noexcept { return view.room_for(view.padded_slices()); }

  template <resample_form Form, int Taps, class Scratch>
  MBIRK_NOINLINE void add_pixels(int count, multiaxis_taps const& pass, typename B::template cursor<float> y,
                                 Scratch const& s) const noexcept {
    auto const x = s.template at<float>(tile) + resample_guard<B>;
    auto const w = s.template at<float>(view.weights);
    index_t const width = shape.width, apart = stride();
    view.template each_pixel<Form, 1, false, true>(
        count, pass, s, [&](int p) MBIRK_FLAT { return typename B::template cursor<float const>(x + p * apart); },
        [&](int p, std::int32_t channel, index_t first, index_t end, auto const& next) MBIRK_FLAT {
          pack weight[Taps];
          simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::load_broadcast(w + (t * group_pixels + p)); });
          auto const to = y + index_t{channel} * width;
          for (index_t r = first * B::lanes; r < end * B::lanes; r += B::lanes) {
            pack const value = next();
            simd::unrolled<Taps>([&](auto t) MBIRK_FLAT {
              auto const to_channel = to + (t * width + r);
              B::store(to_channel, fma(weight[t], value, B::load(to_channel)));
            });
          }
        });
  }
};

/// Forward projection with an epilogue that processes the views of a task once they are summed (epilogue.hpp).
template <class B, class Epilogue = store_epilogue<B>> struct multiaxis_forward : multiaxis_columns<B> {
  using I = typename B::index_backend;
  Epilogue epilogue{};

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& at = this->shape;
    auto const range = this->ranges[task];
    auto const each_pass = [&](auto const& f) {
      for (index_t p = range.first; p < range.first + range.count; ++p) {
        auto const pass = I::load_value(this->passes + p);
        f(pass, this->sinogram + at.offset(0, pass.channels.view));
      }
    };
    each_pass([&](multiaxis_taps const& pass, auto y) {
      for (index_t k = 0; pass.channels.first_tap == 0 && k < at.view_size(); k += B::lanes)
        B::store(y + k, B::constant(0));
    });
    this->clear_guards(s);
    index_t const count = this->view.slices > 0 ? this->groups.size() : 0;
    bool const far = count * group_pixels * this->view.slices > prefetch_threshold;
    for (index_t k = 0; k < count; ++k) {
      auto const& group = this->groups[k];
      this->copy_tile(group, s);
      int prefetched = 0;
      each_pass([&](multiaxis_taps const& pass, auto y) {
        if (far && k + 1 < count) prefetched = this->prefetch_tile(this->groups[k + 1], prefetched, range.count);
        this->add_pass(group, pass, y, s);
      });
    }
    Epilogue out = epilogue;
    out.begin();
    each_pass([&](multiaxis_taps const& pass, auto y) {
      if (pass.channels.first_tap == 0) out.view(y, 0, pass.channels.view);
    });
    out.end(task);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
