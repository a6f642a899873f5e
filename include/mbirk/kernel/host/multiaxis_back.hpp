// Tuned back projection of multi-axis parallel beam: a task owns a batch of groups of pixels. Per pass and pixel, the
// channels of the footprint are summed into one column of rows (in L1), which is resampled onto the voxel column. In
// level passes, where every slice is a row, they are summed into the voxel column at once.
#pragma once

#include "mbirk/kernel/host/multiaxis_view.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Power: exponent of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct multiaxis_back {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  multiaxis_view<B> view;
  typename B::template cursor<float const> sinogram;         // channel-major, one chunk; unused if Unit
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<index_t const> offsets;        // offsets of the planned pixels' voxel columns
  typename I::template cursor<multiaxis_taps const> passes;
  index_t all_passes;
  chunked_shape shape;
  device_span<pixel_group> groups;
  group_batches batches;
  scratch_layout layout{};
  scratch_part column{}, tile{}, level{};

  void plan_scratch() {
    view.plan_scratch(layout);
    column = layout.add<float>("column", view.room_for(shape.width));
    tile = layout.add<float>("tile", batches.largest() * tile_size());
    if (Unit) level = layout.add<float>("sums of level passes", batches.largest() * group_pixels);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const batch = batches.of(task, groups);
    auto const x = s.template at<float>(tile);
    index_t const padded = view.padded_slices();
    for (index_t g = 0; g < batch.size(); ++g)
      for (index_t k = 0; k < batch[g].count * padded; k += B::lanes)
        B::store(x + (g * tile_size() + k), B::constant(0));
    auto const ones = s.template at<float>(Unit ? level : tile);
    if constexpr (Unit)
      for (index_t k = 0; k < batch.size() * group_pixels; k += B::lanes) B::store(ones + k, B::constant(0));
    auto const u = s.template at<float>(column);
    for (index_t k = 0; k < view.room_for(shape.width); k += B::lanes) B::store(u + k, B::constant(0));
    if constexpr (Unit)
      for (index_t k = 0; k < shape.rows; k += B::lanes)
        B::store(u + (resample_guard<B> + k), B::first_lanes(min<index_t>(B::lanes, shape.rows - k)));
    for (index_t p = 0; p < (view.slices > 0 ? all_passes : 0); ++p) {
      auto const pass = I::load_value(passes + p);
      for (index_t g = 0; g < batch.size(); ++g)
        add_pass(batch[g], pass, x + g * tile_size(), ones + (Unit ? g * group_pixels : 0), s);
    }
    for (index_t g = 0; g < batch.size(); ++g)
      for (int p = 0; p < batch[g].count; ++p) {
        auto const from = x + (g * tile_size() + p * padded);
        pack const all = Unit ? B::load_broadcast(ones + (g * group_pixels + p)) : B::constant(0);
        auto const at = [&](index_t k) MBIRK_FLAT { return Unit ? B::load(from + k) + all : B::load(from + k); };
        store_voxel_column<B>({view.slices, padded, false}, at,
                              voxel_columns + I::load_value(offsets + (batch[g].first + p)));
      }
  }

 private:
  MBIRK_HD index_t tile_size() const noexcept { return group_pixels * view.padded_slices(); }

  template <class Scratch>
  MBIRK_NOINLINE void add_pass(pixel_group const& group, multiaxis_taps const& pass,
                               typename B::template cursor<float> x, typename B::template cursor<float> ones,
                               Scratch const& s) const noexcept {
    view.template prepare<false>(group, pass, Power == 2, s);
    if constexpr (Unit) sum_channels(group.count, pass, s);
    if (is_level(pass)) {
      if constexpr (Unit) add_ones(group.count, ones, s);
      else if (pass.channels.taps == 2) add_level<2>(group.count, pass, x, s);
      else add_level<3>(group.count, pass, x, s);
      B::note_lanes(group.count * view.slices, group.count * view.padded_slices());
      return;
    }
    with_form(view.template form<false>(pass), [&](auto form) MBIRK_FLAT {
      if (Unit || pass.channels.taps == 2) add_pixels<form(), 2>(group.count, pass, x, s);
      else add_pixels<form(), 3>(group.count, pass, x, s);
    });
    B::note_lanes(group.count * view.slices, group.count * view.padded_slices());
  }

  /// Whether slice k is row k for every pixel, up to roundings of the views.
  MBIRK_HD bool is_level(multiaxis_taps const& pass) const noexcept {
    auto const none = [](double x) { return -1e-13 < x && x < 1e-13; };
    return pass.tiles && view.slices == shape.rows && none(pass.step - 1) && none(pass.row_step) &&
        none(pass.col_step) && -1e-10 < pass.edge && pass.edge < 1e-10;
  }
  /// Adds the sums of the weights, the same for all slices.
  template <class Scratch>
  MBIRK_HD void add_ones(int count, typename B::template cursor<float> ones, Scratch const& s) const noexcept {
    auto const w = s.template at<float>(view.weights);
    for (int k = 0; k < count; k += B::lanes) B::store(ones + k, B::load(ones + k) + B::load(w + k));
  }
  template <int Taps, class Scratch>
  MBIRK_NOINLINE void add_level(int count, multiaxis_taps const& pass, typename B::template cursor<float> x,
                                Scratch const& s) const noexcept {
    auto const first = s.template at<std::int32_t>(view.ints);
    auto const w = s.template at<float>(view.weights);
    index_t const width = shape.width;
    auto const y = sinogram + shape.offset(0, pass.channels.view);
    for (int p = 0; p < count; ++p) {
      auto const from = y + index_t{I::load_value(first + p)} * width;
      auto const to = x + p * width;
      pack weight[Taps];
      simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::load_broadcast(w + (t * group_pixels + p)); });
      for (index_t k = 0; k < width; k += B::lanes) {
        pack sum = B::load(to + k);
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT {
          sum = fma(weight[t], B::load(from + (t * width + k)), sum);
        });
        B::store(to + k, sum);
      }
    }
  }

  /// Replaces the first weight by the sum of those of channels that exist.
  template <class Scratch>
  MBIRK_HD void sum_channels(int count, multiaxis_taps const& pass, Scratch const& s) const noexcept {
    auto const w = s.template at<float>(view.weights);
    auto const first = s.template at<std::int32_t>(view.ints);
    auto const zero = I::constant(0), lowest = I::constant(guard_channels),
               highest = I::broadcast(static_cast<float>(shape.channels + guard_channels));
    for (int k = 0; k < count; k += I::lanes) {
      auto const channel = I::to_pack(I::to_wide(I::load_ints(first + k)));
      auto sum = zero;
      for (int t = 0; t < pass.channels.taps; ++t) {
        auto const at = channel + I::broadcast(static_cast<float>(t));
        sum = sum + select(at < lowest, zero, select(at < highest, I::load(w + (t * group_pixels + k)), zero));
      }
      I::store(w + k, sum);
    }
  }

  template <resample_form Form, int Taps, class Scratch>
  MBIRK_NOINLINE void add_pixels(int count, multiaxis_taps const& pass, typename B::template cursor<float> x,
                                 Scratch const& s) const noexcept {
    auto const u = s.template at<float>(column) + resample_guard<B>;
    auto const w = s.template at<float>(view.weights);
    index_t const padded = view.padded_slices(), width = shape.width;
    auto const y = Unit ? sinogram : sinogram + shape.offset(0, pass.channels.view);
    // Means over the rows leave out the width of a footprint, which sums contain.
    bool const means = Power == 1 && Form != resample_form::general;
    pack const scale = B::broadcast(means ? static_cast<float>(pass.width) : 1.0f);
    view.template each_pixel<Form, Power, Unit, false>(
        count, pass, s, [&](int) MBIRK_FLAT { return typename B::template cursor<float const>(u); },
        [&](int p, std::int32_t channel, index_t first, index_t end, auto const& next) MBIRK_FLAT {
          if constexpr (!Unit) {
            auto const from = y + index_t{channel} * width;
            pack weight[Taps];
            simd::unrolled<Taps>([&](auto t) MBIRK_FLAT {
              weight[t] = scale * B::load_broadcast(w + (t * group_pixels + p));
            });
            for (index_t r = 0; r < width; r += B::lanes) {
              pack sum = weight[0] * B::load(from + r);
              simd::unrolled<Taps - 1>([&](auto t) MBIRK_FLAT {
                sum = fma(weight[t + 1], B::load(from + ((t + 1) * width + r)), sum);
              });
              B::store(u + r, sum);
            }
          }
          auto const to = x + p * padded;
          pack const factor = Unit ? B::load_broadcast(w + p) : B::constant(1);
          for (index_t k = first * B::lanes; k < end * B::lanes; k += B::lanes) {
            pack const value = next();
            B::store(to + k, Unit ? fma(factor, value, B::load(to + k)) : value + B::load(to + k));
          }
        });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
