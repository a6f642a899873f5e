// The models: a scan with its reconstruction parameters. One source for all geometries.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array.hpp"
#include "iterations.hpp"
#include "mbirk/recon/model.hpp"
#include "values.hpp"

namespace mbirk::python {

/// An immutable model: setting a parameter makes a new one. A call that runs without the GIL thus keeps the parameters
/// it began with, even if other threads change the Python object meanwhile.
template <class Geometry> class beam {
 public:
  using model_type = model<Geometry>;

  explicit beam(model_type m) : model_(std::make_shared<model_type const>(std::move(m))) {}

  /// Creates the scan now, because methods of a model without one would modify it. @throws parameter_error
  std::shared_ptr<model_type const> ready() {
    auto const m = model_;
    m->verify_valid_params();
    if (!std::exchange(warned_, true)) warn(m->scan().warnings());
    return m;
  }
  model_type const& now() const noexcept { return *model_; }

  /// f changes a copy, which replaces the model unless f throws.
  template <class F> auto change(F const& f) {
    auto next = std::make_shared<model_type>(*model_);
    next->clear_warnings();
    auto result = f(*next);
    auto const warnings = next->warnings();
    model_ = std::move(next);
    warned_ = false;
    warn(warnings);
    return result;
  }
  /// Stores the results of a call on a copy, unless parameters were set in the meantime.
  void keep(std::shared_ptr<model_type const> const& before, model_type after) {
    if (model_ == before) model_ = std::make_shared<model_type const>(std::move(after));
  }

 private:
  std::shared_ptr<model_type const> model_;
  bool warned_ = false;  ///< whether the warnings of the scan were issued
};

using shape_tuple = nb::typed<nb::tuple, int, int, int>;
inline shape_tuple to_shape(std::array<index_t, 3> const& shape) {
  return shape_tuple(nb::make_tuple(shape[0], shape[1], shape[2]));
}

/// All parameters by name.
template <class Geometry> nb::dict parameters_of(parameter_set<Geometry> const& parameters) {
  nb::dict all;
  for (auto const& p : list_parameters<Geometry>()) all[p.name] = from_parameter(parameters.get(p.name), p.per_view);
  return all;
}
/// Numbers of each entry of a list with one entry per view; 1 for all other parameters.
template <class Geometry> index_t numbers_per_view(parameter_set<Geometry> const&, std::string_view name) {
  for (auto const& p : list_parameters<Geometry>())
    if (name == p.name) return p.per_view;
  return 1;
}
template <class Geometry>
std::vector<parameter_setting> to_settings(parameter_set<Geometry> const& parameters, nb::kwargs const& values) {
  std::vector<parameter_setting> settings;
  for (auto const& [name, value] : values) {
    auto const text = nb::cast<std::string>(name);
    settings.push_back({text, to_parameter(text, value, numbers_per_view(parameters, text))});
  }
  return settings;
}
template <class Model> nb::object get_params(Model const& m, nb::object const& names) {
  auto const value = [&](std::string const& name) {
    return from_parameter(m.get_params(name), numbers_per_view(m.parameters(), name));
  };
  if (nb::isinstance<nb::str>(names)) return value(nb::cast<std::string>(names));
  nb::list values;
  for (auto const name : names) values.append(value(nb::str(name).c_str()));
  return values;
}

inline filter_options to_filter(std::string const& filter_name, std::string const& taps, std::string const& method) {
  require(taps == "closed" || taps == "float32",
          [&] { return "taps is \"" + taps + "\", expected closed or float32"; });
  require(method == "automatic" || method == "direct" || method == "fourier", [&] {
    return "method is \"" + method + "\", expected automatic, direct or fourier";
  });
  return {filter_name, taps == "closed" ? ramp_taps::closed : ramp_taps::float32,
          method == "automatic" ? filter_method::automatic
          : method == "direct"  ? filter_method::direct
                                : filter_method::fourier};
}

template <class Geometry> void bind_parameters(nb::class_<beam<Geometry>>& type, char const* name) {
  using self = beam<Geometry>;
  type.def(
      "set_params",
      [](self& s, nb::kwargs const& values) {
        auto const settings = to_settings(s.now().parameters(), values);
        s.change([&](auto& m) {
          m.set_params(std::span<parameter_setting const>(settings));
          return true;
        });
      },
      "values"_a,
      "Sets parameters by name: set_params(sharpness=1.5, positivity_flag=True). Sets all of them or, if one is "
      "invalid, "
      "none (ValueError).\nNames, defaults and units are in docs/model.md.");
  type.def(
      "get_params", [](self const& s, nb::object const& names) { return get_params(s.now(), names); },
      "parameter_names"_a, "The value of one parameter, or a list of values for a list of names.");
  type.def_prop_ro(
      "params", [](self const& s) { return parameters_of(s.now().parameters()); },
      "All parameters by name, as a new dictionary.");
  type.def(
      "print_params", [](self const& s) { nb::print(nb::str(s.now().params_text().c_str())); },
      "Prints all parameters, one per line.");
  type.def("auto_set_recon_geometry", [](self& s) {
    s.change([](auto& m) {
      m.auto_set_recon_geometry();
      return true;
    });
  }, "Sizes delta_voxel, recon_shape and recon_slice_offset automatically for the current scan.");
  type.def("scale_recon_shape", [](self& s, double row, double col, double slice) {
    auto const scaled = s.change([&](auto& m) { return m.scale_recon_shape(row, col, slice); });
    return nb::typed<nb::tuple, shape_tuple, shape_tuple>(
        nb::make_tuple(to_shape(scaled.shape), to_shape(scaled.added)));
  }, "row_scale"_a = 1.0, "col_scale"_a = 1.0, "slice_scale"_a = 1.0,
     "Sets every extent of recon_shape to trunc(extent * scale). Returns the new shape and the change.");
  type.def("verify_valid_params", [](self& s) { s.ready(); }, "Raises ValueError if the parameters are inconsistent.");
  type.def(
      "get_magnification", [](self const& s) { return s.now().get_magnification(); },
      "source_detector_dist / source_iso_dist; 1 in parallel beam.");
  type.def_prop_ro(
      "sinogram_shape", [](self const& s) { return to_shape(s.now().sinogram_shape()); }, "(views, rows, channels)");
  type.def_prop_ro(
      "recon_shape", [](self const& s) { return to_shape(s.now().recon_shape()); }, "(rows, cols, slices)");
  type.def("full_indices", [](self& s) {
    auto const m = s.ready();
    auto const all = m->scan().full_indices();
    return output<std::int32_t, 1>{as_array(std::vector<std::int32_t>(all.begin(), all.end()), {std::ssize(all)})};
  }, "The pixels inside the mask, i * cols + j, ascending; int32.");
  type.def("copy", [](self const& s) { return self(s.now()); }, "An independent model with the same parameters.");
  type.def("__copy__", [](self const& s) { return self(s.now()); });
  type.def("__deepcopy__", [](self const& s, nb::handle) { return self(s.now()); }, "memo"_a);
  type.def("__repr__", [name](self const& s) {
    return std::string(name) + "(sinogram_shape=" + mbirk::detail::shape_text(s.now().sinogram_shape()) +
           ", recon_shape=" + mbirk::detail::shape_text(s.now().recon_shape()) + ")";
  });
}

template <class Geometry> void bind_projections(nb::class_<beam<Geometry>>& type) {
  using self = beam<Geometry>;
  type.def(
      "forward_project",
      [](self& s, volume const& recon, std::optional<volume_out> out, int threads) {
        auto const m = s.ready();
        call c("forward_project");
        auto const x = c.read(recon, "recon", recon_axes);
        auto const y = c.write(out, m->sinogram_shape(), "out", sinogram_axes);
        c.run(threads, [&](auto const& ctx) { m->forward_project(ctx, x, y); });
        return *out;
      },
      "recon"_a, nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      "Line integrals of the voxels inside the mask: y = A x.\n\n"
      "recon: (rows, cols, slices), attenuation per unit of length. Returns the sinogram (views, rows, channels), "
      "dimensionless.");
  type.def("back_project", [](self& s, volume const& sinogram, std::optional<volume_out> out, int threads) {
    auto const m = s.ready();
    call c("back_project");
    auto const y = c.read(sinogram, "sinogram", sinogram_axes);
    auto const x = c.write(out, m->recon_shape(), "out", recon_axes);
    c.run(threads, [&](auto const& ctx) { m->back_project(ctx, y, x); });
    return *out;
  }, "sinogram"_a, nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
     "The exact transpose of forward_project: x = A' y, 0 outside the mask.\n\n"
     "sinogram: (views, rows, channels). Returns (rows, cols, slices), length times the unit of the sinogram.");
  type.def(
      "sparse_forward_project",
      [](self& s, input<float, 2> const& values, input<std::int32_t, 1> const& pixels, std::optional<volume_out> out,
         int threads) {
        auto const m = s.ready();
        call c("sparse_forward_project");
        auto const x = c.read(values, "voxel_values", column_axes);
        auto const p = c.read(pixels, "pixel_indices", pixel_axes);
        auto const y = c.write(out, m->sinogram_shape(), "out", sinogram_axes);
        c.run(threads, [&](auto const& ctx) { m->sparse_forward_project(ctx, x, p, y); });
        return *out;
      },
      "voxel_values"_a, "pixel_indices"_a, nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      "forward_project of some pixels, inside the mask or not.\n\n"
      "voxel_values: (pixels, slices), attenuation per unit of length. pixel_indices: (pixels), int32, i * cols + j. "
      "Returns (views, rows, channels).");
  type.def(
      "sparse_back_project",
      [](self& s, volume const& sinogram, input<std::int32_t, 1> const& pixels, int coeff_power,
         std::optional<output<float, 2>> out, int threads) {
        auto const m = s.ready();
        call c("sparse_back_project");
        auto const y = c.read(sinogram, "sinogram", sinogram_axes);
        auto const p = c.read(pixels, "pixel_indices", pixel_axes);
        auto const x = c.write(out, {p.extent(0), m->recon_shape()[2]}, "out", column_axes);
        c.run(threads, [&](auto const& ctx) { m->sparse_back_project(ctx, y, p, x, coeff_power); });
        return *out;
      },
      "sinogram"_a, "pixel_indices"_a, nb::kw_only(), "coeff_power"_a = 1, "out"_a = nb::none(), "threads"_a = 0,
      "back_project to some pixels, with the entries of A to the power 1 or 2.\n\n"
      "sinogram: (views, rows, channels). pixel_indices: (pixels), int32, i * cols + j. Returns (pixels, slices).");
  type.def(
      "compute_hessian_diagonal",
      [](self& s, std::optional<volume> const& weights, std::optional<volume_out> out, int threads) {
        auto const m = s.ready();
        call c("compute_hessian_diagonal");
        auto const w = c.read(weights, "weights", sinogram_axes);
        auto const h = c.write(out, m->recon_shape(), "out", recon_axes);
        c.run(threads, [&](auto const& ctx) { m->compute_hessian_diagonal(ctx, w, h); });
        return *out;
      },
      "weights"_a = nb::none(), nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      "The diagonal of A' diag(weights) A for all rows x cols x slices, without a mask.\n\n"
      "weights: (views, rows, channels), None for 1. Returns (rows, cols, slices), length squared.");
}

template <class Geometry> void bind_direct(nb::class_<beam<Geometry>>& type) {
  using self = beam<Geometry>;
  auto const usual_name = [](char const* what) { return std::string(Geometry::direct_method) + what; };
  auto const filter = [](self& s, volume const& sinogram, std::string const& name, std::string const& taps,
                         std::string const& method, std::optional<volume_out> out, int threads) {
    auto const m = s.ready();
    auto const options = to_filter(name, taps, method);
    call c("direct_filter");
    auto const y = c.read(sinogram, "sinogram", sinogram_axes, call::sharing::with_output);
    auto const q = c.write(out, m->sinogram_shape(), "out", sinogram_axes);
    c.run(threads, [&](auto const& ctx) { m->direct_filter(ctx, y, q, options); });
    return *out;
  };
  auto const recon = [](self& s, volume const& sinogram, std::string const& name, std::string const& taps,
                        std::string const& method, std::optional<volume_out> out, int threads) {
    auto const m = s.ready();
    auto const options = to_filter(name, taps, method);
    call c("direct_recon");
    auto const y = c.read(sinogram, "sinogram", sinogram_axes);
    auto const x = c.write(out, m->recon_shape(), "out", recon_axes);
    std::vector<std::string> warnings;
    c.run(threads, [&](auto const& ctx) { m->direct_recon(ctx, y, x, options, &warnings); });
    warn(warnings);
    return *out;
  };
  for (auto const& name : {std::string("direct_filter"), usual_name("_filter")})
    type.def(name.c_str(), filter, "sinogram"_a, "filter_name"_a = "ramp", nb::kw_only(), "taps"_a = "closed",
             "method"_a = "automatic", "out"_a = nb::none(), "threads"_a = 0,
             "The ramp filter of direct reconstruction; cone beam weights the rays first.\n\n"
             "sinogram: (views, rows, channels). taps: closed, or float32 as in MBIRJAX. method: automatic, "
             "direct or fourier. out may be the\n"
             "sinogram. Returns (views, rows, channels).");
  for (auto const& name : {std::string("direct_recon"), usual_name("_recon")})
    type.def(name.c_str(), recon, "sinogram"_a, "filter_name"_a = "ramp", nb::kw_only(), "taps"_a = "closed",
             "method"_a = "automatic", "out"_a = nb::none(), "threads"_a = 0,
             "Filtered back projection: FBP in parallel beam, FDK in cone beam. 0 outside the mask.\n\n"
             "sinogram: (views, rows, channels), line integrals. Returns (rows, cols, slices), attenuation per unit of "
             "length.");
}

}  // namespace mbirk::python
