// mbirk bench: compares every operation with the limits of this machine, measured in the same run.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/command.hpp"
#include "commands/progress.hpp"
#include "commands/run_watch.hpp"
#include "machine/ceilings.hpp"
#include "mbirk/exec/workspace.hpp"
#include "mbirk/io/output_file.hpp"
#include "operations/modelled_work.hpp"
#include "operations/overhead.hpp"
#include "operations/policy.hpp"
#include "operations/profile_problem.hpp"
#include "operations/vcd_iteration.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

struct bench_options : common_options {
  std::vector<index_t> sizes{64, 128, 256};
  // 513 x 449 x 385 scaled down: no axis is a multiple of any pack size.
  std::vector<index_t> cell{171, 149, 129};
  std::string ops = "*", out;
  std::vector<std::string> overhead;
  bool scaling = false;
  int rounds = 1;
  monitor_options monitor;
};

/// Problem size of a measurement: a cube, or the odd cell.
struct cell {
  std::string name;
  problem_shape shape;
};

/// Median, minimum and quartiles of the times of one call.
struct timing {
  double median = 0, least = 0, low = 0, high = 0;
  std::size_t calls = 0;
};

timing quantiles(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto const at = [&](double q) {
    return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1) + 0.5)];
  };
  return {at(0.5), times.front(), at(0.25), at(0.75), times.size()};
}

/// Times calls after one warm-up call: at least 9 if they take less than 5 ms, otherwise at least 5, and more while
/// they are short; 3 if a call takes longer than 3 s.
timing measure(operation const& op, any_context const& ctx, any_scan const& scan, operands& x) {
  std::vector<double> times;
  op.execute(ctx, scan, x, [&](std::function<call_cost()> const& call) {
    double const first = call().seconds;
    std::size_t const least = first < 5e-3 ? 9 : first < 3 ? 5 : 3;
    for (double total = 0; times.size() < least || (total < 0.2 && times.size() < 200);)
      total += times.emplace_back(call().seconds);
  });
  return quantiles(std::move(times));
}

/// Subject of a measurement: an operation of the table, or an iteration, which is not in the table.
struct subject {
  std::string name, geometry;
  std::function<timing(profile_problem const&, int threads, run_watch& watch)> time;
  std::function<modelled_work(profile_problem const&, problem_shape const&)> work;
};

subject subject_of(profile_entry const& entry) {
  return {entry.name, entry.geometry,
          [&entry](profile_problem const& problem, int threads, run_watch& watch) {
            instrument::live_resource fresh(watch.memory(), std::pmr::new_delete_resource(), "workspace");
            // Repeated calls then pay neither for fresh pages nor for announcing them.
            exec::workspace memory(&fresh);
            auto x = problem.make_operands(*entry.op, entry.arguments);
            held_arrays held(watch.memory());
            held.add_operands(x);
            return measure(*entry.op, context{exec::host(threads, &memory), instrument::any{}}, problem.scan(), x);
          },
          [&entry](profile_problem const&, problem_shape const& shape) { return work_of(entry, shape); }};
}
subject subject_of(vcd_iteration const& what) {
  return {what.name(), what.geometry, [what](profile_problem const& problem, int threads, run_watch& watch) {
            instrument::live_resource fresh(watch.memory(), std::pmr::new_delete_resource(), "workspace");
            return quantiles(time_iterations(what, problem, threads, &fresh));
          },
          [what](profile_problem const& problem, problem_shape const&) { return work_of(what, problem); }};
}

/// Subjects whose names match, in the order of the table.
std::vector<subject> matching_subjects(std::string const& glob) {
  std::vector<subject> chosen, iterations;
  for (auto const& geometry : geometries::names())
    if (vcd_iteration const what{geometry}; matches(glob, what.name())) iterations.push_back(subject_of(what));
  if (iterations.empty() || std::any_of(profile_entries().begin(), profile_entries().end(),
                                        [&](auto const& entry) { return matches(glob, entry.name); }))
    for (auto const* entry : matching_entries(glob)) chosen.push_back(subject_of(*entry));
  chosen.insert(chosen.end(), iterations.begin(), iterations.end());
  return chosen;
}
/// 128 subsets of few pixels are not representative of an iteration.
bool too_small(subject const& s, problem_shape const& shape) {
  return s.name.ends_with("_vcd_iteration") && shape.channels * shape.channels < 128 * 16;
}

std::string milliseconds(double t) { return fmt::format("{:.4g}", 1e3 * t); }

