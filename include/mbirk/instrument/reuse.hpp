// Reuse distances: for each access to a 64-byte line, the number of other distinct lines touched since the previous
// access to it. A fully associative LRU cache of C lines misses exactly when the distance is >= C or the line is cold,
// so one pass gives the traffic for every cache size.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "mbirk/core/index.hpp"

namespace mbirk::instrument {

/// Misses and write-backs of caches with 2^0, 2^(1/4), 2^(2/4) ... lines.
struct reuse_result {
  std::uint64_t accesses = 0, cold = 0;
  std::vector<std::uint64_t> capacity_lines, read_misses, write_backs;

  /// Adds another part of a run, over the union of both lists of sizes. Write-backs belong to whole runs and are not
  /// added.
  reuse_result& operator+=(reuse_result const& o) {
    for (std::size_t k = 0; k < std::max(read_misses.size(), o.read_misses.size()); ++k) {
      // Beyond the end of a list only cold misses remain.
      if (k == read_misses.size()) {
        capacity_lines.push_back(o.capacity_lines[k]);
        read_misses.push_back(cold);
      }
      read_misses[k] += k < o.read_misses.size() ? o.read_misses[k] : o.cold;
    }
    accesses += o.accesses;
    cold += o.cold;
    return *this;
  }
};

/// Exact stack distances with time-ordered bits: one live bit per time slot, a Fenwick tree over blocks of 512 bits,
/// and renumbering when the slots run out. Write-backs (dirty lines evicted from a cache of C lines) follow from the
/// same distances. Cost: about 20 ns per access.
class reuse_engine {
 public:
  static constexpr int line_bytes = 64;

  reuse_engine() = default;
  explicit reuse_engine(index_t lines) { grow(lines); }

  /// Adds room for more lines; returns the number of the first new line. Without memory for them nothing changes.
  std::uint32_t grow(index_t more) {
    std::size_t const before = last_.size(), lines = before + static_cast<std::size_t>(more);
    std::size_t const slots = std::max<std::size_t>(4096, round_up_512(4 * lines));
    auto const order = live_lines();
    last_.reserve(lines);
    dirty_from_.reserve(lines);
    bits_.reserve(slots / 64);
    tree_.reserve(slots / block + 1);
    distances_.reserve(lines + 1);
    write_backs_.reserve(lines + 2);
    last_.resize(lines, never);
    dirty_from_.resize(lines, clean);
    bits_.resize(slots / 64);
    tree_.resize(slots / block + 1);
    distances_.resize(lines + 1);
    write_backs_.resize(lines + 2);
    renumber(order);  // the tree's shape depends on its size
    return static_cast<std::uint32_t>(before);
  }

  /// @param full  whether a store covers the whole line, which then needs no fetch.
  void touch(std::uint32_t line, bool store, bool full) {
    if (now_ == bits_.size() * 64) renumber(live_lines());
    std::uint64_t const before = std::exchange(last_[line], now_);
    ++accesses_;
    ++part_.accesses;
    bool const fetch = !(store && full);
    std::uint64_t distance = 0;
    if (before == never) {
      ++live_;
      cold_ += fetch;
      part_.cold += fetch;
    } else {
      distance = live_ - live_up_to(before);
      flip(before, false);
      distances_[distance] += fetch;
      part_.by_width[std::bit_width(distance)] += fetch;
    }
    // dirty_from: the smallest cache size at which the line is still dirty here. An access from a larger distance finds
    // it written back in smaller caches.
    auto& dirty = dirty_from_[line];
    if (dirty != clean && before != never && distance > dirty) {
      // Cache sizes C with dirty < C <= distance.
      ++write_backs_[dirty + 1];
      --write_backs_[distance + 1];
      dirty = distance;
    }
    if (store) dirty = 0;
    flip(now_++, true);
  }

