// Software prefetch.
#pragma once

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk::kernel {

/// Arrays of at least this many floats are assumed not to be cached: 16 MiB, half of a last-level cache.
inline constexpr index_t prefetch_threshold = index_t{1} << 22;

/// Floats per cache line.
inline constexpr index_t cache_line_floats = 16;

/// Prefetches a cache line that is read or written soon, if the cursor is a pointer. No-op for the cursors of counting
/// backends, and on a device, where other warps hide the latency. Reads go to L2, because L1 holds the current working
/// set.
template <class T> MBIRK_INLINE void prefetch_read([[maybe_unused]] T const* p) noexcept {
#if !defined(__CUDA_ARCH__)
  __builtin_prefetch(p, 0, 2);
#endif
}
template <class T> MBIRK_INLINE void prefetch_write([[maybe_unused]] T* p) noexcept {
#if !defined(__CUDA_ARCH__)
  __builtin_prefetch(p, 1);
#endif
}
template <class Cursor> MBIRK_INLINE void prefetch_read(Cursor const&) noexcept {}
template <class Cursor> MBIRK_INLINE void prefetch_write(Cursor const&) noexcept {}

/// Prefetches elements [first, first + share) of an array of `all` elements at `from`.
template <class Cursor>
MBIRK_INLINE void prefetch_part(Cursor from, index_t first, index_t share, index_t all) noexcept {
  for (index_t k = first; k < (first + share < all ? first + share : all); k += cache_line_floats)
    prefetch_read(from + k);
}

}  // namespace mbirk::kernel
