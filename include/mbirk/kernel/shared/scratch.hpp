// Per-worker scratch memory of a kernel, named part by part, so that counting can tell the buffers apart.
#pragma once

#include <cstddef>

#include "mbirk/core/index.hpp"

namespace mbirk::kernel {

/// Where a part lies in the scratch block, and its number.
struct scratch_part {
  int id = 0;
  index_t offset = 0;
};

/// Collects the parts that a kernel needs. Offsets are multiples of 64 bytes.
class scratch_layout {
 public:
  static constexpr int most = 24;
  struct entry { char const* name; index_t bytes; };

  template <class T> scratch_part add(char const* name, index_t count) {
    index_t const size = round_up(count * static_cast<index_t>(sizeof(T)), 64);
    entries_[count_] = {name, size};
    scratch_part const part{count_++, bytes_};
    bytes_ += size;
    return part;
  }
  MBIRK_HD index_t bytes() const noexcept { return bytes_; }
  MBIRK_HD int parts() const noexcept { return count_; }
  MBIRK_HD entry const& operator[](int i) const noexcept { return entries_[i]; }

 private:
  entry entries_[most] = {};
  int count_ = 0;
  index_t bytes_ = 0;
};

/// The scratch of one worker on the native backend: a base and constant offsets.
struct native_scratch {
  std::byte* base;
  template <class T> MBIRK_HD T* at(scratch_part part) const noexcept { return reinterpret_cast<T*>(base + part.offset); }
};

}  // namespace mbirk::kernel
