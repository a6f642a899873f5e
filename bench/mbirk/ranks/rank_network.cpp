#include "ranks/rank_network.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

#include "mbirk/profile/statistics.hpp"

namespace mbirk::program {
namespace {

/// Median of the seconds of calls that all ranks begin together.
template <class F> double seconds_of_calls(distributed::mpi const& ranks, int calls, F const& call) {
  std::vector<double> seconds;
  for (int k = 0; k < calls; ++k) {
    distributed::all_reduce(ranks, "network", 0, distributed::reduction::sum);
    auto const begin = std::chrono::steady_clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return profile::median(seconds);
}

}  // namespace

std::optional<network> measure_network(distributed::mpi const& ranks) {
  if (ranks.size() == 1) return {};
  std::vector<double> const sums(3);
  std::vector<index_t> const counts(static_cast<std::size_t>(ranks.size()), 3);
  network found;
  found.latency = seconds_of_calls(ranks, 500, [&] { distributed::gather(ranks, "network", sums, counts); }) /
                  std::log2(ranks.size());

  constexpr std::size_t bytes = 4 << 20;
  std::vector<std::byte> const out(bytes);
  std::vector<std::byte> below(bytes), above(bytes);
  distributed::neighbour_exchange e;
  double sent = 0;
  if (ranks.rank() > 0) {
    e.to_below = out;
    e.from_below = below;
    sent += bytes;
  }
  if (!distributed::is_last(ranks)) {
    e.to_above = out;
    e.from_above = above;
    sent += bytes;
  }
  found.bandwidth = sent / seconds_of_calls(ranks, 20, [&] { ranks.start_exchange("network", e).wait(); });
  std::vector<double> const mine{found.latency, found.bandwidth};
  auto const all = distributed::gather(ranks, "network", mine,
                                       std::vector<index_t>(static_cast<std::size_t>(ranks.size()), 2));
  for (std::size_t r = 0; r < all.size(); r += 2) {
    found.latency = std::max(found.latency, all[r]);
    found.bandwidth = std::min(found.bandwidth, all[r + 1]);
  }
  return found;
}

}  // namespace mbirk::program
