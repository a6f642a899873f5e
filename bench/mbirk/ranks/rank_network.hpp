// The cost of messages between the ranks of this run.
#pragma once

#include <optional>

#include "mbirk/distributed/mpi.hpp"
#include "operations/ranks_estimate.hpp"

namespace mbirk::program {

/// Measures the two numbers of the model of mbirk estimate: the latency is the time in which all ranks get 24 bytes of
/// each other, as in a line search, over log2 of their number; the bandwidth that of 4 MiB which a rank sends to each
/// of its neighbours, while it receives as much. Medians, of the rank for which they are worst. Nothing if there is one
/// rank. Collective.
std::optional<network> measure_network(distributed::mpi const& ranks);

}  // namespace mbirk::program
