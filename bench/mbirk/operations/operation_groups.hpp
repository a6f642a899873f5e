// Entries of the table of operations, and helpers for writing them.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/definition/minimal.hpp"
#include "operations/operation_bodies.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// Names of all geometries; the second list includes cases without geometry.
inline std::vector<std::string> const scans = geometries::names();
inline std::vector<std::string> const anything = [] {
  auto names = geometries::names();
  names.emplace_back("none");
  return names;
}();

/// Another name of an operation, for some geometries.
struct operation_alias {
  std::string name;
  std::vector<std::string> geometries;
};

inline std::uint64_t no_flops(any_scan const&, operands const&) { return 0; }

/// Properties of an operation in the table, besides its name.
struct entry_info {
  char const* group;
  std::vector<std::string> geometries = scans;
  std::vector<input_info> inputs = {};
  std::vector<argument_info> arguments = {};
  array_kind output = array_kind::image;
  std::function<std::uint64_t(any_scan const&, operands const&)> minimal_flops = no_flops;
  std::vector<profile_case> profile = {profile_case{}};
  std::vector<operation_alias> aliases = {};
};

/// The options of a call as arguments of its operation, with the values of `defaults`; those without one are optional.
template <class Options> std::vector<argument_info> call_arguments(Options const& defaults) {
  std::vector<argument_info> all;
  mbirk::detail::each_call_option(defaults, [&]<class T>(char const* name, auto const&, T const& member, char const*) {
    auto const kind = std::same_as<T, bool>  ? value_kind::boolean
                      : std::integral<T> ? value_kind::integer
                                         : value_kind::number;
    nlohmann::json fallback;
    if constexpr (std::is_arithmetic_v<T>) fallback = member;
    else if (member) fallback = *member;
    all.push_back({name, kind, std::move(fallback)});
  });
  return all;
}

/// Returns f(scan), a count; 0 without a scan.
template <class F> std::uint64_t of_scan(any_scan const& any, F const& f) {
  return std::visit([&](auto const& scan) -> std::uint64_t {
    if constexpr (requires { scan.geometry(); }) return f(scan);
    else return 0;
  }, any);
}

/// Minimal flops of one projection of these pixels in either direction.
template <class Scan> std::uint64_t projection_flops(Scan const& scan, std::span<std::int32_t const> pixels) {
  return definition::minimal_flops(scan, pixels, definition::weight_use::projection);
}
/// Minimal flops of the Hessian diagonal over all pixels; with weights, those of a projection of all pixels.
template <class Scan> std::uint64_t hessian_flops(Scan const& scan, bool weighted) {
  std::vector<std::int32_t> every(scan.mask().size());
  std::iota(every.begin(), every.end(), 0);
  return definition::minimal_flops(
      scan, every, weighted ? definition::weight_use::projection : definition::weight_use::unweighted_hessian);
}
template <class Scan> std::uint64_t samples(Scan const& scan) {
  auto const& g = scan.geometry();
  return static_cast<std::uint64_t>(g.views) * static_cast<std::uint64_t>(g.rows) *
         static_cast<std::uint64_t>(g.channels);
}
/// Minimal flops of the ramp filter: one per sample for the cone-beam weight and, for each row, the smaller of two
/// flops per nonzero tap and half of two transforms of two rows by split radix, 4 L log2 L - 6 L + 8 flops each for L
/// >= 2 C - 1 samples, with the products with the spectrum.
template <class Scan> std::uint64_t filter_flops(Scan const& scan) {
  auto const c = static_cast<std::uint64_t>(scan.geometry().channels);
  if (c == 0) return 0;
  std::uint64_t const taps = c + 2 * (c / 2) * ((c + 1) / 2);  // the middle one, and those of the other parity
  auto const length = static_cast<double>(2 * c - 1);
  auto const transforms = static_cast<std::uint64_t>(length * (4 * std::log2(length) - 5) + 8);
  return samples(scan) / c * std::min(2 * taps, transforms) + (Scan::geometry_type::weighs_rays ? samples(scan) : 0);
}

}  // namespace mbirk::program
