// A module whose operations run on a device: the models, the denoiser and functions of _core, on arrays in the memory
// of the device.
#include <vector>

#include "array.hpp"
#include "errors.hpp"
#include "groups.hpp"
#include "iterations.hpp"

namespace mbirk::python {
namespace {

using host_array = nb::ndarray<float const, nb::c_contig, nb::device::cpu>;

/// A copy of an array of the host.
nb::object upload(host_array const& values) {
  std::vector<index_t> shape;
  for (std::size_t d = 0; d < values.ndim(); ++d) shape.push_back(static_cast<index_t>(values.shape(d)));
  auto made = detail::new_device_array(shape.data(), static_cast<int>(shape.size()));
  auto const memory = nb::cast<nb::ndarray<float>>(made);
  {
    nb::gil_scoped_release const released;
    auto const exec = policy_with(0);
    device_turn turn(exec);
    if (values.nbytes() > 0) exec.upload(memory.data(), values.data(), values.nbytes());
    turn.finish();
  }
  return made;
}

/// A copy for the host, a NumPy array.
nb::object download(nb::ndarray<float const, nb::c_contig> const& values) {
  nb::list extents;
  for (std::size_t d = 0; d < values.ndim(); ++d) extents.append(values.shape(d));
  nb::object made = nb::module_::import_("numpy").attr("empty")(nb::tuple(extents), "float32");
  auto const memory = nb::cast<nb::ndarray<float, nb::c_contig>>(made);
  nb::gil_scoped_release const released;
  auto const exec = policy_with(0);
  device_turn turn(exec);
  if (values.nbytes() > 0) exec.download(memory.data(), values.data(), values.nbytes());
  turn.finish();
  return made;
}

void bind(nb::module_& m) {
  translate_errors();
  m.def("upload", &upload, "values"_a, "A copy of a dense float32 array in the memory of the device.");
  m.def("download", &download, "values"_a, "A copy of an array of the device as a NumPy array.");
  m.def("missing", &missing_device, "Why the device cannot be used; empty if it can.");
  m.def(
      "shape",
      [](nb::ndarray<nb::ro> const& array) {
        nb::list extents;
        for (std::size_t d = 0; d < array.ndim(); ++d) extents.append(array.shape(d));
        return nb::tuple(extents);
      },
      "array"_a, "The extents of an array of the device.");
  m.def(
      "dlpack_device", [] { return nb::make_tuple(memory_type, memory_device()); },
      "DLPack's type and number of the device.");
  bind_iterations(m);
  bind_parallel(m);
  bind_cone(m);
  bind_denoiser(m);
  bind_weights_and_median(m);
}

}  // namespace
}  // namespace mbirk::python

#if defined(MBIRK_PYTHON_CUDA)
NB_MODULE(_cuda, m) { mbirk::python::bind(m); }
#else
NB_MODULE(_emulated, m) { mbirk::python::bind(m); }
#endif
