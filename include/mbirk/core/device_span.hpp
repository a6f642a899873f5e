// Read-only span for kernel arguments: a std::span for host and device.
#pragma once

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk {

/// `count` elements starting at `first`. Non-owning; passed by value.
template <class T> struct device_span {
  T const* first = nullptr;
  index_t count = 0;

  MBIRK_HD constexpr T const* begin() const noexcept { return first; }
  MBIRK_HD constexpr T const* end() const noexcept { return first + count; }
  MBIRK_HD constexpr index_t size() const noexcept { return count; }
  MBIRK_HD constexpr T const& operator[](index_t k) const noexcept { return first[k]; }
};

}  // namespace mbirk
