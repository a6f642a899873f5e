// Tuned parallel forward projection: a task owns a few views and a chunk of slices. The pixels of a tile are processed
// in the order of their channels, so the channels being summed stay in registers and are stored once per run of pixels.
// No write conflicts; fixed order of sums.
#pragma once

#include <cstdint>

#include "mbirk/core/bits.hpp"
#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/prefetch.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Passes first .. first + count - 1 of a task, whole views only. two_taps: number of leading two-tap passes, if the
/// range is sorted by tap count.
struct view_taps_range { index_t first = 0, count = 0, two_taps = 0; };

/// Everything except the epilogue. Split out so that it is compiled once for all epilogues.
template <class B> struct parallel_views {
  using I = typename B::index_backend;
  static constexpr int most_packs = most_chunk_packs<B>;

  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                    // channel-major
  typename I::template cursor<std::int32_t const> rows, cols;     // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;             // offsets of their voxel columns
  typename I::template cursor<view_taps const> passes;        // in view order
  typename I::template cursor<std::int32_t const> tile_order;     // per pass, for tiles
  device_span<view_taps_range> ranges;
  chunked_shape shape;
  device_span<pixel_group> groups;
  scratch_layout layout{};
  scratch_part tile{}, first{}, weights{}, pixel_order{};

  void plan_scratch() {
    tile = layout.add<float>("tile", group_pixels * shape.width);
    first = layout.add<std::int32_t>("first channel", group_pixels);
    weights = layout.add<float>("weights", 3 * group_pixels);
    pixel_order = layout.add<std::int32_t>("order", group_pixels);
  }

  /// Adds the projection of a group to the view of a pass. copy_tile must have been called for the group and chunk.
  template <class Scratch>
  MBIRK_NOINLINE void add_pass(pixel_group const& group, index_t chunk, index_t p, view_taps const& pass,
                               typename B::template cursor<float> view, Scratch const& s) const noexcept {
    auto const w = s.template at<float>(weights);
    footprint_weights<I>(pass, false, shape.channels, group.tile_mask != 0, rows + group.first, cols + group.first,
                         group.count, s.template at<std::int32_t>(first), [&](int tap, int k, auto value) MBIRK_FLAT {
                           I::store(w + (tap * group_pixels + k), value);
                         });
    sort_group(group, p, s);
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT {
      if (pass.taps == 2) accumulate_runs<2>(packs, group.count, view, s);
      else accumulate_runs<3>(packs, group.count, view, s);
    });
    B::note_lanes(group.count * shape.used(chunk), group.count * shape.width);
  }

  /// Copies the group's voxel columns to scratch, aligned and padded with zeros.
  template <class Scratch>
  MBIRK_NOINLINE void copy_tile(pixel_group const& group, index_t chunk, Scratch const& s) const noexcept {
    auto const x = s.template at<float>(tile);
    for (int p = 0; p < group.count; ++p)
      copy_padded<B>(voxel_columns + (I::load_value(offsets + (group.first + p)) + chunk * shape.width),
                     shape.used(chunk), x + p * shape.width, shape.width);
  }

  /// Prefetches part of the voxel columns of the next group, starting at voxel column `from`; as many calls as there
  /// are passes prefetch all of them. Returns the first voxel column of the next call.
  MBIRK_HD int prefetch_tile(pixel_group const& group, index_t chunk, int from, index_t passes_of_task) const noexcept {
    int const to = from + static_cast<int>(ceil_div(group_pixels, passes_of_task));
    for (int p = from; p < min(to, group.count); ++p)
      prefetch_part(voxel_columns + (I::load_value(offsets + (group.first + p)) + chunk * shape.width), 0,
                    shape.used(chunk), shape.used(chunk));
    return to;
  }

  /// Orders the pixels of a tile by channel: the order of the full tile without the masked pixels. Lists keep their
  /// order.
  template <class Scratch>
  MBIRK_HD void sort_group(pixel_group const& group, index_t pass, Scratch const& s) const noexcept {
    auto const order = s.template at<std::int32_t>(pixel_order);
    int n = 0;
    if (group.tile_mask == 0) {
      for (; n < group.count; ++n) I::store_value(order + n, static_cast<std::int32_t>(n));
      return;
    }
    auto const full = tile_order + pass * group_pixels;
    if (group.count == group_pixels) {
      for (; n < group_pixels; n += I::lanes) I::store(order + n, I::load_ints(full + n));
      return;
    }
    for (int k = 0; k < group_pixels; ++k) {
      auto const at = I::load_value(full + k);
      std::uint64_t const bit = std::uint64_t{1} << at;
      if (group.tile_mask & bit)
        I::store_value(order + n++, static_cast<std::int32_t>(mbirk::detail::bit_count(group.tile_mask & (bit - 1))));
    }
  }

  template <int Taps, class Packs, class Scratch>
  MBIRK_NOINLINE void accumulate_runs(Packs packs, int count, typename B::template cursor<float> view,
                                      Scratch const& s) const noexcept {
    using pack = typename B::pack;
    int const width = packs * B::lanes;
    auto const x = s.template at<float>(tile);
    auto const w = s.template at<float>(weights);
    auto const l = s.template at<std::int32_t>(first);
    auto const order = s.template at<std::int32_t>(pixel_order);
    pack sum[Taps][Packs::max_value];  // channels at .. at + Taps - 1
    std::int32_t at = I::load_value(l + I::load_value(order + 0));
    auto row = view + index_t{at} * width;
    auto const load = [&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::load(row + (t * width + i * B::lanes)); });
    };
    auto const store = [&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { B::store(row + (t * width + i * B::lanes), sum[t][i]); });
    };
    simd::unrolled<Taps>(load);
    int k = 0;
    while (true) {
      std::int32_t channel, p = I::load_value(order + k);
      do {  // a run of pixels with the same first channel
        auto const value = x + index_t{p} * width;
        pack weight[Taps];
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::load_broadcast(w + (t * group_pixels + p)); });
        packs.each([&](auto i) MBIRK_FLAT {
          pack const v = B::load_once(value + i * B::lanes);
          simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { sum[t][i] = fma(weight[t], v, sum[t][i]); });
        });
        if (++k == count) {
          simd::unrolled<Taps>(store);
          return;
        }
        p = I::load_value(order + k);
        channel = I::load_value(l + p);
      } while (channel == at);
      if (channel == at + 1) {
        store(0);
        simd::unrolled<Taps - 1>([&](auto t) MBIRK_FLAT {
          packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = sum[t + 1][i]; });
        });
        row = row + width;
        load(Taps - 1);
      } else {
        simd::unrolled<Taps>(store);
        row = view + index_t{channel} * width;
        simd::unrolled<Taps>(load);
      }
      at = channel;
    }
  }
};

