// mbirk run: runs the operations of a case, writes their results, and compares them with the references.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "commands/check_result.hpp"
#include "commands/command.hpp"
#include "commands/command_files.hpp"
#include "commands/progress.hpp"
#include "commands/run_in_slabs.hpp"
#include "commands/run_watch.hpp"
#include "input/test_case.hpp"
#include "machine/memory.hpp"
#include "mbirk/exec/emulation/finding.hpp"
#include "mbirk/io/printable.hpp"
#include "operations/policy.hpp"
#include "output/cost_json.hpp"
#include "output/trace_file.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

struct run_options : common_options {
  std::string case_folder, out, glob = "*", instrument = "none";
  std::size_t trace_events = program::trace_events;
  bool check = false, profiler_range = false;
  std::optional<std::uint64_t> seed;  // this and the next are options of the emulation
  bool late_copies = false, check_races = false;
  monitor_options monitor;
  std::optional<std::uint64_t> memory_limit;

  exec::emulation_options emulation() const {
    for (auto const& [given, name] :
         {std::pair(seed.has_value(), "--seed"), {late_copies, "--late-copies"}, {check_races, "--check-races"}})
      require(!given || policy == "emulated",
              [&] { return name + (" is given with --policy " + policy) + ", expected only with --policy emulated"; });
    return {.seed = seed.value_or(0), .late_copies = late_copies, .check_races = check_races};
  }
};

/// A selected entry with its operation.
struct job {
  case_entry const* entry;
  operation const* op;
};

/// The selected entries, checked as far as possible without reading data.
std::vector<job> select(test_case const& c, run_options const& o) {
  std::vector<job> jobs;
  for (auto const& e : c.entries) {
    if (fnmatch(o.glob.c_str(), e.op.c_str(), 0) != 0) continue;
    auto const* op = find_operation(e.op);
    require<io_error>(op != nullptr, [&] {
      std::vector<std::string> names;
      for (auto const& known : operations()) names.push_back(known.name);
      return c.file + ": " + e.field + ".op is " + json(e.op).dump() + ", expected one of " +
             fmt::format("{}", fmt::join(names, ", ")) + " (or leave it out with --ops)";
    });
    jobs.push_back({&e, op});
  }
  require<io_error>(!jobs.empty(), [&] {
    std::vector<std::string> names;
    for (auto const& e : c.entries)
      if (std::find(names.begin(), names.end(), e.op) == names.end()) names.push_back(e.op);
    return "--ops '" + o.glob + "' matches no operation of " + c.file + ", expected one of " +
           fmt::format("{}", fmt::join(names, ", "));
  });
  for (auto const& j : jobs) {
    check_entry(c, *j.entry, *j.op);
    if (!o.check) continue;
    require<io_error>(j.entry->rtol.has_value(), [&] {
      return c.file + ": " + j.entry->field + ".rtol is missing, expected a number >= 0 for --check";
    });
    read_npy_header(c.folder / j.entry->output);
  }
  return jobs;
}

/// The policy of a run, and the results of its instrumentation.
class recorder {
 public:
  recorder(run_options const& o, exec::emulation_options const& emulation)
      : kind_(o.instrument),
        profiler_range_(o.profiler_range),
        policy_(o, emulation),
        trace_(kind_ == "tracing" ? o.trace_events : 0) {
    policy_.check(chosen_instrumentation());
  }
  void set_host_memory(std::pmr::memory_resource* resource) { policy_.set_host_memory(resource); }
  /// Returns the seconds of the operation itself, after its inputs have been copied to the policy's memory.
  double run(job const& j, any_scan const& scan, operands& x) {
    double seconds = 0;
    transfer_counts transfers;
    caller const once = [&](auto const& call) {
      auto const cost = call();
      seconds = cost.seconds;
      transfers = cost.transfers;
    };
    policy_.run(*j.op, scan, x, chosen_instrumentation(), once);
    trace_.finish();
    note_counts(j, scan, x, transfers);
    return seconds;
  }
  exec::host const& host() const noexcept { return policy_.host(); }
  /// Whether a slab may be run instead of the whole: nothing is recorded that would then be of slabs.
  bool may_run_in_slabs() const noexcept { return kind_ == "none" && !policy_.has_blocks(); }
  /// Number of events that the trace dropped.
  std::uint64_t dropped() const noexcept { return trace_.dropped(); }
  void write(test_case const& c, fs::path const& folder) const {
    if (kind_ == "counting") {
      output_file file(folder / "counts.json");
      file.write(json{{"case", c.name}, {"geometry", geometry_name(c.scan)}, {"operations", list_}}.dump(1) + '\n');
      file.commit();
    } else if (kind_ == "tracing") {
      auto about = trace_options("mbirk run", policy_);
      about.about.emplace_back("case", c.name);
      write_trace(folder / "trace.json", trace_, about);
    }
  }

