// Shadow state of the race check for every word of shared memory. It finds a conflict in whatever order the threads
// ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/block.hpp"

namespace mbirk::exec::emulation {

enum class access : unsigned char { read, write, count };

/// Time and thread of an access. Intervals count events that order memory: barriers of the block, which are never
/// reset, and warp().sync() of the warp.
struct moment {
  std::uint32_t interval = 0, warp_interval = 0;
  unsigned rank = 0;
};

/// Summary of the accesses of one kind to one word in one interval, sufficient to detect conflicts.
struct trail {
  enum class spread : unsigned char { thread, lanes, warps };  // who took part since the last warp().sync()

  std::uint32_t interval = 0;  // 0: none yet
  std::uint32_t warp_interval = 0;
  char const* file = "";  // location of the last access
  int line = 0;
  std::uint16_t rank = 0;
  spread by = spread::thread;

  static unsigned warp_of(unsigned rank) noexcept { return rank / static_cast<unsigned>(warp_lanes); }

  /// Whether an access by another thread is not ordered before `now`.
  bool unordered(moment const& now) const noexcept {
    if (interval != now.interval) return false;
    if (by == spread::warps || warp_of(rank) != warp_of(now.rank)) return true;
    return warp_interval == now.warp_interval && (by == spread::lanes || rank != now.rank);
  }
  void add(moment const& now, source_location where) noexcept {
    if (interval != now.interval) by = spread::thread;
    else if (by != spread::warps) {
      if (warp_of(rank) != warp_of(now.rank)) by = spread::warps;
      else if (warp_interval != now.warp_interval) by = spread::thread;
      else if (rank != now.rank) by = spread::lanes;
    }
    interval = now.interval;
    warp_interval = now.warp_interval;
    rank = static_cast<std::uint16_t>(now.rank);
    file = where.file;
    line = where.line;
  }
  source_location last() const noexcept { return {file, line}; }
};

/// Shadow state of one word.
struct shadow_cell {
  trail reads, writes, counts;
  std::uint32_t written = 0;  // number of the block that last wrote it
  std::uint32_t copy = 0;     // number of the last copy into it
};

/// Shadow cells of one worker's shared memory. Words of four bytes have one cell; elements of one or two bytes have
/// their own cells. (Accesses to the same memory as bytes and as words are therefore not compared.)
class shadow {
 public:
  void resize(std::size_t bytes) {
    if (words_.size() < bytes / 4 + 1) words_.resize(bytes / 4 + 1);
  }
  /// Bytes per cell for elements of this size.
  static constexpr std::size_t step(std::size_t size) noexcept { return size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1; }
  shadow_cell& word(std::size_t k) noexcept { return words_[k]; }
  shadow_cell& at(std::size_t offset, std::size_t step) {
    if (step == 4) return words_[offset / 4];
    if (small_.size() <= offset) small_.resize(words_.size() * 4);
    return small_[offset];
  }
  /// Resets all cells; intervals restart at 1.
  void clear() noexcept {
    for (auto* cells : {&words_, &small_}) {
      for (shadow_cell& c : *cells) c = {};
    }
  }

 private:
  std::vector<shadow_cell> words_, small_;
};

}  // namespace mbirk::exec::emulation
