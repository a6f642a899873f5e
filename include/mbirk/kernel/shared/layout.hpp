// Sinogram layouts: (views, rows, channels) at the interface; internally channel-major chunks of rows with guard
// channels, where rows are the SIMD axis.
#pragma once

#include <algorithm>

#include "mbirk/core/index.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/kernel/shared/view_taps.hpp"
#include "mbirk/simd/prefetch.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Shape of the channel-major sinogram: [chunk][view][channel + 2 guards][width], with `width` slices (or rows) per
/// chunk.
struct chunked_shape {
  index_t views, channels, rows;
  int packs;  ///< packs per chunk
  index_t chunks, width;

  MBIRK_HD index_t view_size() const noexcept { return (channels + 2 * guard_channels) * width; }
  MBIRK_HD index_t size() const noexcept { return chunks * views * view_size(); }
  MBIRK_HD index_t offset(index_t chunk, index_t view) const noexcept { return (chunk * views + view) * view_size(); }
  /// Number of valid rows in this chunk.
  MBIRK_HD index_t used(index_t chunk) const noexcept { return min(width, rows - chunk * width); }
};

/// Equal chunks of at most `most` packs, with the least estimated time: a chunk costs its packs, including empty ones,
/// plus about one more.
inline chunked_shape make_chunks(index_t views, index_t channels, index_t rows, int lanes, index_t most) {
  index_t const packs = std::max<index_t>(1, ceil_div(rows, lanes));
  index_t each = 1;
  for (index_t e = 2; e <= std::min(most, packs); ++e)
    if (ceil_div(packs, e) * (e + 1) <= ceil_div(packs, each) * (each + 1)) each = e;
  return {views, channels, rows, static_cast<int>(each), ceil_div(packs, each), each * lanes};
}

/// (views, rows, channels) -> chunks. Guards and rows beyond the last become 0. A task is a view.
template <class B> struct to_channel_major {
  typename B::template cursor<float const> in;
  typename B::template cursor<float> out;
  index_t view_stride, row_stride;  // strides of `in`, in elements
  chunked_shape shape;

  // Inlined, so that members of the copy that a task works on (launch.hpp) stay in registers.
  MBIRK_INLINE void operator()(index_t view) const noexcept {
    constexpr int lanes = B::lanes;
    for (index_t c = 0; c < shape.chunks; ++c) {
      auto const to = out + shape.offset(c, view);
      auto const guard = [&](index_t channel) {
        for (index_t k = 0; k < guard_channels * shape.width; k += lanes)
          B::store(to + (channel * shape.width + k), B::constant(0));
      };
      guard(0);
      guard(shape.channels + guard_channels);
      for (index_t r = 0; r < shape.width; r += lanes)
        for (index_t n = 0; n < shape.channels; n += lanes) {
          typename B::pack block[lanes];
          index_t const have = min<index_t>(lanes, shape.rows - c * shape.width - r),
              wide = min<index_t>(lanes, shape.channels - n);
          for (index_t k = 0; k < lanes; ++k) {
            block[k] = B::constant(0);
            if (k >= have) continue;
            auto const from = in + (view * view_stride + (c * shape.width + r + k) * row_stride + n);
            prefetch_read(from + lanes * row_stride);
            block[k] = wide == lanes ? B::load(from) : B::load_partial(from, static_cast<int>(wide));
          }
          B::transpose(block);
          for (int k = 0; k < lanes; ++k)  // constant bounds, so that the packs stay in registers
            if (k < wide) B::store(to + ((n + k + guard_channels) * shape.width + r), block[k]);
        }
    }
  }
};

/// chunks -> (views, rows, channels); the contents of the guards are dropped. A task is a view.
template <class B> struct from_channel_major {
  typename B::template cursor<float const> in;
  typename B::template cursor<float> out;
  index_t view_stride, row_stride;  // strides of `out`, in elements
  chunked_shape shape;

  MBIRK_INLINE void operator()(index_t view) const noexcept {
    constexpr int lanes = B::lanes;
    for (index_t c = 0; c < shape.chunks; ++c) {
      auto const from = in + shape.offset(c, view);
      index_t const used = shape.used(c);
      for (index_t r = 0; r < used; r += lanes)
        for (index_t n = 0; n < shape.channels; n += lanes) {
          typename B::pack block[lanes];
          index_t const have = min<index_t>(lanes, used - r), wide = min<index_t>(lanes, shape.channels - n);
          for (index_t k = 0; k < lanes; ++k)
            block[k] = k < wide ? B::load(from + ((n + k + guard_channels) * shape.width + r)) : B::constant(0);
          B::transpose(block);
          for (int k = 0; k < lanes; ++k) {
            if (k >= have) continue;
            auto const to = out + (view * view_stride + (c * shape.width + r + k) * row_stride + n);
            prefetch_write(to + lanes * row_stride);
            if (wide == lanes) B::store(to, block[k]);
            else B::store_partial(to, block[k], static_cast<int>(wide));
          }
        }
    }
  }
};

/// Zeros voxel columns of `length` elements, for the pixels that an operation does not compute. A task is a batch of
/// them.
template <class B> struct zero_columns {
  static constexpr index_t batch = 512;
  typename B::template cursor<float> out;
  typename B::index_backend::template cursor<index_t const> offsets;
  index_t count, length;

  MBIRK_HD void operator()(index_t task) const noexcept {
    for (index_t p = task * batch; p < min(count, (task + 1) * batch); ++p) {
      auto const to = out + B::index_backend::load_value(offsets + p);
      for (index_t k = 0; k < length; k += B::lanes) {
        if (k + B::lanes <= length) B::store(to + k, B::constant(0));
        else B::store_partial(to + k, B::constant(0), static_cast<int>(length - k));
      }
    }
  }
};

/// The place so many bytes behind p: offsets that are kept in bytes save a shift each time. Bytes: an integer; unsigned
/// ones of 32 bits need no extension of their sign.
template <class Bytes> MBIRK_INLINE float const* bytes_after(float const* p, Bytes bytes) noexcept {
  return reinterpret_cast<float const*>(reinterpret_cast<char const*>(p) + bytes);
}
template <class Cursor, class Bytes> MBIRK_INLINE Cursor bytes_after(Cursor p, Bytes bytes) noexcept {
  return p + static_cast<index_t>(bytes) / static_cast<index_t>(sizeof(float));
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