 private:
  instrumentation chosen_instrumentation() {
    return {.trace = kind_ == "tracing" ? &trace_ : nullptr,
            .counts = kind_ == "counting" ? &counts_ : nullptr,
            .nvtx = kind_ == "nvtx",
            .profiler_range = profiler_range_};
  }
  /// Converts counts to JSON at once, while the name of the entry is known.
  void note_counts(job const& j, any_scan const& scan, operands const& x, transfer_counts const& transfers) {
    if (kind_ != "counting") return;
    auto const minimal = j.op->minimal_flops(scan, x);
    for (auto const& record : counts_.records()) {
      json one = {{"operation", record.name}, {"output", j.entry->output}};
      one.update(cost_json(record, "counted", minimal, policy_.host().threads(), transfers));
      list_.push_back(std::move(one));
    }
    counts_.clear();
  }

  std::string kind_;
  bool profiler_range_;
  chosen_policy policy_;
  instrument::trace_buffer trace_;
  instrument::ledger counts_;
  json list_ = json::array();
};

/// Prints one line per completed entry; with --check the lines form the table.
class report {
 public:
  report(std::vector<job> const& jobs, run_options const& o) : check_(o.check), silent_(o.quiet && !o.check) {
    for (auto const& j : jobs) {
      op_width_ = std::max(op_width_, j.entry->op.size());
      output_width_ = std::max(output_width_, j.entry->output.size());
    }
    if (check_) line("op", "output", fmt::format("{:>12}  {:>8}  ", "error", "allowed"));
  }
  void done(case_entry const& e, std::vector<index_t> const& shape, double seconds) const {
    if (!silent_) line(e.op, e.output, fmt::format("{:18} {:9.4f} s", mbirk::detail::shape_text(shape), seconds));
  }
  void checked(case_entry const& e, any_array const& result, fs::path const& reference) {
    auto const outcome = std::visit(
        [&]<class T>(npy_array<T> const& got) {
          return check_result(got, read_npy<T>(reference), *e.rtol, e.outliers);
        },
        result);
    checked(e, outcome, shape_of(result), reference);
  }
  /// @param shape  of the result
  void checked(case_entry const& e, check_outcome const& outcome, std::vector<index_t> const& shape,
               fs::path const& reference) {
    auto const error = outcome.same_shape ? fmt::format("{:.2e}", outcome.error) : "shape";
    line(e.op, e.output, fmt::format("{:>12}  {:>8g}  {}", error, *e.rtol, outcome.ok ? "ok" : "OUT"));
    if (!outcome.same_shape)
      show("  the result has shape {}, the reference {}\n", mbirk::detail::shape_text(shape),
           mbirk::detail::shape_text(read_npy_header(reference).shape));
    ++count_;
    passed_ += outcome.ok;
  }
  /// Prints the total; returns whether all entries are within tolerance.
  bool end() const {
    if (check_) show("{} of {} within tolerance\n", passed_, count_);
    return passed_ == count_;
  }

