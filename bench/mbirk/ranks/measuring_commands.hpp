// mbirk-mpi profile and mbirk-mpi bench.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "mbirk/distributed/mpi.hpp"

namespace mbirk::program {

/// Runs a command on every rank. @return an exit code, the same on every rank
using rank_command = std::function<int(distributed::mpi const&)>;

/// Add the commands to the program; one that is on the command line sets `chosen`.
void add_rank_profile(CLI::App& app, rank_command& chosen);
void add_rank_bench(CLI::App& app, rank_command& chosen);

}  // namespace mbirk::program
