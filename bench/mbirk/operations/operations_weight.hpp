// Weights of measurements.
#pragma once

#include "mbirk/recon/weights.hpp"
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace bodies {

struct gen_weights {
  static constexpr char const* name = "gen_weights";
  static entry_info entry() {
    return {.group = "recon",
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram}},
            .arguments = {{"weight_type", value_kind::text, "unweighted"}},
            .output = array_kind::sinogram,
            .minimal_flops = [](any_scan const& any, operands const& x) {
              // exp(-y) none, exp(-y / 2) and 1 / (|y| + 0.1) one
              auto const type = parse_weight_type(x.text("weight_type"));
              bool const one = type == weight_type::transmission_root || type == weight_type::emission;
              return one ? of_scan(any, [](auto const& scan) { return samples(scan); }) : 0;
            },
            .profile = {{.name = "gen_weights_transmission", .arguments = {{"weight_type", "transmission"}}}}};
  }
  void operator()(auto const& ctx, any_scan const&, auto& x) const {
    mbirk::gen_weights(ctx, x.volume("sinogram"), parse_weight_type(x.text("weight_type")), x.output_volume());
  }
};

struct gen_weights_mar {
  static constexpr char const* name = "gen_weights_mar";
  static entry_info entry() {
    return {.group = "recon",
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram},
                       {.name = "init_recon", .kind = array_kind::recon, .required = false}},
            .arguments = {{"metal_threshold", value_kind::number, nullptr},
                          {"beta", value_kind::number, 1.0},
                          {"gamma", value_kind::number, 3.0}},
            .output = array_kind::sinogram,
            .minimal_flops = [](any_scan const& any, operands const& x) {
              // exp(-y (1 + gamma mu) / beta): the factor is one of two constants
              return of_scan(any, [&](auto const& scan) {
                return samples(scan) +
                       (x.inputs.contains("init_recon") ? projection_flops(scan, scan.full_indices()) : 0);
              });
            }};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::gen_weights_mar(ctx, scan, x.volume("sinogram"), x.optional_volume("init_recon"),
                           x.number("metal_threshold"), *x.number("beta"), *x.number("gamma"), x.output_volume());
  }
};

}  // namespace bodies

using weight_bodies = body_list<bodies::gen_weights, bodies::gen_weights_mar>;

}  // namespace mbirk::program
