// The number of elements of an array of three axes.
#pragma once

#include <array>
#include <cstddef>

#include "mbirk/core/index.hpp"

namespace mbirk {

/// Elements of an array of this shape, as the size of a vector.
constexpr std::size_t element_count(std::array<index_t, 3> const& shape) noexcept {
  return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
}

}  // namespace mbirk
