// Parallel projections of a small subset in an iterative reconstruction. The pixels of a list are spread over the
// image, so a view is summed channel by channel over all of them: a few channels are in registers, and each is
// completed, and passed to the epilogue, before it is stored to memory. Tasks own views.
#pragma once

#include <cstdint>

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Pixels of a list and their projection onto one view at a time. No footprint may be wider than two channels.
template <class B> struct parallel_subset_projection {
  using I = typename B::index_backend;
  static constexpr int most_packs = most_chunk_packs<B>;

  typename B::template cursor<float const> voxel_columns;             // (pixels, chunks * width), 0 beyond the last row
  typename I::template cursor<std::int32_t const> rows, cols;     // rows and columns of the planned pixels
  typename I::template cursor<view_taps const> passes;        // one per view
  chunked_shape shape;
  index_t pixels;
  scratch_part first{}, weights{}, order{}, ends{}, block{}, carried{};

  /// @param views  number of views that are prepared at a time.
  void plan_scratch(scratch_layout& layout, index_t views) {
    first = layout.add<std::int32_t>("first channels of a list", padded());
    weights = layout.add<float>("weights of a list", views * 3 * padded());
    order = layout.add<std::int32_t>("order of a list", views * padded());
    ends = layout.add<std::int32_t>("ends of channels", views * all_channels());
    block = layout.add<float>("channels", channels_at_once() * shape.width);
    carried = layout.add<float>("unfinished channels", 2 * shape.width);
  }

  /// Computes the weights of the pixels in a view and sorts the pixels by channel; n is the slot of the prepared view.
  template <class Scratch>
  MBIRK_NOINLINE void prepare(view_taps const& pass, index_t n, Scratch const& s) const noexcept {
    auto const l = s.template at<std::int32_t>(first);
    auto const w = s.template at<float>(weights) + n * 3 * padded();
    footprint_weights<I>(pass, false, shape.channels, false, rows, cols, static_cast<int>(pixels), l,
                         [&](int tap, int k, auto value) MBIRK_FLAT { I::store(w + (tap * padded() + k), value); });
    auto const end = s.template at<std::int32_t>(ends) + n * all_channels();
    auto const to = s.template at<std::int32_t>(order) + n * padded();
    for (index_t c = 0; c < all_channels(); ++c) I::store_value(end + c, 0);
    for (index_t k = 0; k < pixels; ++k) {
      auto const at = end + I::load_value(l + k);
      I::store_value(at, I::load_value(at) + 1);
    }
    std::int32_t before = 0;
    for (index_t c = 0; c < all_channels(); ++c) {
      std::int32_t const count = I::load_value(end + c);
      I::store_value(end + c, before);
      before += count;
    }
    for (index_t k = 0; k < pixels; ++k) {
      auto const at = end + I::load_value(l + k);
      std::int32_t const place = I::load_value(at);
      I::store_value(to + place, static_cast<std::int32_t>(k));
      I::store_value(at, place + 1);
    }
  }

  /// Projects a chunk onto the n-th prepared view, a few channels at a time, which are passed to the epilogue.
  template <class Epilogue, class Scratch>
  MBIRK_HD void project(view_taps const& pass, index_t n, index_t chunk, Epilogue& epilogue,
                        Scratch const& s) const noexcept {
    auto const z = s.template at<float>(block), carry = s.template at<float>(carried);
    for (index_t k = 0; k < 2 * shape.width; k += B::lanes) B::store(carry + k, B::constant(0));
    std::int32_t next = 0;
    for (index_t from = 0; from < all_channels(); from += channels_at_once()) {
      index_t const to = min(all_channels(), from + channels_at_once());
      typename B::template cursor<float const> source{};
      if constexpr (Epilogue::has_source) source = epilogue.source(chunk, pass.view) + from * shape.width;
      with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT {
        if (pass.taps == 2)
          next = accumulate_channels<2>(packs, n, chunk, from, to, next, source, Epilogue::has_source, s);
        else next = accumulate_channels<3>(packs, n, chunk, from, to, next, source, Epilogue::has_source, s);
      });
      index_t const begin = max<index_t>(from, guard_channels), end = min(to, guard_channels + shape.channels);
      if (begin < end) epilogue.channels(z + (begin - from) * shape.width, chunk, pass.view, begin, end);
    }
    B::note_lanes(pixels * shape.used(chunk), pixels * shape.width);
  }

 private:
  MBIRK_HD index_t padded() const noexcept { return round_up(pixels, group_pixels); }
  MBIRK_HD index_t all_channels() const noexcept { return shape.channels + 2 * guard_channels; }
  /// Channels per block, sized to 8 KiB of L1.
  MBIRK_HD index_t channels_at_once() const noexcept { return max<index_t>(1, 2048 / shape.width); }

  /// Sums channels [from, to), starting with the pixel at position `next` of the order; returns the position of the
  /// first remaining pixel. Contributions to channels beyond `to` are carried over.
  template <int Taps, class Packs, class Scratch>
  MBIRK_NOINLINE std::int32_t accumulate_channels(Packs packs, index_t n, index_t chunk, index_t from, index_t to,
                                                  std::int32_t next, typename B::template cursor<float const> source,
                                                  bool prefetch_source, Scratch const& s) const noexcept {
    using pack = typename B::pack;
    int const width = packs * B::lanes;
    index_t const length = shape.chunks * width, apart = padded();
    auto const x = voxel_columns + chunk * width;
    auto const w = s.template at<float>(weights) + n * 3 * apart;
    auto const pixel = s.template at<std::int32_t>(order) + n * apart;
    auto const ends_of = s.template at<std::int32_t>(ends) + n * all_channels();
    auto const carry = s.template at<float>(carried);
    auto row = s.template at<float>(block);
    pack sum[Taps][Packs::max_value];  // channels c .. c + Taps - 1
    simd::unrolled<Taps - 1>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::load(carry + (t * width + i * B::lanes)); });
    });
    packs.each([&](auto i) MBIRK_FLAT { sum[Taps - 1][i] = B::constant(0); });
    for (index_t c = from; c < to; ++c) {
      if (prefetch_source) {
        for (int i = 0; i < width; i += B::lanes) prefetch_read(source + i);
        source = source + width;
      }
      for (std::int32_t const end = I::load_value(ends_of + c); next < end; ++next) {
        std::int32_t const p = I::load_value(pixel + next);
        auto const value = x + p * length;
        pack weight[Taps];
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::load_broadcast(w + (t * apart + p)); });
        packs.each([&](auto i) MBIRK_FLAT {
          pack const v = B::load_once(value + i * B::lanes);
          simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { sum[t][i] = fma(weight[t], v, sum[t][i]); });
        });
      }
      packs.each([&](auto i) MBIRK_FLAT {
        B::store(row + i * B::lanes, sum[0][i]);
        simd::unrolled<Taps - 1>([&](auto t) MBIRK_FLAT { sum[t][i] = sum[t + 1][i]; });
        sum[Taps - 1][i] = B::constant(0);
      });
      row = row + width;
    }
    simd::unrolled<Taps - 1>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { B::store(carry + (t * width + i * B::lanes), sum[t][i]); });
    });
    return next;
  }
};

