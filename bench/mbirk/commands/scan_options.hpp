// Options of the commands that read a scan: recon, prepare and info.
#pragma once

#include "commands/command.hpp"
#include "commands/command_files.hpp"
#include "input/scan_corrections.hpp"
#include "input/scan_geometry.hpp"
#include "input/scan_open.hpp"
#include "input/scan_selection.hpp"

namespace mbirk::program {

/// INPUT, how to read it, and its geometry.
struct scan_call {
  measurement_files files;
  selection_options part;
  geometry_options geometry;
  correction_options corrections;
  bool find_centre = false;
  bool strict = false;  ///< likely mistakes are errors
};

void add_scan_options(CLI::App& command, scan_call& call);
/// Registers the files that the options name.
void add_scan_files(scan_call const& call, command_files& files);
/// Options of what is corrected, for commands that read pixels.
void add_correction_options(CLI::App& command, scan_call& call);

/// Throws the first likely mistake with --strict; otherwise returns all. @throws io_error
std::vector<std::string> checked_mistakes(scan_call const& call, scan_description const& scan, geometry_file const& g);

/// The geometry options, with the axis that --find-centre finds. `notes` gets what was found. @throws parameter_error
geometry_options with_centre(scan_call const& call, measurement_source const& source, int threads,
                             std::vector<std::string>& notes);

/// Prints what was taken from where, one line each.
void print_facts(std::vector<scan_fact> const& facts);

}  // namespace mbirk::program
