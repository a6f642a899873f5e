// Projectors.
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "operation_groups.hpp"

namespace mbirk::program {

std::vector<operation> projector_operations() {
  using enum array_kind;
  auto const projection = [](any_scan const& any, operands const& x) {
    return of_scan(any, [&](auto const& scan) {
      auto const list = x.inputs.find("pixel_indices");
      if (list == x.inputs.end()) return projection_flops(scan, scan.full_indices());
      return projection_flops(scan, std::get<1>(list->second).data);
    });
  };
  auto const hessian = [](any_scan const& any, operands const& x) {
    return of_scan(any, [&](auto const& scan) { return hessian_flops(scan, x.inputs.contains("weights")); });
  };
  return {
      {"forward_project", "projector", scans, on_host, {{.name = "recon", .kind = recon, .only_inside_mask = true}}, {}, sinogram,
       on_scan([](auto const& ctx, auto const& scan, operands& x) { forward_project(ctx, scan, x.volume("recon"), x.output_volume()); }), projection},
      {"back_project", "projector", scans, on_host, {{.name = "sinogram", .kind = sinogram}}, {}, recon,
       on_scan([](auto const& ctx, auto const& scan, operands& x) { back_project(ctx, scan, x.volume("sinogram"), x.output_volume()); }), projection},
      {"sparse_forward_project", "projector", scans, on_host,
       {{.name = "voxel_values", .kind = cylinders}, {.name = "pixel_indices", .kind = pixel_indices}}, {}, sinogram,
       on_scan([](auto const& ctx, auto const& scan, operands& x) {
         sparse_forward_project(ctx, scan, x.cylinders("voxel_values"), x.list("pixel_indices"), x.output_volume());
       }), projection},
      {"sparse_back_project", "projector", scans, on_host,
       {{.name = "sinogram", .kind = sinogram}, {.name = "pixel_indices", .kind = pixel_indices}},
       {{"coeff_power", value_kind::integer, 1}}, cylinders,
       on_scan([](auto const& ctx, auto const& scan, operands& x) {
         sparse_back_project(ctx, scan, x.volume("sinogram"), x.list("pixel_indices"), x.output_cylinders(), x.integer("coeff_power"));
       }), projection},
      {"hessian_diagonal", "projector", scans, on_host, {{.name = "weights", .kind = sinogram, .required = false}}, {}, recon,
       on_scan([](auto const& ctx, auto const& scan, operands& x) {
         hessian_diagonal(ctx, scan, x.optional_volume("weights"), x.output_volume());
       }), hessian},
  };
}

}  // namespace mbirk::program
