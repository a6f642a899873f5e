#include "commands/interrupt.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace mbirk::program {
namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<bool> asked{false};
std::atomic<std::int64_t> asked_at{0};  // nanoseconds of the monotonic clock
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

/// One interrupt may arrive as two signals, to the process and to its group; a later signal is a second interrupt. A
/// terminal that is lost may say so several times.
void note_interrupt(int signal) {
  auto const time = std::chrono::steady_clock::now().time_since_epoch();
  auto const now = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  if (!asked) {
    asked_at = now;
    asked = true;
  } else if (signal != SIGHUP && now - asked_at > 500'000'000) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}

}  // namespace

interrupt_watch::interrupt_watch() {
  asked = false;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  for (std::size_t k = 0; k < std::size(signals); ++k) {
    sigaction(signals[k], nullptr, &before_[k]);
    bool const with_nohup = signals[k] == SIGHUP && before_[k].sa_handler == SIG_IGN;
    if (!with_nohup) sigaction(signals[k], &action, nullptr);
  }
}

interrupt_watch::~interrupt_watch() {
  for (std::size_t k = 0; k < std::size(signals); ++k) sigaction(signals[k], &before_[k], nullptr);
}

bool interrupt_asked() { return asked; }

void stop_if_asked() {
  require<interrupted>(!asked, [] { return "interrupted; nothing was written"; });
}

}  // namespace mbirk::program
