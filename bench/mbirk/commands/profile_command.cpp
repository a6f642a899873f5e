// mbirk profile: times, traces and counts every operation at several sizes, writes one JSON with its accompanying
// files, and prints a table.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "commands/command.hpp"
#include "commands/left_out.hpp"
#include "commands/profile_folders.hpp"
#include "commands/profile_measure.hpp"
#include "commands/profile_options.hpp"
#include "commands/profile_reconstruction.hpp"
#include "commands/profile_summary.hpp"
#include "commands/progress.hpp"
#include "commands/run_watch.hpp"
#include "commands/shared_counts.hpp"
#include "commands/timed_calls.hpp"
#include "fpga/hls_export.hpp"
#include "input/measured_times.hpp"
#include "machine/ceilings.hpp"
#include "mbirk/exec/workspace.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/timing.hpp"
#include "operations/policy.hpp"
#include "operations/staged.hpp"
#include "output/graph_files.hpp"
#include "output/index_page.hpp"
#include "output/json_object.hpp"
#include "output/table_files.hpp"
#include "output/trace_excerpt.hpp"
#include "output/trace_file.hpp"
#include "output/xplane_file.hpp"
#include "process/streams.hpp"
#include "report/html_report.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t hand_off_folders = 3;
/// Seconds of timed calls for an operation at a size, on average.
constexpr double default_share = 0.05;
/// A run that takes longer measures the peak rates twice.
constexpr double seconds_of_the_same_roofs = 10;

/// One run of the command. All errors in the input are reported by the constructor.
class profile_run {
 public:
  explicit profile_run(profile_options const& options)
      : options_((options.check(), options)),
        settings_(options.judged.settings()),
        words_{{}, options.words_from.empty() ? std::nullopt : std::optional(read_sinogram_sample(options.words_from))},
        pinned_(options.pin.pin(options.common.threads)),
        policy_(options.common),
        chosen_((policy_.check({.profiler_range = options.profiler_range}), matching_entries(options.ops))),
        out_(made_folder(options.out)),
        when_(timestamp()),
        file_(checked_result(out_ / ("mbirk_profile_" + when_ + ".json"), options)),
        result_(file_),
        watch_("profile", options.monitor, options.common.quiet),
        bar_(options.sizes.size() * chosen_.size(), options.common.quiet),
        affordable_(options.all_of_each_size()) {
    report_ = {{"timestamp", when_},
               {"volume_sizes", options_.sizes},
               {"runs_per_size", options_.runs},
               {"environment", policy_.environment()},
               {"measurements", json::array()},
               {"cost_analysis", json::object()},
               {"errors", json::array()},
               {"hand_off", json::array()}};
    auto& environment = report_["environment"];
    environment["load before"] = load_average();
    describe(instruments_, pinned_, environment);
    if (auto const* device = policy_.device())
      instruments_.counters.add_meter("device", [library = std::make_shared<nvml>(), name = device->device] {
        return library->joules(name);
      });
    environment["device memory requests"] = devices_of_this_program().emulated
                                                ? "counted up to size 32"
                                                : "not counted: mbirk-devices is not built (./mbirk.sh build devices)";
  }

  int run() {
    raise_roofs();
    auto const seconds = profile::seconds_of([&] {
      for (auto const n : options_.sizes) run_size(n);
    });
    if (seconds > seconds_of_the_same_roofs) raise_roofs();
    report_["ceilings"] = to_json(roofs_);
    report_["left_out"] = affordable_.left_out();
    report_["environment"]["load after"] = load_average();
    judge();
    bar_.clear();
    result_.write(report_.dump(1) + "\n");
    result_.commit();
    watch_.finish();
    if constexpr (with_tables)
      if (!options_.no_tables) write_tables(folder("tables"), report_);
    auto const page = out_ / ("report_" + when_ + ".html");
    write_html_report(report_, file_, page);
    write_index(out_);
    print_summary(report_);
    print_staged(report_);
    if (report_.contains("candidates")) print_candidates(report_["candidates"]);
    if (report_.contains("cupti_unavailable") && !options_.common.quiet)
      note("kernel times come from CUDA events, because CUPTI cannot be used: {}",
           report_["cupti_unavailable"].get<std::string>());
    print_notes(instruments_, options_.common.quiet);
    say("\n{}\n{}\n", file_.string(), page.string());
    return report_["errors"].empty() ? done : check_failed;
  }

