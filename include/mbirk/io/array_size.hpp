// Bounds on the sizes of arrays in files. Every reader checks a shape here before it reads or allocates anything, so
// that no later product of sizes overflows. C++ standard library only.
#pragma once

#include <optional>

#include "mbirk/core/index.hpp"

namespace mbirk {

/// Largest array that mbirk reads or writes, far beyond any memory. Sums of a few such sizes do not overflow.
inline constexpr index_t max_array_bytes = index_t{1} << 59;

/// Largest rank of an array in a file: NumPy's limit.
inline constexpr int max_array_rank = 64;

/// Number of elements of an array of this shape; nothing if the shape is invalid: a size is negative, the rank is above
/// max_array_rank, or the array is larger than max_array_bytes. Sizes of 0 do not excuse the others, because readers
/// also form products of only some of the sizes.
///
/// @param shape          sizes, any range of integers
/// @param element_bytes  1 to 16
template <class Shape>
constexpr std::optional<index_t> array_elements(Shape const& shape, index_t element_bytes) noexcept {
  index_t nonzero = 1;  // product of the sizes that are not 0
  int rank = 0;
  bool empty = false;
  for (auto const size : shape) {
    if (size < 0 || ++rank > max_array_rank) return std::nullopt;
    if (size == 0) empty = true;
    else if (static_cast<unsigned long long>(size) >
             static_cast<unsigned long long>(max_array_bytes / element_bytes / nonzero))
      return std::nullopt;
    else nonzero *= static_cast<index_t>(size);
  }
  return empty ? 0 : nonzero;
}

}  // namespace mbirk
