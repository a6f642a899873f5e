#include "commands/profile_summary.hpp"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "input/measured_times.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

std::string time_text(double t) {
  if (t < 1e-3) return fmt::format("{:.1f} us", t * 1e6);
  return t < 1 ? fmt::format("{:.2f} ms", t * 1e3) : fmt::format("{:.3f} s", t);
}
std::string range_text(measured_operation_time const& t) {
  if (!t.range || !t.disturbed.empty()) return "-";
  return fmt::format("[{}, {}]", time_text(t.range->low), time_text(t.range->high));
}

}  // namespace

void print_summary(json const& report) {
  std::string const here = "the report";
  json_field const root(report, here);
  auto const times = operation_times(root);
  if (auto const first = disturbed_text(times); !first.empty()) say("{}\n", first);
  if (auto const wrong = growth_text(impossible_growths(times, root)); !wrong.empty()) say("{}\n", wrong);
  auto const& environment = report["environment"];
  say("{}, {} threads, {} float lanes, mbirk {}", environment["cpu"].get<std::string>(),
      environment["threads"].get<int>(), environment["vector_lanes"].get<int>(),
      environment["mbirk_version"].get<std::string>());
  if (std::string const backend = environment["backend"]; backend == "host") say("\n");
  else
    say("\ntimes of policy {} on {}; costs are those of the host's kernels\n", backend,
        environment["devices"][0].get<std::string>());
  for (auto const& size : report["volume_sizes"]) {
    auto const costs = report["cost_analysis"].value(size.dump(), json::object());  // may be missing in a merged run
    if (costs.empty()) continue;
    std::vector<measured_operation_time const*> rows;
    double total = 0;
    for (auto const& t : times) {
      if (t.size != size.get<index_t>()) continue;
      rows.push_back(&t);
      total += t.disturbed.empty() ? t.median : t.least;  // the fastest call is the least disturbed one
    }
    say("\n{0:>4}^3  {1:<33}{2:>10}{3:>10}{4:>24}{5:>8}{6:>9}{7:>9}{8:>9}{9:>11}{10:>11}  {11}\n",
               size.get<long>(), "operation", "min", "median", "[95 %]", "share", "GUPS", "GFLOP/s", "GB/s",
               "issued f/B", "x minimal", "cost");
    for (auto const* t : rows) {
      bool const trusted = t->disturbed.empty();
      auto const share = trusted ? fmt::format("{:.1f}%", 100 * t->median / total) : "-";
      auto const median = trusted ? time_text(t->median) : "disturbed";
      if (!costs.contains(t->operation)) {
        say("{:8}{:<33}{:>10}{:>10}{:>24}{:>8}\n", "", t->operation, time_text(t->least), median, range_text(*t),
            share);
        continue;
      }
      auto const& cost = costs[t->operation];
      double const rate = 1e-9 / t->median, flops = cost["flops"], bytes = cost["bytes accessed"],
                   minimal = cost.value("flops minimal", 0.0);
      auto const if_trusted = [&](double x, int digits) { return trusted ? fmt::format("{:.{}f}", x, digits) : "-"; };
      say("{:8}{:<33}{:>10}{:>10}{:>24}{:>8}{:>9}{:>9}{:>9}{:>11.2f}{:>11}  {}\n", "", t->operation,
          time_text(t->least), median, range_text(*t), share,
          if_trusted(cost["items"].get<double>() * rate, 2), if_trusted(flops * rate, 1), if_trusted(bytes * rate, 1),
          cost["arithmetic intensity"].get<double>(), minimal > 0 ? fmt::format("{:.2f}", flops / minimal) : "-",
          cost["source"].get<std::string>());
    }
  }
  say(
      "\nmin, median: over the calls that no other program disturbed; [95 %]: interval of the median, - below 6 calls\n"
      "GUPS: giga-updates (1e9 items) per second: voxel-view updates of projections, otherwise samples, voxels or "
      "pixels. GB/s and\n"
      "issued f/B: loads and stores of all arrays except scratch, as the kernels issue them, and flops per byte of "
      "them.\n"
      "x minimal: flops / minimal flops of the formulas; - if these need none.\n");
  if (report.contains("dropped_trace_events")) {
    std::string text;
    for (auto const& size : report["volume_sizes"])
      text += fmt::format("{}{} at {}", text.empty() ? "" : ", ",
                          report["dropped_trace_events"][size.dump()].get<std::uint64_t>(), size.dump());
    say("events that did not fit into the traces (--trace-events): {}\n", text);
  }
  auto const left_out = left_out_texts(root);
  if (!left_out.empty())
    say("left out, because it was predicted to take too long (sizes given by --sizes are measured completely):\n");
  for (auto const& text : left_out) say("  {}\n", text);
  for (auto const& e : report["errors"])
    say("failed: {} at {}: {}\n", e["operation"].get<std::string>(), e["volume_size"].get<long>(),
        e["error"].get<std::string>());
}

}  // namespace mbirk::program
