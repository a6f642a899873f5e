// Reuse distances and write-backs against a simulated LRU memory, line by line.
#include "mbirk/instrument/reuse.hpp"

#include <gtest/gtest.h>

#include <random>

#include "instrument/lru_memory.hpp"

namespace {

using mbirk::instrument::reuse_engine;
using mbirk::testing::lru_memory;

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
    for (std::uint32_t line = 0; line < static_cast<std::uint32_t>(sweep); ++line)
      stream.push_back({line, line % 5 == 0, false});
  expect_exact(stream, 200);
}

TEST(Reuse, ASweepFitsOrMissesAlways) {
  reuse_engine engine(100);
  for (int pass = 0; pass < 10; ++pass)
    for (std::uint32_t line = 0; line < 100; ++line) engine.touch(line, false, false);
  auto const r = engine.result();
  EXPECT_EQ(r.cold, 100u);
  for (std::size_t k = 0; k < r.capacity_lines.size(); ++k)
    EXPECT_EQ(r.read_misses[k], r.capacity_lines[k] >= 100 ? 100u : 1000u);
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
