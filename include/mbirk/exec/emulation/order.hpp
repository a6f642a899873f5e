// Scheduling order of threads: platform-independent random numbers and the queue of runnable threads.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace mbirk::exec::emulation {

/// splitmix64: the state advances by a constant and is then mixed, so that streams of neighbouring seeds are unrelated
/// after one step.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed = 0, std::uint64_t stream = 0) noexcept
      : state_(seed * 0x9e3779b97f4a7c15u ^ (stream + 1) * 0xd1342543de82ef95u) {}
  std::uint64_t operator()() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// Uniform random number in 0 .. n - 1.
  std::uint32_t below(std::uint32_t n) noexcept { return static_cast<std::uint32_t>(((*this)() >> 32) * n >> 32); }

 private:
  std::uint64_t state_;
};

/// Queue of the runnable threads of a block.
class ready_queue {
 public:
  static constexpr int max_threads = 1024;  // per block

  bool empty() const noexcept { return count_ == 0; }
  int size() const noexcept { return count_; }
  void clear() noexcept { count_ = 0; }
  int pop() noexcept {
    int const first = ranks_[head_ % max_threads];
    ++head_;
    --count_;
    return first;
  }
  void push_back(int rank) noexcept {
    ranks_[(head_ + static_cast<unsigned>(count_++)) % max_threads] = static_cast<std::uint16_t>(rank);
  }
  void push_front(int rank) noexcept {
    ranks_[--head_ % max_threads] = static_cast<std::uint16_t>(rank);
    ++count_;
  }

  /// Sets the queue to 0 .. n - 1.
  void fill(int n) noexcept {
    head_ = 0;
    count_ = n;
    for (int i = 0; i < n; ++i) ranks_[static_cast<unsigned>(i)] = static_cast<std::uint16_t>(i);
  }
  void shuffle(random_numbers& random) noexcept {
    for (int i = count_ - 1; i > 0; --i)
      std::swap(at(i), at(static_cast<int>(random.below(static_cast<std::uint32_t>(i + 1)))));
  }
  /// Moves a random element to the front.
  void draw_first(random_numbers& random) noexcept {
    std::swap(at(0), at(static_cast<int>(random.below(static_cast<std::uint32_t>(count_)))));
  }

 private:
  std::uint16_t& at(int i) noexcept { return ranks_[(head_ + static_cast<unsigned>(i)) % max_threads]; }
  std::array<std::uint16_t, max_threads> ranks_;
  unsigned head_ = 0;
  int count_ = 0;
};

}  // namespace mbirk::exec::emulation
