// Options and result of an iterative reconstruction, and the state from which it can be resumed. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mbirk/core/view.hpp"
#include "mbirk/geometry/mask.hpp"

namespace mbirk {

/// Progress report, passed to the progress callback after each iteration.
struct iteration_report {
  int iteration = 0;   ///< number of the iteration, starting at 1
  int iterations = 0;  ///< maximum number of iterations
  double change = 0;   ///< sum of |alpha d| over all subsets / ||x||_1
  double alpha = 0;    ///< mean over the subsets
  double fm_rmse = 0;  ///< sqrt(sum w e^2 / (mean(w) V R C)) / sigma_y
  double prior_loss = 0;
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

/// Options of recon and prox_map, with MBIRJAX's names and defaults.
struct recon_options {
  int max_iterations = 15;                   ///< total number, including first_iteration
  int first_iteration = 0;                   ///< number of leading entries of the partition sequence to skip
  double stop_threshold_change_pct = 0.2;    ///< stops when 100 * change is below this; 0 never stops
  bool compute_prior_loss = false;
  /// Partitions and orders are those MBIRJAX draws after numpy.random.seed(seed).
  std::uint32_t seed = 0;

  std::optional<double> sigma_y = {}, sigma_x = {}, sigma_prox = {};  ///< empty: automatic, from snr_db and sharpness
  double snr_db = 30, sharpness = 1;
  double p = 2, q = 1.2, T = 1;
  std::array<double, 3> qggmrf_nbr_wts = {1, 1, 1};
  bool positivity_flag = false;
  double max_alpha = 1.5;
  std::vector<index_t> granularity = {1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128};
  std::vector<index_t> partition_sequence = default_partition_sequence();
  std::optional<bool> slice_damping = {};    ///< empty: on in cone beam; parallel beam has none

  /// Initial image. Empty: a scaled direct reconstruction. A number: that constant everywhere. An array (rows, cols,
  /// slices): used unchanged.
  std::variant<std::monostate, double, view<float const, 3>> init_recon = {};

  /// For comparisons: the direct image is computed with float32 taps, and its scale from float32 sums, accumulated
  /// sample by sample, as MBIRJAX does on a CPU. Such a scale is off by about 1e-5, which moves the first iterations by
  /// ten times as much. Counting policies do not count these sums.
  bool mbirjax_rounding = false;

  std::function<bool(iteration_report const&)> progress = {};    ///< returning false stops after this iteration
  /// Called every checkpoint_every iterations, and when progress stops the run.
  std::function<void(recon_state const&)> checkpoint = {};
  int checkpoint_every = 1;
  /// State to continue from; the sinogram is then not read.
  recon_state const* resume = nullptr;

  static std::vector<index_t> default_partition_sequence() {
    std::vector<index_t> sequence{2, 4, 6};
    for (int k = 0; k < 25; ++k) sequence.insert(sequence.end(), {7, 8, 9, 10});
    return sequence;
  }
};

/// Options of qggmrf_denoise, with MBIRJAX's names and defaults.
struct denoise_options {
  /// Standard deviation of the noise, in the unit of the image; empty: estimated.
  std::optional<double> sigma_noise = {};
  std::optional<double> sigma_x = {};      ///< scale of the prior; empty: estimated, with sharpness applied
  double sharpness = 0;                    ///< sigma_x doubles with each unit
  double p = 2, q = 1.2, T = 1;
  std::array<double, 3> qggmrf_nbr_wts = {1, 1, 1};
  mask_setting use_ror_mask = false;       ///< voxels outside the mask keep their initial value
  std::optional<view<float const, 3>> init_image = {};  ///< empty: the image
  int max_iterations = 15;
  double stop_threshold_change_pct = 0.2;  ///< stops when 100 * change is below this; 0 never stops
  index_t granularity = 16;                ///< number of subsets of pixels, updated one after the other
  std::uint32_t seed = 0;                  ///< the partition is the one MBIRJAX draws after numpy.random.seed(seed)
  /// Returning false stops after this iteration; fm_rmse and prior_loss are 0.
  std::function<bool(iteration_report const&)> progress = {};
};

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
