// Writing of scans and reconstruction parameters as JSON.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "input/geometry_file.hpp"
#include "input/parameter_members.hpp"
#include "mbirk/io/parameters_json.hpp"

namespace mbirk::program {
namespace {

json vectors_json(auto const& list, index_t per_view) {
  json vectors = json::array();
  for (auto at = list.begin(); at != list.end(); at += per_view) vectors.push_back(std::vector(at, at + per_view));
  return vectors;
}

/// The scan that reads as the fan beam g.
geometry_file fan_as_read(geometry_file const& g) {
  auto plain = g;
  auto p = *g.fan;
  std::visit([&](auto const& s) {
    p.recon_shape = s.recon_shape();
    p.delta_voxel = s.geometry().delta_x;
  }, g.scan);
  p.recon_slice_offset = 0;
  plain.fan.reset();
  plain.scan = cone_scan(p);
  plain.parameters = std::move(p);
  return plain;
}

}  // namespace

json geometry_json(geometry_file const& g) {
  if (g.fan) {
    auto root = geometry_json(fan_as_read(g));
    root["geometry"] = "fan";
    return root;
  }
  // Objects from the start: when memory runs out, version 3.11 of the library cannot destroy a null that becomes one.
  json params = json::object(), root = json::object();
  std::visit([&]<class Geometry>(scan<Geometry> const& scan) {
    auto const& geometry = scan.geometry();
    parameter_values<Geometry> values{.scan = std::get<typename Geometry::parameters>(g.parameters),
                                      .options = g.model};
    auto& p = values.scan;
    p.delta_voxel = geometry.delta_x;
    if constexpr (requires { p.voxel_row_aspect.has_value(); })
      p.voxel_row_aspect = geometry.delta_y / geometry.delta_x;
    if constexpr (requires { p.recon_slice_offset; }) p.recon_slice_offset = geometry.recon_slice_offset;
    each_member<Geometry>(values, [&](parameter_info const& info, auto const&, auto const& member) {
      if (kind_of(info) != parameter_kind::label)
        params[info.name] = mbirk::detail::parameter_json(parameter_value(mbirk::detail::plain_member(member)));
    });
    root["geometry"] = geometry.name;
    each_view_list<Geometry>(values, [&](parameter_info const& info, auto const& list) {
      if (info.per_view > 1) root[info.name] = vectors_json(list, info.per_view);
      else if (info.required || !list.empty()) root[info.name] = list;
    });
    root["sinogram_shape"] = scan.sinogram_shape();
    root["recon_shape"] = scan.recon_shape();

    auto options = g.model;
    each_optional(options, values, [&](char const* name, auto const& option, auto const&) {
      if (option) params[name] = *option;
      else params.erase(name);
    });
  }, g.scan);
  params.erase("auto_regularize_flag");  // the sigmas imply it
  params["use_ror_mask"] = g.mask;
  root["params"] = std::move(params);
  return root;
}

}  // namespace mbirk::program
