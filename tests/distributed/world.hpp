// The ranks that run the tests.
#pragma once

#include "mbirk/distributed/mpi.hpp"

namespace testing_ranks {

/// All of them; between MPI_Init and MPI_Finalize.
mbirk::distributed::mpi const& world();

}  // namespace testing_ranks
