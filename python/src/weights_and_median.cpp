// Operations on arrays without a model, on the host and on devices: weights and the median filter.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "array.hpp"
#include "groups.hpp"
#include "mbirk/recon/weights.hpp"
#include "mbirk/util/median.hpp"

namespace mbirk::python {

void bind_weights_and_median(nb::module_& m) {
  m.def(
      "gen_weights",
      [](volume const& sinogram, std::string const& weight_type, std::optional<volume_out> out, int threads) {
        auto const type = parse_weight_type(weight_type);
        call c("gen_weights");
        auto const y = c.read(sinogram, "sinogram", sinogram_axes);
        auto const w = c.write(out, y.extents(), "out", sinogram_axes);
        c.run(threads, [&](auto const& ctx) { gen_weights(ctx, y, type, w); });
        return *out;
      },
      "sinogram"_a, "weight_type"_a, nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      "Weights of the samples y of a sinogram (views, rows, channels), line integrals.\n\n"
      "weight_type: unweighted (1), transmission (exp(-y)), transmission_root (exp(-y / 2)) or emission (1 / (|y| + "
      "0.1)). Returns (views, rows, channels).");
  m.def(
      "median_filter3d",
      [](volume const& x, bool return_min_max, std::optional<volume_out> out, int threads) -> nb::object {
        call c("median_filter3d");
        auto const image = c.read(x, "x", recon_axes);
        auto const median = c.write(out, image.extents(), "out", recon_axes);
        std::optional<volume_out> least, greatest;
        std::optional<view<float, 3>> minimum, maximum;
        if (return_min_max) {
          minimum = c.write(least, image.extents(), "minimum", recon_axes);
          maximum = c.write(greatest, image.extents(), "maximum", recon_axes);
        }
        c.run(threads, [&](auto const& ctx) { median_filter3d(ctx, image, median, minimum, maximum); });
        if (return_min_max) return nb::make_tuple(*out, *least, *greatest);
        return out->object;
      },
      "x"_a, "return_min_max"_a = false, nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      nb::sig("def median_filter3d(x: numpy.typing.NDArray[numpy.float32], return_min_max: bool = False, *, out: "
              "numpy.typing.NDArray[numpy.float32] | None = "
              "None, threads: int = 0) -> numpy.typing.NDArray[numpy.float32] | "
              "tuple[numpy.typing.NDArray[numpy.float32], ...]"),
      "The median of the 27 voxels around each one; voxels of the border are repeated beyond it.\n\n"
      "x: (rows, cols, slices). Returns the same shape; with return_min_max (median, minimum, maximum).");
}

}  // namespace mbirk::python
