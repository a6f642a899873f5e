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
#include <span>

#include "commands/command.hpp"
#include "commands/command_files.hpp"
#include "commands/pin_option.hpp"
#include "commands/progress.hpp"
#include "commands/run_watch.hpp"
#include "commands/timed_calls.hpp"
#include "machine/ceilings.hpp"
#include "mbirk/exec/workspace.hpp"
#include "mbirk/io/output_file.hpp"
#include "operations/modelled_work.hpp"
#include "operations/overhead.hpp"
#include "operations/policy.hpp"
#include "operations/profile_problem.hpp"
#include "operations/vcd_iteration.hpp"
#include "process/streams.hpp"

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
  double budget = 0;  ///< seconds of all timed calls of a round; 0: the default
  pin_option pin;
  monitor_options monitor;
};

/// Problem size of a measurement: a cube, or the odd cell.
struct cell {
  std::string name;
  problem_shape shape;
};

/// Seconds of timed calls of a subject in a cell, on average.
constexpr double default_round_share = 0.2;
/// At least 9 calls below 5 ms, 5 below 3 s, 3 above.
constexpr std::size_t calls_needed(double seconds) { return seconds < 5e-3 ? 9 : seconds < 3 ? 5 : 3; }

/// Subject of a measurement: an operation of the table, or an iteration, which is not in the table.
struct subject {
  std::string name, geometry;
  /// Adds calls; false: there is no use in a further visit.
  std::function<bool(profile_problem const&, exec::host const&, run_watch&, instruments&, timed_calls&)> visit;
  std::function<modelled_work(profile_problem const&, problem_shape const&)> work;
};

