#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "beam.hpp"
#include "groups.hpp"

namespace mbirk::python {
namespace {

/// `parameters` is immutable and replaced as a whole, as in beam.
struct denoiser {
  std::shared_ptr<qggmrf_denoiser const> parameters;
};

}  // namespace

void bind_denoiser(nb::module_& m) {
  nb::class_<denoiser> type(
      m, "QGGMRFDenoiser",
      "Removes white Gaussian noise from an image with the qGGMRF prior; parameters as in the models, sharpness 0.");
  type.def(
      "__init__",
      [](denoiser* s, std::array<index_t, 3> const& image_shape) {
        new (s) denoiser{std::make_shared<qggmrf_denoiser const>(image_shape)};
      },
      "image_shape"_a, "image_shape: (rows, cols, slices); (1, rows, cols) for an image of two dimensions.");
  type.def(
      "set_params",
      [](denoiser& s, nb::kwargs const& values) {
        auto const settings = to_settings(s.parameters->parameters(), values);
        auto next = std::make_shared<qggmrf_denoiser>(*s.parameters);
        next->clear_warnings();
        next->set_params(std::span<parameter_setting const>(settings));
        auto const warnings = next->warnings();
        s.parameters = std::move(next);
        warn(warnings);
      },
      "values"_a, "Sets parameters by name: all of them or, if one is invalid, none (ValueError).");
  type.def(
      "get_params", [](denoiser const& s, nb::object const& names) { return get_params(*s.parameters, names); },
      "parameter_names"_a, "The value of one parameter, or a list of values for a list of names.");
  type.def_prop_ro(
      "params", [](denoiser const& s) { return parameters_of(s.parameters->parameters()); },
      "All parameters by name, as a new dictionary.");
  type.def(
      "print_params", [](denoiser const& s) { nb::print(nb::str(s.parameters->params_text().c_str())); },
      "Prints all parameters, a line each.");
  type.def(
      "denoise",
      [](denoiser& s, volume const& image, std::optional<double> sigma_noise, nb::object const& use_ror_mask,
         std::optional<volume> const& init_image, int max_iterations, double stop_threshold_change_pct,
         std::uint32_t seed, std::optional<nb::callable> const& progress, std::optional<volume_out> out, int threads) {
        auto const before = s.parameters;
        call c("denoise");
        auto const noisy = c.read(image, "image", recon_axes);
        auto const first = c.read(init_image, "init_image", recon_axes, call::sharing::with_output);
        auto const x = c.write(out, noisy.extents(), "out", recon_axes);
        std::optional<mask_setting> mask;
        if (!use_ror_mask.is_none()) mask = to_mask(use_ror_mask);
        denoise_call_options const a{.sigma_noise = sigma_noise,
                                     .use_ror_mask = mask,
                                     .init_image = first,
                                     .max_iterations = max_iterations,
                                     .stop_threshold_change_pct = stop_threshold_change_pct,
                                     .seed = seed,
                                     .progress = progress_of(progress)};
        auto copy = std::make_shared<qggmrf_denoiser>(*before);
        auto const record = c.run(threads, [&](auto const& ctx) { return copy->denoise(ctx, noisy, x, a); });
        auto const used = parameters_of(copy->parameters());
        // stores the estimated sigmas, unless parameters were set in the meantime
        if (s.parameters == before) s.parameters = std::move(copy);
        warn(record.warnings);
        nb::dict d;
        d["recon_params"] = to_dict(record);
        d["model_params"] = used;
        d["notes"] = "";
        return image_and_dict(nb::make_tuple(*out, d));
      },
      "image"_a, "sigma_noise"_a = nb::none(), "use_ror_mask"_a = nb::none(), "init_image"_a = nb::none(),
      "max_iterations"_a = 15, "stop_threshold_change_pct"_a = 0.2, nb::kw_only(), "seed"_a = 0,
      "progress"_a = nb::none(), "out"_a = nb::none(), "threads"_a = 0,
      "Minimises |x - image|^2 / (2 sigma_noise^2) + qGGMRF prior of x.\n\n"
      "image: (rows, cols, slices), any unit. sigma_noise: standard deviation of the noise, None to estimate it. "
      "use_ror_mask: True, False or a mask (rows,\n"
      "cols); None for the parameter. progress: called with an IterationReport after each iteration; False stops.\n"
      "Returns (image, recon_dict).");
}

}  // namespace mbirk::python
