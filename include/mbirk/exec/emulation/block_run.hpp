// Scheduling of a block's threads: start, barriers, warp operations, end. Second part of block_emulator.hpp.
#pragma once

#include "mbirk/exec/emulation/block_emulator.hpp"

namespace mbirk::exec::emulation {

inline void block_emulator::prepare(job const& j) {
  job_ = j;
  watched_ = j.options.check_races || j.options.preempt > 0;
  auto const threads = static_cast<std::size_t>(j.threads);
  if (j.shared_bytes > arena_bytes_ || !arena_) {
    arena_.reset(new (std::align_val_t{alignment}) std::byte[j.shared_bytes]);
    arena_bytes_ = j.shared_bytes;
  }
  if (j.options.check_races) shadow_.resize(j.shared_bytes);
  waiting_.resize(threads);
  warps_.resize(threads / warp_lanes);
  if (!stacks_ || stacks_->count() < j.threads) {
    fibers_.reset();
    stacks_.emplace(j.threads);
    fibers_ = std::make_unique<fiber[]>(threads);
    prepare_fibers();
  }
  home_.adopt_thread();
}

inline void block_emulator::prepare_fibers() {
  for (int i = 0; i < stacks_->count(); ++i)
    fibers_[static_cast<std::size_t>(i)].prepare((*stacks_)[i], &block_emulator::thread_body, this);
}

inline bool block_emulator::run_block(index_t turn, index3 index) {
  turn_ = turn;
  index_ = index;
  if (job_.shared_bytes > 0) std::memset(arena_.get(), 0xff, job_.shared_bytes);
  constexpr std::uint32_t nearly_all = 0xf0000000u;
  if (interval_ > nearly_all || block_number_ > nearly_all || copies_.next_mark() > nearly_all) {
    shadow_.clear();
    interval_ = block_number_ = 0;
    copies_.restart();
  }
  ++interval_;
  ++block_number_;
  copies_.begin_block();
  arrived_ = ended_ = sleepers_ = 0;
  barrier_ = 0;
  left_ = false;
  for (meeting& m : warps_) {
    m.turn = 0;
    m.arrived = 0;
  }
  warp_intervals_.fill(1);
  index3 const g = job_.grid;
  random_ = random_numbers(job_.options.seed,
                           static_cast<std::uint64_t>(
                               (static_cast<index_t>(index.z) * g.y + index.y) * static_cast<index_t>(g.x) + index.x));
  if (job_.options.preempt > 0)
    preempt_left_ = 1 + static_cast<int>(random_.below(static_cast<std::uint32_t>(job_.options.preempt)));
  ready_.fill(job_.threads);
  if (job_.options.seed != 0) ready_.shuffle(random_);

  rank_ = ready_.pop();
  tsan_release(&begin_);
  home_.switch_to(fibers_[static_cast<std::size_t>(rank_)]);
  tsan_acquire(&parked_);
  if (left_) prepare_fibers();
  return !left_;
}

inline void block_emulator::thread_body(void* self) {
  for (;;) static_cast<block_emulator*>(self)->run_thread();
}

/// Runs one thread of one block. Returns when the next block begins.
inline void block_emulator::run_thread() {
  tsan_acquire(&begin_);
  void (*call)(void const*, block_emulator&);
  void const* kernel;
  {
    hidden const h(*this);
    call = job_.call;
    kernel = job_.kernel;
  }
  std::exception_ptr thrown;
  try {
    call(kernel, *this);
  } catch (...) {
    thrown = std::current_exception();
  }
  hidden const h(*this);
  if (thrown) {
    thrown_ = std::move(thrown);
    leave();
  }
  waiting_[static_cast<std::size_t>(rank_)].what = wait_kind::ended;
  ++ended_;
  if (!ready_.empty()) next();
  else if (ended_ == job_.threads) switch_fibers(fibers_[static_cast<std::size_t>(rank_)], home_);
  else stuck();
}

inline void block_emulator::sync(source_location where) {
  hidden const h(*this);
  void* const token = &barrier_tokens_[barrier_];
  tsan_release(token);
  waiting& w = waiting_[static_cast<std::size_t>(rank_)];
  w = {wait_kind::sync, where};
  if (arrived_ == 0) first_ = w;
  else if (!first_.same(w)) next();  // does not return: the block deadlocks
  if (++arrived_ == job_.threads) {
    arrived_ = 0;
    barrier_ ^= 1;
    ++interval_;
    copies_.publish();
    ready_.fill(job_.threads);
    if (job_.options.seed != 0) ready_.shuffle(random_);
  }
  next();
  tsan_acquire(token);
}

inline void block_emulator::warp_sync(source_location where) {
  hidden const h(*this);
  meeting& m = meeting_of_warp();
  void* const token = &m.values[m.turn];
  tsan_release(token);
  meet(m, wait_kind::warp_sync, where);
  tsan_acquire(token);
}

/// Waits until all lanes have arrived. As on a device, only warp().sync() orders memory.
inline void block_emulator::meet(meeting& m, wait_kind what, source_location where) {
  waiting& w = waiting_[static_cast<std::size_t>(rank_)];
  w = {what, where};
  if (m.arrived == 0) m.first = w;
  else if (!m.first.same(w)) next();  // does not return
  if (++m.arrived == warp_lanes) {
    m.arrived = 0;
    m.turn ^= 1;
    if (what == wait_kind::warp_sync) ++warp_intervals_[warp_of(rank_)];
    release_warp(rank_ / warp_lanes);
  }
  next();
}

inline void block_emulator::release_warp(int warp) {
  int const first = warp * warp_lanes;
  if (job_.options.seed == 0) {
    for (int lane = warp_lanes - 1; lane >= 0; --lane) ready_.push_front(first + lane);
    return;
  }
  // An odd factor, a sum and an exclusive or permute the lanes with one random number. The warp goes to the front or
  // back of the queue.
  std::uint64_t const r = random_();
  unsigned const factor = static_cast<unsigned>(r & 31) | 1u, sum = static_cast<unsigned>(r >> 5 & 31),
                 mask = static_cast<unsigned>(r >> 10 & 31);
  bool const front = (r >> 15 & 1) != 0;
  for (unsigned k = 0; k < warp_lanes; ++k) {
    int const rank = first + static_cast<int>(((k * factor + sum) ^ mask) & 31);
    if (front) ready_.push_front(rank);
    else ready_.push_back(rank);
  }
}

/// Switches to the next runnable thread; returns when this thread is scheduled again.
inline void block_emulator::next() {
  if (ready_.empty()) [[unlikely]] stuck();
  int const self = rank_;
  rank_ = ready_.pop();
  if (rank_ != self) switch_fibers(fibers_[static_cast<std::size_t>(self)], fibers_[static_cast<std::size_t>(rank_)]);
}

inline void block_emulator::yield() {
  if (ready_.empty()) return;
  ready_.push_back(rank_);
  if (job_.options.seed != 0) ready_.draw_first(random_);
  next();
}

inline void block_emulator::switch_fibers(fiber& from, fiber& to) {
  if constexpr (thread_sanitizer) {
    tsan_release(&parked_);
    int const depth = hidden_;
    hidden_ = 0;
    for (int i = 0; i < depth; ++i) tsan_show();
    from.switch_to(to);
    for (int i = 0; i < depth; ++i) tsan_hide();
    hidden_ = depth;
  } else {
    from.switch_to(to);
  }
}

inline void block_emulator::leave() {
  left_ = true;
  switch_fibers(fibers_[static_cast<std::size_t>(rank_)], home_);
  std::abort();  // an abandoned thread is never resumed
}

}  // namespace mbirk::exec::emulation
