// A kernel that fills one pack. Sources that are compiled for different vectors include it in one program.
#pragma once

#include <array>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::test {

template <class B> struct fill_pack {
  float* to;
  void operator()(index_t) const noexcept { B::store(to, B::constant(1)); }
};

/// The number of elements that a pack of exec::host stores. As in an operation, no argument has a vector type.
template <class Exec> int lanes_that_run(Exec const& exec) {
  using own_context = context<Exec, instrument::none>;
  std::array<float, 64> to{};
  launch(own_context{exec, {}}, 1, fill_pack<typename own_context::backend>{to.data()});
  int lanes = 0;
  while (to[static_cast<std::size_t>(lanes)] != 0) ++lanes;
  return lanes;
}

/// The number of elements that a pack stores in a source that is compiled for the architecture's minimum processor.
int lanes_of_least_processor();

}  // namespace mbirk::test
