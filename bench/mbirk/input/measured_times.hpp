// Times of operations, from the "measurements" of a file of mbirk profile or mbirk bench.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "input/json_field.hpp"
#include "mbirk/profile/statistics.hpp"

namespace mbirk::program {

/// Time of an operation at a size, in seconds.
struct measured_operation_time {
  std::string operation;
  index_t size = 0;
  double median = 0;  ///< over the untraced runs; over the timing runs (the third and later) if there are any
  double least = 0;   ///< fastest call of those runs
  std::optional<profile::interval> range{};  ///< 95 % interval of the median
  index_t calls = 0;                         ///< of those runs
  bool timing_runs = false;
  std::string disturbed{};  ///< why none of those runs can be trusted; empty: they can
};

/// Runs that were disturbed do not count if there are others.
/// @param unit  divides the times of a measurement, if given
/// @returns the operations in the order of measurement
/// @throws io_error, in one line, when a field is missing or malformed
std::vector<measured_operation_time> operation_times(json_field const& root,
                                                     std::function<double(json_field const&)> const& unit = {});

/// "3 of 60 operations were disturbed ...": the first line of what is said about a run; empty if none was.
std::string disturbed_text(std::vector<measured_operation_time> const& times);

/// The size at which operations are compared with each other: the largest one at which at least half as many of them
/// were measured as at the size with the most.
/// @param operations  number of operations by size
/// @returns 0 if there are none
index_t size_to_compare(std::map<index_t, std::size_t> const& operations);
/// @param candidates  "operations" of the block "candidates"
index_t size_to_compare(nlohmann::json const& candidates);

/// Lists the work that a profile left out because it was predicted to take too long, with a text for each size and
/// part: "no times at 256: general_mbir_recon (12 s a call), ...".
/// @throws io_error, in one line, when a field of "left_out" is missing or malformed
std::vector<std::string> left_out_texts(json_field const& root);

/// An operation whose time grows by more than one power of the size faster than its flops. Overheads, caches and memory
/// do not explain that, so its times are wrong.
struct impossible_growth {
  std::string operation;
  double time = 0, flops = 0;  ///< exponents over the sizes that were not disturbed
};
/// @param root  file with "cost_analysis"
std::vector<impossible_growth> impossible_growths(std::vector<measured_operation_time> const& times,
                                                  json_field const& root);
/// One sentence about them; empty if there are none.
std::string growth_text(std::vector<impossible_growth> const& all);

}  // namespace mbirk::program
