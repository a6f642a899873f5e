// mbirk profile: times, traces and counts every operation at several sizes, writes one JSON and prints a table.
#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "cost_json.hpp"
#include "graph_files.hpp"
#include "mbirk/exec/workspace.hpp"
#include "mbirk/io/output_file.hpp"
#include "policy.hpp"
#include "profile_problem.hpp"
#include "profile_summary.hpp"
#include "progress.hpp"
#include "trace_file.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

struct profile_options {
  common_options common;
  std::vector<index_t> sizes{32, 64, 128, 256};
  int runs = 3;
  std::string ops = "*";
  std::string out = "output";
};

// Larger sizes are modelled: an exact count of a cone projection takes seconds at 256 and grows with N^4. Reuse distances cost ten times more.
constexpr index_t largest_counted = 256, largest_reuse = 128;

/// One operation at one size: its data, and where it runs.
struct measured_operation {
  profile_entry const& entry;
  profile_problem const& problem;
  operands data;
  chosen_policy const& policy;

  void run(instrument::trace_buffer* trace, caller const& calls) { policy.run(*entry.op, problem.scan(), data, {.trace = trace}, calls); }
  template <class Instr> void run_on_host(Instr const& instr) { entry.op->run(context{policy.host(), instr}, problem.scan(), data); }
};

/// As many calls as fit into 50 ms, at least 1, at most 25: their median.
json repeated(std::function<call_cost()> const& call, transfer_counts& transfers) {
  std::vector<double> times;
  double total = 0;
  while (times.empty() || (total < 0.05 && times.size() < 25)) {
    auto const cost = call();
    total += times.emplace_back(cost.seconds);
    transfers = cost.transfers;
  }
  std::sort(times.begin(), times.end());
  return {{"time", times[times.size() / 2]}, {"traced", false}, {"calls", times.size()}, {"min", times.front()}, {"max", times.back()}};
}

/// Run 1 is the warm-up, run 2 is traced, every later run is timing only. The arrays are placed before the clock starts; the result is fetched after
/// it stops. Transfers are those of one call.
json measure(measured_operation& m, int run, instrument::trace_buffer& trace) {
  json one;
  transfer_counts t;
  m.run(run == 2 ? &trace : nullptr, [&](auto const& call) {
    if (run > 2) {
      one = repeated(call, t);
    } else {
      auto const cost = call();
      one = {{"time", cost.seconds}, {"traced", run == 2}}, t = cost.transfers;
      if (run == 1) one["warm_up"] = true;
    }
  });
  if (m.policy.has_blocks()) one.update({{"uploads", t.uploads}, {"bytes_up", t.bytes_up}, {"downloads", t.downloads}, {"bytes_down", t.bytes_down}});
  return one;
}

/// Exact counts of the host up to largest_counted, with reuse distances up to largest_reuse; above, the model on shapes alone.
json count(measured_operation& m, index_t n) {
  instrument::ledger records;
  bool const counted = n <= largest_counted;
  if (counted) m.run_on_host(counting{records, n <= largest_reuse});
  else records.add(model_operation(m.entry, problem_shape::cube(n)).record);
  auto const minimal = m.entry.op->minimal_flops(m.problem.scan(), m.data);
  auto cost = cost_json(records.last(), counted ? "counted" : "model", minimal, m.policy.host().threads());
  if (m.policy.has_blocks()) cost["policy"] = "host";  // whose kernels were counted
  return cost;
}

std::string timestamp() {
  auto const now = std::chrono::system_clock::now();
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y%m%d_%H%M%S}_{:03}", fmt::localtime(std::chrono::system_clock::to_time_t(now)), ms);
}

