// Test objects, and post-processing of finished volumes.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "array.hpp"
#include "groups.hpp"
#include "mbirk/util/cylinder.hpp"
#include "mbirk/util/phantom.hpp"
#include "mbirk/util/stitch.hpp"

namespace mbirk::python {
namespace {

using shape_3 = std::array<index_t, 3>;

template <class Draw>
volume_out draw(char const* name, shape_3 const& shape, std::optional<volume_out>& out, Draw const& f) {
  for (auto const n : shape)
    require(n >= 0, [&] {
      return std::string(name) + ": the shape is " + mbirk::detail::shape_text(shape) + ", expected three sizes >= 0";
    });
  call c(name);
  auto const x = c.write(out, shape, "out", recon_axes);
  c.run(1, [&](auto const&) { f(x); });
  return *out;
}

}  // namespace

void bind_phantoms(nb::module_& m) {
  m.def(
      "generate_3d_shepp_logan_low_dynamic_range",
      [](shape_3 const& shape, std::optional<double> target_max_attenuation, std::optional<volume_out> out) {
        return draw("generate_3d_shepp_logan_low_dynamic_range", shape, out,
                    [&](auto const& x) { generate_3d_shepp_logan_low_dynamic_range(x, target_max_attenuation); });
      },
      "phantom_shape"_a, "target_max_attenuation"_a = nb::none(), nb::kw_only(), "out"_a = nb::none(),
      "The Shepp-Logan phantom with contrasts that a display shows, 0 to 1 or scaled to a largest line integral. "
      "Returns (rows, cols, slices).");
  m.def(
      "generate_3d_shepp_logan_reference",
      [](shape_3 const& shape, std::optional<volume_out> out) {
        return draw("generate_3d_shepp_logan_reference", shape, out,
                    [](auto const& x) { generate_3d_shepp_logan_reference(x); });
      },
      "phantom_shape"_a, nb::kw_only(), "out"_a = nb::none(),
      "The Shepp-Logan phantom of Kak and Slaney, 0 to 2. Returns (rows, cols, slices).");
  m.def("gen_cube_phantom", [](shape_3 const& shape, std::optional<volume_out> out) {
    return draw("gen_cube_phantom", shape, out, [](auto const& x) { gen_cube_phantom(x); });
  }, "recon_shape"_a, nb::kw_only(), "out"_a = nb::none(),
     "A box of a quarter of the rows and columns that shifts along the slices. Returns (rows, cols, slices).");
  m.def(
      "nested_ellipsoids",
      [](shape_3 const& shape, std::optional<volume_out> out) {
        return draw("nested_ellipsoids", shape, out, [](auto const& x) { nested_ellipsoids(x); });
      },
      "recon_shape"_a, nb::kw_only(), "out"_a = nb::none(),
      "Two nested ellipsoids of 0.01 and 0.03 per unit of length. Returns (rows, cols, slices).");

  m.def(
      "stitch_arrays",
      [](std::vector<volume> const& arrays, index_t overlap, int axis, std::optional<index_t> ramp,
         std::optional<volume_out> out) {
        call c("stitch_arrays");
        std::vector<view<float const, 3>> views;
        for (auto const& a : arrays) views.push_back(c.read(a, "an array of the list", recon_axes));
        auto const joined = c.write(out, stitched_shape(views, overlap, axis), "out", recon_axes);
        c.run(1, [&](auto const&) { stitch_arrays(views, joined, overlap, axis, ramp); });
        return *out;
      },
      "array_list"_a, "overlap"_a, "axis"_a = 2, nb::kw_only(), "ramp"_a = nb::none(), "out"_a = nb::none(),
      "Joins volumes along an axis; neighbours share `overlap` entries, over which the later one is faded in by a ramp "
      "(half of them unless given).");
  m.def(
      "apply_cylindrical_mask",
      [](volume const& recon, double radial, index_t top, index_t bottom, std::optional<volume_out> out) {
        call c("apply_cylindrical_mask");
        auto const from = c.read(recon, "recon", recon_axes, call::sharing::with_output);
        auto const to = c.write(out, from.extents(), "out", recon_axes);
        c.run(1, [&](auto const&) {
          if (from.data() != to.data()) std::copy_n(from.data(), from.size(), to.data());
          apply_cylindrical_mask(to, radial, top, bottom);
        });
        return *out;
      },
      "recon"_a, "radial_margin"_a = 0.0, "top_margin"_a = 0, "bottom_margin"_a = 0, nb::kw_only(),
      "out"_a = nb::none(),
      "Zeros outside a cylinder, `radial_margin` pixels inside the grid, and in the first `top_margin` and last "
      "`bottom_margin` slices. out may be recon.\n\n"
      "recon: (rows, cols, slices). Returns the same shape.");
}

}  // namespace mbirk::python