  /// Result of the whole run: four sizes per octave, up to the number of lines.
  reuse_result result() const {
    reuse_result r{accesses_, cold_, {}, {}, {}};
    std::uint64_t misses = 0;
    std::vector<std::uint64_t> suffix(distances_.size() + 1);
    for (std::size_t d = distances_.size(); d-- > 0;) suffix[d] = misses += distances_[d];
    std::vector<std::int64_t> flushed(write_backs_.begin(), write_backs_.end());
    for (auto const dirty : dirty_from_)
      if (dirty != clean && dirty + 1 < flushed.size()) ++flushed[dirty + 1];  // at the end every dirty line is evicted
    for (std::size_t c = 1; c < flushed.size(); ++c) flushed[c] += flushed[c - 1];
    std::size_t const lines = last_.size();
    for (int step = 0;; ++step) {
      auto const size = static_cast<std::size_t>(std::llround(std::exp2(step / 4.0)));
      if (!r.capacity_lines.empty() && size == r.capacity_lines.back()) continue;
      r.capacity_lines.push_back(size);
      r.read_misses.push_back(cold_ + (size < suffix.size() ? suffix[size] : 0));
      r.write_backs.push_back(static_cast<std::uint64_t>(size < flushed.size() ? flushed[size] : flushed.back()));
      if (size >= lines) break;
    }
    return r;
  }

  /// Result since the last call, for the same caches: sizes 1, 2, 4 ... up to the size with only cold misses. Without
  /// write-backs, because a line that this part made dirty may be evicted in a later one.
  reuse_result take_part() {
    reuse_result r{part_.accesses, part_.cold, {}, {}, {}};
    std::uint64_t misses = part_.cold;
    for (auto const n : part_.by_width) misses += n;
    // A cache of 2^k lines misses accesses at distance 2^k and above, whose bit width is k + 1 or more.
    for (std::size_t k = 0; k < part_.by_width.size(); ++k) {
      misses -= part_.by_width[k];
      r.capacity_lines.push_back(std::uint64_t{1} << k);
      r.read_misses.push_back(misses);
      if (misses == part_.cold) break;
    }
    part_ = {};
    return r;
  }

  bool empty() const noexcept { return last_.empty(); }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0}, clean = ~std::uint64_t{0};
  static constexpr std::size_t block = 512;
  static std::size_t round_up_512(std::size_t n) { return (n + block - 1) / block * block; }

  /// Number of live slots at or before `slot`.
  std::uint64_t live_up_to(std::uint64_t slot) const {
    std::uint64_t n = 0;
    for (std::size_t b = slot / block; b > 0; b &= b - 1) n += tree_[b];
    for (std::size_t w = slot / block * (block / 64); w < slot / 64; ++w)
      n += static_cast<std::uint64_t>(std::popcount(bits_[w]));
    return n + static_cast<std::uint64_t>(std::popcount(bits_[slot / 64] << (63 - slot % 64)));
  }
  void flip(std::uint64_t slot, bool on) {
    if (on) bits_[slot / 64] |= std::uint64_t{1} << slot % 64;
    else bits_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    for (std::size_t b = slot / block + 1; b < tree_.size(); b += b & -b) tree_[b] += on ? 1 : -1;
  }
  /// The live slots and their lines, in order.
  using slot_order = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  slot_order live_lines() const {
    slot_order order;
    for (std::size_t line = 0; line < last_.size(); ++line)
      if (last_[line] != never) order.push_back({last_[line], static_cast<std::uint32_t>(line)});
    std::sort(order.begin(), order.end());
    return order;
  }
  /// Renumbers the live slots 0, 1, ...
  void renumber(slot_order const& order) {
    std::fill(bits_.begin(), bits_.end(), 0);
    std::fill(tree_.begin(), tree_.end(), 0);
    now_ = 0;
    for (auto const& [slot, line] : order) {
      last_[line] = now_;
      flip(now_++, true);
    }
  }

  std::vector<std::uint64_t> last_, dirty_from_, bits_;
  std::vector<std::uint64_t> tree_;  // Fenwick tree over blocks; adding -1 relies on unsigned wrap-around
  std::vector<std::uint64_t> distances_, write_backs_;
  std::uint64_t now_ = 0, live_ = 0, accesses_ = 0, cold_ = 0;
  struct part {
    std::uint64_t accesses = 0, cold = 0;
    std::array<std::uint64_t, 48> by_width{};  ///< number of accesses by the bit width of their distance: 0, 1, ...
  } part_;
};

}  // namespace mbirk::instrument
