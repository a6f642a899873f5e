// The parts of the table of operations, each compiled on its own, and what their entries are written with.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/definition/minimal.hpp"
#include "operations.hpp"

namespace mbirk::program {

std::vector<operation> projector_operations();
std::vector<operation> direct_operations();
std::vector<operation> recon_operations();
std::vector<operation> weight_operations();
std::vector<operation> prior_operations();
std::vector<operation> utility_operations();

inline std::vector<std::string> const scans{"parallel", "cone"}, anything{"parallel", "cone", "none"}, on_host{"host"};

/// An operation on a scan, written once for every policy and geometry. Geometry: only this one, when it is given.
template <class Geometry = void, class Body> auto on_scan(Body body) {
  return [body](any_context const& any_ctx, any_scan const& any, operands& x) {
    std::visit([&](auto const& ctx, auto const& scan) {
      if constexpr (std::is_same_v<std::decay_t<decltype(scan)>, std::monostate>) throw error("this operation needs a geometry", site::current());
      else if constexpr (std::is_void_v<Geometry> || std::is_same_v<typename std::decay_t<decltype(scan)>::geometry_type, Geometry>) body(ctx, scan, x);
      else throw error(std::string("this operation needs geometry ") + Geometry::name, site::current());
    }, any_ctx, any);
  };
}
/// An operation that needs no scan.
template <class Body> auto on_policy(Body body) {
  return [body](any_context const& any_ctx, any_scan const& any, operands& x) {
    std::visit([&](auto const& ctx) { body(ctx, any, x); }, any_ctx);
  };
}

/// f(scan) -> count, 0 without a scan.
template <class F> std::uint64_t of_scan(any_scan const& any, F const& f) {
  return std::visit([&](auto const& scan) -> std::uint64_t {
    if constexpr (requires { scan.geometry(); }) return f(scan);
    else return 0;
  }, any);
}

/// Least flops of one projection of these pixels in either direction.
template <class Scan> std::uint64_t projection_flops(Scan const& scan, std::span<std::int32_t const> pixels) {
  return definition::minimal_flops(scan, pixels, definition::weight_use::projection);
}
/// Least flops of the Hessian diagonal, which has all pixels: with weights a projection of them.
template <class Scan> std::uint64_t hessian_flops(Scan const& scan, bool weighted) {
  std::vector<std::int32_t> every(scan.mask().size());
  std::iota(every.begin(), every.end(), 0);
  return definition::minimal_flops(scan, every, weighted ? definition::weight_use::projection : definition::weight_use::unit_hessian);
}
template <class Scan> std::uint64_t samples(Scan const& scan) {
  auto const& g = scan.geometry();
  return static_cast<std::uint64_t>(g.views) * static_cast<std::uint64_t>(g.rows) * static_cast<std::uint64_t>(g.channels);
}
/// Least flops of the ramp filter: two per nonzero tap, one more per sample for the weight of the cone.
template <class Scan> std::uint64_t filter_flops(Scan const& scan) {
  auto const c = static_cast<std::uint64_t>(scan.geometry().channels);
  if (c == 0) return 0;
  std::uint64_t const taps = c + 2 * (c / 2) * ((c + 1) / 2);  // the middle one, and those of the other parity
  return samples(scan) / c * 2 * taps + (std::is_same_v<Scan, cone_scan> ? samples(scan) : 0);
}

}  // namespace mbirk::program
