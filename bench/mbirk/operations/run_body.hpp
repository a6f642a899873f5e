// Runs an operation under one pair of policies, compiled apart from its callers: sources that compile it for a list of
// bodies include run_body_instances.hpp.
#pragma once

#include <string>
#include <string_view>

#include "mbirk/context.hpp"
#include "operations/operation_bodies.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// Copies the operands to the memory of the policy, calls and times the body as often as requested, and copies the
/// result back.
/// @throws mbirk::error of the operation; device copies are released.
template <class Body, class Context>
void run_body(Context const& ctx, any_scan const& any, operands& x, caller const& calls);

/// Runs the body with this name. @throws error when there is none that runs on devices.
template <class Context, class... Bodies>
void run_on_device(body_list<Bodies...>, std::string_view name, Context const& ctx, any_scan const& scan, operands& x,
                   caller const& calls) {
  auto const try_body = [&]<class Body>(Body const*) {
    if constexpr (host_only<Body>) return false;
    else return name == Body::name && (run_body<Body>(ctx, scan, x, calls), true);
  };
  bool const found = (try_body(static_cast<Bodies const*>(nullptr)) || ...);
  require<error>(found, [&] {
    return std::string(name) + " is not an operation of policy " + std::string(decltype(Context::exec)::name);
  });
}

}  // namespace mbirk::program
