// Bodies of the unfused operations. They are compiled in two sources: timed, optimised like the kernels of
// mbirk::compiled, and counted.
#pragma once

#include <string_view>

#include "mbirk/profile/staged.hpp"
#include "operations/operation_bodies.hpp"
#include "operations/staged.hpp"

namespace mbirk::program {

void run_staged_counted(operation const& op, exec::host const& host, instrument::ledger& counts, any_scan const& scan,
                        operands& x, caller const& calls);

namespace staged_bodies {

namespace stages = mbirk::profile::staged;

struct forward_project {
  static constexpr char const* name = "forward_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    stages::forward_project(ctx, scan, x.volume("recon"), x.output_volume());
  }
};
struct back_project {
  static constexpr char const* name = "back_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    stages::back_project(ctx, scan, x.volume("sinogram"), x.output_volume());
  }
};
struct sparse_forward_project {
  static constexpr char const* name = "sparse_forward_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    stages::sparse_forward_project(ctx, scan, x.voxel_columns("voxel_values"), x.list("pixel_indices"),
                                   x.output_volume());
  }
};
struct sparse_back_project {
  static constexpr char const* name = "sparse_back_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    stages::sparse_back_project(ctx, scan, x.volume("sinogram"), x.list("pixel_indices"), x.output_voxel_columns(),
                                x.integer("coeff_power"));
  }
};
struct hessian_diagonal {
  static constexpr char const* name = "hessian_diagonal";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    stages::hessian_diagonal(ctx, scan, x.optional_volume("weights"), x.output_volume());
  }
};
struct direct_filter {
  static constexpr char const* name = "direct_filter";
  void operator()(auto const& ctx, direct_scan auto const& scan, auto& x) const {
    stages::direct_filter(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x));
  }
};
struct direct_recon {
  static constexpr char const* name = "direct_recon";
  void operator()(auto const& ctx, direct_scan auto const& scan, auto& x) const {
    stages::direct_recon(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x), &x.warnings);
  }
};

/// Calls f(body) for the body with this name; returns whether there is one.
template <class F> bool with_form(std::string_view name, F const& f) {
  auto const among = [&]<class... Bodies>(Bodies const&... bodies) {
    return ((name == Bodies::name && (f(bodies), true)) || ...);
  };
  return among(forward_project{}, back_project{}, sparse_forward_project{}, sparse_back_project{}, hessian_diagonal{},
               direct_filter{}, direct_recon{});
}

}  // namespace staged_bodies
}  // namespace mbirk::program
