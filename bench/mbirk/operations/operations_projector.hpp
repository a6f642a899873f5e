// Projectors.
#pragma once

#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace bodies {

/// Minimal flops of a projection, of all pixels or those of a list.
inline std::uint64_t minimal_projection(any_scan const& any, operands const& x) {
  return of_scan(any, [&](auto const& scan) {
    auto const list = x.inputs.find("pixel_indices");
    if (list == x.inputs.end()) return projection_flops(scan, scan.full_indices());
    return projection_flops(scan, std::get<1>(list->second).data);
  });
}

struct forward_project {
  static constexpr char const* name = "forward_project";
  static entry_info entry() {
    return {.group = "projector",
            .inputs = {{.name = "recon", .kind = array_kind::recon, .only_inside_mask = true}},
            .output = array_kind::sinogram,
            .minimal_flops = minimal_projection};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::forward_project(ctx, scan, x.volume("recon"), x.output_volume());
  }
};

struct back_project {
  static constexpr char const* name = "back_project";
  static entry_info entry() {
    return {.group = "projector",
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram}},
            .output = array_kind::recon,
            .minimal_flops = minimal_projection};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::back_project(ctx, scan, x.volume("sinogram"), x.output_volume());
  }
};

struct sparse_forward_project {
  static constexpr char const* name = "sparse_forward_project";
  static entry_info entry() {
    return {.group = "projector",
            .inputs = {{.name = "voxel_values", .kind = array_kind::voxel_columns},
                       {.name = "pixel_indices", .kind = array_kind::pixel_indices}},
            .output = array_kind::sinogram,
            .minimal_flops = minimal_projection};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::sparse_forward_project(ctx, scan, x.voxel_columns("voxel_values"), x.list("pixel_indices"),
                                  x.output_volume());
  }
};

struct sparse_back_project {
  static constexpr char const* name = "sparse_back_project";
  static entry_info entry() {
    return {.group = "projector",
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram},
                       {.name = "pixel_indices", .kind = array_kind::pixel_indices}},
            .arguments = {{"coeff_power", value_kind::integer, 1}},
            .output = array_kind::voxel_columns,
            .minimal_flops = minimal_projection};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::sparse_back_project(ctx, scan, x.volume("sinogram"), x.list("pixel_indices"), x.output_voxel_columns(),
                               x.integer("coeff_power"));
  }
};

struct hessian_diagonal {
  static constexpr char const* name = "hessian_diagonal";
  static entry_info entry() {
    return {.group = "projector",
            .inputs = {{.name = "weights", .kind = array_kind::sinogram, .required = false}},
            .output = array_kind::recon,
            .minimal_flops = [](any_scan const& any, operands const& x) {
              return of_scan(any, [&](auto const& scan) { return hessian_flops(scan, x.inputs.contains("weights")); });
            }};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::hessian_diagonal(ctx, scan, x.optional_volume("weights"), x.output_volume());
  }
};

}  // namespace bodies

using projector_bodies = body_list<bodies::forward_project, bodies::back_project, bodies::sparse_forward_project,
                                   bodies::sparse_back_project, bodies::hessian_diagonal>;

}  // namespace mbirk::program
