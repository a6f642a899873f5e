// Masks and pixel partitions.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "array.hpp"
#include "groups.hpp"
#include "mbirk/geometry/mask.hpp"
#include "mbirk/geometry/recon_shape.hpp"
#include "mbirk/util/partition_set.hpp"
#include "values.hpp"

namespace mbirk::python {
namespace {

using indices = output<std::int32_t, 2>;

/// (rows, cols) of a shape with two axes or three.
std::array<index_t, 2> pixels_of(std::vector<index_t> const& recon_shape) {
  require(recon_shape.size() >= 2 && recon_shape.size() <= 3 && recon_shape[0] >= 0 && recon_shape[1] >= 0, [&] {
    return "recon_shape is " + mbirk::detail::shape_text(recon_shape) +
           ", expected (rows, cols) or (rows, cols, slices)";
  });
  return {recon_shape[0], recon_shape[1]};
}
indices to_python(pixel_partition const& p) {
  warn(p.warnings);
  return {as_array(p.indices, {p.subsets, p.length})};
}

using generator = pixel_partition (*)(std::vector<std::uint8_t> const&, index_t, index_t, index_t, numpy_random_state&);

void bind_partition(nb::module_& m, char const* name, generator generate, char const* text) {
  m.def(
      name,
      [generate](std::vector<index_t> const& recon_shape, index_t num_subsets, nb::object const& use_ror_mask,
                 std::uint32_t seed) {
        auto const [rows, cols] = pixels_of(recon_shape);
        auto const mask = make_mask(rows, cols, to_mask(use_ror_mask));
        numpy_random_state random(seed);
        pixel_partition p;
        {
          nb::gil_scoped_release const released;
          p = generate(mask, rows, cols, num_subsets, random);
        }
        return to_python(p);
      },
      "recon_shape"_a, "num_subsets"_a, "use_ror_mask"_a = true, nb::kw_only(), "seed"_a = 0, text);
}

}  // namespace

void bind_partitions(nb::module_& m) {
  m.def(
      "get_2d_ror_mask",
      [](std::vector<index_t> const& recon_shape, nb::object const& use_ror_mask, index_t crop_pixels,
         double crop_fraction) {
        auto const [rows, cols] = pixels_of(recon_shape);
        auto const setting = to_mask(use_ror_mask);
        bool const ellipse = std::holds_alternative<bool>(setting) && std::get<bool>(setting);
        auto const mask = ellipse ? ror_mask(rows, cols, {crop_fraction, crop_pixels}) : make_mask(rows, cols, setting);
        return output<std::uint8_t, 2>{as_array(mask, {rows, cols})};
      },
      "recon_shape"_a, nb::kw_only(), "use_ror_mask"_a = true, "crop_radius_pixels"_a = 0,
      "crop_radius_fraction"_a = 0.0,
      "The region of reconstruction, (rows, cols), uint8: the ellipse inscribed in the grid, reduced by pixels or "
      "by a fraction of its semi-axes.");
  m.def("gen_full_indices", [](std::vector<index_t> const& recon_shape, nb::object const& use_ror_mask) {
    auto const [rows, cols] = pixels_of(recon_shape);
    auto const all = full_indices(make_mask(rows, cols, to_mask(use_ror_mask)));
    return output<std::int32_t, 1>{as_array(all, {std::ssize(all)})};
  }, "recon_shape"_a, "use_ror_mask"_a = true, "The pixels inside the mask, i * cols + j, ascending; int32.");

  bind_partition(
      m, "gen_pixel_partition", &gen_pixel_partition,
      "A random partition of the pixels inside the mask, the one that MBIRJAX draws after numpy.random.seed(seed).\n\n"
      "Returns (subsets, length), int32; rows are ascending, and a few pixels are repeated so that all rows have the "
      "same length.");
  bind_partition(
      m, "gen_pixel_partition_blue_noise", &gen_pixel_partition_blue_noise,
      "A partition by a blue-noise pattern, with evenly distributed subsets; otherwise as gen_pixel_partition.");
  bind_partition(m, "gen_pixel_partition_grid", &gen_pixel_partition_grid,
                 "A partition by a random tile of ceil(sqrt(num_subsets))^2 labels; otherwise as gen_pixel_partition.");
  m.def(
      "gen_set_of_pixel_partitions",
      [](std::vector<index_t> const& recon_shape, std::vector<index_t> const& granularity,
         nb::object const& use_ror_mask, std::uint32_t seed) {
        auto const [rows, cols] = pixels_of(recon_shape);
        auto const all = full_indices(make_mask(rows, cols, to_mask(use_ror_mask)));
        numpy_random_state random(seed);
        nb::list set;
        for (auto const& p : gen_set_of_pixel_partitions(all, granularity, random)) set.append(to_python(p));
        return set;
      },
      "recon_shape"_a, "granularity"_a, "use_ror_mask"_a = true, nb::kw_only(), "seed"_a = 0,
      "A random partition for each number of subsets in granularity: what recon draws before its first iteration. "
      "Returns a list of (subsets, length), int32.");
  m.def(
      "gen_partition_sequence",
      [](std::vector<index_t> const& sequence, index_t iterations) {
        return to_tuple(gen_partition_sequence(sequence, iterations));
      },
      "partition_sequence"_a, "max_iterations"_a,
      "The partition of each iteration: the first entries of the sequence, whose last entry repeats.");
  m.def("scale_recon_shape", [](std::array<index_t, 3> const& shape, double row, double col, double slice) {
    auto const scaled = scale_recon_shape(shape, row, col, slice);
    return nb::make_tuple(nb::tuple(nb::cast(scaled.shape)), nb::tuple(nb::cast(scaled.added)));
  }, "recon_shape"_a, "row_scale"_a = 1.0, "col_scale"_a = 1.0, "slice_scale"_a = 1.0,
     "Scales every extent to trunc(extent * scale). Returns the new shape and the change.");
}

}  // namespace mbirk::python
