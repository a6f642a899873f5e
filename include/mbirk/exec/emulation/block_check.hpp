// Checks of the block emulator: findings, races, asynchronous copies. Third part of block_emulator.hpp.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <list>
#include <string>

#include "mbirk/exec/emulation/block_emulator.hpp"

namespace mbirk::exec::emulation {

/// Records "block (x, y, z), thread r: ...". The text is formatted here, because the callers' frames may be abandoned
/// without unwinding.
inline void block_emulator::report_line(source_location where, source_location other, char const* format,
                                        std::va_list arguments) {
  if (found_.full() || found_.contains(where, other)) return;
  char text[2048];
  int n = std::snprintf(text, sizeof text, "block (%d, %d, %d), thread %d: ", index_.x, index_.y, index_.z, rank_);
  std::vsnprintf(text + n, sizeof text - static_cast<std::size_t>(n), format, arguments);
  note(where, other, text);
}

inline void block_emulator::report(source_location where, source_location other, char const* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  report_line(where, other, format, arguments);
  va_end(arguments);
}

inline void block_emulator::fail(source_location where, char const* format, ...) {
  hidden const h(*this);
  std::va_list arguments;
  va_start(arguments, format);
  report_line(where, {"", 0}, format, arguments);
  va_end(arguments);
  leave();
}

/// Reports where every thread waits when none is runnable.
inline void block_emulator::stuck() {
  [&] {
    std::list<waiting> groups;  // a list, because list::sort is stable
    for (waiting const& w : waiting_) {
      bool const known = std::any_of(groups.begin(), groups.end(), [&](waiting const& g) {
        return g.same(w) || (g.what == w.what && w.what == wait_kind::ended);
      });
      if (!known) groups.push_back(w);
    }
    auto const by_line = [](waiting const& a, waiting const& b) {
      bool const ended_a = a.what == wait_kind::ended, ended_b = b.what == wait_kind::ended;
      return ended_a != ended_b ? ended_b : a.where.line < b.where.line;
    };
    groups.sort(by_line);
    char start[96];
    std::snprintf(start, sizeof start, "block (%d, %d, %d): no thread can go on.", index_.x, index_.y, index_.z);
    std::string text = start;
    for (waiting const& g : groups) {
      bool const ended = g.what == wait_kind::ended;
      int count = 0;
      std::string ranks;
      for (int i = 0; i < job_.threads; ++i) {
        auto const in_group = [&](int k) {
          waiting const& w = waiting_[static_cast<std::size_t>(k)];
          return ended ? w.what == wait_kind::ended : w.same(g);
        };
        if (!in_group(i)) continue;
        int last = i;
        while (last + 1 < job_.threads && in_group(last + 1)) ++last;
        count += last - i + 1;
        if (ranks.size() < 60)
          ranks += (ranks.empty() ? "" : ", ") + std::to_string(i) + (last > i ? " .. " + std::to_string(last) : "");
        else if (!ranks.ends_with("...")) ranks += ", ...";
        i = last;
      }
      text += " " + std::to_string(count) + (count == 1 ? " thread (" : " threads (") + ranks + ") ";
      if (ended) text += count == 1 ? "has ended." : "have ended.";
      else
        text += std::string(count == 1 ? "is" : "are") + " in " + name_of(g.what) + " at " + g.where.file + ":" +
                std::to_string(g.where.line) + ".";
    }
    waiting const& second = *std::next(groups.begin(), groups.size() > 1 ? 1 : 0);
    source_location const other = second.what != wait_kind::ended ? second.where : source_location{"", 0};
    note(groups.front().where, other, text.c_str());
  }();  // the lambda's objects must be destroyed before the thread is abandoned
  leave();
}

inline void block_emulator::watch(void const* at, std::size_t size, access what, source_location where) {
  hidden const h(*this);
  int const n = job_.options.preempt;
  if (n > 0 && --preempt_left_ <= 0) {
    preempt_left_ = 1 + static_cast<int>(random_.below(static_cast<std::uint32_t>(2 * n - 1)));
    yield();
  }
  if (!job_.options.check_races) return;
  // Fast path for the usual case: reading a word that no thread writes in this interval.
  if (what == access::read && size == 4) [[likely]] {
    shadow_cell& cell = shadow_.word(static_cast<std::size_t>(static_cast<std::byte const*>(at) - arena_.get()) / 4);
    if (cell.copy == 0 && cell.written == block_number_ && cell.writes.interval != interval_ &&
        cell.counts.interval != interval_) [[likely]] {
      cell.reads.add(now(), where);
      return;
    }
  }
  check(at, size, what, where);
}

inline char const* verb(access a) noexcept {
  return a == access::read ? "reads" : a == access::write ? "writes" : "counts in";
}

inline void block_emulator::check(void const* at, std::size_t size, access what, source_location where) {
  auto const first = static_cast<std::size_t>(static_cast<std::byte const*>(at) - arena_.get());
  moment const m = now();
  std::size_t const step = shadow::step(size);
  for (std::size_t offset = first; offset < first + size; offset += step) {
    shadow_cell& cell = shadow_.at(offset, step);
    if (cell.copy != 0) [[unlikely]] check_copy(cell, what, where);
    if (what != access::write && cell.written != block_number_) [[unlikely]] {
      report(where, {"", 0}, "%s byte %zu of shared memory, which nobody has written", verb(what), offset);
    }
    if (cell.writes.unordered(m)) [[unlikely]] report_race(offset, what, where, cell.writes, access::write);
    if (what != access::read && cell.reads.unordered(m)) [[unlikely]]
      report_race(offset, what, where, cell.reads, access::read);
    if (what != access::count && cell.counts.unordered(m)) [[unlikely]]
      report_race(offset, what, where, cell.counts, access::count);
    (what == access::read ? cell.reads : what == access::write ? cell.writes : cell.counts).add(m, where);
    if (what == access::write) cell.written = block_number_;
  }
}

inline void block_emulator::report_race(std::size_t offset, access what, source_location where, trail const& earlier,
                                        access then) {
  char who[32] = "another thread";
  if (earlier.rank != rank_) std::snprintf(who, sizeof who, "thread %d", earlier.rank);
  report(where, earlier.last(),
         "race: %s byte %zu of shared memory, which %s %s at %s:%d, and no barrier orders the two", verb(what), offset,
         who, verb(then), earlier.file, earlier.line);
}

/// A word filled by an asynchronous copy may be used by threads that waited for the copy, and by all threads after a
/// barrier that follows any thread's wait.
inline void block_emulator::check_copy(shadow_cell& cell, access what, source_location where) {
  auto const* const mark = copies_.find(cell.copy);
  if (!mark) {
    cell.copy = 0;
    return;
  }
  async_pipe const& p = copies_[mark->pipe];
  if (mark->copy < p.published) cell.copy = 0;
  else if (mark->copy >= p.waited[static_cast<std::size_t>(rank_)]) {
    source_location const copy = p.copies[mark->copy].where;
    report(where, copy, "race: %s shared memory that the copy at %s:%d fills, without having waited for it", verb(what),
           copy.file, copy.line);
  }
}

inline void block_emulator::copy_async(int pipe, async_copy const& copy, std::size_t room) {
  hidden const h(*this);
  async_pipe& p = copies_[pipe];
  auto const r = static_cast<std::size_t>(rank_);
  std::size_t const k = p.issued[r];
  if (k - p.waited[r] >= p.stages)
    fail(copy.where, "starts a copy while %zu are outstanding, as many as the pipe has stages", p.stages);
  if (copy.bytes > room)
    fail(copy.where, "copies %zu bytes to a place that has only %zu up to the end of its tile", copy.bytes, room);
  auto const aligned = [](void const* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
  if (!aligned(copy.to)) fail(copy.where, "copies to a place in shared memory that is not aligned to 16 bytes");
  if (!aligned(copy.from)) fail(copy.where, "copies from a place in global memory that is not aligned to 16 bytes");
  if (copy.bytes % 16 != 0) fail(copy.where, "copies %zu bytes, which is not a multiple of 16", copy.bytes);
  if (k == p.copies.size()) p.copies.push_back(copy);
  else if (!p.copies[k].same_arguments(copy)) {
    source_location const other = p.copies[k].where;
    fail(copy.where, "the arguments of a copy differ from those of another thread at %s:%d", other.file, other.line);
  }
  p.issued[r] = k + 1;
  if (rank_ == 0) issue(pipe, k);
}

/// Called by thread 0 only.
inline void block_emulator::issue(int pipe, std::size_t k) {
  async_pipe& p = copies_[pipe];
  p.copies[k].issued = true;
  if (job_.options.check_races) mark_copy(pipe, k);
  tsan_release(p.issue_token(k));
  if (job_.options.late_copies) p.copies[k].spoil();
  else land(p, k);
  if (sleepers_ == 0) return;
  for (int i = 0; i < job_.threads; ++i) {
    waiting& w = waiting_[static_cast<std::size_t>(i)];
    if (w.what != wait_kind::copy) continue;
    w.what = wait_kind::nothing;
    ready_.push_back(i);
    --sleepers_;
  }
}

/// For ThreadSanitizer, the copy belongs to a thread of its own, ordered after copy_async and before the waits, but not
/// by barriers. When the emulator's own race check is on, ThreadSanitizer does not see the copy.
__attribute__((no_sanitize("thread"))) inline void block_emulator::land(async_pipe& p, std::size_t k) {
  if constexpr (thread_sanitizer) {
    if (!job_.options.check_races) {
      async_copy& copy = p.copies[k];
      void* const self = __tsan_get_current_fiber();
      __tsan_switch_to_fiber(copier_, 1);
      __tsan_acquire(p.issue_token(k));
      copy.land();
      __tsan_release(p.token(k));
      __tsan_switch_to_fiber(self, 1);
      return;
    }
  }
  p.copies[k].land();
}

/// A copy may target only memory that no thread has accessed since the last barrier and that no other pending copy
/// fills.
inline void block_emulator::mark_copy(int pipe, std::size_t k) {
  async_copy const& c = copies_[pipe].copies[k];
  std::uint32_t const number = copies_.add_mark({pipe, k});
  auto const first = static_cast<std::size_t>(c.to - arena_.get());
  for (std::size_t offset = first; offset < first + c.bytes; offset += c.step) {
    shadow_cell& cell = shadow_.at(offset, c.step);
    for (trail const* t : {&cell.reads, &cell.writes, &cell.counts}) {
      if (t->interval != interval_) continue;
      report(c.where, t->last(),
             "race: copies to byte %zu of shared memory, which thread %d %s at %s:%d, and no sync is between the two",
             offset, t->rank,
             verb(t == &cell.reads ? access::read : t == &cell.writes ? access::write : access::count), t->file,
             t->line);
    }
    if (auto const* const mark = copies_.find(cell.copy); mark && mark->copy >= copies_[mark->pipe].published) {
      source_location const other = copies_[mark->pipe].copies[mark->copy].where;
      report(c.where, other,
             "race: copies to byte %zu of shared memory, which the copy at %s:%d fills, and no wait with a sync after "
             "it is between the two",
             offset, other.file, other.line);
    }
    cell.copy = number;
    cell.written = block_number_;
  }
}

inline void block_emulator::wait(int pipe, source_location where) {
  hidden const h(*this);
  async_pipe& p = copies_[pipe];
  auto const r = static_cast<std::size_t>(rank_);
  std::size_t const k = p.waited[r];
  if (k == p.issued[r]) fail(where, "waits for a copy, but has waited for all that it started");
  while (!p.copies[k].issued) {
    waiting_[r] = {wait_kind::copy, where};
    ++sleepers_;
    next();
  }
  if (!p.copies[k].landed) land(p, k);
  tsan_acquire(p.token(k));
  p.waited[r] = k + 1;
  p.most_waited = std::max(p.most_waited, k + 1);
}

}  // namespace mbirk::exec::emulation