 private:
  void line(std::string const& op, std::string const& output, std::string const& rest) const {
    auto text = fmt::format("{:{}}  {:{}}  {}", op, op_width_, output, output_width_, rest);
    text.erase(text.find_last_not_of(' ') + 1);
    show("{}\n", text);
    std::fflush(stdout);
  }

  bool check_, silent_;
  std::size_t op_width_ = 2, output_width_ = 6, count_ = 0, passed_ = 0;
};

void make_folder(fs::path const& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  require<io_error>(!code, [&] { return folder.string() + ": cannot be created: " + code.message(); });
}

/// No result may replace what the case consists of, for example where a folder of OUT is the case by way of a link.
void check_files(test_case const& c, std::vector<job> const& jobs, run_options const& o) {
  command_files files;
  for (auto const& name : c.files) files.reads(name);
  for (auto const& j : jobs) files.writes(fs::path(o.out) / j.entry->output);
  if (o.instrument == "counting") files.writes(fs::path(o.out) / "counts.json");
  if (o.instrument == "tracing") files.writes(fs::path(o.out) / "trace.json");
  files.writes(o.monitor.file);
  files.check();
}

/// Runs an entry on the arrays of its files; names it in errors.
template <class F> auto naming(test_case const& c, case_entry const& e, F const& f) {
  try {
    return f();
  } catch (error const& failure) {
    auto const what = c.file + ": " + e.field + ": " + failure.what();
    bool const of_the_case =
        !dynamic_cast<exec::emulation_error const*>(&failure) && !dynamic_cast<device_error const*>(&failure);
    if (!of_the_case) throw failed_check(what, failure.where);
    throw error(what, failure.where);
  }
}

/// Runs an entry that does not fit into memory in slabs. @throws allocation_error if that is not possible
double run_larger_than_memory(test_case const& c, job const& j, run_options const& o, recorder& records,
                              memory_budget const& memory, double needed, std::vector<std::string>& warnings) {
  auto const& e = *j.entry;
  require<allocation_error>(records.may_run_in_slabs() && runs_in_slabs(c, *j.op), [&] {
    return c.file + ": " + e.field + ": " + e.op + " needs " + bytes_text(needed) + " of memory, expected at most " +
           bytes_text(memory.limit()) +
           ": in slabs that fit, without instrumentation, run projections, filter, direct reconstruction, Hessian "
           "diagonal and weights in parallel beam";
  });
  auto const plan = plan_slabs(c, e, *j.op, records.host(), memory.limit());
  memory.require(total_bytes(plan.memory), c.file + ": " + e.field + ": a slab of " + std::to_string(plan.slices) +
                                               " slices");
  if (!o.quiet) say("{}: larger than memory: slabs of {} slices\n", e.output, plan.slices);
  return run_in_slabs(c, e, *j.op, plan.slices, fs::path(o.out) / e.output, warnings,
                      [&](any_scan const& slab, operands& x) {
                        return naming(c, e, [&] { return records.run(j, slab, x); });
                      });
}

