// The definition of run_body, and body_instances, which compiles it for a list of bodies.
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

#include "mbirk/context.hpp"
#include "operations/device_operands.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {

/// Calls the body with the concrete scan of the case, or with any_scan if it accepts that.
template <class Body, class Context, class Operands>
void call_body(Context const& ctx, any_scan const& any, Operands& x) {
  if constexpr (std::is_invocable_v<Body, Context const&, any_scan const&, Operands&>) {
    Body{}(ctx, any, x);
  } else {
    std::visit([&](auto const& scan) {
      if constexpr (std::is_invocable_v<Body, Context const&, decltype(scan), Operands&>) Body{}(ctx, scan, x);
      else
        throw error(std::string(Body::name) + " is not for geometry " + geometry_name(any), source_location::current());
    }, any);
  }
}

/// Times one call by the policy's clock.
template <class Context, class Call> call_cost timed_call(Context const& ctx, Call const& call) {
  auto const& exec = ctx.exec;
  transfer_counts before, after;
  exec.wait();
  if constexpr (on_device<Context>) before = exec.transfers();
  auto const begin = exec.timestamp();
  call();
  auto const end = exec.timestamp();
  double const seconds = exec.seconds(begin, end);
  if constexpr (on_device<Context>) after = exec.transfers();
  return {seconds,
          {.uploads = after.uploads - before.uploads,
           .bytes_up = after.bytes_up - before.bytes_up,
           .downloads = after.downloads - before.downloads,
           .bytes_down = after.bytes_down - before.bytes_down}};
}

template <class Body, class Context>
void run_body(Context const& ctx, any_scan const& any, operands& x, caller const& calls) {
  auto const run = [&](auto& seen) {
    calls([&] { return timed_call(ctx, [&] { call_body<Body>(ctx, any, seen); }); });
  };
  if constexpr (on_device<Context>) {
    device_operands<Context> resident(ctx, x);
    run(resident);
    resident.download();
  } else {
    run(x);
  }
}

/// Compiles the bodies of a list for the contexts of a variant; contexts of devices leave out what runs on the host
/// only: `template struct body_instances<list, std::variant<contexts...>>`.
template <class List, class Contexts> struct body_instances;
template <class... Bodies, class... Contexts> struct body_instances<body_list<Bodies...>, std::variant<Contexts...>> {
  template <class Context> using function = void (*)(Context const&, any_scan const&, operands&, caller const&);
  template <class Body, class Context> static constexpr function<Context> instance() {
    if constexpr (host_only<Body> && on_device<Context>) return nullptr;
    else return &run_body<Body, Context>;
  }
  template <class Context> static constexpr std::array<function<Context>, sizeof...(Bodies)> instances() {
    return {instance<Bodies, Context>()...};
  }
  /// Taking the addresses compiles the functions.
  static constexpr std::tuple all{instances<Contexts>()...};
};

}  // namespace mbirk::program
