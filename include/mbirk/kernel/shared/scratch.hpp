// Per-worker scratch memory of a kernel in named parts, so that counting backends can distinguish the buffers.
#pragma once

#include <cstddef>

#include "mbirk/core/index.hpp"

namespace mbirk::kernel {

/// Number of a part, and its offset in the scratch block.
struct scratch_part {
  int id = 0;
  index_t offset = 0;
};

/// Collects the scratch parts of a kernel. Offsets are multiples of 64 bytes.
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

/// Scratch of one worker on the native backend: a base address plus constant offsets.
struct native_scratch {
  std::byte* base;
  template <class T>
  MBIRK_HD T* at(scratch_part part) const noexcept { return reinterpret_cast<T*>(base + part.offset); }
};

}  // namespace mbirk::kernel
