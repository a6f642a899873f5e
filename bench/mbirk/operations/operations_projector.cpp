// Projectors.
#include "operations/operation_groups.hpp"

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
      entry<invoke::forward_project>(
          {"projector", scans, {{.name = "recon", .kind = recon, .only_inside_mask = true}}, {}, sinogram, projection}),
      entry<invoke::back_project>(
          {"projector", scans, {{.name = "sinogram", .kind = sinogram}}, {}, recon, projection}),
      entry<invoke::sparse_forward_project>(
          {"projector",
           scans,
           {{.name = "voxel_values", .kind = cylinders}, {.name = "pixel_indices", .kind = pixel_indices}},
           {},
           sinogram,
           projection}),
      entry<invoke::sparse_back_project>(
          {"projector",
           scans,
           {{.name = "sinogram", .kind = sinogram}, {.name = "pixel_indices", .kind = pixel_indices}},
           {{"coeff_power", value_kind::integer, 1}},
           cylinders,
           projection}),
      entry<invoke::hessian_diagonal>(
          {"projector", scans, {{.name = "weights", .kind = sinogram, .required = false}}, {}, recon, hessian}),
  };
}

}  // namespace mbirk::program
