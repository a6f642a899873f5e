// Counts of operations by `mbirk profile`, which counts those that do the same only once.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands/left_out.hpp"
#include "commands/profile_measure.hpp"
#include "commands/run_watch.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::program {

/// Counts of the operations of one geometry and size.
class shared_counts {
 public:
  shared_counts(affordable_work& affordable, run_watch& watch) : affordable_(affordable), watch_(watch) {}

  void clear() { known_.clear(); }
  /// Counts an operation, unless another one that does the same has been counted. Null if that would take too long.
  std::shared_ptr<operation_counts const> of(measured_operation& m, index_t n) {
    auto const& entry = m.entry;
    auto& known = known_[entry.op->body + ' ' + nlohmann::json(m.data.arguments).dump()];
    if (known.counts) {
      affordable_.counted(entry.name, n, known.with_reuse, known.seconds);
      return known.counts;
    }
    bool const reuse = counts_reuse(n) && affordable_.reuse(entry.name, n);
    if (!reuse && !affordable_.counts(entry.name, n)) return nullptr;
    watch_.step(fmt::format("{} at {}, counting", entry.name, n));
    known.with_reuse = reuse;
    known.seconds = profile::seconds_of([&] { known.counts = std::make_shared<operation_counts const>(m, n, reuse); });
    affordable_.counted(entry.name, n, reuse, known.seconds);
    return known.counts;
  }

 private:
  struct counted_once {
    std::shared_ptr<operation_counts const> counts;
    bool with_reuse = false;
    double seconds = 0;
  };

  affordable_work& affordable_;
  run_watch& watch_;
  std::map<std::string, counted_once> known_;  ///< by what is counted
};

}  // namespace mbirk::program
