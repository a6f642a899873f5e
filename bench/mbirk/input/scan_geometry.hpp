// Geometry of a scan from three places: options, then G.json, then the scan's own file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "input/geometry_file.hpp"
#include "input/scan_selection.hpp"
#include "mbirk/io/frame_stack.hpp"

namespace mbirk::program {

/// Geometry on the command line.
struct geometry_options {
  std::string file = {};       ///< --geometry G.json, may be empty
  std::vector<double> pitch = {};  ///< --pitch CHANNEL[,ROW]
  std::optional<double> source_detector = {}, source_iso = {};  ///< --source-detector, --source-iso
  std::optional<double> centre = {};                            ///< --centre: channel of the axis, from 0
};

/// Reads the geometry of a scan for the views, rows and channels that were selected; both G.json and the scan describe
/// the whole detector. `used` gets what was taken from the scan and from options.
/// @param theta   angles of the selected views in radians; empty if only G.json may have them.
/// @param memory  limits what is read, and the mask.
/// @throws io_error, parameter_error with the file and the field; allocation_error
geometry_file scan_geometry(scan_description const& scan, selection const& selected, std::vector<float> const& theta,
                            geometry_options const& options, std::string const& input, std::vector<scan_fact>& used,
                            memory_budget const& memory = {});

/// Likely mistakes in a scan and its geometry, one line each with the field and what it is probably meant to be.
std::vector<std::string> likely_mistakes(scan_description const& scan, geometry_file const& g);

}  // namespace mbirk::program