int run(run_options const& o) {
  recorder records(o, o.emulation());
  auto const c = read_case(o.case_folder);
  auto const jobs = select(c, o);
  std::error_code ignored;
  require<io_error>(!fs::equivalent(o.case_folder, o.out, ignored), [&] {
    return "--out " + o.out + " is the folder of the case, expected another one: results would replace references";
  });
  make_folder(o.out);
  check_files(c, jobs, o);
  run_watch watch("run", o.monitor, o.quiet);
  instrument::live_resource temporaries(watch.memory(), std::pmr::get_default_resource());
  records.set_host_memory(&temporaries);

  report table(jobs, o);
  progress bar(jobs.size(), o.quiet);
  auto warnings = c.warnings;
  memory_budget const memory(o.memory_limit
                                 ? available_memory{static_cast<double>(*o.memory_limit), "--memory-limit"}
                                 : memory_available());
  if (o.memory_limit) return_freed_arrays();
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    auto const& e = *jobs[k].entry;
    bar.at(k, e.op);
    watch.step(e.op + ", " + e.output);
    auto const path = fs::path(o.out) / e.output;
    bool const parts = records.may_run_in_slabs() && runs_in_slabs(c, *jobs[k].op);
    double needed = 0;
    if (o.memory_limit || parts)
      needed = naming(c, e, [&] { return entry_bytes(c, e, *jobs[k].op, records.host(), o.check); });
    if (needed > memory.limit()) {
      make_folder(path.parent_path());
      std::vector<std::string> of_entry;
      auto const seconds = run_larger_than_memory(c, jobs[k], o, records, memory, needed, of_entry);
      for (auto const& w : of_entry) warnings.push_back(c.file + ": " + e.field + ": " + w);
      auto const shape = shape_of(jobs[k].op->output, c.scan, 0);
      auto const reference = c.folder / e.output;
      bar.clear();
      if (o.check) table.checked(e, check_result_file(path, reference, *e.rtol, e.outliers), shape, reference);
      else table.done(e, shape, seconds);
      continue;
    }
    auto x = load_operands(c, e, *jobs[k].op);
    [[maybe_unused]] auto const scope = instrument::live(watch.memory()).scope({e.op.c_str()});
    held_arrays held(watch.memory());
    held.add_operands(x);
    double const seconds = naming(c, e, [&] { return records.run(jobs[k], c.scan, x); });
    make_folder(path.parent_path());
    std::visit([&](auto const& result) { write_npy(path, result); }, x.output);
    for (auto const& w : x.warnings) warnings.push_back(c.file + ": " + e.field + ": " + w);
    bar.clear();
    if (o.check) table.checked(e, x.output, c.folder / e.output);
    else table.done(e, shape_of(x.output), seconds);
  }
  records.write(c, o.out);
  if (auto const dropped = records.dropped(); dropped > 0)
    warnings.push_back(fmt::format("trace.json lacks {} events, for which there was no room (--trace-events {})",
                                   dropped, o.trace_events));
  watch.finish();
  for (auto const& w : warnings)  // printed last, so that a failure is one line
    if (!o.quiet) note("{}", printable(w));
  return table.end() ? done : check_failed;
}

}  // namespace

void add_run_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("run", "Run the operations of a case and write their results");
  auto const o = std::make_shared<run_options>();
  command->add_option("CASE_DIR", o->case_folder, "Folder with case.json")->required();
  command->add_option("--out", o->out, "Folder for the results; created if it does not exist")
      ->required()
      ->type_name("DIR");
  command->add_option("--ops", o->glob, "Only operations whose name matches, e.g. '*project*'")
      ->type_name("GLOB")
      ->capture_default_str();
  command->add_flag("--check", o->check,
                    "Compare with the references of the case; exit code 1 if any is out of tolerance");
  command
      ->add_option("--instrument", o->instrument,
                   "Instrumentation: none, nvtx, counting (DIR/counts.json) or tracing (DIR/trace.json)")
      ->check(CLI::IsMember({"none", "nvtx", "counting", "tracing"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--trace-events", o->trace_events, "With --instrument tracing: capacity of the trace in events")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--cuda-profiler-range", o->profiler_range,
                    "With --policy cuda: for Nsight, enclose each operation in cudaProfilerStart and Stop");
  command
      ->add_option("--seed", o->seed, "With --policy emulated: seed of the order of blocks and threads; 0: ascending")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->type_name("N");
  command->add_flag("--late-copies", o->late_copies,
                    "With --policy emulated: complete asynchronous copies as late as allowed");
  command->add_flag("--check-races", o->check_races,
                    "With --policy emulated: check accesses to shared memory for races");
  add_memory_limit(*command, o->memory_limit,
                   "Memory for an operation, e.g. 8GiB (default: what is available); in parallel beam projections, "
                   "filters, direct reconstruction and weights work in slabs that fit");
  add_monitor_options(*command, o->monitor);
  add_common_options(*command, *o, true);
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace mbirk::program
