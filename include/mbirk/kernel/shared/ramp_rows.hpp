// Input and output of the ramp filter: how its kernels read packs of weighted rows in all channels, and write them.
#pragma once

#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Input or output of the filter: an array (views, rows, channels), which is transposed on the fly, or a channel-major
/// one.
template <class Cursor> struct sinogram_rows {
  static constexpr bool channel_major = false;
  Cursor at{};
  index_t view_stride = 0, row_stride = 0;  // in elements
};
template <class Cursor> struct sinogram_channels {
  static constexpr bool channel_major = true;
  Cursor at{};
};

/// Input and output. Out may alias In: a task reads all of its input before it writes, and no other task reads what it
/// writes. A channel-major output gets zero guards, and zeros in rows beyond the last.
template <class B, class In, class Out> struct ramp_sides {
  static constexpr bool channel_major_out = Out::channel_major;
  // Prefetch distance of a transposition, whose row segments are too short for hardware prefetching.
  static constexpr index_t rows_ahead = 2 * B::lanes;
  using cursor = typename B::template cursor<float>;
  using pack = typename B::pack;

  In in;
  Out out;
  typename B::template cursor<float const> weights;  // used only if `weighted`
  chunked_shape shape;
  bool weighted;

  /// Calls put(channel, pack, value) for packs of rows of a chunk, from `row` on.
  template <class Packs, class Put>
  MBIRK_INLINE void read(Packs packs, index_t view, index_t chunk, index_t row, Put const& put) const noexcept {
    auto const weigh = [&](index_t n, index_t i, pack value) MBIRK_FLAT {
      if (weighted)
        value = value * B::load(weights + ((chunk * shape.channels + n) * shape.width + row + i * B::lanes));
      put(n, i, value);
    };
    if constexpr (In::channel_major) {
      auto const from = in.at + (shape.offset(chunk, view) + guard_channels * shape.width + row);
      for (index_t n = 0; n < shape.channels; ++n)
        packs.each([&](auto i) MBIRK_FLAT { weigh(n, i, B::load(from + (n * shape.width + i * B::lanes))); });
    } else {
      index_t const begin = chunk * shape.width + row;
      for (index_t i = 0; i < packs; ++i)
        for (index_t n = 0; n < shape.channels; n += B::lanes) {
          pack block[B::lanes];
          index_t const have = min<index_t>(B::lanes, shape.rows - begin - i * B::lanes),
              wide = min<index_t>(B::lanes, shape.channels - n);
          for (index_t k = 0; k < B::lanes; ++k) {
            block[k] = B::constant(0);
            if (k >= have) continue;
            auto const from = in.at + (view * in.view_stride + (begin + i * B::lanes + k) * in.row_stride + n);
            prefetch_read(from + rows_ahead * in.row_stride);
            block[k] = wide == B::lanes ? B::load(from) : B::load_partial(from, static_cast<int>(wide));
          }
          B::transpose(block);
          for (int k = 0; k < B::lanes; ++k)  // constant bounds, so that the packs stay in registers
            if (k < wide) weigh(n + k, i, block[k]);
        }
    }
  }

  /// Channel 0 of a channel-major output.
  MBIRK_INLINE cursor channels_at(index_t view, index_t chunk, index_t row) const noexcept {
    return out.at + (shape.offset(chunk, view) + guard_channels * shape.width + row);
  }
  template <class Packs>
  MBIRK_INLINE void clear_guards(Packs packs, index_t view, index_t chunk, index_t row) const noexcept {
    auto const to = out.at + (shape.offset(chunk, view) + row);
    for (index_t n = 0; n < guard_channels; ++n)
      packs.each([&](auto i) MBIRK_FLAT {
        B::store(to + (n * shape.width + i * B::lanes), B::constant(0));
        B::store(to + ((shape.channels + guard_channels + n) * shape.width + i * B::lanes), B::constant(0));
      });
  }

  /// Writes packs of rows, with channel n at q + n step, to the rows that exist.
  template <class Packs>
  MBIRK_HD void write_rows(Packs packs, index_t view, index_t chunk, index_t row, cursor q,
                           index_t step) const noexcept {
    index_t const begin = chunk * shape.width + row;
    for (index_t i = 0; i < packs; ++i) {
      index_t const have = min<index_t>(B::lanes, shape.rows - begin - i * B::lanes);
      if (have <= 0) return;
      for (index_t n = 0; n < shape.channels; n += B::lanes) {
        pack block[B::lanes];
        index_t const wide = min<index_t>(B::lanes, shape.channels - n);
        for (index_t k = 0; k < B::lanes; ++k)
          block[k] = k < wide ? B::load(q + ((n + k) * step + i * B::lanes)) : B::constant(0);
        B::transpose(block);
        for (int k = 0; k < B::lanes; ++k) {
          if (k >= have) continue;
          auto const to = out.at + (view * out.view_stride + (begin + i * B::lanes + k) * out.row_stride + n);
          prefetch_write(to + rows_ahead * out.row_stride);
          if (wide == B::lanes) B::store(to, block[k]);
          else B::store_partial(to, block[k], static_cast<int>(wide));
        }
      }
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