void print_ceilings(ceilings const& c) {
  fmt::print("{}, {} threads, {} float lanes\n", cpu_name(), c.threads, simd::native_lanes);
  fmt::print("ceilings: {:.1f} G FMA/s;", 1e-9 * c.fma.best);
  for (auto const& level : c.levels) fmt::print(" {} {:.1f},", level.name, 1e-9 * level.read.best);
  fmt::print(" triad {:.1f} GB/s\n\n", 1e-9 * c.triad.best);
}

json row(subject const& what, cell const& where, timing const& t, modelled_work const& w, ceilings const& c) {
  json j{{"operation", what.name},
         {"cell", where.name},
         {"volume_size", where.shape.channels},
         {"run", 3},
         {"traced", false},
         {"time", t.median},
         {"min", t.least},
         {"quartiles", {t.low, t.high}},
         {"calls", t.calls},
         {"items", w.items},
         {"flops", w.flops},
         {"bytes compulsory", w.bytes},
         {"gups", 1e-9 * w.items / t.median},
         {"fma seconds", w.fma_seconds(c)},
         {"memory seconds", w.memory_seconds(c)},
         {"roof", w.roof(c)}};
  if (w.minimal_flops > 0) j["flops minimal"] = w.minimal_flops;
  return j;
}

constexpr char const* columns = "{:{}}  {:>11}  {:>9}  {:>9}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}\n";

void print_row(json const& j, std::size_t width) {
  double const t = j["time"];
  auto const percent = [&](double seconds) { return fmt::format("{:.1f}%", 100 * seconds / t); };
  double const useful = j.value("flops minimal", 0.0) / j["flops"].get<double>() * j["fma seconds"].get<double>();
  fmt::print(columns, j["operation"].get<std::string>(), width, j["cell"].get<std::string>(), milliseconds(t),
             milliseconds(j["min"]),
             fmt::format("{:.0f}%", 100 * (j["quartiles"][1].get<double>() - j["quartiles"][0].get<double>()) / t),
             fmt::format("{:.2f}", j["gups"].get<double>()),
             useful > 0 && std::isfinite(useful) ? percent(useful) : "-", percent(j["fma seconds"]),
             percent(j["memory seconds"]),
             j.contains("scaling") ? fmt::format("{:.2f}", j["scaling"].get<double>()) : "-");
  std::fflush(stdout);
}

json document_of(bench_options const& o, char const* what, json rows, std::string const& load_before,
                 std::string const& load_after) {
  json environment = chosen_policy(o).environment();
  environment["load before"] = load_before;
  environment["load after"] = load_after;
  auto const now = fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  return {
      {"timestamp", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now)}, {"environment", environment}, {what, std::move(rows)}};
}

/// Measures the cost of instrumentation.
int overhead(bench_options const& o, std::optional<output_file>& file) {
  auto const load_before = load_average();
  fmt::print("{}, {} threads\n\n", cpu_name(), exec::host(o.threads).threads());
  auto rows = measure_overhead(o.overhead, o.sizes, matching_entries(o.ops), o.threads);
  auto const load_after = load_average();
  fmt::print(
      "\nMedians of the times of calls that alternate; of the ratios of the pairs, with their quartiles, by the clock "
      "and by the time of all processors,\n"
      "which other processes disturb less. events: of one traced call. load averages before and after: {}; {}\n",
      load_before, load_after);
  if (file) {
    file->write(document_of(o, "overhead", std::move(rows), load_before, load_after).dump(1) + '\n');
    file->commit();
  }
  return done;
}

