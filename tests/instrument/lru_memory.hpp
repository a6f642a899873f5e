// A cache simulated line by line; reuse distances must agree with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

namespace mbirk::testing {

/// A fully associative write-back LRU memory of a given number of lines.
class lru_memory {
 public:
  explicit lru_memory(std::size_t lines) : lines_(lines) {}
  void touch(std::uint64_t line, bool store, bool full);
  void flush() {
    for (auto const& [line, dirty] : order_) write_backs += dirty;
    order_.clear();
  }
  std::uint64_t misses = 0, write_backs = 0;

 private:
  std::size_t lines_;
  std::list<std::pair<std::uint64_t, bool>> order_;
  std::unordered_map<std::uint64_t, std::list<std::pair<std::uint64_t, bool>>::iterator> where_;
};

}  // namespace mbirk::testing
