// Arguments and results of the iterative reconstructions: initial images, callbacks that hold the GIL while Python
// runs, states to resume from.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "array.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::python {

/// None, a number, or an array (rows, cols, slices).
struct initial_image { nb::object object; };

using first_image = std::variant<std::monostate, double, view<float const, 3>>;
first_image read_initial(call& c, initial_image const& image);

/// Calls Python after every iteration; without a callable it only checks whether the user has pressed Ctrl-C. The
/// callable must outlive the function: the library copies the function while other threads run Python, so it must not
/// own a Python object.
std::function<bool(iteration_report const&)> progress_of(std::optional<nb::callable> const& callable);

/// Passes a copy of the state to Python.
std::function<void(recon_state const&)> checkpoint_of(std::optional<nb::callable> const& callable);

/// (image, recon_dict).
using image_and_dict = nb::typed<nb::tuple, volume_out, nb::dict>;

void bind_iterations(nb::module_& m);

}  // namespace mbirk::python

template <> struct nanobind::detail::type_caster<mbirk::python::initial_image> {
  NB_TYPE_CASTER(mbirk::python::initial_image,
                 const_name("float | ") + type_caster<mbirk::python::volume>::Name + const_name(" | None"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = borrow(source);
    return true;
  }
};
