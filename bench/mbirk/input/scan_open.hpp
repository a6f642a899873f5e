// Opens a scan in any of the formats that mbirk reads, with what the command line says about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "input/limited_process.hpp"
#include "machine/memory.hpp"
#include "mbirk/io/frame_stack.hpp"

namespace mbirk::program {

/// How INPUT is to be read, where its format does not say so.
struct scan_options {
  std::string data = {};        ///< --data: path of a data set, or name of a MATLAB array
  std::string axes = {};        ///< --axes: "views,rows,channels" in the order of the file
  std::string angles = {};      ///< --angles: a data set, a file, or FIRST:LAST in degrees
  std::string angle_unit = {};  ///< --angle-unit: deg or rad
  std::string raw = {};         ///< --raw: see parse_raw_layout
  bool repeat_view = false;     ///< --repeat-view
  std::optional<double> white_level = {};  ///< --white-level
};

/// How far INPUT and its fields are trusted.
struct scan_trust {
  /// They are read by a child process with limits. The libraries that parse formats have faults: a file made for them
  /// can crash the process that reads it, keep it busy for ever, or take all memory.
  bool untrusted = false;
  bool follow_links = false;  ///< HDF5: external links, external raw data and virtual data sets name further files
  process_limits limits = {};
};

/// Input files and how to read them.
struct measurement_files {
  std::string input = {};
  /// Fields (frames, rows, channels) or (rows, channels): files or, for HDF5, paths of data sets in INPUT; empty: those
  /// of INPUT, if it has any.
  std::string white = {}, dark = {};
  bool counts = false;  ///< the input must be counts, so a white field is required
  scan_options scan = {};
  scan_trust trust = {};
};

/// Opens INPUT; options go before what the file says. Sizes are checked, pixels are not read.
/// @param memory  limits the lists that are read, such as angles.
/// @throws io_error of one line: file, field, what was expected and found; allocation_error
scan_description open_scan(measurement_files const& files, memory_budget const& memory = {});

/// All files that reading the scan opens.
std::vector<std::string> files_of(scan_description const& scan);

/// Names of the optional formats that this program was built with: "HDF5, TIFF, MATLAB, Zeiss".
std::string optional_formats();

}  // namespace mbirk::program
