// Operations on arrays without a model, on the host only: the prior, thresholds, counts of a detector.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "array.hpp"
#include "groups.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/util/otsu.hpp"
#include "mbirk/util/preprocess.hpp"
#include "values.hpp"

namespace mbirk::python {
namespace {

constexpr char const* any_axes = "(any, any, any)";

void bind_prior(nb::module_& m) {
  m.def(
      "qggmrf_gradient_and_hessian_at_indices",
      [](volume const& recon, input<std::int32_t, 1> const& pixels, double sigma_x, double p, double q, double T,
         std::array<double, 3> const& weights, int threads) {
        call c("qggmrf_gradient_and_hessian_at_indices");
        auto const x = c.read(recon, "recon", recon_axes);
        auto const at = c.read(pixels, "pixel_indices", pixel_axes);
        std::optional<output<float, 2>> gradient, hessian;
        std::array const shape{at.extent(0), x.extent(2)};
        auto const g = c.write(gradient, shape, "gradient", column_axes),
                   h = c.write(hessian, shape, "hessian", column_axes);
        c.run(threads, [&](auto const& ctx) {
          qggmrf_gradient_and_hessian_at_indices(ctx, x, at, {sigma_x, p, q, T, weights}, g, h);
        });
        return nb::typed<nb::tuple, output<float, 2>, output<float, 2>>(nb::make_tuple(*gradient, *hessian));
      },
      "recon"_a, "pixel_indices"_a, "sigma_x"_a = 1.0, "p"_a = 2.0, "q"_a = 1.2, "T"_a = 1.0,
      "qggmrf_nbr_wts"_a = std::array<double, 3>{1, 1, 1}, nb::kw_only(), "threads"_a = 0,
      "Gradient and curvature of the qGGMRF prior at listed pixels.\n\n"
      "recon: (rows, cols, slices). pixel_indices: (pixels), int32, i * cols + j. sigma_x in the unit of recon.\n"
      "Returns two of (pixels, slices): 1 / unit of recon, and 1 / unit squared.");
  m.def(
      "qggmrf_loss",
      [](volume const& recon, double sigma_x, double p, double q, double T, std::array<double, 3> const& weights,
         int threads) {
        call c("qggmrf_loss");
        auto const x = c.read(recon, "recon", recon_axes);
        return c.run(threads, [&](auto const& ctx) { return qggmrf_loss(ctx, x, {sigma_x, p, q, T, weights}); });
      },
      "recon"_a, "sigma_x"_a = 1.0, "p"_a = 2.0, "q"_a = 1.2, "T"_a = 1.0,
      "qggmrf_nbr_wts"_a = std::array<double, 3>{1, 1, 1}, nb::kw_only(), "threads"_a = 0,
      "The qGGMRF prior of recon (rows, cols, slices), dimensionless.");
}

void bind_preprocessing(nb::module_& m) {
  m.def(
      "frame_mean",
      [](volume const& frames, std::optional<output<float, 2>> out) {
        call c("frame_mean");
        auto const f = c.read(frames, "frames", "(frames, rows, channels)");
        auto const mean = c.write(out, {f.extent(1), f.extent(2)}, "out", detector_axes);
        c.run(1, [&](auto const&) {
          mbirk::frame_mean sums(f.extent(1), f.extent(2));
          sums.add(f);
          auto const values = sums.values();
          std::copy(values.begin(), values.end(), mean.data());
        });
        return *out;
      },
      "frames"_a, nb::kw_only(), "out"_a = nb::none(),
      "The mean of white or dark frames (frames, rows, channels), in double. Returns (rows, channels).");
  m.def(
      "counts_to_line_integrals",
      [](volume const& counts, input<float, 2> const& white, input<float, 2> const& dark, std::optional<volume_out> out,
         int threads) {
        call c("counts_to_line_integrals");
        auto const n = c.read(counts, "counts", sinogram_axes, call::sharing::with_output);
        auto const w = c.read(white, "white", detector_axes), d = c.read(dark, "dark", detector_axes);
        auto const y = c.write(out, n.extents(), "out", sinogram_axes);
        auto const repairs = c.run(threads, [&](auto const& ctx) { return counts_to_line_integrals(ctx, n, w, d, y); });
        return nb::typed<nb::tuple, volume_out, int, int>(nb::make_tuple(*out, repairs.repaired, repairs.lost));
      },
      "counts"_a, "white"_a, "dark"_a, nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      "-log((counts - dark) / (white - dark)), with dead pixels repaired from their neighbours.\n\n"
      "counts: (views, rows, channels). white, dark: (rows, channels), the same unit. out may be the counts.\n"
      "Returns (sinogram, repaired, lost): line integrals, dimensionless; how many pixels were repaired; how many were "
      "too far from a good one and are 0.");
}

}  // namespace

void bind_images(nb::module_& m) {
  bind_prior(m);
  m.def(
      "multi_threshold_otsu",
      [](volume const& image, int classes, int num_bins, int threads) {
        call c("multi_threshold_otsu");
        auto const x = c.read(image, "image", any_axes);
        auto const found =
            c.run(threads, [&](auto const& ctx) { return multi_threshold_otsu(ctx, x, classes, num_bins); });
        nb::list thresholds;
        for (auto const t : found) thresholds.append(static_cast<double>(t));
        return thresholds;
      },
      "image"_a, "classes"_a = 2, "num_bins"_a = 1024, nb::kw_only(), "threads"_a = 0,
      "Otsu's thresholds that split the values of an image, any three axes, into classes of least variance. Returns "
      "classes - 1 numbers, ascending.");
  bind_preprocessing(m);
}

}  // namespace mbirk::python
