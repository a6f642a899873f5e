// The judgement of one operation at one size: what it is compared with, and its entry in the block "candidates".
#pragma once

#include <optional>
#include <string>

#include "fpga/candidate_pipelines.hpp"
#include "fpga/candidates.hpp"

namespace mbirk::program {

/// Everything known about an operation at a size.
struct judged_input {
  json_field const& root;  ///< the run
  measured_operation_time const& time;
  json_field const& costs;  ///< of the size
  json_field const& cost;
  json const& share;
  measured_machine const& machine;
  std::optional<json_field> const& word_length;
  traced_stages const* traced;
  candidate_settings const& settings;
};

/// An entry with its ranking against the attainable time: class, then seconds saved by a resident call, or its speed if
/// it is not a candidate.
struct ranked_entry {
  json out;
  index_t size;
  std::string name;
  int what;
  double saved, speed;
};

ranked_entry judge_operation(judged_input const& in);

/// An interval as a list; JSON has no infinity, so null means unbounded.
json to_json(profile::fpga::interval const& i);
json finite(double x);
json to_json(profile::fpga::sourced const& s);

}  // namespace mbirk::program
