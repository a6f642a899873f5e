// The definition of device_instance, and MBIRK_DEVICE_INSTANCES(bodies, Exec, Instr), which makes instances of a list.
#pragma once

#include "operations/device_instances.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {

template <class Body, class Exec, class Instr>
void device_instance<Body, Exec, Instr>::run(context<Exec, Instr> const& ctx, any_scan const& scan, operands& x,
                                             caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}

/// Taking the addresses instantiates all bodies of a list.
template <class Exec, class Instr, class List> struct device_instances;
template <class Exec, class Instr, class... Bodies> struct device_instances<Exec, Instr, body_list<Bodies...>> {
  using function = void (*)(context<Exec, Instr> const&, any_scan const&, operands&, caller const&);
  static constexpr function all[] = {&device_instance<Bodies, Exec, Instr>::run...};
};

}  // namespace mbirk::program