 private:
  /// An operation between its first runs and the later ones.
  struct begun_operation {
    profile_entry const* entry;
    double warm_up;
    std::optional<instrument::operation_record> counts = {};
    timed_calls calls = timed_calls();  ///< of all later runs
  };
  /// Data for the files of one size, collected until all of its operations have run.
  struct size_results {
    device_trace trace;
    profile::chrome_options about;
    std::vector<profile::program> programs = {};
  };

  /// The chosen operations by geometry, because those of one geometry share a problem.
  std::vector<std::vector<profile_entry const*>> by_geometry() const {
    std::vector<std::vector<profile_entry const*>> groups;
    for (auto const* entry : chosen_) {
      auto const same = std::ranges::find_if(
          groups, [&](auto const& group) { return group.front()->geometry == entry->geometry; });
      if (same == groups.end()) groups.push_back({entry});
      else same->push_back(entry);
    }
    return groups;
  }

  /// The folder for files of a kind, created on first use.
  fs::path folder(char const* kind, std::string const& below = {}) const {
    auto path = out_ / kind / when_;
    // libstdc++ 12 crashes if it appends to a path that ends in a slash and has no memory for it.
    if (!below.empty()) path /= below;
    std::error_code failed;
    fs::create_directories(path, failed);
    require<io_error>(!failed, [&] { return path.string() + ": cannot be created: " + failed.message(); });
    return path;
  }
  /// Called before and after long measurements, because other processes may disturb a measurement of the peak rates.
  void raise_roofs() {
    bar_.at(done_, "peak rates of this machine");
    roofs_ = higher(roofs_, measure_ceilings(policy_.host()));
  }

  void run_size(index_t n) {
    size_results results{{options_.trace_events, options_.cupti}, trace_options("mbirk profile", policy_)};
    results.about.about.emplace_back("volume size", std::to_string(n));
    if (options_.cupti) report_["kernel_times"] = results.trace.has_cupti() ? "cupti" : "cuda events";
    if (!results.trace.note().empty()) report_["cupti_unavailable"] = results.trace.note();
    instrument::live_resource fresh(watch_.memory(), std::pmr::new_delete_resource(), "workspace");
    exec::workspace memory(&fresh);  // repeated calls then pay neither for fresh pages nor for announcing them
    chosen_policy here = policy_;
    here.set_host_memory(&memory);
    report_["cost_analysis"][std::to_string(n)] = json::object();
    for (auto const& entries : by_geometry()) run_geometry(entries, n, here, results);
    if (!options_.traces()) return;
    auto const& events = results.trace.finished();
    auto const to = folder("traces", "vol" + std::to_string(n));
    write_xplane(to, when_, events, results.programs, machine_of(policy_, roofs_));
    write_trace(to / "trace.perfetto.json.gz", events, results.about);
    object_in(report_, "dropped_trace_events")[std::to_string(n)] = events.dropped();
  }

  /// Runs part of the work on an operation; a failure is reported, and the other operations go on.
  template <class Work> bool succeeds(profile_entry const& entry, index_t n, Work const& work) {
    [[maybe_unused]] auto const scope = instrument::live(watch_.memory()).scope({entry.name.c_str()});
    try {
      work();
      return true;
    } catch (std::exception const& e) {
      report_["errors"].push_back({{"operation", entry.name}, {"volume_size", n}, {"error", e.what()}});
      return false;
    }
  }

  /// Operations of one geometry share a problem: first their first runs and counts, then the timed calls of all.
  void run_geometry(std::span<profile_entry const* const> entries, index_t n, chosen_policy const& policy,
                    size_results& results) {
    std::unique_ptr<profile_problem> problem;
    std::vector<begun_operation> begun;
    counts_.clear();
    for (auto const* entry : entries) {
      bar_.at(done_++, fmt::format("{} at {}", entry->name, n));
      if (!problem && !affordable_.problem(entry->geometry, n)) break;
      if (!affordable_.times(entry->name, n)) continue;
      succeeds(*entry, n, [&] {
        if (!problem) problem = make_problem(entry->geometry, n);
        begun.push_back(begin_operation(*entry, *problem, n, policy, results));
      });
    }
    if (options_.runs > 2) time_operations(begun, problem.get(), n, policy, results);
    if (n == options_.reconstruction_size() && options_.recon_iterations > 0 && options_.traces())
      for (auto const& one : begun)
        if (one.entry->name.ends_with("_mbir_recon") &&
            affordable_.iterations(one.entry->name, n, options_.recon_iterations))
          succeeds(*one.entry, n, [&] {
            bar_.at(done_, fmt::format("{} of {} iterations at {}", one.entry->name, options_.recon_iterations, n));
            object_in(report_, "reconstructions")[one.entry->name] =
                measure_reconstruction(*one.entry, *problem, n, policy, options_.recon_iterations);
          });
    if (!options_.no_fuse) return;
    for (auto const& one : begun)
      succeeds(*one.entry, n, [&] {
        watch_.step(fmt::format("{} at {}, unfused", one.entry->name, n));
        auto m = measured(*one.entry, *problem, policy, results);
        if (auto both = m.measure_staged(n, instruments_, one.calls, one.warm_up, one.counts ? &*one.counts : nullptr);
            !both.is_null())
          object_in(object_in(report_, "unfused"), std::to_string(n))[one.entry->name] = std::move(both);
      });
  }

