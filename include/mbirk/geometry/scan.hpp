// scan: a geometry with its per-view positions and its mask, constructed once and passed to every operation.
#pragma once

#include <span>
#include <string>

#include "mbirk/geometry/cone.hpp"
#include "mbirk/geometry/parallel.hpp"

namespace mbirk {

/// Gantry position of one view.
struct view_position {
  double cosine, sine;  ///< cosine and sine of the view angle, in double from the float32 angle
  double z_shift;       ///< helical travel along the axis; 0 in parallel beam
};

/// A validated scan. Copies own their angles and mask; kernels only get geometry() and positions().
template <class Geometry> class scan {
 public:
  using geometry_type = Geometry;
  using parameters = typename Geometry::parameters;

  /// @throws parameter_error with the name of the parameter, its value and the expected value.
  explicit scan(parameters const& p)
      : geometry_(make_geometry(p)), mask_(make_mask(geometry_.recon_rows, geometry_.recon_cols, p.use_ror_mask)) {
    if constexpr (requires { p.helical_z_shifts; }) {
      place(p.angles, p.helical_z_shifts);
      double const reach = static_cast<double>(p.sinogram_shape[1]) * p.delta_det_row / 2 + std::abs(p.det_row_offset);
      if (reach > p.source_detector_dist)
        warnings_.push_back("half the detector height plus |det_row_offset| is " + detail::number_text(reach) +
                            ", more than source_detector_dist = " + detail::number_text(p.source_detector_dist) +
                            ": the cone angle exceeds 45 degrees and the vertical footprint is not valid there");
    } else {
      place(p.angles, {});
    }
    indices_ = mbirk::full_indices(mask_);
  }

  Geometry const& geometry() const noexcept { return geometry_; }
  std::array<index_t, 3> sinogram_shape() const noexcept {
    return {geometry_.views, geometry_.rows, geometry_.channels};
  }
  std::array<index_t, 3> recon_shape() const noexcept {
    return {geometry_.recon_rows, geometry_.recon_cols, geometry_.slices};
  }
  std::span<view_position const> positions() const noexcept { return positions_; }
  /// Stored view parameters; z_shifts are zeros if the scan is not helical.
  std::span<float const> angles() const noexcept { return angles_; }
  std::span<float const> z_shifts() const noexcept { return z_shifts_; }
  std::vector<std::uint8_t> const& mask() const noexcept { return mask_; }
  /// Pixels inside the mask, ascending.
  std::span<std::int32_t const> full_indices() const noexcept { return indices_; }
  /// Messages about valid but suspicious settings; the library never prints.
  std::vector<std::string> const& warnings() const noexcept { return warnings_; }

  /// Replaces the view parameters; the number of views must not change.
  void set_views(std::span<float const> angles, std::span<float const> z_shifts = {}) {
    bool constexpr helical = requires(parameters const& p) { p.helical_z_shifts; };
    require(helical || z_shifts.empty(), [&] {
      return "set_views: " + std::to_string(z_shifts.size()) + " z shifts, expected none in parallel beam";
    });
    require(static_cast<index_t>(angles.size()) == geometry_.views, [&] {
      return "set_views: " + std::to_string(angles.size()) + " angles, expected " + std::to_string(geometry_.views);
    });
    require(z_shifts.empty() || z_shifts.size() == angles.size(), [&] {
      return "set_views: " + std::to_string(z_shifts.size()) + " z shifts, expected one per angle = " +
             std::to_string(angles.size());
    });
    for (auto const a : angles) detail::require_finite(a, "set_views: an angle");
    for (auto const z : z_shifts) detail::require_finite(z, "set_views: a z shift");
    place(angles, z_shifts);
  }

 private:
  void place(std::span<float const> angles, std::span<float const> z_shifts) {
    angles_.assign(angles.begin(), angles.end());
    z_shifts_.assign(z_shifts.begin(), z_shifts.end());
    z_shifts_.resize(angles_.size());
    positions_.resize(angles_.size());
    for (std::size_t v = 0; v < angles_.size(); ++v) {
      double const angle = angles_[v];  // stored as float32, double from here on
      positions_[v] = {std::cos(angle), std::sin(angle), static_cast<double>(z_shifts_[v])};
    }
  }

  Geometry geometry_;
  std::vector<std::uint8_t> mask_;
  std::vector<std::int32_t> indices_;
  std::vector<float> angles_, z_shifts_;
  std::vector<view_position> positions_;
  std::vector<std::string> warnings_;
};

using parallel_scan = scan<parallel_geometry>;
using cone_scan = scan<cone_geometry>;

}  // namespace mbirk
