// Timed calls of operations in rounds, each with the evidence of what else ran.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/evidence.hpp"
#include "machine/hardware_counters.hpp"
#include "mbirk/profile/disturbance.hpp"
#include "mbirk/profile/stopping.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// Instruments that are read before and after every batch of calls.
struct instruments {
  evidence_reader evidence;
  hardware_counters counters;
};

/// Adds to the environment of a file what the instruments can see, and the processors to which threads are pinned.
void describe(instruments const& with, std::vector<int> const& pinned, nlohmann::json& environment);
/// Prints one line for each kind of evidence that this system does not give, unless quiet.
void print_notes(instruments const& with, bool quiet);

/// Size of a batch.
struct batch_limits {
  double seconds;           ///< no call begins later
  std::size_t min_calls, max_calls;  ///< min_calls may take three times as many seconds
  double warm_below;  ///< shorter calls follow one that is not timed, because other operations have used the caches
};
/// Within ten milliseconds a waiting thread gets a processor, and only then does the system report how long it waited.
inline constexpr batch_limits batch_of_a_round{0.01, 3, 1000, 0.01};
/// A run of `mbirk profile --runs N`.
inline constexpr batch_limits batch_of_a_run{0.05, 1, 25, 0};
inline constexpr batch_limits batch_of_one_call{0, 1, 1, 0};

/// The timed calls of one operation.
class timed_calls {
 public:
  /// @param expected  seconds of a call, 0 if not known
  /// @param needed    number of calls that it needs, as a function of their seconds
  explicit timed_calls(double expected = 0, std::size_t (*needed)(double) = profile::min_calls)
      : expected_(expected), rule_(needed) {}

  /// Adds a batch of calls.
  void add_batch(instruments& with, std::function<call_cost()> const& call, batch_limits const& limits);
  /// Adds one iteration, which cannot be repeated alone; the instruments were started before it.
  void add_iteration(instruments const& with, double seconds);
  void append(timed_calls other);

  bool empty() const noexcept { return batches_.empty(); }
  profile::stopping_rule const& rule() const noexcept { return rule_; }
  double expected() const noexcept { return empty() ? expected_ : rule_.fastest(); }
  /// Seconds of all its calls, including untimed ones.
  double spent() const noexcept { return spent_; }
  transfer_counts const& transfers() const noexcept { return transfers_; }  ///< of one call

  profile::measured_time result() const { return profile::measured_time_of(batches_); }
  /// "time", "min", "max", "calls", "interval", "disturbed" with "reason", "clean calls", "samples".
  nlohmann::json to_json() const;
  /// Counts of the hardware for one call, and the seconds for which it counted; null if there are none.
  nlohmann::json hardware() const;

 private:
  void keep(profile::batch batch, std::map<std::string, double> const& counts);

  double expected_, spent_ = 0;
  profile::stopping_rule rule_;
  std::vector<profile::batch> batches_;
  std::map<std::string, double> counts_;
  transfer_counts transfers_;
};

/// Calls visit(k), which adds a batch to all[k], in rounds over the operations, the fastest first: until each has
/// enough clean calls or the budget is used up, but always until none is owed any. Rounds spread the calls of an
/// operation over time, so that a disturbance of a second meets few calls of each. An operation for which visit returns
/// false is not visited again.
/// @param share   seconds of each operation on average; owed calls cost no more than this
/// @param budget  seconds left for all; reduced
void time_in_rounds(std::vector<timed_calls>& all, double share, double& budget,
                    std::function<bool(std::size_t)> const& visit);

}  // namespace mbirk::program
