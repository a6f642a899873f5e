// The numbers of the HTML report, read strictly from the JSON of mbirk profile. Independent of HTML.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input/measured_times.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk::program::report {

/// Times of one operation at one size, in seconds.
struct timing : measured_operation_time {
  bool trusted() const noexcept { return disturbed.empty(); }
  /// The median; if other programs disturbed the operation, its fastest call, which they disturbed least.
  double best_guess() const noexcept { return trusted() ? median : least; }
  /// Relative distance of the median from the fastest call; empty for a single call, which says nothing about noise.
  std::optional<double> noise() const {
    return trusted() && calls > 1 && least > 0 ? std::optional(median / least - 1) : std::nullopt;
  }
};

/// Traffic of a fully associative LRU memory as a function of its size: misses and write-backs in lines, times the line
/// size.
struct miss_curve {
  std::vector<double> bytes, traffic;
  bool operator==(miss_curve const&) const = default;
  /// Smallest memory whose traffic is at most `factor` times that of the largest one.
  double knee(double factor = 1.1) const;
  /// Traffic of the largest simulated memory of at most `memory` bytes; of the smallest one if all are larger.
  double at(double memory) const;
};

struct cost {
  double flops = 0, accessed = 0, scratch = 0, items = 0, argument = 0, output = 0, temporary = 0, peak = 0;
  std::optional<double> compulsory, minimal_flops;
  std::string source;  ///< "counted" or "model"
  std::optional<miss_curve> curve;
};

struct operation {
  std::string name;
  std::map<index_t, timing> times;  ///< keyed by size
  std::map<index_t, cost> costs;
  /// growth_exponent() over the sizes; disturbed times do not count.
  std::optional<double> time_exponent() const;
  std::optional<double> flop_exponent() const;
};

struct memory_roof {
  std::string name;
  double bytes_per_second = 0;
};
/// Limits measured by the same run, all threads together.
struct machine_specs {
  double flops_per_second = 0;     ///< float32 fused multiply-adds, two flops each
  std::vector<memory_roof> reads;  ///< from the nearest level to the farthest
};

struct failure {
  std::string operation, error;
  index_t size = 0;
};

struct profile {
  std::string file, timestamp;
  std::vector<index_t> sizes;
  index_t runs = 0, threads = 0;
  std::string backend, cpu, device, version, compiler;
  std::vector<std::pair<std::string, std::string>> environment;  ///< all entries of the environment in the file
  std::vector<operation> operations;                             ///< in the order of measurement
  std::vector<failure> failures;
  std::optional<std::map<index_t, index_t>> dropped;  ///< dropped trace events by size; empty: not in the file
  std::optional<machine_specs> roofs;  ///< also empty if an operation exceeds them, because they were disturbed
  std::string beaten;  ///< the operation that exceeds a roof, and that roof; empty: none
  index_t largest = 0;  ///< size_to_compare() of operations with times and costs
  std::string disturbed;                                         ///< disturbed_text() of the run
  std::vector<impossible_growth> impossible;
};

/// @throws io_error, in one line, with the field, what was expected and what was found.
profile read_profile(nlohmann::json const& run, std::string const& file);

/// The roof nearest to an operation: the least time that the roof allows divided by the median time.
struct nearest_roof {
  std::string name;
  double share = 0;
};
/// Compares flops with the FMA rate, compulsory bytes with the rate of the farthest level, and all loads and stores
/// with that of the nearest one.
std::optional<nearest_roof> roof_of(std::optional<machine_specs> const& roofs, cost const& c, double seconds);

}  // namespace mbirk::program::report