  std::unique_ptr<profile_problem> make_problem(std::string const& geometry, index_t n) {
    std::unique_ptr<profile_problem> problem;
    auto const seconds = profile::seconds_of([&] {
      problem = std::make_unique<profile_problem>(geometry, n, options_.common.threads, true);
    });
    affordable_.made(geometry, n, seconds);
    return problem;
  }

  measured_operation measured(profile_entry const& entry, profile_problem const& problem, chosen_policy const& policy,
                              size_results& results, std::string const& range = {}) const {
    return {entry, problem, problem.make_operands(*entry.op, entry.arguments), policy, results.trace, range};
  }

  void add_measurement(json one, profile_entry const& entry, index_t n, int run) {
    one["operation"] = entry.name;
    one["volume_size"] = n;
    one["run"] = run;
    report_["measurements"].push_back(std::move(one));
  }

  /// The warm-up, the traced run, and the counts.
  begun_operation begin_operation(profile_entry const& entry, profile_problem const& problem, index_t n,
                                  chosen_policy const& policy, size_results& results) {
    auto const size = std::to_string(n), name = fmt::format("{}_v{}", entry.name, n);
    auto& marks = results.trace.marks();
    auto m = measured(entry, problem, policy, results);
    held_arrays held(watch_.memory());
    held.add_operands(m.data);
    begun_operation begun{&entry, 0};
    profile::counted_run traced;
    for (int run = 1; run <= std::min(options_.runs, 2); ++run) {
      watch_.step(fmt::format("{} at {}, run {}", entry.name, n, run));
      auto const begin = marks.now();
      json one;
      {
        run_watch::counters const samples(watch_, run == 2 ? &marks : nullptr);
        one = m.measure(run);
      }
      marks.finish();
      if (run == 1) begun.warm_up = one["time"];
      if (run == 2) {
        traced = {{}, begin, marks.now()};
        one["timeline"] = trace_excerpt(marks, traced.begin, traced.end);
        // Under policies with blocks the host only queues work.
        if (!policy_.has_blocks() && marks.dropped() == 0) one["stages"] = stage_times(marks, traced.begin, traced.end);
        if (!options_.no_heap)
          object_in(object_in(report_, "memory_tables"), size)[entry.name] =
              write_memory(folder("memory"), name, marks, traced.begin, traced.end);
      }
      add_measurement(std::move(one), entry, n, run);
    }
    affordable_.called(entry.name, n, begun.warm_up);
    auto const counts = counts_.of(m, n);
    if (counts) report_["cost_analysis"][size][entry.name] = counts->cost;
    if (!options_.no_graphs) {
      auto const graphs = write_graphs(folder("graphs"), entry, problem, n, options_.graph_steps);
      for (auto const& [of, forms] : graphs.items()) object_in(object_in(report_, "graphs"), size)[of] = forms;
    }
    if (auto const* kernels = options_.traces() && counts ? counts->traced(m) : nullptr) {
      results.programs.push_back(traced_program(*kernels, name, m.data, traced.begin, traced.end));
      traced.record = *kernels;
      traced.same_work = true;
      results.about.counts.push_back(std::move(traced));
    }
    if (options_.no_fuse && counts && counts->counted) begun.counts = counts->host;
    return begun;
  }

