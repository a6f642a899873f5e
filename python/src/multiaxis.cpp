#include "beam_recon.hpp"
#include "groups.hpp"

namespace mbirk::python {

void bind_multiaxis(nb::module_& m) {
  using self = beam<multiaxis_geometry>;
  constexpr char const* name = "MultiAxisParallelModel";
  nb::class_<self> type(m, name,
                        "A parallel-beam scan with an azimuth and an elevation per view, and the parameters of its "
                        "reconstruction, with MBIRJAX's names and defaults.");
  type.def("__init__", [](self* s, std::array<index_t, 3> const& sinogram_shape, nb::object const& angles) {
    multiaxis_parameters p;
    p.sinogram_shape = sinogram_shape;
    p.angles = to_vectors("angles", angles, 2);
    new (s) self(model<multiaxis_geometry>(p));
  }, "sinogram_shape"_a, "angles"_a,
     "sinogram_shape: (views, rows, channels). angles: (views, 2), azimuth and elevation, radians. The reconstruction is "
     "sized to fit.");
  bind_parameters(type, name);
  bind_projections(type);
  bind_direct(type);
  bind_iterative(type);
}

}  // namespace mbirk::python
