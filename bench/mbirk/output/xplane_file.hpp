// The trace of one size as a file for XProf and TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "machine/ceilings.hpp"
#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/program.hpp"
#include "operations/policy.hpp"

namespace mbirk::program {

/// The machine on which the policy computes: measured ceilings of the host, also for an emulated device; for a CUDA
/// device, limits computed from its clocks.
profile::machine_specs machine_of(chosen_policy const& policy, ceilings const& measured);

/// The counts of an operation as a program of the trace between two times. Shapes are taken from the operands with the
/// same name and size.
/// @param name  e.g. "cone_back_project_v64"
profile::program traced_program(instrument::operation_record const& counts, std::string name, operands const& data,
                                std::int64_t from, std::int64_t to);

/// Writes <folder>/plugins/profile/<session>/<host>.xplane.pb, which viewers find from any enclosing folder.
/// @param session  contains no /, and is unique per file, because viewers cache the files they have read.
/// @throws io_error, profile::description_error
void write_xplane(std::filesystem::path const& folder, std::string const& session,
                  instrument::trace_buffer const& trace, std::vector<profile::program> const& programs,
                  profile::machine_specs const& machine);

}  // namespace mbirk::program
