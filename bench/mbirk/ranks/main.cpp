// The program mbirk-mpi, which mpirun starts once per rank: `mpirun -n 4 mbirk-mpi recon ...`. Every failure becomes
// one line from one rank, an exit code, and the end of all ranks.
#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "commands/command.hpp"
#include "commands/devices_program.hpp"
#include "commands/interrupt.hpp"
#include "commands/recon_options.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/io/printable.hpp"
#include "mbirk/version.hpp"
#include "process/start.hpp"
#include "process/streams.hpp"
#include "ranks/measuring_commands.hpp"
#include "ranks/recon_ranks.hpp"

namespace {

using namespace mbirk::program;

/// MPI, from its beginning to its end.
class engine {
 public:
  engine(int& argc, char**& argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
      print_failure("MPI supports no threads in a rank, expected MPI_THREAD_FUNNELED at least");
      MPI_Abort(MPI_COMM_WORLD, not_available);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &ending_);
    MPI_Comm_rank(ending_, &rank_);
    ranks_.emplace(MPI_COMM_WORLD);
  }
  ~engine() {
    ranks_.reset();
    MPI_Comm_free(&ending_);
    MPI_Finalize();
  }
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  mbirk::distributed::mpi const& ranks() const noexcept { return *ranks_; }
  bool is_root() const noexcept { return rank_ == 0; }

  /// Prints a failure on rank 0 if all ranks have failed, which they mostly do together. One that is alone for some
  /// seconds has left the others waiting for it: it prints, and ends the job. Where several but not all have failed,
  /// higher ranks wait longer, so that the first one ends the others.
  int fail(std::string_view what, int code) const noexcept {
    MPI_Request all = MPI_REQUEST_NULL;
    int together = 0;
    MPI_Ibarrier(ending_, &all);
    auto const patience = std::chrono::steady_clock::now() + std::chrono::seconds(5) +
                          std::chrono::milliseconds(200) * std::min(rank_, 50);
    while (!together && std::chrono::steady_clock::now() < patience) {
      MPI_Test(&all, &together, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!together || is_root()) print_failure(what);
    if (!together) MPI_Abort(ending_, code);
    return code;
  }

 private:
  MPI_Comm ending_ = MPI_COMM_NULL;  // for the end only, so that it never meets a message of the work
  int rank_ = 0;
  std::optional<mbirk::distributed::mpi> ranks_;
};

/// The command line, by which all ranks must have been started.
std::string text_of(int argc, char** argv) {
  std::string all;
  for (int k = 1; k < argc; ++k) all += argv[k] + std::string(1, '\0');
  return all;
}

/// Whether --policy names the policy of a device.
bool names_device_policy(int argc, char** argv) {
  std::string_view const option = "--policy";
  for (int k = 1; k < argc; ++k) {
    std::string_view const word = argv[k];
    if (!word.starts_with(option)) continue;
    auto const value = word == option ? std::string_view(k + 1 < argc ? argv[k + 1] : "") : word.substr(option.size());
    if (value.ends_with("cuda") || value.ends_with("emulated")) return true;
  }
  return false;
}

int parse_and_run(int argc, char** argv, engine const& mpi) {
  require_same_text(mpi.ranks(), text_of(argc, argv),
                    "ranks were started with different options, expected the same on all");
  require_same_text(mpi.ranks(), fmt::format("{} {}", mbirk::version_string, mbirk::instruction_set()),
                    "ranks run different versions of mbirk-mpi, or on different instruction sets, expected one");
  CLI::App app{"mbirk-mpi: reconstructions by several processes, started by mpirun, and what they gain", "mbirk-mpi"};
  app.set_version_flag("--version", fmt::format("mbirk-mpi {}, {}", mbirk::version_string, mbirk::instruction_set()));
  app.require_subcommand(1);
  app.footer("mpirun -n N mbirk-mpi recon ... takes the options of mbirk recon, in parallel beam (fbp, vcd) and\n"
             "cone beam (fdk, vcd).\n"
             "Exit codes: 0 done, 1 a reconstruction was interrupted or an operation failed, 2 bad usage or input,\n"
             "3 the policy is not available here.");
  rank_command chosen;
  auto* const command = app.add_subcommand("recon", "Reconstruct a volume from your own measurements");
  auto const o = add_recon_options(*command, true);
  command->get_option("--checkpoint")->description("Save the state to this file for --resume (default: never)");
  command->get_option("--memory-limit")
      ->description("Refuse to start if a rank needs more memory, e.g. 8GiB (default: its share of what is available)");
  std::string trace;
  command
      ->add_option("--trace", trace,
                   "Write a timeline of all ranks, with their messages and kernels, and what each has sent to this "
                   "folder: trace.perfetto.json.gz (ui.perfetto.dev), plugins/profile (XProf), ranks.json")
      ->type_name("DIR");
  command->callback([&] {
    note_given_options(*command, *o);
    chosen = [&](mbirk::distributed::mpi const& ranks) { return reconstruct_in_ranks(*o, trace, ranks); };
  });
  add_rank_profile(app, chosen);
  add_rank_bench(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& asked) {  // --help, --version
    return mpi.is_root() ? app.exit(asked) : 0;
  } catch (CLI::ParseError const& wrong) {
    return mpi.fail(std::string(wrong.what()) + " (see mbirk-mpi --help)", bad_input);
  }
  int const code = chosen(mpi.ranks());
  bool const lost = mbirk::distributed::all_reduce(mpi.ranks(), "output", flush_results() ? 0 : 1,
                                                   mbirk::distributed::reduction::maximum) > 0;
  return lost ? mpi.fail("the standard output cannot be written", bad_input) : code;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  // Before MPI begins, because it cannot begin twice in a process. A wrong command line is found out afterwards.
  if (names_device_policy(argc, argv)) become_devices_program("mbirk-mpi-devices", argv, false);
  engine const mpi(argc, argv);
  auto const fail = [&](std::string const& what, int code = bad_input) {
    return mpi.fail(mbirk::printable(what), code);
  };
  try {
    return parse_and_run(argc, argv, mpi);
  } catch (interrupted const& e) {
    return fail(fmt::format("{} (exit code 1)", e.what()), check_failed);
  } catch (unavailable_error const& e) {
    return fail(e.what(), not_available);
  } catch (std::bad_alloc const&) {
    return fail("out of memory");
  } catch (std::exception const& e) {
    return fail(e.what());
  }
}
