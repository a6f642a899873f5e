// Memory of a rank that has some of the views, before anything is allocated.
#pragma once

#include <array>

#include "mbirk/distributed/views.hpp"
#include "mbirk/recon/options.hpp"
#include "operations/recon_memory.hpp"

namespace mbirk::program {

/// Bytes of the arrays of a state that is saved or resumed.
double state_bytes(std::array<index_t, 3> const& sinogram, std::array<index_t, 3> const& recon);

/// Bytes of a rank in the memory of the host, besides those of its program and of a state to resume.
/// @param saves            whether checkpoints are written
/// @param rows_to_receive  rows of the image that rank 0 has room for
double views_memory(distributed::cone_views const& part, int rank, recon_options const& options,
                    memory_question const& question, bool saves, index_t rows_to_receive);
/// A prediction of the bytes of a device that a rank on it takes.
double device_memory_of_views(distributed::cone_views const& part, int rank, recon_options const& options,
                              memory_question const& question);

}  // namespace mbirk::program
