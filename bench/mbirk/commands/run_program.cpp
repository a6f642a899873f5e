#include "commands/run_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"
#include "commands/devices_program.hpp"
#include "input/scan_open.hpp"
#include "input/similar_name.hpp"
#include "machine/memory.hpp"
#include "machine/process_status.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/io/printable.hpp"
#include "mbirk/version.hpp"
#include "process/start.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

int fail(std::string_view what, int code = bad_input) noexcept {
  try {
    print_failure(mbirk::printable(std::string(what)));
  } catch (std::bad_alloc const&) {
    print_failure(what);
  }
  return code;
}

/// Prints the text of --help or --version.
int print_asked(CLI::App const& app, CLI::Success const& asked) {
  int const code = app.exit(asked);
  errno = 0;
  return std::cout.flush() || errno == EPIPE ? code : fail("the standard output cannot be written");
}

std::vector<std::string> command_names(CLI::App const& app) {
  std::vector<std::string> names;
  for (auto const* command : app.get_subcommands([](CLI::App const*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// Says what is wrong with arguments that no option takes.
std::string unexpected_text(CLI::App const& command) {
  auto const extra = command.remaining(true);
  auto const option = std::find_if(extra.begin(), extra.end(), [](auto const& word) { return word.starts_with("-"); });
  if (option == extra.end())
    return extra.empty() ? std::string("an argument was not expected")
                         : fmt::format("the argument '{}' was not expected", extra.front());
  auto const name = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (auto const* other : command.get_options()) known.push_back("--" + other->get_single_name());
  auto const near = similar_names(name, known);
  return fmt::format("{} is not an option of mbirk {}{}", name, command.get_name(),
                     near.empty() ? "" : fmt::format("; similar: {}", fmt::join(near, ", ")));
}

/// An option that was given without text, as by --resume "$FILE" where FILE is not set: it does not count as absent.
std::string empty_option(CLI::App const& command) {
  for (auto const* option : command.get_options()) {
    if (option->get_items_expected_min() == 0) continue;  // the value may be left out
    for (auto const& text : option->results())
      if (text.empty()) return option->get_name(option->get_positional());
  }
  return {};
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"mbirk: model-based iterative reconstruction kernels, run, checked and measured", "mbirk"};
  auto const version = fmt::format("mbirk {}, {}\nreads npy, raw, MRC, {}", mbirk::version_string,
                                   mbirk::instruction_set(), optional_formats());
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 a check or comparison failed or a reconstruction was interrupted, 2 bad usage or input,\n"
      "3 the policy is not available here.\n"
      "`mbirk COMMAND --help` explains a command.");
  chosen_command chosen;
  add_ops_command(app, chosen);
  add_run_command(app, chosen);
  add_profile_command(app, chosen);
  add_compare_command(app, chosen);
  add_report_command(app, chosen);
  add_bench_command(app, chosen);
  add_estimate_command(app, chosen);
  add_info_command(app, chosen);
  add_prepare_command(app, chosen);
  add_calibrate_command(app, chosen);
  add_recon_command(app, chosen);
  add_top_command(app, chosen);

  auto const names = command_names(app);
  auto const expected = fmt::format("expected one of {} (see mbirk --help)", fmt::join(names, ", "));
  if (argc < 2) return fail("no command given, " + expected);
  if (argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end())
    return fail(fmt::format("unknown command '{}', {}", argv[1], expected));
  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& asked) {  // --help, --version
    return print_asked(app, asked);
  } catch (CLI::ParseError const& wrong) {
    auto const parsed = app.get_subcommands();
    bool const extra = dynamic_cast<CLI::ExtrasError const*>(&wrong) && !parsed.empty();
    auto const what = extra ? unexpected_text(*parsed.front()) : std::string(wrong.what());
    return fail(what + " (see mbirk " + (parsed.empty() ? "" : parsed.front()->get_name() + ' ') + "--help)");
  }
  CLI::App const& command = *app.get_subcommands().front();
  if (auto const name = empty_option(command); !name.empty())
    return fail(fmt::format("{} is empty, expected a value (see mbirk {} --help)", name, command.get_name()));
  auto const* const policy = command.get_option_no_throw("--policy");
  auto const policy_name = policy && !policy->empty() ? policy->as<std::string>() : std::string("host");
  if (wants_devices_program(command.get_name(), policy_name))
    become_devices_program("mbirk-devices", argv, policy_name != "host");
  int const code = chosen();
  return flush_results() ? code : fail("the standard output cannot be written");
}

}  // namespace

int run_program(int argc, char** argv) {
  prepare_process();
  auto const command = [&] { return argc > 1 ? fmt::format("mbirk {}", argv[1]) : std::string("mbirk"); };
  try {
    return parse_and_run(argc, argv);
  } catch (unavailable_error const& e) {
    return fail(e.what(), not_available);
  } catch (failed_check const& e) {
    return fail(e.what(), check_failed);
  } catch (std::bad_alloc const&) {
    auto const taken = resident_bytes();
    auto const free = memory_available();
    return fail(fmt::format(
        "out of memory in {}{}{}; expected a smaller problem, fewer threads, or a higher limit of "
        "the process (ulimit -v)",
        command(), taken ? fmt::format(", which takes {} now", bytes_text(static_cast<double>(*taken))) : "",
        free ? ", with " + bytes_text(free->bytes) + " left (" + free->source + ')' : ""));
  } catch (std::exception const& e) {
    return fail(e.what());
  }
}

}  // namespace mbirk::program