  /// The later runs: rounds of calls until the times are certain (run 3), or the number given by --runs.
  void time_operations(std::vector<begun_operation>& begun, profile_problem const* problem, index_t n,
                       chosen_policy const& policy, size_results& results) {
    auto const visit = [&](std::size_t k, timed_calls& calls, batch_limits const& limits, int run) {
      auto const& entry = *begun[k].entry;
      return succeeds(entry, n, [&] {
        watch_.step(fmt::format("{} at {}, run {}", entry.name, n, run));
        bar_.at(done_, fmt::format("times of {} at {}", entry.name, n));
        auto m = measured(entry, *problem, policy, results,
                          options_.profiler_range ? fmt::format("{}_v{}", entry.name, n) : "");
        held_arrays held(watch_.memory());
        held.add_operands(m.data);
        m.time(calls, instruments_, limits);
      });
    };
    std::vector<timed_calls> all;
    for (auto const& one : begun) all.emplace_back(one.warm_up);
    auto const add = [&](std::size_t k, timed_calls& calls, int run) {
      if (calls.empty()) return;  // it failed
      add_measurement(later_run(calls, policy), *begun[k].entry, n, run);
      begun[k].calls.append(std::move(calls));
    };
    if (options_.in_rounds()) {
      double const pairs = static_cast<double>(options_.sizes.size() * chosen_.size()),
                   share = options_.budget > 0 ? options_.budget / pairs : default_share;
      budget_ += share * static_cast<double>(begun.size());
      time_in_rounds(all, share, budget_, [&](std::size_t k) { return visit(k, all[k], batch_of_a_round, 3); });
      for (std::size_t k = 0; k < all.size(); ++k) add(k, all[k], 3);
    } else {
      for (int run = 3; run <= options_.runs; ++run)
        for (std::size_t k = 0; k < begun.size(); ++k) {
          timed_calls calls(begun[k].warm_up);
          visit(k, calls, batch_of_a_run, run);
          add(k, calls, run);
        }
    }
    for (auto const& one : begun)
      if (auto hardware = one.calls.hardware(); !hardware.is_null())
        if (auto& costs = report_["cost_analysis"][std::to_string(n)]; costs.contains(one.entry->name))
          costs[one.entry->name]["hardware"] = std::move(hardware);
  }

  void measure_all_words() {
    report_["word_lengths"] = json::object();
    for (auto const* entry : chosen_) {
      bar_.at(done_, "word lengths of " + entry->name);
      if (auto words = measure_words(*entry, options_.common.threads, words_); !words.is_null())
        report_["word_lengths"][entry->name] = std::move(words);
    }
  }

  /// Judges candidates, and writes folders for the first three that have a graph. A failure here does not lose the
  /// measurements.
  void judge() {
    try {
      if (!options_.no_handoff && (!policy_.has_blocks() || policy_.device())) measure_all_words();
      auto& candidates = report_["candidates"] = candidates_json(report_, file_.string(), settings_);
      if (!candidates.contains("operations") || options_.no_handoff) return;
      index_t const largest = size_to_compare(candidates["operations"]);
      for (auto const& one : candidates["operations"]) {
        if (one["size"] != largest || report_["hand_off"].size() == hand_off_folders) continue;
        auto const name = one["operation"].get<std::string>();
        auto const found = std::find_if(chosen_.begin(), chosen_.end(), [&](auto const* e) { return e->name == name; });
        if (found == chosen_.end()) continue;  // an iteration, not an entry
        auto const* entry = *found;
        bar_.at(done_, "HLS export of " + entry->name);
        auto made = write_hand_off(folder("handoff"), *entry, options_.common.threads, one, words_);
        if (made.is_null()) continue;
        made["operation"] = entry->name;
        made["folder"] = "handoff/" + when_ + "/" + entry->name;
        report_["hand_off"].push_back(std::move(made));
      }
    } catch (std::exception const& e) {
      report_["errors"].push_back({{"operation", "candidates"}, {"volume_size", 0}, {"error", e.what()}});
    }
  }

  profile_options options_;
  candidate_settings settings_;
  known_words words_;
  std::vector<int> pinned_;  // before the policy, which may start threads
  chosen_policy policy_;
  std::vector<profile_entry const*> chosen_;
  fs::path out_;
  std::string when_;
  fs::path file_;
  output_file result_;  // opened early, so that an unwritable folder is reported before the work
  run_watch watch_;
  progress bar_;
  std::size_t done_ = 0;
  instruments instruments_;
  affordable_work affordable_;
  shared_counts counts_{affordable_, watch_};  ///< of one geometry and size
  double budget_ = 0;  ///< seconds of timed calls that are left; sizes that need less leave it to later ones
  ceilings roofs_;
  json report_;
};

}  // namespace

void add_profile_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("profile", "Time, trace and count every operation at several sizes");
  auto const options = std::make_shared<profile_options>();
  add_profile_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return profile_run(*options).run(); }; });
}

}  // namespace mbirk::program
