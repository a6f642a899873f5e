// The module: its groups of functions, and the library's exceptions translated to Python's.
#include <nanobind/nanobind.h>

#include "groups.hpp"
#include "iterations.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/version.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  nb::register_exception_translator([](std::exception_ptr const& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (mbirk::allocation_error const& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (mbirk::io_error const& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    } catch (mbirk::error const& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  m.attr("__version__") = nb::str(mbirk::version_string.data(), mbirk::version_string.size());
  mbirk::python::bind_iterations(m);
  mbirk::python::bind_parallel(m);
  mbirk::python::bind_cone(m);
  mbirk::python::bind_denoiser(m);
  mbirk::python::bind_images(m);
  mbirk::python::bind_partitions(m);
  mbirk::python::bind_phantoms(m);
  mbirk::python::bind_cost(m);
}
