// One operation on one device policy, and the list of those that run on devices. Sources that define an instance
// include device_instances_run.hpp.
#pragma once

#include <string_view>

#include "mbirk/context.hpp"
#include "mbirk/instrument/any.hpp"
#include "operations/operation_bodies.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// An operation over a context of blocks, compiled apart from its callers.
template <class Body, class Exec, class Instr> struct device_instance {
  static void run(context<Exec, Instr> const& ctx, any_scan const& scan, operands& x, caller const& calls);
};

template <class... Bodies> struct body_list {};
using projector_bodies = body_list<invoke::forward_project, invoke::back_project, invoke::sparse_forward_project,
                                   invoke::sparse_back_project, invoke::hessian_diagonal>;
using recon_bodies = body_list<invoke::recon, invoke::prox_map>;
using other_bodies = body_list<invoke::direct_filter, invoke::fbp_filter, invoke::fdk_filter, invoke::direct_recon,
                               invoke::fbp_recon, invoke::fdk_recon, invoke::gen_weights, invoke::gen_weights_mar,
                               invoke::qggmrf_denoise, invoke::median_filter3d>;

/// Runs that of the bodies which has the name; whether there is one.
template <class Exec, class Instr, class... Bodies>
bool run_named(body_list<Bodies...>, std::string_view name, context<Exec, Instr> const& ctx, any_scan const& scan,
               operands& x, caller const& calls) {
  return ((name == Bodies::name && (device_instance<Bodies, Exec, Instr>::run(ctx, scan, x, calls), true)) || ...);
}
template <class Exec, class Instr> void run_on_device(std::string_view name, context<Exec, Instr> const& ctx,
                                                      any_scan const& scan, operands& x, caller const& calls) {
  bool const found = run_named(projector_bodies(), name, ctx, scan, x, calls) ||
                     run_named(recon_bodies(), name, ctx, scan, x, calls) ||
                     run_named(other_bodies(), name, ctx, scan, x, calls);
  require<error>(found, [&] { return std::string(name) + " is no operation of policy " + std::string(Exec::name); });
}

}  // namespace mbirk::program
