// A read-only list that kernels hold: std::span for host and device.
#pragma once

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk {

/// `count` elements from `first` on. It owns nothing and is passed by value.
template <class T> struct device_span {
  T const* first = nullptr;
  index_t count = 0;

  MBIRK_HD constexpr T const* begin() const noexcept { return first; }
  MBIRK_HD constexpr T const* end() const noexcept { return first + count; }
  MBIRK_HD constexpr index_t size() const noexcept { return count; }
  MBIRK_HD constexpr T const& operator[](index_t k) const noexcept { return first[k]; }
};

}  // namespace mbirk
