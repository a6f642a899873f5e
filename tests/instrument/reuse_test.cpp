// Reuse distances and write-backs against a simulated LRU memory, line by line.
#include "mbirk/instrument/reuse.hpp"

#include <gtest/gtest.h>

#include <list>
#include <random>
#include <unordered_map>

namespace {

using mbirk::instrument::reuse_engine;

/// A fully associative write-back LRU memory of a given number of lines.
class lru_memory {
 public:
  explicit lru_memory(std::size_t lines) : lines_(lines) {}
  void touch(std::uint32_t line, bool store, bool full) {
    auto const found = where_.find(line);
    bool dirty = store;
    if (found == where_.end()) {
      if (!(store && full)) ++misses;
    } else {
      dirty = dirty || found->second->second;
      order_.erase(found->second);
    }
    order_.push_front({line, dirty});
    where_[line] = order_.begin();
    if (order_.size() > lines_) {
      write_backs += order_.back().second;
      where_.erase(order_.back().first);
      order_.pop_back();
    }
  }
  void flush() {
    for (auto const& [line, dirty] : order_) write_backs += dirty;
    order_.clear();
  }
  std::uint64_t misses = 0, write_backs = 0;

 private:
  std::size_t lines_;
  std::list<std::pair<std::uint32_t, bool>> order_;
  std::unordered_map<std::uint32_t, std::list<std::pair<std::uint32_t, bool>>::iterator> where_;
};

struct access { std::uint32_t line; bool store, full; };

void expect_exact(std::vector<access> const& stream, std::uint32_t lines) {
  reuse_engine engine(lines);
  for (auto const& a : stream) engine.touch(a.line, a.store, a.full);
  auto const r = engine.result();
  EXPECT_EQ(r.accesses, stream.size());
  for (std::size_t k = 0; k < r.capacity_lines.size(); ++k) {
    lru_memory memory(r.capacity_lines[k]);
    for (auto const& a : stream) memory.touch(a.line, a.store, a.full);
    memory.flush();
    EXPECT_EQ(r.read_misses[k], memory.misses) << r.capacity_lines[k] << " lines";
    EXPECT_EQ(r.write_backs[k], memory.write_backs) << r.capacity_lines[k] << " lines";
  }
}

TEST(Reuse, EqualsALruMemoryOnRandomStreams) {
  std::mt19937 random(3);
  for (std::uint32_t const lines : {1u, 2u, 7u, 64u, 300u}) {
    std::vector<access> stream;
    for (int k = 0; k < 6000; ++k) {
      bool const store = random() % 3 == 0;
      stream.push_back({static_cast<std::uint32_t>(random() % lines), store, store && random() % 2 == 0});
    }
    expect_exact(stream, lines);
  }
}

TEST(Reuse, EqualsALruMemoryOnLoops) {
  std::vector<access> stream;  // sweeps of growing length: every distance occurs; long enough to renumber several times
  for (int sweep = 1; sweep < 200; ++sweep)
    for (std::uint32_t line = 0; line < static_cast<std::uint32_t>(sweep); ++line) stream.push_back({line, line % 5 == 0, false});
  expect_exact(stream, 200);
}

TEST(Reuse, ASweepFitsOrMissesAlways) {
  reuse_engine engine(100);
  for (int pass = 0; pass < 10; ++pass)
    for (std::uint32_t line = 0; line < 100; ++line) engine.touch(line, false, false);
  auto const r = engine.result();
  EXPECT_EQ(r.cold, 100u);
  for (std::size_t k = 0; k < r.capacity_lines.size(); ++k) EXPECT_EQ(r.read_misses[k], r.capacity_lines[k] >= 100 ? 100u : 1000u);
}

TEST(Reuse, GrowsWhileItRuns) {
  reuse_engine grown(10), whole(30);
  EXPECT_EQ(whole.grow(0), 30u);
  std::mt19937 random(5);
  auto const both = [&](std::uint32_t line) { grown.touch(line, false, false), whole.touch(line, false, false); };
  for (int k = 0; k < 100; ++k) both(static_cast<std::uint32_t>(random() % 10));
  EXPECT_EQ(grown.grow(20), 10u);
  for (int k = 0; k < 10000; ++k) both(static_cast<std::uint32_t>(random() % 30));
  EXPECT_EQ(grown.result().read_misses, whole.result().read_misses);
}

}  // namespace
