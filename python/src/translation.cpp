#include "beam_recon.hpp"
#include "groups.hpp"
#include "mbirk/geometry/translation.hpp"

namespace mbirk::python {

void bind_translation(nb::module_& m) {
  using self = beam<translation_geometry>;
  constexpr char const* name = "TranslationModel";
  nb::class_<self> type(m, name,
                        "A cone-beam scan without rotation, whose views shift the object, and the parameters of its "
                        "reconstruction, with MBIRJAX's names and defaults.");
  type.def(
      "__init__",
      [](self* s, std::array<index_t, 3> const& sinogram_shape, nb::object const& translation_vectors,
         double source_detector_dist, double source_iso_dist) {
        translation_parameters const p{
            .sinogram_shape = sinogram_shape,
            .translation_vectors = to_vectors("translation_vectors", translation_vectors, 3),
            .source_detector_dist = source_detector_dist,
            .source_iso_dist = source_iso_dist};
        new (s) self(model<translation_geometry>(p));
      },
      "sinogram_shape"_a, "translation_vectors"_a, "source_detector_dist"_a, "source_iso_dist"_a,
      "sinogram_shape: (views, rows, channels). translation_vectors: (views, 3), the (x, y, z) by which each view "
      "shifts the object: x towards lower channels,\n"
      "y away from the source, z towards lower rows. source_detector_dist, source_iso_dist: lengths. The "
      "reconstruction is sized to fit.");
  bind_parameters(type, name);
  bind_projections(type);
  bind_direct(type);
  bind_iterative(type);

  m.def(
      "gen_translation_vectors",
      [](index_t num_x_translations, index_t num_z_translations, double x_spacing, double z_spacing) {
        auto const vectors = gen_translation_vectors(num_x_translations, num_z_translations, x_spacing, z_spacing);
        return output<float, 2>{as_array(vectors, {std::ssize(vectors) / 3, 3})};
      },
      "num_x_translations"_a, "num_z_translations"_a, "x_spacing"_a, "z_spacing"_a,
      "Translations in a plane: view r * num_x_translations + c has x = (c - (num_x_translations - 1) / 2) * "
      "x_spacing, y = 0, z = (r - (num_z_translations - 1) / 2) * z_spacing.\n\n"
      "Returns (views, 3), float32.");
}

}  // namespace mbirk::python
