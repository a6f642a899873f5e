// Weights of measurements.
#include "operations/operation_groups.hpp"

namespace mbirk::program {

std::vector<operation> weight_operations() {
  using enum array_kind;
  return {
      entry<invoke::gen_weights>({"recon",
                                  scans,
                                  {{.name = "sinogram", .kind = sinogram}},
                                  {{"weight_type", value_kind::text, "unweighted"}},
                                  sinogram,
                                  // Flops: exp(-y) none, exp(-y / 2) and 1 / (|y| + 0.1) one.
                                  [](any_scan const& any, operands const& x) {
                                    auto const type = parse_weight_type(x.text("weight_type"));
                                    bool const one =
                                        type == weight_type::transmission_root || type == weight_type::emission;
                                    return one ? of_scan(any, [](auto const& scan) { return samples(scan); }) : 0;
                                  }}),
      entry<invoke::gen_weights_mar>(
          {"recon",
           scans,
           {{.name = "sinogram", .kind = sinogram}, {.name = "init_recon", .kind = recon, .required = false}},
           {{"metal_threshold", value_kind::number, nullptr},
            {"beta", value_kind::number, 1.0},
            {"gamma", value_kind::number, 3.0}},
           sinogram,
           // exp(-y (1 + gamma mu) / beta): the factor is one of two constants.
           [](any_scan const& any, operands const& x) {
             return of_scan(any, [&](auto const& scan) {
               return samples(scan) +
                      (x.inputs.contains("init_recon") ? projection_flops(scan, scan.full_indices()) : 0);
             });
           }}),
  };
}

}  // namespace mbirk::program
