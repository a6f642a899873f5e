// Input of the candidate model, read from the JSON of a profile. Errors are io_error in one line that names the field.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "input/json_field.hpp"
#include "input/measured_times.hpp"
#include "mbirk/profile/candidate.hpp"

namespace mbirk::program {

/// A required number >= 0; count_or_0 is for an optional one.
double count_of(json_field const& of, std::string const& key);
inline double count_or_0(json_field const& of, std::string const& key) { return of.has(key) ? count_of(of, key) : 0; }
/// Whether arrays of this role enter or leave an operation.
inline bool outer(std::string const& role) { return role == "argument" || role == "output"; }

/// Parses the "reuse" object of an operation or array.
profile::fpga::miss_curve curve_of(json_field const& reuse);
/// Parses an entry of "cost_analysis".
profile::fpga::counted_work work_of(json_field const& cost);

using size_and_name = std::pair<index_t, std::string>;

/// The machine on which the times were measured: roofs, watts and its link.
struct measured_machine {
  std::string name, source = "none";
  profile::fpga::machine_roofs roofs;
  double watts = 0, idle_watts = 0, buffer_seconds = 0;
  double upload_rate = 0, download_rate = 0;
  bool measured_power = false;               ///< watts are the mean over all timed calls, from counted energy
  std::map<size_and_name, double> watts_of;  ///< of operations whose energy was counted

  double watts_for(measured_operation_time const& time) const {
    auto const found = watts_of.find({time.size, time.operation});
    return found == watts_of.end() ? watts : found->second;
  }
};
/// Parses "environment", "ceilings" and the energy in "hardware" of "cost_analysis"; under the policy cuda, a known
/// device gets the numbers of its data sheet.
measured_machine machine_of(json_field const& root, std::vector<profile::fpga::device> const& devices);

/// "time" of an entry of "measurements", in seconds.
double seconds_of(json_field const& measurement);

/// operation_times() of a run whose times are all > 0.
std::vector<measured_operation_time> times_of(json_field const& root);

}  // namespace mbirk::program
