// Opens a scan in any of the formats that mbirk reads, with what the command line says about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// Input files and how to read them.
struct measurement_files {
  std::string input = {};
  /// Fields (frames, rows, channels) or (rows, channels): files or, for HDF5, paths of data sets in INPUT; empty: those
  /// of INPUT, if it has any.
  std::string white = {}, dark = {};
  bool counts = false;  ///< the input must be counts, so a white field is required
  scan_options scan = {};
};

/// Opens INPUT; options go before what the file says. Sizes are checked, pixels are not read.
/// @throws io_error of one line: file, field, what was expected and found
scan_description open_scan(measurement_files const& files);

/// Names of the optional formats that this program was built with: "HDF5, TIFF, MATLAB, Zeiss".
std::string optional_formats();

}  // namespace mbirk::program
