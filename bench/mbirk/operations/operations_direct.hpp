// Filters and direct reconstruction.
#pragma once

#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace bodies {

/// The usual names of direct reconstruction, such as fbp_recon, with the geometries that have them.
inline std::vector<operation_alias> direct_aliases(std::string const& what) {
  std::vector<operation_alias> all;
  geometries::each([&]<class Geometry>(std::type_identity<Geometry>) {
    if (!has_direct_recon<Geometry>) return;
    auto const name = std::string(Geometry::direct_method) + '_' + what;
    auto const known = std::ranges::find(all, name, &operation_alias::name);
    if (known == all.end()) all.push_back({name, {Geometry::name}});
    else known->geometries.emplace_back(Geometry::name);
  });
  return all;
}

/// Names of the geometries with a direct reconstruction.
inline std::vector<std::string> const direct_scans = [] {
  std::vector<std::string> names;
  geometries::each([&]<class Geometry>(std::type_identity<Geometry>) {
    if (has_direct_recon<Geometry>) names.emplace_back(Geometry::name);
  });
  return names;
}();

struct direct_filter {
  static constexpr char const* name = "direct_filter";
  static entry_info entry() {
    return {.group = "filter",
            .geometries = direct_scans,
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram}},
            .arguments = {{"filter_name", value_kind::text, "ramp"}},
            .output = array_kind::sinogram,
            .minimal_flops = [](any_scan const& any, operands const&) {
              return of_scan(any, [](auto const& scan) { return filter_flops(scan); });
            },
            .aliases = direct_aliases("filter")};
  }
  void operator()(auto const& ctx, direct_scan auto const& scan, auto& x) const {
    mbirk::direct_filter(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x));
  }
};

struct direct_recon {
  static constexpr char const* name = "direct_recon";
  static entry_info entry() {
    return {.group = "recon",
            .geometries = direct_scans,
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram}},
            .arguments = {{"filter_name", value_kind::text, "ramp"}},
            .output = array_kind::recon,
            .minimal_flops = [](any_scan const& any, operands const&) {
              return of_scan(any, [](auto const& scan) {
                return filter_flops(scan) + projection_flops(scan, scan.full_indices());
              });
            },
            .aliases = direct_aliases("recon")};
  }
  void operator()(auto const& ctx, direct_scan auto const& scan, auto& x) const {
    mbirk::direct_recon(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x), &x.warnings);
  }
};

}  // namespace bodies

using direct_bodies = body_list<bodies::direct_filter, bodies::direct_recon>;

}  // namespace mbirk::program