int run_profile(profile_options const& options) {
  chosen_policy const policy(options.common);
  auto const chosen = matching_entries(options.ops);
  namespace fs = std::filesystem;
  fs::path const out = options.out;
  std::error_code code;
  fs::create_directories(out, code);
  require<io_error>(!code && fs::is_directory(out), [&] { return options.out + ": cannot be made as a folder: " + (code ? code.message() : "it is a file"); });
  auto const when = timestamp();
  fs::path const file = out / ("mbirk_profile_" + when + ".json");
  output_file result(file);  // now, so that an unwritable folder is noticed before the work

  json report{{"timestamp", when}, {"volume_sizes", options.sizes}, {"runs_per_size", options.runs}, {"environment", policy.environment()},
              {"measurements", json::array()}, {"cost_analysis", json::object()}, {"errors", json::array()}};
  auto const folder_of = [&](char const* kind, std::string const& below = {}) {  // made when something is written there
    auto const folder = out / kind / when / below;
    std::error_code failed;
    fs::create_directories(folder, failed);
    require<io_error>(!failed, [&] { return folder.string() + ": cannot be made: " + failed.message(); });
    return folder;
  };
  progress bar(options.sizes.size() * chosen.size(), options.common.quiet);
  std::size_t done_steps = 0;
  for (auto const n : options.sizes) {
    instrument::trace_buffer trace(1 << 16);
    exec::workspace memory;  // so that repeated calls do not pay for fresh pages
    chosen_policy here = policy;
    here.set_host_memory(&memory);
    auto& costs = report["cost_analysis"][std::to_string(n)] = json::object();
    std::unique_ptr<profile_problem> problem;
    std::string made_for;
    for (auto const* entry : chosen) {
      auto const& [name, geometry, op, arguments] = *entry;
      bar.at(done_steps++, fmt::format("{} at {}", name, n));
      try {
        if (made_for != geometry) problem = std::make_unique<profile_problem>(geometry, n, options.common.threads, true), made_for = geometry;
        measured_operation m{*entry, *problem, problem->make_operands(*op, arguments), here};
        for (int run = 1; run <= options.runs; ++run) {
          auto const begin = trace.now();
          json one = measure(m, run, trace);
          if (run == 2) write_heaps(folder_of("memory"), fmt::format("{}_v{}", name, n), trace, begin, trace.now());
          one["operation"] = name, one["volume_size"] = n, one["run"] = run;
          report["measurements"].push_back(one);
        }
        costs[name] = count(m, n);
        if (auto graphs = write_graphs(folder_of("graphs"), *entry, *problem, n); !graphs.is_null()) report["graphs"][std::to_string(n)][name] = std::move(graphs);
      } catch (std::exception const& e) {
        report["errors"].push_back({{"operation", name}, {"volume_size", n}, {"error", e.what()}});
      }
    }
    if (options.runs >= 2) {
      write_trace(folder_of("traces", "vol" + std::to_string(n)) / "trace.perfetto.json.gz", trace);
      report["dropped_trace_events"][std::to_string(n)] = trace.dropped();
    }
  }
  bar.clear();
  result.write(report.dump(1) + "\n");
  result.commit();
  print_summary(report);
  fmt::print("\n{}\n", file.string());
  return report["errors"].empty() ? done : check_failed;
}

}  // namespace

void add_profile_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("profile", "Times, traces and counts every operation at several sizes");
  auto const options = std::make_shared<profile_options>();
  add_common_options(*command, options->common);
  command->add_option("--sizes", options->sizes, "Sizes N: recon N^3, N/2 views")
      ->delimiter(',')->check(CLI::Range(2, 4096))->type_name("N,N,...")->capture_default_str();
  command->add_option("--runs", options->runs, "Runs: 1 warm-up, 2 traced, later ones timing only")
      ->check(CLI::Range(1, 1000))->type_name("N")->capture_default_str();
  command->add_option("--ops", options->ops, "Which operations, as a shell pattern")->type_name("GLOB")->capture_default_str();
  command->add_option("--out", options->out, "Output folder")->type_name("DIR")->capture_default_str();
  command->callback([options, &chosen] { chosen = [options] { return run_profile(*options); }; });
}

}  // namespace mbirk::program
