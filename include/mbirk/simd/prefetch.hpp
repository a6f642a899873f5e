// Memory that is soon needed.
#pragma once

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk::kernel {

/// Elements of float32 from which an array is in nobody's cache: 16 MiB, half of a last-level cache.
inline constexpr index_t prefetch_threshold = index_t{1} << 22;

/// Floats of a line of memory.
inline constexpr index_t cache_line_floats = 16;

/// Asks for a line of memory that is soon read or written, where a cursor is memory; says nothing to a policy that watches, nor on a device, where
/// other warps hide the wait. What is read goes to the second level of cache: the first has what is worked on meanwhile.
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

/// Asks for elements [first, first + share) of the `all` that lie at `from`.
template <class Cursor> MBIRK_INLINE void prefetch_part(Cursor from, index_t first, index_t share, index_t all) noexcept {
  for (index_t k = first; k < (first + share < all ? first + share : all); k += cache_line_floats) prefetch_read(from + k);
}

}  // namespace mbirk::kernel
