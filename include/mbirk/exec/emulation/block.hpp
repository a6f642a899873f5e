// The block that emulated kernels see. mbirk::block documents its members.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mbirk/exec/emulation/block_emulator.hpp"
#include "mbirk/exec/emulation/element.hpp"
#include "mbirk/exec/emulation/warp.hpp"

namespace mbirk::exec::emulation {

/// Identifies the copies of one pipe; located in shared memory.
template <int Stages> struct alignas(16) pipe_storage {
  static_assert(Stages >= 1 && Stages <= 8, "a pipe has one to eight stages");
  static constexpr int stages = Stages;
  unsigned char bytes[16];
};

/// Copies from global to shared memory, first in first out. All threads call every member, with equal arguments.
class pipe {
 public:
  explicit pipe(int id) noexcept : id_(id) {}
  /// Copies n elements. Addresses and sizes are multiples of 16 bytes. A place may be refilled only after a sync that
  /// follows its last use.
  template <class T>
  void copy_async(place<T> to, T const* source, int n, source_location where = source_location::current()) const {
    if (n < 0) running->fail(where, "copies %d elements", n);
    running->copy_async(id_,
                        {reinterpret_cast<std::byte*>(to.at), reinterpret_cast<std::byte const*>(source),
                         static_cast<std::size_t>(n) * sizeof(T), shadow::step(sizeof(T)), where},
                        to.room * sizeof(T));
  }
  /// Waits until this thread can see the oldest copy; a sync after it makes the copy visible to all threads.
  void wait(source_location where = source_location::current()) const { running->wait(id_, where); }

 private:
  int id_;
};

/// A block of `Threads` threads.
template <int Threads> class block {
  static_assert(Threads > 0 && Threads % warp_lanes == 0 && Threads <= ready_queue::max_threads,
                "a block has a multiple of 32 threads, up to 1024");

 public:
  template <class T, int... N> using tile = emulation::tile<T, N...>;
  template <int Stages> using pipe_storage = emulation::pipe_storage<Stages>;

  explicit block(block_emulator& m) : rank_(m.rank()), index_(m.index()) {}

  int rank() const noexcept { return rank_; }
  static constexpr int size() noexcept { return Threads; }
  index3 index() const noexcept { return index_; }
  int warp_rank() const noexcept { return rank_ / warp_lanes; }
  emulation::warp warp() const noexcept { return {}; }

  void sync(source_location where = source_location::current()) const { running->sync(where); }

  void count(element<std::int32_t> const& place) const { place.count(); }

  template <int Stages> pipe open(pipe_storage<Stages>& storage) const {
    block_emulator::hidden const h(*running);
    return pipe(running->open_pipe(&storage, Stages));
  }

 private:
  int rank_;
  index3 index_;
};

static_assert(mbirk::block<block<32>> && mbirk::block<block<1024>>);

}  // namespace mbirk::exec::emulation
