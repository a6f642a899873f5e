// The program mbirk: parses the command line, runs one command, and turns every failure into one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "commands/devices_program.hpp"
#include "input/scan_open.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/version.hpp"

namespace {

using namespace mbirk::program;

int fail(std::string what, int code = bad_input) {
  // The message must be one line, whatever the name of a file contains.
  std::replace_if(what.begin(), what.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  std::fflush(stdout);
  fmt::print(stderr, "mbirk: {}\n", what);
  return code;
}

std::vector<std::string> command_names(CLI::App const& app) {
  std::vector<std::string> names;
  for (auto const* command : app.get_subcommands([](CLI::App const*) { return true; }))
    names.push_back(command->get_name());
  return names;
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
    return app.exit(asked);
  } catch (CLI::ParseError const& wrong) {
    auto const parsed = app.get_subcommands();
    return fail(std::string(wrong.what()) + " (see mbirk " + (parsed.empty() ? "" : parsed.front()->get_name() + ' ') +
                "--help)");
  }
  CLI::App const& command = *app.get_subcommands().front();
  auto const* const policy = command.get_option_no_throw("--policy");
  auto const policy_name = policy && !policy->empty() ? policy->as<std::string>() : std::string("host");
  if (wants_devices_program(command.get_name(), policy_name)) become_devices_program(argv, policy_name != "host");
  int const code = chosen();
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail("the standard output cannot be written");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (unavailable_error const& e) {
    return fail(e.what(), not_available);
  } catch (failed_check const& e) {
    return fail(e.what(), check_failed);
  } catch (std::bad_alloc const&) {
    return fail("out of memory");
  } catch (std::exception const& e) {
    return fail(e.what());
  }
}
