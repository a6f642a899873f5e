// scan: a geometry with its per-view positions and its mask, constructed once and passed to every operation.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/geometry/cone.hpp"
#include "mbirk/geometry/multiaxis.hpp"
#include "mbirk/geometry/parallel.hpp"

namespace mbirk {

/// Positions of the views. Overloaded for geometries whose positions depend on the grid.
template <class Geometry, class Views> auto place_views(Geometry const&, Views& v) { return place_views(v); }

namespace detail {

/// Converts a list of numbers to a vector of the type that a view list has.
template <class List> struct view_list_of {
  List const& list;
  template <class T> operator std::vector<T>() const {
    std::vector<T> values;
    for (auto const x : list) values.push_back(static_cast<T>(x));
    return values;
  }
};

}  // namespace detail

/// A validated scan. Copies own their angles and mask; kernels only get geometry() and positions().
template <class Geometry> class scan {
 public:
  using geometry_type = Geometry;
  using parameters = typename Geometry::parameters;
  using view_lists = typename Geometry::view_lists;
  using position = typename Geometry::position;

  /// @throws parameter_error with the name of the parameter, its value and the expected value.
  explicit scan(parameters const& p);

  Geometry const& geometry() const noexcept { return geometry_; }
  std::array<index_t, 3> sinogram_shape() const noexcept {
    return {geometry_.views, geometry_.rows, geometry_.channels};
  }
  std::array<index_t, 3> recon_shape() const noexcept {
    return {geometry_.recon_rows, geometry_.recon_cols, geometry_.slices};
  }
  std::span<position const> positions() const noexcept { return positions_; }
  /// Stored view parameters; z_shifts are zeros if the scan is not helical.
  view_lists const& views() const noexcept { return views_; }
  std::span<float const> angles() const noexcept
    requires requires(view_lists const& v) { v.angles; }
  {
    return views_.angles;
  }
  std::span<float const> z_shifts() const noexcept
    requires requires(view_lists const& v) { v.z_shifts; }
  {
    return views_.z_shifts;
  }
  std::vector<std::uint8_t> const& mask() const noexcept { return mask_; }
  /// Pixels inside the mask, ascending.
  std::span<std::int32_t const> full_indices() const noexcept { return indices_; }
  /// Messages about valid but suspicious settings; the library never prints.
  std::vector<std::string> const& warnings() const noexcept { return warnings_; }

  /// Replaces the view parameters, given as lists in the order of view_lists: set_views(angles, z_shifts). The number
  /// of views must not change. Sigmas that are derived from the data keep to the pitches and the magnification of the
  /// views with which a scan of general views was made.
  template <class... Lists> void set_views(Lists const&... lists) {
    view_lists views{detail::view_list_of<Lists>{lists}...};
    require_views(geometry_, views);
    positions_ = place_views(geometry_, views);
    views_ = std::move(views);
  }

 private:
  Geometry geometry_;
  std::vector<std::uint8_t> mask_;
  std::vector<std::int32_t> indices_;
  view_lists views_;
  std::vector<position> positions_;
  std::vector<std::string> warnings_;
};

// Not in the class, where it would be inline, so that users of mbirk::compiled do not compile it.
template <class Geometry> scan<Geometry>::scan(parameters const& p)
    : geometry_(make_geometry(p)),
      mask_(make_mask(geometry_.recon_rows, geometry_.recon_cols, p.use_ror_mask)),
      indices_(mbirk::full_indices(mask_)),
      views_(make_views(p)),
      positions_(place_views(geometry_, views_)),
      warnings_(scan_warnings(p)) {}

/// Angles of the views; none without a gantry that turns.
template <class Geometry> std::span<float const> angles_of([[maybe_unused]] scan<Geometry> const& s) noexcept {
  if constexpr (requires { s.angles(); }) return s.angles();
  else return {};
}

using parallel_scan = scan<parallel_geometry>;
using cone_scan = scan<cone_geometry>;
using multiaxis_scan = scan<multiaxis_geometry>;

}  // namespace mbirk
