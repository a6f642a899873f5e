// The block emulator of one worker: runs the threads of a block as fibers that switch to each other at barriers and
// warp operations.
#pragma once

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/exec/block.hpp"
#include "mbirk/exec/emulation/copies.hpp"
#include "mbirk/exec/emulation/finding.hpp"
#include "mbirk/exec/emulation/options.hpp"
#include "mbirk/exec/emulation/order.hpp"
#include "mbirk/exec/emulation/shadow.hpp"
#include "mbirk/exec/fiber.hpp"

namespace mbirk::exec::emulation {

class block_emulator;

/// The emulator that runs the calling thread, set and restored by a launch. Null outside of kernels.
inline constinit thread_local block_emulator* running = nullptr;

/// Operations that a thread may wait in.
enum class wait_kind : unsigned char {
  nothing, sync, warp_sync, shfl, shfl_xor, ballot, match, sum, copy, ended
};

inline char const* name_of(wait_kind k) noexcept {
  constexpr char const* names[] = {
      "no operation", "sync", "warp().sync", "warp().shfl", "warp().shfl_xor", "warp().ballot", "warp().match",
      "warp().sum", "wait for a copy that thread 0 has not started", "the end"};
  return names[static_cast<int>(k)];
}

struct waiting {
  wait_kind what = wait_kind::nothing;
  source_location where{"", 0};
  bool same(waiting const& o) const noexcept { return what == o.what && same_location(where, o.where); }
};

/// Data common to all blocks of a launch.
struct job {
  void (*call)(void const* kernel, block_emulator&) = nullptr;  // calls the kernel from the running thread
  void const* kernel = nullptr;
  int threads = 0;
  std::size_t shared_bytes = 0;
  index3 grid;
  emulation_options options;
};

class block_emulator {
 public:
  static constexpr std::size_t alignment = 128;

  block_emulator() {
    if constexpr (thread_sanitizer) copier_ = __tsan_create_fiber(0);
  }
  ~block_emulator() {
    if constexpr (thread_sanitizer) __tsan_destroy_fiber(copier_);
  }
  block_emulator(block_emulator const&) = delete;
  block_emulator& operator=(block_emulator const&) = delete;

  // Interface for launches.

  /// Prepares fibers and shared memory for the blocks of a job, which this OS thread will run.
  void prepare(job const& j);
  /// Runs the block at position `turn` of the order. False when the launch must end.
  bool run_block(index_t turn, index3 index);
  finding_list const& found() const noexcept { return found_; }
  std::exception_ptr const& thrown() const noexcept { return thrown_; }
  void forget() noexcept {
    found_.clear();
    thrown_ = nullptr;
  }

  /// Scope in which a thread executes emulator code: ThreadSanitizer ignores its accesses, except while the thread is
  /// suspended.
  class hidden {
   public:
    explicit hidden(block_emulator& m) : emulator_(m) {
      tsan_hide();
      if constexpr (thread_sanitizer) ++emulator_.hidden_;
    }
    hidden(hidden const&) = delete;
    hidden& operator=(hidden const&) = delete;
    ~hidden() {
      if constexpr (thread_sanitizer) --emulator_.hidden_;
      tsan_show();
    }

   private:
    block_emulator& emulator_;
  };

  // Interface for blocks and warps, called by the running thread.

  int rank() const noexcept {
    tsan_hidden const h;
    return rank_;
  }
  index3 index() const noexcept { return index_; }
  std::byte* shared_memory() const noexcept { return arena_.get(); }
  bool checks_races() const noexcept { return job_.options.check_races; }

  void sync(source_location where);

  /// Values of all lanes; valid until the lane's next warp operation.
  template <class T> class lane_values {
   public:
    lane_values(std::byte* at, bool* reduced) noexcept : at_(at), reduced_(reduced) {}
    T operator[](int lane) const noexcept {
      T x;
      std::memcpy(&x, at_ + static_cast<std::size_t>(lane) * sizeof(T), sizeof(T));
      return x;
    }

    /// The result of a reduction over the lanes, computed by the first lane to ask.
    template <class Reduce> T reduced(Reduce const& reduce) {
      if (!*reduced_) {
        T const x = reduce(*this);
        std::memcpy(at_, &x, sizeof(T));
        *reduced_ = true;
      }
      return (*this)[0];
    }

   private:
    std::byte* at_;
    bool* reduced_;
  };

