// Progress of long work on standard error: a bar on a terminal, otherwise an occasional line, and nothing with --quiet.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "process/streams.hpp"

namespace mbirk::program {

class progress {
 public:
  progress(std::size_t total, bool quiet) : total_(total), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~progress() { clear(); }
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  /// Reports that `finished` steps are done and that `next` follows.
  void at(std::size_t finished, std::string_view next) {
    if (quiet_) return;
    if (terminal_) {
      constexpr std::size_t width = 24;
      auto const full = total_ ? std::min(width, width * finished / total_) : width;
      diagnose("\r[{}{}] {}/{} {}\x1b[K", std::string(full, '='), std::string(width - full, ' '), finished, total_,
               next);
      shown_ = true;
    } else if (auto const now = clock::now(); now - last_ >= std::chrono::seconds(1)) {
      // A log needs no lines for steps that take no time.
      diagnose("mbirk: {} of {} done, next {}\n", finished, total_, next);
      last_ = now;
    }
  }

  /// Removes the bar, so that the next line of output starts at the margin.
  void clear() {
    if (!shown_) return;
    diagnose("\r\x1b[K");
    shown_ = false;
  }

 private:
  using clock = std::chrono::steady_clock;

  std::size_t total_;
  bool quiet_, terminal_, shown_ = false;
  clock::time_point last_ = clock::now();
};

}  // namespace mbirk::program
