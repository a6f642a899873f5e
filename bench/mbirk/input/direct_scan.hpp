// Direct reconstruction of a scan as it was measured: fan beam, short scans, detectors that are not centred.
#pragma once

#include <string>
#include <vector>

#include "input/geometry_file.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// How a circular cone-beam scan covers the object, and the weights that a direct reconstruction then needs.
enum class scan_coverage {
  full,        ///< nothing
  short_scan,  ///< Parker weights: half a turn and the fan angle
  too_short,   ///< nothing: there are artefacts
  one_sided,   ///< half-fan weights: the detector reaches farther to one side of the axis
};
scan_coverage coverage_of(cone_parameters const& p);

/// Factors of the line integrals of a circular cone-beam scan before a direct reconstruction.
struct direct_weights {
  std::vector<float> values;  ///< (views, channels), or (channels) if all views have the same; empty: all 1
  bool same_in_all_views = false;
  std::vector<std::string> notes;

  /// Multiplies views [first_view, first_view + y.extent(0)).
  void apply(index_t first_view, view<float, 3> y) const;
};
direct_weights direct_weights_of(cone_parameters const& p);

/// Direct reconstruction of a scan whose views may cover less than a full turn, or whose detector reaches farther to
/// one side: line integrals are weighted first, in place. Returns notes on what was done and on views that do not
/// suffice.
/// @throws mbirk::error
std::vector<std::string> direct_scan_recon(reconstructor const& on, geometry_file const& g, view<float, 3> sinogram,
                                           view<float, 3> recon);

}  // namespace mbirk::program
