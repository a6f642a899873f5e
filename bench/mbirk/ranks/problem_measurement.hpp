// Measures the operations of one problem that ranks do together: times, messages and memory of each rank, and the times
// of one rank alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/run_watch.hpp"
#include "commands/timed_calls.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "operations/common_options.hpp"
#include "ranks/rank_network.hpp"
#include "ranks/rank_place.hpp"
#include "ranks/rank_problem.hpp"
#include "ranks/rank_trace.hpp"

namespace mbirk::program {

struct rank_measurement_options : common_options {
  std::vector<index_t> sizes;  ///< empty: default_sizes
  std::string ops = "*";
  double budget = 0;  ///< seconds of timed calls of all operations and sizes together; 0: the default
  std::optional<std::uint64_t> memory_limit;
  bool no_alone = false;
  monitor_options monitor;
};

/// The settings and the document that the measurements of a run share. Rank 0 has the document.
struct measuring_run {
  rank_measurement_options const& options;
  distributed::mpi const& ranks;
  instruments& with;
  std::optional<network> measured_network;
  double share = 0, budget = 0;  ///< seconds of an operation on average, and those left for all
  std::function<void(std::string const&)> step;  ///< shows what begins
  std::function<void()> done;                     ///< counts an operation that has begun
  nlohmann::json& document;

  bool is_root() const noexcept { return ranks.rank() == 0; }
};

class problem_measurement {
 public:
  /// @param plain, traced  where calls are timed, and where one is traced
  problem_measurement(measuring_run& run, sharing by, index_t n, place_of_rank const& plain, place_of_rank& traced,
                      rank_trace& trace);

  /// Makes the problem, and adds the measurements of operations to the document. Collective. A failure that all ranks
  /// have together is noted there, and the other operations go on. @throws communication_error
  void measure(std::vector<rank_operation const*> const& operations);

 private:
  /// An operation and what has been measured of it, which rank 0 has.
  struct subject {
    rank_operation const* op;
    std::vector<std::vector<double>> seconds = {};  ///< of timed calls, by rank
    nlohmann::json result = nlohmann::json::object(), timeline = nullptr;
    double warm_up = 0, warm_up_alone = 0;
    bool failed = false, failed_alone = false;  // on every rank
  };
  /// An entry of the rounds: a subject that all ranks time, or rank 0 alone.
  struct timed_subject {
    subject* what;
    bool alone;
  };
  struct traced_call;

  bool succeeds(subject const& one, bool& failed, std::function<void()> const& work);
  void begin(subject& one);
  void begin_iteration(subject& one);
  void compare_with_one_rank(subject& one);
  void note(subject& one, traced_call const& call, double seconds);
  std::vector<double> call(rank_operation const& op, place_of_rank const& place);
  double call_alone(rank_operation const& op, operands& x) const;
  void time_calls(std::vector<timed_subject> const& all, std::vector<timed_calls>& calls);
  bool visit(timed_subject const& timed, timed_calls& calls);
  void follow(std::vector<timed_subject> const& all);
  recon_options timed_iterations(rank_operation const& op, timed_calls* calls) const;
  void iterate_alone(rank_operation const& op, timed_calls& calls) const;
  std::int64_t announce(std::int64_t what) const;
  void add_measurement(subject const& one, int run, nlohmann::json measurement);
  void add_result(subject& one, timed_calls const& together, timed_calls const* alone);
  nlohmann::json model() const;

  measuring_run& run_;
  sharing by_;
  index_t n_;
  place_of_rank const& plain_;
  place_of_rank& traced_;
  rank_trace& trace_;
  std::unique_ptr<rank_problem> problem_;
};

}  // namespace mbirk::program
