// Messages: data larger than one of MPI may be, which go in several, and what they tell of clocks.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "mbirk/distributed/clock_shift.hpp"
#include "mbirk/distributed/communicator.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "world.hpp"

namespace {

using namespace mbirk;
using distributed::mpi;

std::vector<int> numbers(int rank, std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 1000 * rank);
  return all;
}
std::span<std::byte> bytes_of(std::vector<int>& v) { return std::as_writable_bytes(std::span(v)); }

TEST(messages, of_any_size_arrive_whole) {
  mpi const ranks(MPI_COMM_WORLD, 52);  // no multiple of anything below
  int const me = ranks.rank(), last = ranks.size() - 1;
  std::size_t const each = 37;

  // Every rank has another number of elements, and one has none.
  std::vector<index_t> counts;
  std::vector<int> expected;
  for (int r = 0; r <= last; ++r) {
    counts.push_back(r == 1 ? 0 : static_cast<index_t>(each) + r);
    auto const of_rank = numbers(r, static_cast<std::size_t>(counts.back()));
    expected.insert(expected.end(), of_rank.begin(), of_rank.end());
  }
  auto const mine = numbers(me, static_cast<std::size_t>(counts[static_cast<std::size_t>(me)]));
  EXPECT_EQ(distributed::gather(ranks, "numbers", mine, counts), expected);
  EXPECT_EQ(distributed::gather(testing_ranks::world(), "numbers", mine, counts), expected);

  auto shared = numbers(me, each);
  ranks.broadcast("numbers", bytes_of(shared), last);
  EXPECT_EQ(shared, numbers(last, each));

  auto sent = numbers(me, each);
  std::vector<int> from_below(me > 0 ? each : 0), from_above(me < last ? each : 0);
  std::span<std::byte const> const none, all = std::as_bytes(std::span(sent));
  ranks.start_exchange("numbers", {me > 0 ? all : none, me < last ? all : none, bytes_of(from_below),
                                   bytes_of(from_above)}).wait();
  if (me > 0) {
    EXPECT_EQ(from_below, numbers(me - 1, each));
  }
  if (me < last) {
    EXPECT_EQ(from_above, numbers(me + 1, each));
  }

  std::vector<int> received(each);
  if (me > 0) ranks.send("numbers", all, 0);
  for (int r = 1; me == 0 && r <= last; ++r) {
    ranks.receive("numbers", bytes_of(received), r);
    EXPECT_EQ(received, numbers(r, each));
  }
}

TEST(messages, tell_how_clocks_differ) {
  auto const& ranks = testing_ranks::world();
  constexpr std::int64_t hour = 3'600'000'000'000;
  auto const now = [&] {
    auto const time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count() + hour * ranks.rank();
  };
  // Ranks on one machine have one clock; a busy one delays messages by some milliseconds.
  EXPECT_NEAR(1e-9 * static_cast<double>(distributed::clock_shift(ranks, now)), -3600.0 * ranks.rank(), 1.0);
}

}  // namespace
