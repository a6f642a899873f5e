// Compares the clocks of ranks on different machines.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "mbirk/distributed/communicator.hpp"

namespace mbirk::distributed {

/// Compares the clock of this rank with that of rank 0: the two ranks read theirs while a message goes there and back,
/// and the fastest of many such journeys tells best, to half of its duration. Collective.
/// @param now  reads the clock of this rank, in nanoseconds
/// @return the nanoseconds by which times of rank 0 are later than those of this rank
template <communicator C, class Now> std::int64_t clock_shift(C const& ranks, Now const& now) {
  constexpr int journeys = 100;
  std::int64_t shift = 0;
  auto const bytes_of = [](std::int64_t& number) { return std::as_writable_bytes(std::span(&number, 1)); };
  for (int other = 1; other < ranks.size(); ++other) {
    std::int64_t fastest = std::numeric_limits<std::int64_t>::max(), found = 0, theirs = 0;
    for (int n = 0; n < journeys; ++n) {
      if (ranks.rank() == 0) {
        auto const sent = now();
        ranks.send("clock", bytes_of(theirs), other);
        ranks.receive("clock", bytes_of(theirs), other);
        auto const back = now();
        if (back - sent >= fastest) continue;
        fastest = back - sent;
        found = sent + fastest / 2 - theirs;
      } else if (ranks.rank() == other) {
        ranks.receive("clock", bytes_of(theirs), 0);
        theirs = now();
        ranks.send("clock", bytes_of(theirs), 0);
      }
    }
    if (ranks.rank() == 0) ranks.send("clock", bytes_of(found), other);
    else if (ranks.rank() == other) ranks.receive("clock", bytes_of(shift), 0);
  }
  return shift;
}

}  // namespace mbirk::distributed
