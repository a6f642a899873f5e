// Measures operations that ranks do together, at several sizes, for mbirk-mpi profile and bench.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/progress.hpp"
#include "ranks/problem_measurement.hpp"

namespace mbirk::program {

/// The sizes that so many ranks measure by default: the smallest one, from 64 on, at which all of them have slices, and
/// twice that.
std::vector<index_t> default_sizes(int ranks);

/// All functions are collective, and the same on every rank, but for the document, which rank 0 has.
class rank_measurements {
 public:
  /// @throws error on every rank: for options that are wrong, or if so many ranks can share nothing that was chosen
  rank_measurements(rank_measurement_options const& options, char const* command, distributed::mpi const& ranks);

  /// Measures the chosen operations at all sizes.
  /// @param traces  the folder for the trace of a size; null: none is written
  void run(std::function<std::filesystem::path(index_t)> const& traces);
  /// In the form of mbirk profile, with a block "ranks".
  nlohmann::json& document() noexcept { return document_; }
  /// Completes the log of --monitor, and prints what the system does not tell.
  void finish();

 private:
  /// Operations of one problem at one size.
  struct step_of_run {
    index_t n;
    sharing by;
    std::vector<rank_operation const*> operations;
  };

  void write_trace(rank_trace& trace, index_t n, std::filesystem::path const& folder);
  void choose(index_t n, sharing by, std::vector<rank_operation const*> operations);

  rank_measurement_options options_;
  distributed::mpi const& ranks_;
  neighbours_on_machine here_;
  memory_budget memory_;
  std::vector<step_of_run> steps_;
  nlohmann::json document_;
  instruments instruments_;
  std::optional<run_watch> watch_;
  std::optional<progress> bar_;
};

}  // namespace mbirk::program
