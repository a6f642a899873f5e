// Parameters, records and warnings between Python and the library.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/recon/options.hpp"
#include "mbirk/recon/parameter_value.hpp"

namespace mbirk::python {

namespace nb = nanobind;

/// Converts a bool, a number, text, a list of numbers, a 1-D array, or a 2-D mask. @throws TypeError that names the
/// parameter.
/// per_view: of a list with one entry per view, the numbers of an entry; more than one make an array (views, per_view).
parameter_value to_parameter(std::string const& name, nb::handle value, index_t per_view = 1);
nb::object from_parameter(parameter_value const& value, index_t per_view = 1);

/// A list or array of numbers as float32. @throws TypeError, ValueError that name it.
std::vector<float> to_floats(char const* name, nb::handle values);
/// Vectors (views, per_view), one after the other.
template <class T = float> std::vector<T> to_vectors(char const* name, nb::handle values, index_t per_view);

/// True, False or a mask of 0 and 1, (rows, cols).
mask_setting to_mask(nb::handle value);

/// The iteration records as dictionaries with the names of their members.
nb::dict to_dict(recon_log const& record);
nb::dict to_dict(denoise_record const& record);

/// Issues each text as a UserWarning.
void warn(std::vector<std::string> const& texts);

/// A list or tuple of whole numbers or numbers.
nb::tuple to_tuple(std::vector<index_t> const& values);
nb::tuple to_tuple(std::vector<double> const& values);

}  // namespace mbirk::python
