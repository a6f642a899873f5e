// The module: its groups of functions.
#include <nanobind/nanobind.h>

#include "errors.hpp"
#include "groups.hpp"
#include "iterations.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/version.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  mbirk::python::translate_errors();
  m.def(
      "instruction_sets",
      [] {
        nb::list names;
        for (auto const set : mbirk::instruction_sets()) names.append(nb::str(set.data(), set.size()));
        return names;
      },
      "The instruction sets that the module has kernels for, smallest first.");
  m.def(
      "instruction_set",
      [] {
        auto const set = mbirk::instruction_set();
        return nb::str(set.data(), set.size());
      },
      "The instruction set whose kernels run: the largest that the module and this processor support, or the one named "
      "by "
      "the environment variable\nMBIRK_INSTRUCTION_SET (ValueError if it is not supported). It is chosen once.");
  m.attr("__version__") = nb::str(mbirk::version_string.data(), mbirk::version_string.size());
  mbirk::python::bind_iterations(m);
  mbirk::python::bind_parallel(m);
  mbirk::python::bind_cone(m);
  mbirk::python::bind_general(m);
  mbirk::python::bind_multiaxis(m);
  mbirk::python::bind_translation(m);
  mbirk::python::bind_denoiser(m);
  mbirk::python::bind_images(m);
  mbirk::python::bind_weights_and_median(m);
  mbirk::python::bind_partitions(m);
  mbirk::python::bind_phantoms(m);
  mbirk::python::bind_corrections(m);
  mbirk::python::bind_cost(m);
}