/// Forward projection with an epilogue that processes the views of a task once they are summed (epilogue.hpp).
template <class B, class Epilogue = store_epilogue<B>> struct parallel_forward : parallel_views<B> {
  using I = typename B::index_backend;
  Epilogue epilogue{};

  /// Tasks are (chunk, range of views), so that threads traverse the same part of the volume concurrently.
  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& at = this->shape;
    index_t const ranges = this->ranges.size(), chunk = task / ranges;
    auto const range = this->ranges[task % ranges];
    auto const each_pass = [&](auto const& f) {
      for (index_t p = range.first; p < range.first + range.count; ++p) {
        auto const pass = I::load_value(this->passes + p);
        f(p, pass, this->sinogram + at.offset(chunk, pass.view));
      }
    };
    each_pass([&](index_t, view_taps const& pass, auto y) {
      for (index_t k = 0; pass.first_tap == 0 && k < at.view_size(); k += B::lanes) B::store(y + k, B::constant(0));
    });
    index_t const groups = this->groups.size();
    bool const far = groups * group_pixels * at.rows > prefetch_threshold;
    for (index_t k = 0; k < groups; ++k) {
      auto const& group = this->groups[k];
      this->copy_tile(group, chunk, s);
      int prefetched = 0;
      each_pass([&](index_t p, view_taps const& pass, auto y) {
        if (far && k + 1 < groups)
          prefetched = this->prefetch_tile(this->groups[k + 1], chunk, prefetched, range.count);
        this->add_pass(group, chunk, p, pass, y, s);
      });
    }
    Epilogue out = epilogue;
    out.begin();
    each_pass([&](index_t, view_taps const& pass, auto y) {
      if (pass.first_tap == 0) out.view(y, chunk, pass.view);
    });
    out.end(task);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
