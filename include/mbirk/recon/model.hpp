// model: a scan with the parameters of its reconstruction, as in MBIRJAX's ParallelBeamModel and ConeBeamModel, and a
// denoiser in the same style. A thin layer: a method passes its parameters to the free function of the same name, which
// documents shapes, units, errors and costs. docs/model.md compares the two.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/geometry/recon_shape.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/denoise.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/parameters.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/split.hpp"
#include "mbirk/recon/weights.hpp"

namespace mbirk {

/// Additional arguments of prox_map.
struct prox_arguments {
  std::optional<double> sigma_prox = {};  ///< used for this call only; empty: the model's value
  /// False: reuse the automatic sigmas of the previous call, so that a plug-and-play loop keeps its cost function.
  bool do_initialization = true;
};

struct mar_arguments {
  std::optional<view<float const, 3>> init_recon = {};
  std::optional<double> metal_threshold = {};
  double beta = 1, gamma = 3;
};

namespace detail {

/// Access to parameters by name, for models and the denoiser.
template <class Geometry> class with_parameters {
 public:
  explicit with_parameters(parameter_set<Geometry> parameters) : parameters_(std::move(parameters)) {}

  parameter_value get_params(std::string_view name) const { return parameters_.get(name); }
  template <class T> T get_params(std::string_view name) const { return parameters_.template get<T>(name); }
  parameter_set<Geometry> const& parameters() const noexcept { return parameters_; }
  /// Parameters as lines "name = value", like the output of MBIRJAX's print_params.
  std::string params_text() const { return parameters_.text(); }
  std::vector<std::string> const& warnings() const noexcept { return parameters_.warnings(); }
  void clear_warnings() { parameters_.clear_warnings(); }

 protected:
  parameter_set<Geometry> parameters_;
};

}  // namespace detail

/// A scan and its parameters. The scan is constructed when first needed and cached until one of its parameters changes.
/// Even const methods may construct it, so one model must not be used by two threads at once. Copies share nothing.
///
///   cone_beam_model model({720, 256, 256}, angles, 1000, 500);
///   model.set_params({{"sharpness", 1.5}, {"det_channel_offset", 0.3}});
///   auto record = model.recon(ctx, sinogram, weights, recon);
template <class Geometry> class model : public detail::with_parameters<Geometry> {
  static constexpr bool is_cone = std::same_as<Geometry, cone_geometry>;
  using base = detail::with_parameters<Geometry>;
  using base::parameters_;
  using shape = std::array<index_t, 3>;
  using input = view<float const, 3>;
  using output = view<float, 3>;

 public:
  /// Constructs a model as in MBIRJAX, with automatic sizes. @throws parameter_error
  model(shape const& sinogram_shape, std::vector<float> angles)
    requires std::same_as<Geometry, parallel_geometry>
      : model(parallel_parameters{.sinogram_shape = sinogram_shape, .angles = std::move(angles)}) {}
  model(shape const& sinogram_shape, std::vector<float> angles, double source_detector_dist, double source_iso_dist,
        std::vector<float> helical_z_shifts = {}) requires is_cone
      : model(cone_parameters{.sinogram_shape = sinogram_shape, .angles = std::move(angles),
                              .source_detector_dist = source_detector_dist, .source_iso_dist = source_iso_dist,
                              .helical_z_shifts = std::move(helical_z_shifts)}) {}
  explicit model(typename Geometry::parameters const& p) : base(parameter_set<Geometry>(p)) {}
  explicit model(parameter_set<Geometry> parameters) : base(std::move(parameters)) {}

  /// Sets all parameters or, if one is invalid, none. parameter_set documents the rules. @throws parameter_error
  void set_params(std::initializer_list<parameter_setting> settings) {
    set_params(std::span<parameter_setting const>(settings.begin(), settings.size()));
  }
  void set_params(std::span<parameter_setting const> settings) {
    if (parameters_.set(settings)) forget_scan();
  }
  void set_params(std::string_view name, parameter_value value) {
    if (parameters_.set(name, std::move(value))) forget_scan();
  }
  /// Sizes delta_voxel, recon_shape and recon_slice_offset automatically for the current scan.
  void auto_set_recon_geometry() {
    parameters_.auto_set_recon_geometry();
    forget_scan();
  }
  /// Sets every extent of recon_shape to trunc(extent * factor). @return the new shape and the change. @throws
  /// parameter_error
  scaled_shape scale_recon_shape(double row_scale = 1, double col_scale = 1, double slice_scale = 1) {
    auto const scaled = mbirk::scale_recon_shape(recon_shape(), row_scale, col_scale, slice_scale);
    set_params("recon_shape", scaled.shape);
    return scaled;
  }

  shape const& sinogram_shape() const noexcept { return parameters_.scan().sinogram_shape; }
  shape const& recon_shape() const noexcept { return *parameters_.scan().recon_shape; }
  double get_magnification() const {
    return Geometry::magnification(parameters_.scan());
  }
  /// The scan with the current parameters, valid until one of them changes.
  /// @throws parameter_error when the parameters are inconsistent.
  mbirk::scan<Geometry> const& scan() const {
    if (!scan_) scan_.emplace(parameters_.scan());
    return *scan_;
  }
  void verify_valid_params() const { scan(); }

  /// Views of the caller's memory as the methods take them. @throws shape_error when the size differs.
  input sinogram_view(std::vector<float> const& data) const {
    return as_view<input>(data.data(), data.size(), sinogram_shape(), "sinogram");
  }
  output sinogram_view(std::vector<float>& data) const {
    return as_view<output>(data.data(), data.size(), sinogram_shape(), "sinogram");
  }
  input recon_view(std::vector<float> const& data) const {
    return as_view<input>(data.data(), data.size(), recon_shape(), "recon");
  }
  output recon_view(std::vector<float>& data) const {
    return as_view<output>(data.data(), data.size(), recon_shape(), "recon");
  }
  input sinogram_view(std::vector<float> const&&) const = delete;  // the view would dangle
  input recon_view(std::vector<float> const&&) const = delete;
  std::vector<float> new_sinogram() const { return std::vector<float>(count(sinogram_shape())); }
  std::vector<float> new_recon() const { return std::vector<float>(count(recon_shape())); }

  // Projectors, documented in projector/operations.hpp.
  template <class Context> void forward_project(Context const& ctx, input recon, output sinogram) const {
    mbirk::forward_project(ctx, scan(), recon, sinogram);
  }
  template <class Context> void back_project(Context const& ctx, input sinogram, output recon) const {
    mbirk::back_project(ctx, scan(), sinogram, recon);
  }
  template <class Context>
  void sparse_forward_project(Context const& ctx, view<float const, 2> voxel_values,
                              view<std::int32_t const, 1> pixel_indices, output sinogram) const {
    mbirk::sparse_forward_project(ctx, scan(), voxel_values, pixel_indices, sinogram);
  }
  template <class Context>
  void sparse_back_project(Context const& ctx, input sinogram, view<std::int32_t const, 1> pixel_indices,
                           view<float, 2> voxel_values, int coeff_power = 1) const {
    mbirk::sparse_back_project(ctx, scan(), sinogram, pixel_indices, voxel_values, coeff_power);
  }
  template <class Context>
  void compute_hessian_diagonal(Context const& ctx, std::optional<input> weights, output hessian) const {
    hessian_diagonal(ctx, scan(), weights, hessian);
  }

  // Direct reconstruction, documented in filter/direct_filter.hpp and recon/direct_recon.hpp.
  template <class Context>
  void direct_filter(Context const& ctx, input sinogram, output filtered, filter_options const& options = {}) const {
    mbirk::direct_filter(ctx, scan(), sinogram, filtered, options);
  }
  template <class Context>
    requires direct_method<Geometry, "fbp">
  void fbp_filter(Context const& ctx, input sinogram, output filtered, filter_options const& options = {}) const {
    mbirk::fbp_filter(ctx, scan(), sinogram, filtered, options);
  }
  template <class Context>
    requires direct_method<Geometry, "fdk">
  void fdk_filter(Context const& ctx, input sinogram, output filtered, filter_options const& options = {}) const {
    mbirk::fdk_filter(ctx, scan(), sinogram, filtered, options);
  }
  template <class Context>
  void direct_recon(Context const& ctx, input sinogram, output recon, filter_options const& options = {},
                    std::vector<std::string>* warnings = nullptr) const {
    mbirk::direct_recon(ctx, scan(), sinogram, recon, options, warnings);
  }
  template <class Context>
    requires direct_method<Geometry, "fbp">
  void fbp_recon(Context const& ctx, input sinogram, output recon, filter_options const& options = {},
                 std::vector<std::string>* warnings = nullptr) const {
    mbirk::fbp_recon(ctx, scan(), sinogram, recon, options, warnings);
  }
  template <class Context>
    requires direct_method<Geometry, "fdk">
  void fdk_recon(Context const& ctx, input sinogram, output recon, filter_options const& options = {},
                 std::vector<std::string>* warnings = nullptr) const {
    mbirk::fdk_recon(ctx, scan(), sinogram, recon, options, warnings);
  }

  // Weights, documented in recon/weights.hpp.
  template <class Context>
  void gen_weights(Context const& ctx, input sinogram, std::string_view weight_type, output weights) const {
    mbirk::gen_weights(ctx, sinogram, parse_weight_type(weight_type), weights);
  }
  template <class Context>
  void gen_weights_mar(Context const& ctx, input sinogram, output weights, mar_arguments const& a = {},
                       mar_record* record = nullptr) const {
    mbirk::gen_weights_mar(ctx, scan(), sinogram, a.init_recon, a.metal_threshold, a.beta, a.gamma, weights, record);
  }

  // Iterative reconstruction, documented in recon/regularization.hpp, recon/recon.hpp and recon/split.hpp. Automatic
  // values are stored in sigma_y, sigma_x and sigma_prox.
  template <class Context>
  regularization auto_set_regularization_params(Context const& ctx, input sinogram, std::optional<input> weights = {}) {
    auto const& o = parameters_.values().options;
    auto const found = auto_regularization(ctx, scan(), sinogram, weights, o.snr_db, o.sharpness);
    parameters_.set_found_regularization(found.sigma_y, found.sigma_x, found.sigma_prox);
    return found;
  }
  template <class Context>
  recon_log recon(Context const& ctx, input sinogram, std::optional<input> weights, output recon,
                  recon_call_options const& a = {}) {
    auto record = mbirk::recon(ctx, scan(), sinogram, weights, recon, options(a));
    keep_sigmas<Context>(record, record.sigma_prox);
    return record;
  }
  /// @throws parameter_error also when do_initialization is false and prox_map was not called since the scan changed.
  template <class Context>
  recon_log prox_map(Context const& ctx, input prox_input, input sinogram, std::optional<input> weights, output recon,
                        recon_call_options const& a = {.max_iterations = 3}, prox_arguments const& prox = {}) {
    auto o = options(a);
    if (!prox.do_initialization) {
      require(proxed_, [] {
        return std::string(
            "prox_map: do_initialization is false, expected true in the first call: there are no sigmas of an earlier "
            "one");
      });
      auto const& v = parameters_.values();
      o.sigma_y = v.sigma_y;
      o.sigma_x = v.sigma_x;
      o.sigma_prox = v.sigma_prox;
    }
    bool const automatic = !o.sigma_y;
    if (prox.sigma_prox) o.sigma_prox = prox.sigma_prox;
    auto record = mbirk::prox_map(ctx, scan(), prox_input, sinogram, weights, recon, o);
    // The two automatic values are equal.
    if (automatic) keep_sigmas<Context>(record, prox.sigma_prox ? record.sigma_x : record.sigma_prox);
    proxed_ = true;
    return record;
  }
  template <class Context>
  requires is_cone split_record split_sino_recon(Context const& ctx, input sinogram, std::optional<input> weights,
                                                 output recon, recon_call_options const& a = {},
                                                 split_options const& split = {}) {
    auto const record = mbirk::split_sino_recon(ctx, parameters_.scan(), sinogram, weights, recon, options(a), split);
    keep_sigmas<Context>(record.top, record.top.sigma_prox);
    return record;
  }

  /// The parameters combined with the arguments of a call, as the free functions take them.
  recon_options options(recon_call_options const& a = {}) const {
    return {a, parameters_.options()};
  }

 private:
  static std::size_t count(shape const& s) { return static_cast<std::size_t>(s[0] * s[1] * s[2]); }
  template <class View, class T> static View as_view(T* data, std::size_t size, shape const& s, char const* name) {
    require<shape_error>(size == count(s), [&] {
      return detail::message(name, " has ", size, " values, expected ", count(s), " for a shape ",
                             detail::shape_text(s));
    });
    return View(data, s);
  }
  void forget_scan() {
    scan_.reset();
    proxed_ = false;
  }
  template <class Context> void keep_sigmas(recon_log const& r, double sigma_prox) {
    if (Context::backend::has_data && parameters_.values().auto_regularize_flag)
      parameters_.set_found_regularization(r.sigma_y, r.sigma_x, sigma_prox);
  }

  mutable std::optional<mbirk::scan<Geometry>> scan_;
  bool proxed_ = false;  // whether prox_map has stored its sigmas in the parameters
};

using parallel_beam_model = model<parallel_geometry>;
using cone_beam_model = model<cone_geometry>;

/// qggmrf_denoiser, as a template, so that only programs that have one compile it.
template <class Geometry> class basic_denoiser : public detail::with_parameters<Geometry> {
  using base = detail::with_parameters<Geometry>;
  using base::parameters_;

 public:
  /// @param image_shape  (rows, cols, slices); an image of two dimensions is (1, rows, cols).
  explicit basic_denoiser(std::array<index_t, 3> const& image_shape)
      : base(parameter_set<Geometry>(typename Geometry::parameters{image_shape})) {}
  explicit basic_denoiser(parameter_set<Geometry> parameters) : base(std::move(parameters)) {}

  void set_params(std::initializer_list<parameter_setting> settings) { parameters_.set(settings); }
  void set_params(std::span<parameter_setting const> settings) { parameters_.set(settings); }
  void set_params(std::string_view name, parameter_value value) { parameters_.set(name, std::move(value)); }

  /// @param output  same shape as the image; overwritten.
  /// @throws the errors of qggmrf_denoise; index_error when the first entry of partition_sequence is not an index into
  ///         granularity.
  template <class Context>
  denoise_record denoise(Context const& ctx, view<float const, 3> image, view<float, 3> output,
                         denoise_call_options const& a = {}) {
    require_extents(image, parameters_.scan().recon_shape, "denoise", "image", "(rows, cols, slices)");
    auto const record = qggmrf_denoise(ctx, image, options(a), output);
    if (Context::backend::has_data && parameters_.values().auto_regularize_flag)
      parameters_.set_found_regularization(record.sigma_noise, record.sigma_x, parameters_.values().sigma_prox);
    return record;
  }
  /// The parameters combined with the arguments of a call, as qggmrf_denoise takes them: one partition, the first of
  /// the sequence.
  denoise_options options(denoise_call_options const& a = {}) const {
    auto const& v = parameters_.values();
    denoise_options d{a, denoise_model(v.options)};
    d.use_ror_mask = a.use_ror_mask.value_or(v.scan.use_ror_mask);
    if (!v.auto_regularize_flag) {
      d.sigma_x = v.sigma_x;
      d.sigma_noise = a.sigma_noise.value_or(v.sigma_y);
    }
    return d;
  }
};

/// Counterpart of MBIRJAX's QGGMRFDenoiser: qggmrf_denoise (recon/denoise.hpp) with parameters by name; sharpness is 0
/// by default.
using qggmrf_denoiser = basic_denoiser<image_geometry>;

}  // namespace mbirk