int bench(bench_options const& o) {
  require_host(o, "bench");
  require(o.cell.size() == 3,
          [&] { return fmt::format("--cell has {} numbers, expected VIEWS,ROWS,CHANNELS", o.cell.size()); });
  std::optional<output_file> file;
  if (!o.out.empty()) file.emplace(o.out);  // open now, so that an unwritable file is reported before the work
  if (!o.overhead.empty()) return overhead(o, file);
  auto const chosen = matching_subjects(o.ops);
  std::size_t width = 9;
  for (auto const& what : chosen) width = std::max(width, what.name.size());

  std::vector<cell> cells;
  for (auto const n : o.sizes) cells.push_back({fmt::format("{}^3", n), problem_shape::cube(n)});
  cells.push_back({fmt::format("{}x{}x{}", o.cell[0], o.cell[1], o.cell[2]), {o.cell[0], o.cell[1], o.cell[2]}});

  run_watch watch("bench", o.monitor, o.quiet);
  watch.step("ceilings");
  exec::host const plain(o.threads);
  auto const load_before = load_average();
  json rows = json::array();
  ceilings highest;
  // Works by cell and operation, which are the same in every round.
  std::map<std::pair<std::string, std::string>, modelled_work> works;
  progress bar(static_cast<std::size_t>(o.rounds) * cells.size() * chosen.size(), o.quiet);
  std::size_t done_steps = 0;
  for (int round = 1; round <= o.rounds; ++round) {
    // Measured in every round, because other load on the machine changes the ceilings by the minute.
    auto const roofs = measure_ceilings(plain);
    highest = higher(highest, roofs);
    bar.clear();
    if (o.rounds > 1) fmt::print("round {} of {}\n", round, o.rounds);
    print_ceilings(roofs);
    fmt::print(columns, "operation", width, "cell", "median ms", "min ms", "spread", "GUPS", "useful", "FMA", "DRAM",
               "scaling");
    for (auto const& where : cells) {
      std::unique_ptr<profile_problem> problem;
      std::string made_for;
      for (auto const& what : chosen) {
        bar.at(done_steps++, fmt::format("{} at {}", what.name, where.name));
        if (too_small(what, where.shape)) continue;
        watch.step(fmt::format("{} at {}", what.name, where.name));
        [[maybe_unused]] auto const scope = instrument::live(watch.memory()).scope({what.name.c_str()});
        if (made_for != what.geometry) {
          problem = std::make_unique<profile_problem>(what.geometry, where.shape, o.threads, true);
          made_for = what.geometry;
        }
        auto const t = what.time(*problem, o.threads, watch);
        std::pair const key(where.name, what.name);
        if (!works.contains(key)) works[key] = what.work(*problem, where.shape);
        rows.push_back(row(what, where, t, works[key], roofs));
        rows.back()["round"] = round;
        if (o.scaling) rows.back()["scaling"] = what.time(*problem, 1, watch).median / t.median;
        bar.clear();
        print_row(rows.back(), width);
      }
    }
    fmt::print("\n");
  }
  auto const load_after = load_average();
  fmt::print(
      "spread: between the quartiles, of the median. GUPS: 1e9 items a second, by the median. useful, FMA: the time "
      "that the flops which the formulas\n"
      "ask for, and those that the kernels do, would take at the FMA ceiling; DRAM: that of the compulsory bytes at "
      "its reading ceiling (caches beat it).\n"
      "scaling: the time by one thread over that by {}.\nload averages before and after: {}; {}\n",
      highest.threads, load_before, load_after);
  if (file) {
    auto document = document_of(o, "measurements", std::move(rows), load_before, load_after);
    document["ceilings"] = to_json(highest);
    file->write(document.dump(1) + '\n');
    file->commit();
    fmt::print("{}\n", o.out);
  }
  watch.finish();
  return done;
}

}  // namespace

void add_bench_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("bench", "Measure every operation against the ceilings of this machine");
  auto const o = std::make_shared<bench_options>();
  command->add_option("--sizes", o->sizes, "Sizes N: recon N^3, N/2 views")
      ->delimiter(',')->check(CLI::Range(2, 4096))->type_name("N,N,...")->capture_default_str();
  command->add_option("--cell", o->cell, "One more cell, of odd extents")
      ->delimiter(',')->check(CLI::Range(1, 4096))->type_name("VIEWS,ROWS,CHANNELS")->capture_default_str();
  command->add_option("--ops", o->ops, "Which operations, as a shell pattern of the names of mbirk profile")
      ->type_name("GLOB")
      ->capture_default_str();
  command
      ->add_option("--overhead", o->overhead,
                   "Measure what instrumentation costs instead: tracing, nvtx, operations, unique, reuse (levels of "
                   "counting), model")
      ->delimiter(',')
      ->check(CLI::IsMember(overhead_policies))
      ->type_name("POLICY,...");
  command->add_flag("--scaling", o->scaling, "Measure by one thread too");
  command->add_option("--rounds", o->rounds, "Do all of it so often, ceilings too; mbirk compare takes medians")
      ->check(CLI::Range(1, 1000))->type_name("R")->capture_default_str();
  command->add_option("--out", o->out, "Write a JSON file too; mbirk compare reads it")->type_name("FILE");
  add_monitor_options(*command, o->monitor);
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return bench(*o); }; });
}

}  // namespace mbirk::program