/// Projects a list with an epilogue for its channels. A task is a view.
template <class B, class Epilogue> struct parallel_project_subset : parallel_subset_projection<B> {
  Epilogue epilogue;
  scratch_layout layout{};

  void plan_scratch() { parallel_subset_projection<B>::plan_scratch(layout, 1); }
  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const pass = B::index_backend::load_value(this->passes + task);
    Epilogue out = epilogue;
    out.begin();
    this->prepare(pass, 0, s);
    for (index_t c = 0; c < this->shape.chunks; ++c) this->project(pass, 0, c, out, s);
    out.end(task);
  }
};

/// Back projection of a list by tasks that own a range of views and loop over all pixels. The pending update (the step
/// of the previous subset, projected again) is subtracted from a few views at a time, which are then back projected
/// from the cache into the task's own partial sums.
template <class B, bool Weighted> struct parallel_fused_update_backproject : parallel_sums<B> {
  using base = parallel_sums<B>;

  device_span<view_taps_range> ranges;
  parallel_subset_projection<B> before;      // pending step of the previous subset
  axpy_epilogue<B, Weighted> error;          // subtracts it from the error sinogram
  bool before_first;                         // true if there is a pending step
  typename B::template cursor<float> parts;  // (tasks, pixels, chunks * width)
  index_t pixels, block;                     // block: number of views that stay cached

  void plan_scratch() {
    base::plan_scratch();
    if (before_first) before.plan_scratch(this->layout, block);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const range = ranges[task];
    auto const x = parts + task * pixels * this->length();
    for (index_t k = 0; k < pixels * this->length(); k += B::lanes) B::store(x + k, B::constant(0));
    auto const subtract = [&](index_t from, int passes, index_t chunk) {
      if (!before_first) return;
      auto out = error;
      for (int n = 0; n < passes; ++n) {
        auto const pass = B::index_backend::load_value(this->passes + (from + n));
        if (chunk == 0) before.prepare(pass, n, s);
        before.project(pass, n, chunk, out, s);
      }
    };
    index_t const three_taps = range.first + range.two_taps;
    this->template add_passes<2, false>(this->groups, range.first, three_taps, block, 0, x, s, subtract);
    this->template add_passes<3, false>(this->groups, three_taps, range.first + range.count, block, 0, x, s, subtract);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
