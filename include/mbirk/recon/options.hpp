// What an iterative reconstruction is asked for, what it reports, and the state that it can be resumed from. Values only.
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

/// Where an iteration stands; handed to the progress callback when it is done.
struct iteration_report {
  int iteration = 0;   ///< 1 for the first
  int iterations = 0;  ///< at most
  double change = 0;   ///< sum of |alpha d| over all subsets / ||x||_1
  double alpha = 0;    ///< mean over the subsets
  double fm_rmse = 0;  ///< sqrt(sum w e^2 / (mean(w) V R C)) / sigma_y
  double prior_loss = 0;
};

/// The record of a reconstruction, with MBIRJAX's names. One entry per iteration in each list.
struct recon_log {
  int num_iterations = 0;
  std::vector<index_t> granularity;
  std::vector<index_t> partition_sequence;           ///< the part that was used
  std::vector<double> fm_rmse, prior_loss;           ///< prior_loss: 0 unless compute_prior_loss
  double sigma_y = 0, sigma_x = 0, sigma_prox = 0;   ///< regularization_params
  std::vector<double> stop_threshold_change_pct;     ///< 100 change
  std::vector<double> alpha_values;
  std::vector<std::vector<double>> delta_norm_per_slice;
  std::vector<std::string> warnings;
  bool cancelled = false;                            ///< the callback asked to stop
};

/// All that a reconstruction needs to go on, to the same bits: (views, rows, channels) and (rows, cols, slices), last axis contiguous.
struct recon_state {
  std::array<index_t, 3> sinogram_shape{}, recon_shape{};
  std::uint32_t seed = 0;
  std::vector<float> recon, weighted_error, hessian;  ///< x, w (y - A x), diagonal of A' diag(w) A
  recon_log record;                                ///< of the iterations that are done
};

/// Parameters with MBIRJAX's names and defaults.
struct recon_options {
  int max_iterations = 15;                   ///< a total, first_iteration included
  int first_iteration = 0;                   ///< entries of the partition sequence to leave out
  double stop_threshold_change_pct = 0.2;    ///< stops when 100 change is below it; 0 never stops
  bool compute_prior_loss = false;
  std::uint32_t seed = 0;                    ///< partitions and orders are those that MBIRJAX draws after numpy.random.seed(seed)

  std::optional<double> sigma_y = {}, sigma_x = {}, sigma_prox = {};  ///< empty: automatic, from snr_db and sharpness
  double snr_db = 30, sharpness = 1;
  double p = 2, q = 1.2, T = 1;
  std::array<double, 3> qggmrf_nbr_wts = {1, 1, 1};
  bool positivity_flag = false;
  double max_alpha = 1.5;
  std::vector<index_t> granularity = {1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128};
  std::vector<index_t> partition_sequence = default_partition_sequence();
  std::optional<bool> slice_damping = {};    ///< empty: on in cone beam; parallel beam has none

  /// Nothing: a scaled direct reconstruction. A number: that constant everywhere. An array (rows, cols, slices): as it is.
  std::variant<std::monostate, double, view<float const, 3>> init_recon = {};

  /// For comparisons: the direct image from float32 taps, and its scale from sums in float32, sample after sample, as MBIRJAX has them on a CPU.
  /// Such a scale is off by 1e-5 or so, which moves the first iterations by ten times as much. Its sums are not counted by counting policies.
  bool mbirjax_rounding = false;

  std::function<bool(iteration_report const&)> progress = {};    ///< false stops after this iteration
  std::function<void(recon_state const&)> checkpoint = {};       ///< called every checkpoint_every iterations, and when the callback stops
  int checkpoint_every = 1;
  recon_state const* resume = nullptr;                           ///< goes on from here; the sinogram is not read then

  static std::vector<index_t> default_partition_sequence() {
    std::vector<index_t> sequence{2, 4, 6};
    for (int k = 0; k < 25; ++k) sequence.insert(sequence.end(), {7, 8, 9, 10});
    return sequence;
  }
};

/// Parameters with MBIRJAX's names and defaults.
struct denoise_options {
  std::optional<double> sigma_noise = {};  ///< standard deviation of the noise, as the image; empty: estimated
  std::optional<double> sigma_x = {};      ///< scale of the prior; empty: estimated, and sharpness applies
  double sharpness = 0;                    ///< sigma_x doubles with each unit
  double p = 2, q = 1.2, T = 1;
  std::array<double, 3> qggmrf_nbr_wts = {1, 1, 1};
  mask_setting use_ror_mask = false;       ///< voxels outside keep their initial value
  std::optional<view<float const, 3>> init_image = {};  ///< empty: the image
  int max_iterations = 15;
  double stop_threshold_change_pct = 0.2;  ///< stops when 100 change is below it; 0 never stops
  index_t granularity = 16;                ///< subsets of pixels that are updated one after the other
  std::uint32_t seed = 0;                  ///< the partition is the one that MBIRJAX draws after numpy.random.seed(seed)
  std::function<bool(iteration_report const&)> progress = {};  ///< false stops after this iteration; fm_rmse and prior_loss stay 0
};

/// What was used, and one entry per iteration in each list.
struct denoise_record {
  int num_iterations = 0;
  double sigma_noise = 0, sigma_x = 0;
  index_t subsets = 0;
  std::vector<double> stop_threshold_change_pct;  ///< 100 change, change = sum of |alpha d| over all subsets / ||x||_1
  std::vector<double> alpha_values;               ///< mean over the subsets
  std::vector<std::string> warnings;
  bool cancelled = false;                         ///< the callback asked to stop
};

}  // namespace mbirk
