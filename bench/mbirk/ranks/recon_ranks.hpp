// mbirk-mpi recon: `mbirk recon` by several processes, each with some of the slices.
#pragma once

#include <string>
#include <string_view>

#include "commands/recon_files.hpp"
#include "mbirk/distributed/mpi.hpp"

namespace mbirk::program {

/// Reads, reconstructs and writes. Collective: every rank reads its own rows, and rank 0 writes.
/// @param trace_folder  for the trace of all ranks; empty: there is none
/// @return an exit code, the same on every rank
/// @throws mbirk::error, of every rank the same, unless one fails alone
int reconstruct_in_ranks(recon_command const& o, std::string const& trace_folder, distributed::mpi const& ranks);

/// @throws parameter_error on every rank unless all have the same text. @param message  what the ranks must agree on
void require_same_text(distributed::mpi const& ranks, std::string_view text, std::string const& message);

}  // namespace mbirk::program
