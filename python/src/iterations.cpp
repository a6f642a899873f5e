#include "iterations.hpp"

#include <nanobind/stl/string.h>

#include <utility>

#include "mbirk/io/checkpoint.hpp"

namespace mbirk::python {
namespace {

/// An interrupt or an exception in Python ends the operation.
void look_for_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

volume_out image_of(recon_state const& s) { return {as_array(s.recon, {s.recon_shape.begin(), s.recon_shape.end()})}; }

}  // namespace

first_image read_initial(call& c, initial_image const& image) {
  auto const object = image.object.ptr();
  if (image.object.is_none()) return {};
  if (PyFloat_Check(object) || PyLong_Check(object)) return nb::cast<double>(image.object);
  // a NumPy scalar
  if (nb::hasattr(image.object, "ndim") && nb::cast<int>(image.object.attr("ndim")) == 0)
    return nb::cast<double>(image.object.attr("item")());
  return c.read(volume{image.object}, "init_recon", recon_axes, call::sharing::with_output);
}

std::function<bool(iteration_report const&)> progress_of(std::optional<nb::callable> const& callable) {
  return [call = callable ? &*callable : nullptr](iteration_report const& report) {
    nb::gil_scoped_acquire const held;
    look_for_signals();
    if (!call) return true;
    nb::object const answer = (*call)(nb::cast(report, nb::rv_policy::copy));
    if (answer.is_none()) return true;
    int const go_on = PyObject_IsTrue(answer.ptr());
    if (go_on < 0) throw nb::python_error();
    return go_on != 0;
  };
}

std::function<void(recon_state const&)> checkpoint_of(std::optional<nb::callable> const& callable) {
  if (!callable) return {};
  return [call = &*callable](recon_state const& state) {
    nb::gil_scoped_acquire const held;
    (*call)(nb::cast(state, nb::rv_policy::copy));
  };
}

void bind_iterations(nb::module_& m) {
  nb::class_<iteration_report>(m, "IterationReport", "Progress of a reconstruction, the argument of `progress`.")
      .def_ro("iteration", &iteration_report::iteration, "number of the iteration, starting at 1")
      .def_ro("iterations", &iteration_report::iterations, "maximum number of iterations")
      .def_ro("change", &iteration_report::change, "sum of |alpha d| over all subsets / sum of |x|")
      .def_ro("alpha", &iteration_report::alpha, "step, mean over the subsets")
      .def_ro("fm_rmse", &iteration_report::fm_rmse,
              "weighted root mean square of the error sinogram / sigma_y; 0 in the denoiser")
      .def_ro("prior_loss", &iteration_report::prior_loss, "0 unless compute_prior_loss");

  nb::class_<recon_state>(m, "ReconState",
                          "State from which a reconstruction continues with bitwise identical results: the "
                          "argument of `checkpoint`, and a value for `resume`.")
      .def_prop_ro(
          "num_iterations", [](recon_state const& s) { return s.record.num_iterations; },
          "number of completed iterations")
      .def_prop_ro("recon", &image_of, "the image, (rows, cols, slices); a copy");

  m.def(
      "save_checkpoint",
      [](std::string const& path, recon_state const& state) {
        nb::gil_scoped_release const released;
        save_checkpoint(path, state);
      },
      "path"_a, "state"_a,
      "Writes a state to a file, which appears under its name when it is complete. Raises OSError on failure.");
  m.def("load_checkpoint", [](std::string const& path) {
    nb::gil_scoped_release const released;
    return load_checkpoint(path);
  }, "path"_a, "Reads a state written by save_checkpoint. Raises OSError if the file is missing or damaged.");
}

}  // namespace mbirk::python
