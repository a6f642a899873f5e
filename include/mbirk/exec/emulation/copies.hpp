// Asynchronous copies of the running block: how many every thread has issued and waited for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/emulation/sanitizer.hpp"

namespace mbirk::exec::emulation {

/// One copy. All threads call it with equal arguments; the first to arrive sets them and thread 0 issues the copy.
struct async_copy {
  std::byte* to;
  std::byte const* from;
  std::size_t bytes, step;  // step: bytes of a shadow cell
  source_location where;
  bool issued = false, landed = false;

  bool same_arguments(async_copy const& o) const noexcept { return to == o.to && from == o.from && bytes == o.bytes; }
  void land() noexcept {
    landed = true;
    if constexpr (thread_sanitizer) {
      // Word by word, because ThreadSanitizer skips memcpy when it is configured to ignore libraries.
      for (std::size_t i = 0; i < bytes; i += sizeof(int)) {
        int word;
        __builtin_memcpy(&word, from + i, sizeof word);
        *reinterpret_cast<int volatile*>(to + i) = word;
      }
    } else if (bytes > 0) {
      std::memcpy(to, from, bytes);
    }
  }
  void spoil() const noexcept {
    if (bytes > 0) std::memset(to, 0xff, bytes);  // NaN
  }
};

/// The copies through one pipe_storage, first in first out.
struct async_pipe {
  void const* storage = nullptr;
  std::size_t stages = 0;
  std::vector<async_copy> copies;
  std::vector<std::size_t> issued, waited;  // number of copies per thread
  std::size_t most_waited = 0;               // maximum of `waited` over the threads
  std::size_t published = 0;                 // copies visible to all threads: a barrier followed a thread's wait
  unsigned char tokens[16] = {};             // for ThreadSanitizer: pairs (issued, landed), reused cyclically

  void open(void const* at, int depth, int threads) {
    storage = at;
    stages = static_cast<std::size_t>(depth);
    copies.clear();
    issued.assign(static_cast<std::size_t>(threads), 0);
    waited.assign(static_cast<std::size_t>(threads), 0);
    most_waited = published = 0;
  }
  void* issue_token(std::size_t k) noexcept { return tokens + k % 8 * 2; }
  void* token(std::size_t k) noexcept { return tokens + k % 8 * 2 + 1; }
};

/// Pipes of a block, and a number for every issued copy, which the shadow cells store. The numbering continues from
/// block to block.
class async_copies {
 public:
  struct mark { int pipe; std::size_t copy; };

  void begin_block() noexcept {
    open_ = 0;
    first_mark_ += static_cast<std::uint32_t>(marks_.size());
    marks_.clear();
  }
  /// Index of the pipe with this storage.
  int open(void const* storage, int stages, int threads) {
    for (int i = 0; i < open_; ++i) {
      if (pipes_[static_cast<std::size_t>(i)].storage == storage) return i;
    }
    if (static_cast<std::size_t>(open_) == pipes_.size()) pipes_.emplace_back();
    pipes_[static_cast<std::size_t>(open_)].open(storage, stages, threads);
    return open_++;
  }
  async_pipe& operator[](int pipe) noexcept { return pipes_[static_cast<std::size_t>(pipe)]; }
  int size() const noexcept { return open_; }

  /// Called after a barrier of the block.
  void publish() noexcept {
    for (int i = 0; i < open_; ++i) (*this)[i].published = (*this)[i].most_waited;
  }
  std::uint32_t add_mark(mark m) {
    marks_.push_back(m);
    return first_mark_ + static_cast<std::uint32_t>(marks_.size() - 1);
  }
  /// Null for 0 and for numbers of earlier blocks.
  mark const* find(std::uint32_t number) const noexcept {
    return number < first_mark_ || number == 0 ? nullptr : &marks_[number - first_mark_];
  }
  /// The next number, to detect when numbers are nearly used up; `restart` invalidates all former ones, once the shadow
  /// is cleared.
  std::uint32_t next_mark() const noexcept { return first_mark_ + static_cast<std::uint32_t>(marks_.size()); }
  void restart() noexcept {
    first_mark_ = 1;
    marks_.clear();
    open_ = 0;
  }

 private:
  std::deque<async_pipe> pipes_;  // references stay valid
  std::vector<mark> marks_;
  std::uint32_t first_mark_ = 1;
  int open_ = 0;
};

}  // namespace mbirk::exec::emulation
