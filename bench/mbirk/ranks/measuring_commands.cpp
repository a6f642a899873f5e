#include "ranks/measuring_commands.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands/command.hpp"
#include "commands/command_files.hpp"
#include "commands/profile_folders.hpp"
#include "mbirk/io/output_file.hpp"
#include "output/index_page.hpp"
#include "process/streams.hpp"
#include "ranks/rank_measurements.hpp"
#include "ranks/rank_summary.hpp"
#include "report/html_report.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

struct profile_of_ranks : rank_measurement_options {
  std::string out = "output";
  bool no_traces = false;
};
struct bench_of_ranks : rank_measurement_options {
  std::string out;
};

void add_options(CLI::App& command, rank_measurement_options& o) {
  command
      .add_option("--sizes", o.sizes,
                  "Sizes N: recon N^3, N/2 views (default: the smallest from 64 on at which every rank has slices, and "
                  "twice that)")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096))
      ->type_name("N,N,...");
  command.add_option("--ops", o.ops, "Shell pattern that selects operations by name")
      ->type_name("GLOB")
      ->capture_default_str();
  command
      .add_option("--budget", o.budget,
                  "Seconds of timed calls, of all operations and sizes together (default: 0.2 for each)")
      ->check(number_between(1e-3, 1e6))
      ->type_name("SECONDS");
  command.add_flag("--no-alone", o.no_alone,
                   "Do not time operations on one rank alone, which takes its memory and time for the whole problem");
  add_memory_limit(command, o.memory_limit,
                   "Refuse to start if a rank needs more memory, e.g. 8GiB (default: its share of what is available)");
  add_monitor_options(command, o.monitor);
  add_common_options(command, o, true);
}

int exit_code_of(nlohmann::json const& document, distributed::mpi const& ranks) {
  auto const errors = static_cast<std::int64_t>(document.at("errors").size());
  return distributed::all_reduce(ranks, "errors", errors, distributed::reduction::maximum) > 0 ? check_failed : done;
}

int profile(profile_of_ranks const& o, distributed::mpi const& ranks) {
  bool const root = ranks.rank() == 0;
  rank_measurements all(o, "profile", ranks);
  auto& document = all.document();
  std::string const when = document.at("timestamp");
  fs::path folder, file;
  std::optional<output_file> result;
  distributed::agree(ranks, [&] {
    if (!root) return;
    folder = made_folder(o.out);
    if (!o.no_traces) made_folder((folder / "traces" / when).string());
    file = folder / ("mbirk_profile_" + when + ".json");
    command_files files;
    files.writes(file);
    files.writes(o.monitor.file);
    files.check();
    result.emplace(file);  // opened early, so that an unwritable folder is reported before the work
  });
  if (o.no_traces) all.run(nullptr);
  else all.run([&](index_t n) { return folder / "traces" / when / ("vol" + std::to_string(n)); });
  distributed::agree(ranks, [&] {
    if (root) {
      result->write(document.dump(1) + '\n');
      result->commit();
    }
    all.finish();
    if (!root) return;
    auto const page = folder / ("report_" + when + ".html");
    write_html_report(document, file, page);
    write_index(folder);
    print_rank_summary(document);
    say("\n{}\n{}\n", file.string(), page.string());
  });
  return exit_code_of(document, ranks);
}

int bench(bench_of_ranks const& o, distributed::mpi const& ranks) {
  bool const root = ranks.rank() == 0;
  std::optional<output_file> result;
  distributed::agree(ranks, [&] {
    if (!root) return;
    command_files files;
    files.writes(o.out);
    files.writes(o.monitor.file);
    files.check();
    if (!o.out.empty()) result.emplace(o.out);
  });
  rank_measurements all(o, "bench", ranks);
  all.run(nullptr);
  distributed::agree(ranks, [&] {
    if (result) {
      result->write(all.document().dump(1) + '\n');
      result->commit();
    }
    if (root) print_rank_summary(all.document());
    all.finish();
    if (result) show("{}\n", o.out);
  });
  return exit_code_of(all.document(), ranks);
}

}  // namespace

void add_rank_profile(CLI::App& app, rank_command& chosen) {
  auto* const command = app.add_subcommand(
      "profile", "Time and trace the operations that ranks do together, with their messages, at several sizes");
  auto const o = std::make_shared<profile_of_ranks>();
  add_options(*command, *o);
  command->add_option("--out", o->out, "Output folder")->type_name("DIR")->capture_default_str();
  command->add_flag("--no-traces", o->no_traces, "Without the folder traces");
  command->callback([o, &chosen] { chosen = [o](distributed::mpi const& ranks) { return profile(*o, ranks); }; });
}

void add_rank_bench(CLI::App& app, rank_command& chosen) {
  auto* const command = app.add_subcommand("bench", "Compare all ranks with one of them, operation by operation");
  auto const o = std::make_shared<bench_of_ranks>();
  add_options(*command, *o);
  command->add_option("--out", o->out, "Also write a JSON file, which mbirk compare reads")->type_name("FILE");
  command->callback([o, &chosen] { chosen = [o](distributed::mpi const& ranks) { return bench(*o, ranks); }; });
}

}  // namespace mbirk::program
