// Options and result of an iterative reconstruction, and the state from which it can be resumed. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/geometry/mask.hpp"
#include "mbirk/geometry/parameter_rules.hpp"

namespace mbirk {

/// Progress report, passed to the progress callback after each iteration.
struct iteration_report {
  int iteration = 0;   ///< number of the iteration, starting at 1
  int iterations = 0;  ///< maximum number of iterations
  double change = 0;   ///< sum of |alpha d| over all subsets / ||x||_1
  double alpha = 0;    ///< mean over the subsets
  double fm_rmse = 0;  ///< sqrt(sum w e^2 / (mean(w) V R C)) / sigma_y
  double prior_loss = 0;
  double norm = 0;     ///< ||x||_1, which change is relative to
};

/// Log of a reconstruction, with MBIRJAX's names. Each list has one entry per iteration.
struct recon_log {
  int num_iterations = 0;
  std::vector<index_t> granularity;
  std::vector<index_t> partition_sequence;           ///< the entries that were used
  std::vector<double> fm_rmse, prior_loss;           ///< prior_loss: 0 unless compute_prior_loss
  double sigma_y = 0, sigma_x = 0, sigma_prox = 0;   ///< regularization_params
  std::vector<double> stop_threshold_change_pct;     ///< 100 * change
  std::vector<double> alpha_values;
  std::vector<std::vector<double>> delta_norm_per_slice;
  std::vector<std::string> warnings;
  bool cancelled = false;                            ///< whether the callback stopped the run
};

/// Complete state for resuming a reconstruction with bitwise identical results: (views, rows, channels) and (rows,
/// cols, slices), last axis contiguous.
struct recon_state {
  std::array<index_t, 3> sinogram_shape{}, recon_shape{};
  std::uint32_t seed = 0;
  std::vector<float> recon, weighted_error, hessian;  ///< x, w (y - A x), diagonal of A' diag(w) A
  recon_log record;                                ///< log of the completed iterations
};

/// Options of a single call of recon or prox_map, with MBIRJAX's names and defaults.
struct recon_call_options {
  /// Initial image. Empty: a scaled direct reconstruction. A number: that constant everywhere. An array (rows, cols,
  /// slices): used unchanged.
  std::variant<std::monostate, double, view<float const, 3>> init_recon = {};
  int max_iterations = 15;                 ///< total number, including first_iteration
  double stop_threshold_change_pct = 0.2;  ///< stops when 100 * change is below this; 0 never stops
  int first_iteration = 0;                 ///< number of leading entries of the partition sequence to skip
  bool compute_prior_loss = false;
  /// Partitions and orders are those MBIRJAX draws after numpy.random.seed(seed).
  std::uint32_t seed = 0;
  /// For comparisons: the direct image is computed with float32 taps, and its scale from float32 sums, accumulated
  /// sample by sample, as MBIRJAX does on a CPU. Such a scale is off by about 1e-5, which moves the first iterations by
  /// ten times as much. Counting policies do not count these sums.
  bool mbirjax_rounding = false;

  std::function<bool(iteration_report const&)> progress = {};  ///< returning false stops after this iteration
  /// Called every checkpoint_every iterations, and when progress stops the run.
  std::function<void(recon_state const&)> checkpoint = {};
  int checkpoint_every = 1;
  /// State to continue from; the sinogram is then not read. If its three arrays are empty, only the log continues: x is
  /// init_recon, which must be given, and error and Hessian diagonal are computed from the sinogram.
  recon_state const* resume = nullptr;
};

/// Options of recon and prox_map that are parameters of a model, with MBIRJAX's names and defaults.
struct recon_model_options {
  std::optional<double> sigma_y = {}, sigma_x = {}, sigma_prox = {};  ///< empty: automatic, from snr_db and sharpness
  double snr_db = 30, sharpness = 1;
  double p = 2, q = 1.2, T = 1;
  std::array<double, 3> qggmrf_nbr_wts = {1, 1, 1};
  bool positivity_flag = false;
  double max_alpha = 1.5;
  std::vector<index_t> granularity = {1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128};
  std::vector<index_t> partition_sequence = default_partition_sequence();
  std::optional<bool> slice_damping = {};  ///< empty: on in cone beam; parallel beam has none

