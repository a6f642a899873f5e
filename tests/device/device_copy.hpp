// Device copies of test arrays, in memory that a policy's kernels read and write.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "mbirk/core/view.hpp"
#include "mbirk/exec/array.hpp"

namespace mbirk::test {

/// A copy of a view, gaps included; download() copies an output back.
template <class T, int Rank, class Exec> class device_copy {
 public:
  device_copy(Exec const& exec, view<T const, Rank> const& v)
      : memory_(exec, elements(v)), all_(memory_.data(), v.extents(), v.strides()) {}

  view<T, Rank> all() const { return all_; }
  view<T const, Rank> in() const { return all_; }
  void download(view<T, Rank> const& to) const { memory_.download(std::span<T>(to.data(), elements(to).size())); }

 private:
  static std::span<T const> elements(view<T const, Rank> const& v) {
    return {v.data(), static_cast<std::size_t>(v.data() ? v.span() : 0)};
  }

  exec::array<T, Exec> memory_;
  view<T, Rank> all_;
};
template <class Exec, class T, int Rank>
device_copy<std::remove_const_t<T>, Rank, Exec> place(Exec const& exec, view<T, Rank> const& v) {
  return {exec, view<std::remove_const_t<T> const, Rank>(v)};
}

}  // namespace mbirk::test
