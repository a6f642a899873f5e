// Weights and geometry of direct reconstructions.
#include "input/direct_scan.hpp"

#include <cmath>
#include <numbers>

#include "mbirk/recon/fan.hpp"

namespace mbirk::program {
namespace {

using mbirk::detail::number_text;

std::string degrees(double radians) {
  return number_text(std::round(radians * 18000 / std::numbers::pi) / 100) + " degrees";
}

/// Views from which a scan of less than a turn is complete.
double needed_range(cone_parameters const& p) { return std::numbers::pi + 2 * half_fan_angle(p); }

}  // namespace

scan_coverage coverage_of(cone_parameters const& p) {
  if (!p.helical_z_shifts.empty() || !std::isfinite(p.source_detector_dist)) return scan_coverage::full;
  double const range = view_range(p.angles);
  if (range == 0) return scan_coverage::full;
  double const step = range / static_cast<double>(p.angles.size());
  if (range < 2 * std::numbers::pi - 1.5 * step)
    return range >= 0.999 * needed_range(p) ? scan_coverage::short_scan : scan_coverage::too_short;
  double const half = static_cast<double>(p.sinogram_shape[2]) * p.delta_det_channel / 2,
               offset = std::abs(p.det_channel_offset);
  return offset > 0.1 * half && offset < half ? scan_coverage::one_sided : scan_coverage::full;
}

void direct_weights::apply(index_t first_view, view<float, 3> y) const {
  if (values.empty()) return;
  for (index_t v = 0; v < y.extent(0); ++v) {
    float const* const factors = values.data() + (same_in_all_views ? 0 : (first_view + v) * y.extent(2));
    for (index_t m = 0; m < y.extent(1); ++m)
      for (index_t n = 0; n < y.extent(2); ++n) y(v, m, n) *= factors[n];
  }
}

direct_weights direct_weights_of(cone_parameters const& p) {
  direct_weights weights;
  auto const coverage = coverage_of(p);
  if (coverage == scan_coverage::short_scan) {
    weights.values = short_scan_weights(p);
    weights.notes.push_back("views cover " + degrees(view_range(p.angles)) + ": Parker weights");
  } else if (coverage == scan_coverage::too_short) {
    weights.notes.push_back("views cover " + degrees(view_range(p.angles)) +
                            ", expected at least 180 and the fan angle, " + degrees(needed_range(p)) +
                            ": the image has artefacts; method vcd needs no full range");
  } else if (coverage == scan_coverage::one_sided) {
    weights.values = offset_detector_weights(p);
    weights.same_in_all_views = true;
    weights.notes.push_back("the detector reaches farther to one side of the axis: half-fan weights");
  }
  return weights;
}

std::vector<std::string> direct_scan_recon(reconstructor const& on, geometry_file const& g, view<float, 3> sinogram,
                                           view<float, 3> recon) {
  std::vector<std::string> notes;
  if (auto const* p = std::get_if<parallel_parameters>(&g.parameters)) {
    double const range = view_range(p->angles), half = std::numbers::pi;
    double const step = range / static_cast<double>(std::max<std::size_t>(1, p->angles.size()));
    if (range > 0 && range < half - 1.5 * step)
      notes.push_back("views cover " + degrees(range) + ", expected at least 180: the image has artefacts; method vcd "
                      "needs no full range");
  }
  bool offset = false;
  auto const* cone = std::get_if<cone_parameters>(&g.parameters);
  if (cone) {
    auto const weights = direct_weights_of(g.fan ? *g.fan : *cone);
    weights.apply(0, sinogram);
    notes.insert(notes.end(), weights.notes.begin(), weights.notes.end());
    offset = weights.same_in_all_views;
  }
  std::vector<std::string> warnings;
  std::vector<float> wide;
  view<float const, 3> y = sinogram;
  cone_parameters p;
  if (offset) {
    // The grid stays that of the scan, whatever the wider detector sees.
    p = g.fan ? *g.fan : *cone;
    auto const size = auto_size(p);
    p.recon_shape = p.recon_shape.value_or(size.recon_shape);
    p.delta_voxel = p.delta_voxel.value_or(size.delta_voxel);
    p.recon_slice_offset = p.recon_slice_offset.value_or(size.recon_slice_offset);
    wide = pad_channels(sinogram, offset_padding(p), p.det_channel_offset);
    p = padded_parameters(p);
    y = {wide.data(), p.sinogram_shape};
  } else if (g.fan) {
    p = *g.fan;
  }
  if (g.fan) {
    on.fan(p, y, recon);
  } else if (offset) {
    warnings = on.direct(cone_scan(p), y, recon);
  } else {
    warnings = on.direct(g.scan, sinogram, recon);
  }
  notes.insert(notes.end(), warnings.begin(), warnings.end());
  return notes;
}

}  // namespace mbirk::program
