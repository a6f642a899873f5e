// `mbirk profile` leaves out, at its default sizes, the work that is predicted to take too long, and lists it.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands/work_forecast.hpp"

namespace mbirk::program {

/// Asks the forecast before every part of the work on an operation, and lists what was refused.
class affordable_work {
 public:
  /// Seconds that a profile with the default sizes takes for all measurements that grow with the size.
  static constexpr double default_seconds = 240;
  /// Sizes up to this are measured completely, because whole reconstructions are compared there.
  static constexpr index_t complete_size = 64;
  /// Calls of an operation at a size: a warm-up, a traced and at least one timed.
  static constexpr double calls = 3;
  /// Counts may take half as long as calls, because they are exact at smaller sizes too.
  static constexpr double price_of_counts = 2;
  /// Counting takes so many times as long with reuse distances as without.
  static constexpr double price_of_reuse = 8;

  explicit affordable_work(bool everything) {
    if (!everything) forecast_ = work_forecast(default_seconds);
  }

  /// Whether the data of a geometry may be made at a size; if not, none of its operations is measured.
  bool problem(std::string const& geometry, index_t n);
  /// Whether an operation may be called at a size.
  bool times(std::string const& operation, index_t n);
  /// Whether it may be counted with reuse distances, and without.
  bool reuse(std::string const& operation, index_t n);
  bool counts(std::string const& operation, index_t n);
  /// Whether the cost of so many of its iterations may be modelled.
  bool iterations(std::string const& operation, index_t n, int many);

  /// These record the seconds that a part took.
  void made(std::string const& geometry, index_t n, double seconds) { forecast_.add("data " + geometry, n, seconds); }
  void called(std::string const& operation, index_t n, double seconds) {
    forecast_.add("call " + operation, n, seconds);
  }
  void counted(std::string const& operation, index_t n, bool with_reuse, double seconds) {
    forecast_.add((with_reuse ? "reuse " : "counts ") + operation, n, seconds);
  }

  /// [{"operation", "volume_size", "part", "predicted seconds", "limit seconds"}]. Seconds of "times" are of one call.
  /// The part "operations" stands for all operations of a geometry, "general_*".
  nlohmann::json const& left_out() const noexcept { return left_out_; }

 private:
  std::optional<double> plain_seconds(std::string const& operation, index_t n) const;
  bool granted(char const* part, std::string const& operation, index_t n, std::optional<double> seconds,
               double times = 1);

  work_forecast forecast_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  nlohmann::json left_out_ = nlohmann::json::array();
};

}  // namespace mbirk::program