subject subject_of(profile_entry const& entry) {
  return {entry.name, entry.geometry,
          [&entry](profile_problem const& problem, exec::host const& host, run_watch& watch, instruments& with,
                   timed_calls& calls) {
            auto x = problem.make_operands(*entry.op, entry.arguments);
            held_arrays held(watch.memory());
            held.add_operands(x);
            entry.op->execute(
                context{host, instrument::any{}}, problem.scan(), x,
                [&](std::function<call_cost()> const& call) { calls.add_batch(with, call, batch_of_a_round); });
            return true;
          },
          [&entry](profile_problem const&, problem_shape const& shape) { return work_of(entry, shape); }};
}
/// All iterations are those of one reconstruction: at least 3, and up to 9 in 4 seconds.
subject subject_of(vcd_iteration const& what) {
  return {what.name(), what.geometry,
          [what](profile_problem const& problem, exec::host const& host, run_watch& watch, instruments& with,
                 timed_calls& calls) {
            instrument::live_resource fresh(watch.memory(), std::pmr::new_delete_resource(), "workspace");
            std::size_t count = 0;
            auto const begins = [&] {
              with.counters.start();
              with.evidence.start();
            };
            time_iterations(what, problem, host.threads(), &fresh, begins, [&](double seconds) {
              calls.add_iteration(with, seconds);
              return ++count < 3 || (calls.spent() < 4 && count < 9);
            });
            return false;
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
  show("{}, {} threads, {} float lanes\n", cpu_name(), c.threads, simd::native_lanes);
  show("ceilings: {:.1f} G FMA/s;", 1e-9 * c.fma.best);
  for (auto const& level : c.levels) show(" {} {:.1f},", level.name, 1e-9 * level.read.best);
  show(" triad {:.1f} GB/s\n\n", 1e-9 * c.triad.best);
}

json row(subject const& what, cell const& where, timed_calls const& calls, modelled_work const& w, ceilings const& c) {
  auto const t = calls.result();
  json j{{"operation", what.name},
         {"cell", where.name},
         {"volume_size", where.shape.channels},
         {"run", 3},
         {"quartiles", {t.low_quartile, t.high_quartile}},
         {"items", w.items},
         {"flops", w.flops},
         {"bytes compulsory", w.bytes},
         {"gups", t.disturbed.empty() ? json(1e-9 * w.items / t.median) : json(nullptr)},
         {"fma seconds", w.fma_seconds(c)},
         {"memory seconds", w.memory_seconds(c)},
         {"roof", w.roof(c)}};
  if (w.minimal_flops > 0) j["flops minimal"] = w.minimal_flops;
  j.update(calls.to_json());
  if (auto hardware = calls.hardware(); !hardware.is_null()) j["hardware"] = std::move(hardware);
  return j;
}

constexpr char const* columns = "{:{}}  {:>11}  {:>9}  {:>18}  {:>9}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}\n";

void print_row(json const& j, std::size_t width) {
  double const t = j["time"];
  bool const disturbed = j["disturbed"];
  auto const number = [](json const& x) { return x.is_null() ? "-" : fmt::format("{:.2f}", x.get<double>()); };
  auto const percent = [&](double seconds) { return disturbed ? "-" : fmt::format("{:.1f}%", 100 * seconds / t); };
  auto const& range = j["interval"];
  double const useful = j.value("flops minimal", 0.0) / j["flops"].get<double>() * j["fma seconds"].get<double>();
  show(columns, j["operation"].get<std::string>(), width, j["cell"].get<std::string>(),
       disturbed ? "disturbed" : milliseconds(t),
       disturbed || range.is_null() ? "-" : milliseconds(range[0]) + " to " + milliseconds(range[1]),
       milliseconds(j["min"]),
       fmt::format("{:.0f}%", 100 * (j["quartiles"][1].get<double>() - j["quartiles"][0].get<double>()) / t),
       number(j["gups"]), useful > 0 && std::isfinite(useful) ? percent(useful) : "-", percent(j["fma seconds"]),
       percent(j["memory seconds"]), j.contains("scaling") ? number(j["scaling"]) : "-");
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
  show("{}, {} threads\n\n", cpu_name(), exec::host(o.threads).threads());
  auto rows = measure_overhead(o.overhead, o.sizes, matching_entries(o.ops), o.threads);
  auto const load_after = load_average();
  show(
      "\nCalls with and without the policy alternate. Times are medians; ratios are medians over the pairs, with\n"
      "quartiles, of wall-clock time and of processor time, which other processes disturb less. events: those of one\n"
      "traced call. load averages before and after: {}; {}\n",
      load_before, load_after);
  if (file) {
    file->write(document_of(o, "overhead", std::move(rows), load_before, load_after).dump(1) + '\n');
    file->commit();
  }
  return done;
}

/// A subject in a cell, with as many threads as asked for or, for the scaling, with one.
struct timed_subject {
  subject const* what;
  int threads;
};

/// Measures subjects of one geometry in a cell, in rounds over all of them.
/// @param share  seconds of each
std::vector<timed_calls> measure(std::vector<timed_subject> const& subjects, profile_problem const& problem,
                                 double share, double& budget, run_watch& watch, instruments& with,
                                 std::string const& cell_name) {
  instrument::live_resource fresh(watch.memory(), std::pmr::new_delete_resource(), "workspace");
  exec::workspace memory(&fresh);  // repeated calls then pay neither for fresh pages nor for announcing them
  std::vector<timed_calls> all(subjects.size(), timed_calls(0, calls_needed));
  budget += share * static_cast<double>(all.size());
  time_in_rounds(all, share, budget, [&](std::size_t k) {
    auto const& [what, threads] = subjects[k];
    watch.step(fmt::format("{} at {}", what->name, cell_name));
    [[maybe_unused]] auto const scope = instrument::live(watch.memory()).scope({what->name.c_str()});
    return what->visit(problem, exec::host(threads, &memory), watch, with, all[k]);
  });
  return all;
}

/// Ratio of the medians; null if one of them was disturbed.
json ratio(profile::measured_time const& over, profile::measured_time const& under) {
  bool const trusted = over.disturbed.empty() && under.disturbed.empty();
  return trusted ? json(over.median / under.median) : json(nullptr);
}

int bench(bench_options const& o) {
  require_host(o, "bench");
  require(o.cell.size() == 3,
          [&] { return fmt::format("--cell has {} numbers, expected VIEWS,ROWS,CHANNELS", o.cell.size()); });
  command_files files;
  files.writes(o.out);
  files.writes(o.monitor.file);
  files.check();
  std::optional<output_file> file;
  if (!o.out.empty()) file.emplace(o.out);  // open now, so that an unwritable file is reported before the work
  auto const pinned = o.pin.pin(o.threads);
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
  instruments with;
  auto const load_before = load_average();
  json rows = json::array();
  ceilings highest;
  // Works by cell and operation, which are the same in every round.
  std::map<std::pair<std::string, std::string>, modelled_work> works;
  auto const per_round = cells.size() * chosen.size();
  double const pairs = static_cast<double>(per_round * (o.scaling ? 2 : 1));
  double const share = o.budget > 0 ? o.budget / pairs : default_round_share;
  progress bar(static_cast<std::size_t>(o.rounds) * per_round, o.quiet);
  std::size_t done_steps = 0;
  for (int round = 1; round <= o.rounds; ++round) {
    // Measured in every round, because other load on the machine changes the ceilings by the minute.
    auto const roofs = measure_ceilings(plain);
    highest = higher(highest, roofs);
    bar.clear();
    if (o.rounds > 1) show("round {} of {}\n", round, o.rounds);
    print_ceilings(roofs);
    show(columns, "operation", width, "cell", "median ms", "95 %", "min ms", "spread", "GUPS", "useful", "FMA", "DRAM",
         "scaling");
    double budget = 0;
    for (auto const& where : cells)
      for (auto first = chosen.begin(); first != chosen.end();) {
        auto const last =
            std::find_if(first, chosen.end(), [&](subject const& s) { return s.geometry != first->geometry; });
        std::vector<timed_subject> subjects;
        for (auto const& what : std::span(first, last)) {
          if (too_small(what, where.shape)) continue;
          subjects.push_back({&what, o.threads});
          if (o.scaling) subjects.push_back({&what, 1});
        }
        if (subjects.empty()) break;  // only iterations, which are last, are too small
        bar.at(done_steps, fmt::format("{} to {} at {}", first->name, std::prev(last)->name, where.name));
        done_steps += static_cast<std::size_t>(last - first);
        profile_problem const problem(first->geometry, where.shape, o.threads, true);
        auto const all = measure(subjects, problem, share, budget, watch, with, where.name);
        bar.clear();
        for (std::size_t k = 0; k < subjects.size(); k += o.scaling ? 2 : 1) {
          auto const& what = *subjects[k].what;
          std::pair const key(where.name, what.name);
          if (!works.contains(key)) works[key] = what.work(problem, where.shape);
          rows.push_back(row(what, where, all[k], works[key], roofs));
          rows.back()["round"] = round;
          if (o.scaling) rows.back()["scaling"] = ratio(all[k + 1].result(), all[k].result());
          print_row(rows.back(), width);
        }
        first = last;
      }
    show("\n");
  }
  auto const load_after = load_average();
  auto const disturbed = std::count_if(rows.begin(), rows.end(), [](json const& r) { return r["disturbed"] == true; });
  if (disturbed)
    show(
        "{} of {} times were disturbed by other programs: measure again on a quiet machine, with --pin, or with "
        "a larger --budget\n",
        disturbed, rows.size());
  show(
      "95 %: interval of the median. spread: interquartile range / median. GUPS: giga-updates per second (1e9 items)\n"
      "at the median.\n"
      "useful, FMA: share of the median that the flops of the formulas, or of the kernels, would take at the FMA\n"
      "ceiling; DRAM: the same for the compulsory bytes at the ceiling of DRAM reads (caches can exceed it).\n"
      "scaling: time on one thread / time on {}.\n"
      "load averages before and after: {}; {}\n",
      highest.threads, load_before, load_after);
  print_notes(with, o.quiet);
  if (file) {
    auto document = document_of(o, "measurements", std::move(rows), load_before, load_after);
    describe(with, pinned, document["environment"]);
    document["ceilings"] = to_json(highest);
    file->write(document.dump(1) + '\n');
    file->commit();
    show("{}\n", o.out);
  }
  watch.finish();
  return done;
}

}  // namespace

void add_bench_command(CLI::App& app, chosen_command& chosen) {
  auto* const command =
      app.add_subcommand("bench", "Compare every operation with the ceilings (peak rates) of this machine");
  auto const o = std::make_shared<bench_options>();
  command->add_option("--sizes", o->sizes, "Sizes N: recon N^3, N/2 views")
      ->delimiter(',')->check(CLI::Range(2, 4096))->type_name("N,N,...")->capture_default_str();
  command->add_option("--cell", o->cell, "An additional problem with these extents")
      ->delimiter(',')->check(CLI::Range(1, 4096))->type_name("VIEWS,ROWS,CHANNELS")->capture_default_str();
  command->add_option("--ops", o->ops, "Shell pattern that selects operations by their names in mbirk profile")
      ->type_name("GLOB")
      ->capture_default_str();
  command
      ->add_option("--overhead", o->overhead,
                   "Measure the cost of instrumentation instead: tracing, nvtx, operations, unique, reuse (levels of "
                   "counting), model")
      ->delimiter(',')
      ->check(CLI::IsMember(overhead_policies))
      ->type_name("POLICY,...");
  command->add_flag("--scaling", o->scaling, "Also measure on one thread");
  command
      ->add_option("--rounds", o->rounds,
                   "Number of repetitions of everything, ceilings included; mbirk compare takes medians")
      ->check(CLI::Range(1, 1000))
      ->type_name("R")
      ->capture_default_str();
  command
      ->add_option("--budget", o->budget,
                   "Seconds of timed calls in a round, of all operations and cells together (default: 0.2 for each)")
      ->check(number_between(1e-3, 1e6))
      ->type_name("SECONDS");
  o->pin.add(*command);
  command->add_option("--out", o->out, "Also write a JSON file, which mbirk compare reads")->type_name("FILE");
  add_monitor_options(*command, o->monitor);
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return bench(*o); }; });
}

}  // namespace mbirk::program
