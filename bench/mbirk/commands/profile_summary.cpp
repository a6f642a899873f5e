#include "commands/profile_summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mbirk::program {
namespace {

using json = nlohmann::json;

/// Median of the timing-only runs, or of all runs if there are none. Negative if the operation was not measured.
double median_time(json const& report, std::string const& operation, json const& size) {
  for (int const least_run : {3, 1}) {
    std::vector<double> times;
    for (auto const& m : report["measurements"])
      if (m["operation"] == operation && m["volume_size"] == size && m["run"] >= least_run) times.push_back(m["time"]);
    if (times.empty()) continue;
    std::sort(times.begin(), times.end());
    return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  }
  return -1;
}

std::string time_text(double t) {
  if (t < 1e-3) return fmt::format("{:.1f} us", t * 1e6);
  return t < 1 ? fmt::format("{:.2f} ms", t * 1e3) : fmt::format("{:.3f} s", t);
}

}  // namespace

void print_summary(json const& report) {
  auto const& environment = report["environment"];
  fmt::print("{}, {} threads, {} float lanes, mbirk {}", environment["cpu"].get<std::string>(),
             environment["threads"].get<int>(), environment["vector_lanes"].get<int>(),
             environment["mbirk_version"].get<std::string>());
  if (std::string const backend = environment["backend"]; backend == "host") fmt::print("\n");
  else
    fmt::print("\ntimes of policy {} on {}; costs are those of the host's kernels\n", backend,
               environment["devices"][0].get<std::string>());
  for (auto const& size : report["volume_sizes"]) {
    auto const costs = report["cost_analysis"].value(size.dump(), json::object());  // may be missing in a merged run
    double total = 0;
    for (auto const& [name, cost] : costs.items()) total += std::max(0.0, median_time(report, name, size));
    if (costs.empty()) continue;
    fmt::print("\n{0:>4}^3  {1:<33}{2:>10}{3:>8}{4:>9}{5:>9}{6:>9}{7:>11}{8:>11}  {9}\n", size.get<long>(), "operation",
               "median", "share", "GUPS", "GFLOP/s", "GB/s", "flop/byte", "x minimal", "cost");
    std::vector<std::string> order;
    for (auto const& m : report["measurements"])
      if (std::string const name = m["operation"];
          costs.contains(name) && std::find(order.begin(), order.end(), name) == order.end())
        order.push_back(name);
    for (auto const& name : order) {
      auto const& cost = costs[name];
      double const t = median_time(report, name, size), rate = 1e-9 / t, flops = cost["flops"],
                   bytes = cost["bytes accessed"];
      double const minimal = cost.value("flops minimal", 0.0);
      fmt::print("{:8}{:<33}{:>10}{:>7.1f}%{:>9.2f}{:>9.1f}{:>9.1f}{:>11.2f}{:>11}  {}\n", "", name, time_text(t),
                 100 * t / total, cost["items"].get<double>() * rate, flops * rate, bytes * rate,
                 cost["arithmetic intensity"].get<double>(), minimal > 0 ? fmt::format("{:.2f}", flops / minimal) : "-",
                 cost["source"].get<std::string>());
    }
  }
  fmt::print(
      "\nGUPS: 1e9 items a second: voxel-view updates of projections, else samples, voxels or pixels. GB/s and "
      "flop/byte: loads\n"
      "and stores of all arrays but scratch, as the kernels issue them.\n"
      "x minimal: flops over the least that the formulas ask for; - where they ask for none.\n");
  if (report.contains("dropped_trace_events")) {
    std::string text;
    for (auto const& size : report["volume_sizes"])
      text += fmt::format("{}{} at {}", text.empty() ? "" : ", ",
                          report["dropped_trace_events"][size.dump()].get<std::uint64_t>(), size.dump());
    fmt::print("events that the traces lack, for which there was no room (--trace-events): {}\n", text);
  }
  for (auto const& e : report["errors"])
    fmt::print("failed: {} at {}: {}\n", e["operation"].get<std::string>(), e["volume_size"].get<long>(),
               e["error"].get<std::string>());
}

}  // namespace mbirk::program
