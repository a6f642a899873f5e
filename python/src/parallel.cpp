#include "beam_recon.hpp"
#include "groups.hpp"

namespace mbirk::python {

void bind_parallel(nb::module_& m) {
  using self = beam<parallel_geometry>;
  constexpr char const* name = "ParallelBeamModel";
  nb::class_<self> type(
      m, name, "A parallel-beam scan and the parameters of its reconstruction, with MBIRJAX's names and defaults.");
  type.def("__init__", [](self* s, std::array<index_t, 3> const& sinogram_shape, nb::object const& angles) {
    new (s) self(parallel_beam_model(sinogram_shape, to_floats("angles", angles)));
  }, "sinogram_shape"_a, "angles"_a,
     "sinogram_shape: (views, rows, channels). angles: one per view, radians. The reconstruction is sized to fit.");
  bind_parameters(type, name);
  bind_projections(type);
  bind_direct(type);
  bind_iterative(type);
}

}  // namespace mbirk::python
