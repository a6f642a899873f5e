#include "beam_recon.hpp"
#include "groups.hpp"

namespace mbirk::python {

void bind_cone(nb::module_& m) {
  using self = beam<cone_geometry>;
  constexpr char const* name = "ConeBeamModel";
  nb::class_<self> type(m, name,
                        "A cone-beam scan, circular or helical, and the parameters of its reconstruction, with "
                        "MBIRJAX's names and defaults.");
  type.def(
      "__init__",
      [](self* s, std::array<index_t, 3> const& sinogram_shape, nb::object const& angles, double source_detector_dist,
         double source_iso_dist, nb::object const& helical_z_shifts) {
        auto shifts =
            helical_z_shifts.is_none() ? std::vector<float>() : to_floats("helical_z_shifts", helical_z_shifts);
        new (s) self(cone_beam_model(sinogram_shape, to_floats("angles", angles), source_detector_dist, source_iso_dist,
                                     std::move(shifts)));
      },
      "sinogram_shape"_a, "angles"_a, "source_detector_dist"_a, "source_iso_dist"_a, "helical_z_shifts"_a = nb::none(),
      "sinogram_shape: (views, rows, channels). angles: one per view, radians. source_detector_dist, source_iso_dist: "
      "lengths; the former may be infinite.\n"
      "helical_z_shifts: one length per view. The reconstruction is sized to fit.");
  bind_parameters(type, name);
  bind_projections(type);
  bind_direct(type);
  bind_iterative(type);
}

}  // namespace mbirk::python
