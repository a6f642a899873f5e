#include "ranks/rank_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "input/measured_times.hpp"
#include "machine/memory.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

std::string milliseconds(double t) { return fmt::format("{:.4g}", 1e3 * t); }
std::string range_text(measured_operation_time const& t) {
  if (!t.range || !t.disturbed.empty()) return "-";
  return milliseconds(t.range->low) + " to " + milliseconds(t.range->high);
}
/// The most that a rank has of something.
double most(json const& by_rank, char const* of) {
  double found = 0;
  for (auto const& rank : by_rank) found = std::max(found, rank.at(of).get<double>());
  return found;
}

constexpr char const* columns = "{:>7}  {:<25}{:>11}{:>19}{:>11}{:>10}{:>12}{:>8}{:>13}{:>12}{:>13}{:>12}\n";

void print_row(measured_operation_time const& t, json const& row) {
  auto const number = [&](json const& of, char const* key, char const* format) {
    return of.contains(key) && of[key].is_number() ? fmt::format(fmt::runtime(format), of[key].get<double>()) : "-";
  };
  auto const percent = [&](json const& of) {
    return of.contains("efficiency") && of["efficiency"].is_number()
               ? fmt::format("{:.0f}%", 100 * of["efficiency"].get<double>())
               : "-";
  };
  std::string one_rank = "-";
  if (row.contains("alone"))
    one_rank = row["alone"]["disturbed"] == true ? "disturbed" : milliseconds(row["alone"]["time"]);
  auto const& by_rank = row.at("by rank");
  show(columns, "", t.operation, t.disturbed.empty() ? milliseconds(t.median) : "disturbed", range_text(t), one_rank,
      number(row, "speed-up", "{:.2f}"), percent(row), percent(row.value("model", json::object())),
      fmt::format("{:.0f}%", 100 * row.at("share of messages").get<double>()), bytes_text(most(by_rank, "bytes")),
      bytes_text(most(by_rank, "peak bytes of temporaries")),
      row.value("difference", json()) == 0.0 ? "0" : number(row, "difference", "{:.1e}"));
}

}  // namespace

void print_rank_summary(json const& document) {
  std::string const here = "the measurements";
  auto const times = operation_times(json_field(document, here));
  auto const& environment = document.at("environment");
  auto const& ranks = document.at("ranks");
  show("{} {} of {} {}, {}, policy {}, mbirk {}\n", ranks.at("count").get<int>(),
      ranks.at("count") == 1 ? "rank" : "ranks", environment.at("threads").get<int>(),
      environment.at("threads") == 1 ? "thread" : "threads", environment.at("cpu").get<std::string>(),
      environment.at("backend").get<std::string>(), environment.at("mbirk_version").get<std::string>());
  if (ranks.contains("network"))
    show("a step of a message to all takes {:.2f} us; a rank sends {:.2f} GB/s\n",
         1e6 * ranks["network"]["latency"].get<double>(), 1e-9 * ranks["network"]["bytes per second"].get<double>());
  if (auto const first = disturbed_text(times); !first.empty()) show("{}\n", first);
  if (ranks.contains("operations"))
    for (auto const& size : document.at("volume_sizes")) {
      if (!ranks["operations"].contains(size.dump())) continue;
      auto const& rows = ranks["operations"][size.dump()];
      show("\n");
      show(columns, size.dump() + "^3", "operation", "median ms", "95 %", "one rank", "speed-up", "efficiency", "model",
          "in messages", "sent", "temporaries", "difference");
      for (auto const& t : times)
        if (t.size == size.get<index_t>() && rows.contains(t.operation)) print_row(t, rows[t.operation]);
    }
  show(
      "\nmedian: of the slowest rank, of iterations that of rank 0; one rank: rank 0 alone, with its threads;\n"
      "speed-up: its median over that of all;\n"
      "efficiency: speed-up over the number of ranks; model: the same as mbirk estimate predicts for this network;\n"
      "in messages: share of the traced call, waiting included, on average; sent, temporaries: of the rank with most;\n"
      "difference: largest one between both results over the largest value.\n");
  for (auto const& one : ranks.at("left out"))
    show("left out: {} at {}: {}\n", one["operation"].get<std::string>(), one["volume_size"].get<index_t>(),
        one["reason"].get<std::string>());
  for (auto const& e : document.at("errors"))
    show("failed: {} at {}: {}\n", e["operation"].get<std::string>(), e["volume_size"].get<index_t>(),
        e["error"].get<std::string>());
}

}  // namespace mbirk::program