  /// Collects one value from every lane. Call it, and use the result, hidden from ThreadSanitizer.
  template <class T> lane_values<T> exchange(wait_kind what, T const& x, source_location where) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= slot,
                  "warp operations take trivially copyable values of up to 16 bytes");
    meeting& m = meeting_of_warp();
    std::byte* const table = m.values[m.turn];
    bool* const reduced = &m.reduced[m.turn];
    *reduced = false;
    std::memcpy(table + static_cast<std::size_t>(rank_ % warp_lanes) * sizeof(T), &x, sizeof(T));
    meet(m, what, where);
    return lane_values<T>(table, reduced);
  }
  void warp_sync(source_location where);

  /// Called before every access to shared memory.
  MBIRK_INLINE void touch(void const* at, std::size_t size, access what, source_location where) {
    if (watched_) [[unlikely]] watch(at, size, what, where);
  }

  int open_pipe(void const* storage, int stages) { return copies_.open(storage, stages, job_.threads); }
  void copy_async(int pipe, async_copy const& copy, std::size_t room);
  void wait(int pipe, source_location where);

  /// Records a finding and ends the launch: the thread is abandoned. Its frames are never unwound, so the caller must
  /// not own resources.
  [[noreturn, gnu::format(printf, 3, 4)]] void fail(source_location where, char const* format, ...);

 private:
  static constexpr std::size_t slot = 16;

  /// Exchange area of a warp. There are two tables, because a fast lane may reach the next operation before a slow lane
  /// has read this one.
  struct meeting {
    alignas(16) std::byte values[2][warp_lanes * slot];
    bool reduced[2] = {};
    unsigned turn = 0;
    int arrived = 0;
    waiting first;
  };

  static unsigned warp_of(int rank) noexcept { return static_cast<unsigned>(rank) / warp_lanes; }
  static void thread_body(void* self);
  void run_thread();
  void prepare_fibers();
  meeting& meeting_of_warp() noexcept { return warps_[warp_of(rank_)]; }
  moment now() const noexcept { return {interval_, warp_intervals_[warp_of(rank_)], static_cast<unsigned>(rank_)}; }
  void meet(meeting& m, wait_kind what, source_location where);
  void release_warp(int warp);
  void next();
  void yield();
  void switch_fibers(fiber& from, fiber& to);
  [[noreturn]] void leave();
  [[noreturn]] void stuck();
  void note(source_location where, source_location other, char const* text) { found_.add(turn_, where, other, text); }
  [[gnu::format(printf, 4, 5)]] void report(source_location where, source_location other, char const* format, ...);
  void report_line(source_location where, source_location other, char const* format, std::va_list arguments);
  void watch(void const* at, std::size_t size, access what, source_location where);
  void check(void const* at, std::size_t size, access what, source_location where);
  [[gnu::cold]] void report_race(std::size_t offset, access what, source_location where, trail const& earlier,
                                 access then);
  void check_copy(shadow_cell& cell, access what, source_location where);
  void issue(int pipe, std::size_t k);
  void mark_copy(int pipe, std::size_t k);
  void land(async_pipe& p, std::size_t k);

  struct free_memory {
    void operator()(std::byte* p) const noexcept { ::operator delete[](p, std::align_val_t{alignment}); }
  };

  // The running thread and its most frequently accessed data.
  int rank_ = 0;
  bool watched_ = false;
  int preempt_left_ = 0;
  std::uint32_t interval_ = 1;  // number of barriers in all blocks so far; below, of warp().sync() in this block
  std::array<std::uint32_t, ready_queue::max_threads / warp_lanes> warp_intervals_{};
  int arrived_ = 0;
  ready_queue ready_;
  random_numbers random_;
  job job_;
  index3 index_;
  index_t turn_ = 0;
  waiting first_;  // arrival of the first thread at the current barrier
  int ended_ = 0, sleepers_ = 0;
  bool left_ = false;
  // For ThreadSanitizer: addresses that stand for the ordered events, and the number of scopes that hide the running
  // thread. There are two barrier tokens, of which barrier_ is the current one, because with a single one the next
  // arrival of a fast thread would hide races of a slow one.
  unsigned barrier_ = 0;
  unsigned char barrier_tokens_[2] = {};
  unsigned char begin_ = 0, parked_ = 0;  // events: a block begins; a thread is suspended or ends
  int hidden_ = 0;
  std::uint32_t block_number_ = 0;
  std::size_t arena_bytes_ = 0;

  std::unique_ptr<std::byte[], free_memory> arena_;
  std::vector<meeting> warps_;
  std::vector<waiting> waiting_;
  async_copies copies_;
  shadow shadow_;
  finding_list found_;
  std::exception_ptr thrown_;
  std::optional<stacks> stacks_;
  std::unique_ptr<fiber[]> fibers_;
  fiber home_;              // the worker's OS thread
  void* copier_ = nullptr;  // represents the asynchronous copies in ThreadSanitizer
};

}  // namespace mbirk::exec::emulation

#include "mbirk/exec/emulation/block_check.hpp"
#include "mbirk/exec/emulation/block_run.hpp"
