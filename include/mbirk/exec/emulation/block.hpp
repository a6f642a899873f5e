// The block that emulated kernels see. mbirk::block documents its members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mbirk/exec/emulation/block_emulator.hpp"
#include "mbirk/exec/emulation/element.hpp"
#include "mbirk/exec/emulation/warp.hpp"

namespace mbirk::exec::emulation {

/// N elements that a device loads with one instruction.
template <class T, int N> struct alignas(sizeof(T) * N) vec {
  static_assert(N == 1 || N == 2 || N == 4, "a load takes one, two or four elements");
  T element[N];
  T const& operator[](int i) const noexcept { return element[i]; }
  T& operator[](int i) noexcept { return element[i]; }
};

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
  static_assert(Threads > 0 && Threads % warp_lanes == 0 && Threads <= ready_queue::most,
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

  /// Adds x and returns the previous value.
  template <class T> T atomic_add(T& global, std::type_identity_t<T> x) const {
    return std::atomic_ref<T>(global).fetch_add(x, std::memory_order_relaxed);
  }
  template <class T> T atomic_add(element<T> shared, std::type_identity_t<T> x) const {
    block_emulator::hidden const h(*running);
    return atomic_add(shared.atomically(), x);
  }

  /// Reads memory that is not written during the launch.
  template <class T> T load(T const& global) const noexcept { return global; }
  /// Loads N elements at once, from an address that is a multiple of their total size.
  template <int N, class T>
  vec<std::remove_const_t<T>, N> load_vec(T* global, source_location where = source_location::current()) const {
    using vector = vec<std::remove_const_t<T>, N>;
    if (reinterpret_cast<std::uintptr_t>(global) % alignof(vector) != 0) [[unlikely]] {
      running->fail(where, "load_vec<%d> from an address that is not a multiple of %zu", N, alignof(vector));
    }
    vector v;
    for (int i = 0; i < N; ++i) v[i] = global[i];
    return v;
  }

  template <class T> T uniform(T x, source_location where = source_location::current()) const {
    return warp().uniform(x, where);
  }

  /// n elements at byte `offset` of the dynamic shared memory.
  template <class T>
  dynamic_tile<T> dynamic(int offset, int n, source_location where = source_location::current()) const {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "shared memory holds plain values");
    auto const [memory, bytes] = dynamic_memory();
    if (offset < 0 || n < 0 || static_cast<std::size_t>(offset) + static_cast<std::size_t>(n) * sizeof(T) > bytes)
        [[unlikely]] {
      running->fail(where,
                    "%d elements of %zu bytes at byte %d of dynamic shared memory, of which the launch gave %zu bytes",
                    n, sizeof(T), offset, bytes);
    }
    if (static_cast<std::size_t>(offset) % alignof(T) != 0) [[unlikely]] {
      running->fail(where, "byte %d of dynamic shared memory is not aligned to the %zu bytes that the elements need",
                    offset, alignof(T));
    }
    return {reinterpret_cast<T*>(memory + offset), n};
  }

  template <int Stages> pipe open(pipe_storage<Stages>& storage) const {
    block_emulator::hidden const h(*running);
    return pipe(running->open_pipe(&storage, Stages));
  }

 private:
  struct memory_range { std::byte* memory; std::size_t bytes; };
  static memory_range dynamic_memory() {
    block_emulator::hidden const h(*running);
    return {running->dynamic_memory(), running->dynamic_bytes()};
  }
  int rank_;
  index3 index_;
};

static_assert(mbirk::block<block<32>> && mbirk::block<block<1024>>);

}  // namespace mbirk::exec::emulation
