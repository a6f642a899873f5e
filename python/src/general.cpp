#include "beam_recon.hpp"
#include "groups.hpp"
#include "mbirk/geometry/general.hpp"

namespace mbirk::python {

void bind_general(nb::module_& m) {
  using self = beam<general_geometry>;
  constexpr char const* name = "GeneralViewsModel";
  nb::class_<self> type(m, name,
                        "A scan whose views have a source or ray direction, a detector centre and detector axes each, "
                        "as in ASTRA's cone_vec and parallel3d_vec, and the parameters of its reconstruction.");
  type.def(
      "__init__",
      [](self* s, std::array<index_t, 3> const& sinogram_shape, nb::object const& view_vectors,
         std::array<index_t, 3> const& recon_shape, double delta_voxel, bool parallel_rays) {
        general_parameters const p{.sinogram_shape = sinogram_shape,
                                   .view_vectors = to_vectors<double>("view_vectors", view_vectors, 12),
                                   .parallel_rays = parallel_rays,
                                   .delta_voxel = delta_voxel,
                                   .recon_shape = recon_shape};
        new (s) self(model<general_geometry>(p));
      },
      "sinogram_shape"_a, "view_vectors"_a, "recon_shape"_a, "delta_voxel"_a, nb::kw_only(), "parallel_rays"_a = false,
      "sinogram_shape: (views, rows, channels). view_vectors: (views, 12), the source or, with parallel_rays, the "
      "direction of the rays, then the centre\n"
      "of the detector, the step from channel to channel and the step from row to row, (x, y, z) each. recon_shape: "
      "(rows, cols, slices). delta_voxel: length.");
  bind_parameters(type, name);
  bind_projections(type);
  bind_iterative(type);
}

}  // namespace mbirk::python
