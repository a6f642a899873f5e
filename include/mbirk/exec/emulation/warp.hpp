// Warp operations of the running thread. All 32 lanes call each operation from the same source line.
#pragma once

#include <array>
#include <cstddef>

#include "mbirk/exec/emulation/block_emulator.hpp"

namespace mbirk::exec::emulation {

/// All members are static, so that code without a block can call them inside a kernel.
struct warp {
  static int lane() noexcept { return running->rank() % warp_lanes; }

  /// Orders the memory accesses of the lanes; the other operations do not.
  static void sync(source_location where = source_location::current()) { running->warp_sync(where); }

  /// An emulated device has no caches.
  static void prefetch(float const*) noexcept {}

  /// Value of x in lane `source`.
  template <class T> static T shfl(T x, int source, source_location where = source_location::current()) {
    if (static_cast<unsigned>(source) >= warp_lanes) [[unlikely]]
      running->fail(where, "shfl from lane %d, which lies outside 0 .. 31", source);
    block_emulator::hidden const h(*running);
    return running->exchange(wait_kind::shfl, x, where)[source];
  }
  /// Value of x in lane (lane ^ mask).
  template <class T> static T shfl_xor(T x, int mask, source_location where = source_location::current()) {
    if (static_cast<unsigned>(mask) >= warp_lanes) [[unlikely]]
      running->fail(where, "shfl_xor with mask %d, which lies outside 0 .. 31", mask);
    block_emulator::hidden const h(*running);
    int const source = lane() ^ mask;
    return running->exchange(wait_kind::shfl_xor, x, where)[source];
  }
  /// Bit l is the predicate of lane l.
  static unsigned ballot(bool p, source_location where = source_location::current()) {
    block_emulator::hidden const h(*running);
    return running->exchange(wait_kind::ballot, p ? 1u : 0u, where).reduced([](auto const& all) {
      unsigned bits = 0;
      for (int l = 0; l < warp_lanes; ++l) bits |= all[l] << l;
      return bits;
    });
  }
  /// Bit l is set if lane l has the value of the calling lane.
  static unsigned match(int x, source_location where = source_location::current()) {
    block_emulator::hidden const h(*running);
    auto const all = running->exchange(wait_kind::match, x, where);
    unsigned bits = 0;
    for (int l = 0; l < warp_lanes; ++l) bits |= static_cast<unsigned>(all[l] == x) << l;
    return bits;
  }

  /// Sum over all lanes, by a butterfly with the masks 16, 8, 4, 2, 1: bitwise equal to the device's result.
  template <class T> static T sum(T x, source_location where = source_location::current()) {
    block_emulator::hidden const h(*running);
    // One exchange instead of five: additions commute, so all lanes get the bits of lane 0.
    return running->exchange(wait_kind::sum, x, where).reduced([](auto const& all) {
      std::array<T, warp_lanes / 2> part;
      for (int l = 0; l < warp_lanes / 2; ++l)
        part[static_cast<std::size_t>(l)] = static_cast<T>(all[l] + all[l + warp_lanes / 2]);
      for (std::size_t n = warp_lanes / 4; n > 0; n /= 2) {
        for (std::size_t l = 0; l < n; ++l) part[l] = static_cast<T>(part[l] + part[l + n]);
      }
      return part[0];
    });
  }
};

}  // namespace mbirk::exec::emulation
