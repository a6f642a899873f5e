// Predicts the time of an operation on an absent GPU from how often each part of its kernels runs, what the code of
// that part costs (kernel_costs.hpp), and the rates of the device (device_table.hpp). docs/gpu.md derives the model.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device_table.hpp"
#include "gpu/kernel_costs.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program::gpu {

/// Work of a launch, independent of the device; `repeats` launches are alike.
struct launch_work {
  std::string kernel, variant = {};
  std::string last_variant = {};                          ///< of the last piece of a line, if it is shorter
  double last_share = 0;                                  ///< of the tasks that have such a piece
  double tasks = 0;                                       ///< of warps, or blocks for kernels of blocks
  int warps_per_block = 4;
  bool shares_tasks = true;                               ///< resident warps take tasks in turn; else a block is a task
  std::vector<std::pair<std::string, double>> units = {}; ///< how often each unit of the kernel runs
  double l2_bytes = 0;                                    ///< between the multiprocessors and L2
  double memory_bytes = 0;                                ///< between L2 and memory, if nothing stays in L2
  double again_bytes = 0;                                 ///< read again by every wave of tasks, unless it fits L2
  double tasks_between = 1;                               ///< tasks that share one reading of those
  double repeats = 1;
};

/// Prediction for one kind of launch, all repeats together.
struct launch_time {
  std::string kernel;
  double lower_bound = 0, expected = 0;  ///< seconds
  std::string bound;
  double waves = 0;                      ///< of blocks
  std::vector<std::pair<std::string, double>> resources;  ///< seconds of each resource if it were the only one
};

struct prediction {
  double lower_bound = 0;                ///< seconds: no code of these instructions is faster on this device
  double expected = 0, low = 0, high = 0;
  std::string bound;                     ///< what takes longest: issue, LSU, FP64, special, L2, DRAM, latency, launch
  double transfer_seconds = 0;           ///< arguments to the device and results from it
  double joules = 0;                     ///< of the expected time, without transfers
  std::string source = "predicted";
  std::vector<launch_time> launches = {};
};

/// Share of the bound's rate that code reaches, and the interval around the expected time.
inline constexpr double reached = 0.75, low_factor = 0.6, high_factor = 1.6;

launch_time predict_launch(launch_work const& work, device const& on);
/// @param argument_bytes, result_bytes  transferred to the device and from it
prediction predict_launches(std::vector<launch_work> const& work, device const& on, double argument_bytes,
                            double result_bytes);

/// Whether the costs of an operation's kernels are known for the geometry of a scan.
bool has_known_costs(operation const& op, any_scan const& scan);

/// Prediction of an entry of the profile at a size. Empty for operations that run on the host under every policy.
std::optional<prediction> predict(profile_entry const& entry, problem_shape const& shape, device const& on);
/// Prediction of a projection, a Hessian, a reconstruction or an iteration ("vcd_iteration" of `subsets` subsets) of
/// any scan. Empty for other names.
/// @param listed  pixels of a subset, for operations with a list
std::optional<prediction> predict(std::string const& operation, any_scan const& scan, device const& on,
                                  std::vector<std::int32_t> const& listed = {}, int iterations = 1,
                                  index_t subsets = 128);

}  // namespace mbirk::program::gpu
