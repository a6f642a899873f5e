// Arrays of a test where a policy's kernels read and write them.
#pragma once

#include <cstddef>

#include "mbirk/context.hpp"

namespace mbirk::test {

/// A copy of a view, gaps included; an output is brought back by fetch().
template <class T, int Rank, class Exec> class placed {
 public:
  placed(Exec const& exec, view<T const, Rank> const& v) : exec_(exec), bytes_(static_cast<std::size_t>(v.data() ? v.span() : 0) * sizeof(T)) {
    if (bytes_ > 0) {
      data_ = static_cast<T*>(exec.allocate(bytes_));
      exec.upload(data_, v.data(), bytes_);
    }
    all_ = view<T, Rank>(data_, v.extents(), v.strides());
  }
  ~placed() {
    if (data_) exec_.deallocate(data_, bytes_);
  }
  placed(placed const&) = delete;
  placed& operator=(placed const&) = delete;

  view<T, Rank> all() const { return all_; }
  view<T const, Rank> in() const { return all_; }
  void fetch(view<T, Rank> const& to) const {
    if (bytes_ > 0) exec_.download(to.data(), data_, bytes_);
  }

 private:
  Exec const& exec_;
  std::size_t bytes_;
  T* data_ = nullptr;
  view<T, Rank> all_;
};
template <class Exec, class T, int Rank> placed<std::remove_const_t<T>, Rank, Exec> place(Exec const& exec, view<T, Rank> const& v) {
  return {exec, view<std::remove_const_t<T> const, Rank>(v)};
}

}  // namespace mbirk::test