  static std::vector<index_t> default_partition_sequence() {
    std::vector<index_t> sequence{2, 4, 6};
    for (int k = 0; k < 25; ++k) sequence.insert(sequence.end(), {7, 8, 9, 10});
    return sequence;
  }
};

/// All options of recon and prox_map: recon_options{{.max_iterations = 3}, {.sharpness = 0.5}}.
struct recon_options : recon_call_options, recon_model_options {
  recon_options() = default;
  recon_options(recon_call_options call, recon_model_options model = {})
      : recon_call_options(std::move(call)), recon_model_options(std::move(model)) {}
};

/// Options of a single call of qggmrf_denoise, with MBIRJAX's names and defaults.
struct denoise_call_options {
  /// Standard deviation of the noise, in the unit of the image; empty: estimated.
  std::optional<double> sigma_noise = {};
  /// Voxels outside the mask keep their initial value. Empty: the parameter of the denoiser; without one, all voxels.
  std::optional<mask_setting> use_ror_mask = {};
  std::optional<view<float const, 3>> init_image = {};  ///< empty: the image
  int max_iterations = 15;
  double stop_threshold_change_pct = 0.2;  ///< stops when 100 * change is below this; 0 never stops
  std::uint32_t seed = 0;                  ///< the partition is the one MBIRJAX draws after numpy.random.seed(seed)
  /// Returning false stops after this iteration; fm_rmse and prior_loss are 0.
  std::function<bool(iteration_report const&)> progress = {};
};

/// Options of qggmrf_denoise that are parameters of a denoiser, with MBIRJAX's names and defaults.
struct denoise_model_options {
  std::optional<double> sigma_x = {};  ///< scale of the prior; empty: estimated, with sharpness applied
  double sharpness = 0;                ///< sigma_x doubles with each unit
  double p = 2, q = 1.2, T = 1;
  std::array<double, 3> qggmrf_nbr_wts = {1, 1, 1};
  index_t granularity = 16;            ///< number of subsets of pixels, updated one after the other
};

/// All options of qggmrf_denoise: denoise_options{{.max_iterations = 3}, {.sharpness = 0.5}}.
struct denoise_options : denoise_call_options, denoise_model_options {
  denoise_options() = default;
  denoise_options(denoise_call_options call, denoise_model_options model = {})
      : denoise_call_options(std::move(call)), denoise_model_options(std::move(model)) {}
};

namespace detail {

/// The table of the options of a call that are numbers or flags: calls f(name, rule, member, doc) for each. Operations
/// check them by it, and the program makes arguments and command lines from it.
template <class Options, class Row> void each_call_option(Options& o, Row const& row) {
  using namespace rules;
  row("max_iterations", not_negative, o.max_iterations, "iterations at most");
  row("stop_threshold_change_pct", not_negative, o.stop_threshold_change_pct,
      "stop when the change of an iteration is below this many percent");
  if constexpr (requires { o.first_iteration; }) {
    row("first_iteration", not_negative, o.first_iteration, "leading entries of the partition sequence to skip");
    row("compute_prior_loss", flag, o.compute_prior_loss, "log the loss of the prior after each iteration");
  }
  row("seed", not_negative, o.seed, "seed of the random pixel subsets");
  if constexpr (requires { o.mbirjax_rounding; })
    row("mbirjax_rounding", flag, o.mbirjax_rounding, "round the first image as MBIRJAX does, for comparisons");
  if constexpr (requires { o.sigma_noise; })
    row("sigma_noise", positive_number, o.sigma_noise, "standard deviation of the noise; estimated if not given");
}

/// @throws parameter_error for the first number that its rule refuses.
template <class Options> void require_valid_call(Options const& options, char const* operation) {
  each_call_option(options, [&](char const* name, auto const& rule, auto const& member, char const*) {
    auto const check = [&](auto value) {
      require(rule.test(value), [&] {
        return detail::message(operation, ": ", name, " is ", static_cast<double>(value), ", expected ", rule.expected);
      });
    };
    if constexpr (requires { member.has_value(); }) {
      if (member) check(*member);
    } else {
      check(member);
    }
  });
}

}  // namespace detail

/// Log of qggmrf_denoise: the values used, and lists with one entry per iteration.
struct denoise_record {
  int num_iterations = 0;
  double sigma_noise = 0, sigma_x = 0;
  index_t subsets = 0;
  /// 100 * change, change = sum of |alpha d| over all subsets / ||x||_1.
  std::vector<double> stop_threshold_change_pct;
  std::vector<double> alpha_values;               ///< mean over the subsets
  std::vector<std::string> warnings;
  bool cancelled = false;                         ///< whether the callback stopped the run
};

}  // namespace mbirk
