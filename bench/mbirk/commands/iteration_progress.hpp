// Progress of an iterative reconstruction, with the time that it may still take.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "commands/progress.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// "12 s", "3 min", "1.5 h"
inline std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Progress of the iterations, with an upper bound of the remaining time.
class iteration_progress {
  using clock = std::chrono::steady_clock;

 public:
  iteration_progress(int total, int done, bool quiet)
      : bar_(static_cast<std::size_t>(std::max(total, 0)), quiet), first_(done) {
    bar_.at(static_cast<std::size_t>(done), "first image");
  }
  void done(iteration_report const& r) {
    double const elapsed = std::chrono::duration<double>(clock::now() - start_).count();
    double const left = elapsed / (r.iteration - first_) * (r.iterations - r.iteration);
    auto const next = r.iteration < r.iterations
                          ? fmt::format("iteration {} (at most {} left)", r.iteration + 1, duration_text(left))
                          : std::string("writing");
    bar_.at(static_cast<std::size_t>(r.iteration), fmt::format("{}, change was {:.3g} %", next, 100 * r.change));
  }
  void clear() { bar_.clear(); }

 private:
  progress bar_;
  int first_;
  clock::time_point start_ = clock::now();
};

}  // namespace mbirk::program
