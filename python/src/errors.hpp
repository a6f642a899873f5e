// The library's exceptions as Python's.
#pragma once

#include <nanobind/nanobind.h>

#include "mbirk/core/error.hpp"

namespace mbirk::python {

inline void translate_errors() {
  nanobind::register_exception_translator([](std::exception_ptr const& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (mbirk::allocation_error const& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (mbirk::io_error const& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    } catch (mbirk::device_error const& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    } catch (mbirk::error const& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
}

}  // namespace mbirk::python
