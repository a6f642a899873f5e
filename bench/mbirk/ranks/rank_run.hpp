// Types shared by the reconstructions of mbirk-mpi, by slices and by views.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands/interrupt.hpp"
#include "commands/iteration_progress.hpp"
#include "commands/recon_files.hpp"
#include "commands/run_watch.hpp"
#include "input/checkpoint_file.hpp"
#include "input/geometry_file.hpp"
#include "input/measurement.hpp"
#include "input/scan_corrections.hpp"
#include "machine/memory.hpp"
#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "operations/recon_run.hpp"
#include "process/streams.hpp"
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

/// A scan as every rank opens it.
struct scan_input {
  std::optional<measurement_source> source;
  std::optional<geometry_file> g;
  std::vector<scan_fact> used;
  std::vector<std::string> corrected;
};
/// The log and the counts of a reconstruction whose files are written.
struct finished_recon {
  recon_log record;
  repair_count repaired;
};

/// All that reconstructions need.
struct rank_run {
  recon_command const& o;
  distributed::mpi const& ranks;
  memory_budget const& memory;
  exec::host const& host;
  recon_context const& ctx;
  run_watch& watch;
  reconstructor const& alone;      // for what every rank computes by itself
  rank_reconstructor const& with;  // for what ranks compute together
  std::optional<double> free_on_device;

  bool is_root() const noexcept { return ranks.rank() == 0; }
  bool on_device() const noexcept { return o.policy != "host"; }
  /// Prints what rank 0 needs of its device. @param bytes  finds that
  /// @throws allocation_error if it is more than is free
  template <class Bytes> void require_device(std::string const& what, Bytes const& bytes) const {
    if (!free_on_device) return;
    double const needed = bytes();
    if (!o.quiet) say("memory of the device of rank 0 {}\n", bytes_text(needed));
    mbirk::require<allocation_error>(needed <= *free_on_device, [&] {
      return fmt::format("{} need {} of a device, of which {} are free: expected more ranks on more devices", what,
                         bytes_text(needed), bytes_text(*free_on_device));
    });
  }
};

/// distributed::agree, by which all ranks also stop if any of them was asked to. Overload resolution prefers it.
/// @throws interrupted on every rank if f throws it on some and nothing else on others
template <class F> void agree(distributed::mpi const& ranks, F const& f) {
  bool stopped = false;
  distributed::agree(ranks, [&] {
    try {
      f();
    } catch (interrupted const&) {
      stopped = true;
    }
  });
  bool const any = distributed::all_reduce(ranks, "interrupt", stopped ? 1 : 0, distributed::reduction::maximum) > 0;
  require<interrupted>(!any, [] { return "interrupted; nothing was written"; });
}

/// The rank's part of a checkpoint, and the checksums of the data that it was made from.
struct resumed_part {
  recon_state mine;
  data_sums sums;
};
/// Reads the state to resume, if there is one: every rank reads the whole file, and keeps its part.
/// @param bytes    of the whole state and of the part
/// @param part_of  makes the part of a state
template <class PartOf>
std::optional<resumed_part> resumed_state(rank_run const& r, double bytes, json const& parameters,
                                          PartOf const& part_of) {
  std::optional<resumed_part> found;
  if (r.o.resume.empty()) return found;
  agree(r.ranks, [&] {
    r.memory.require(bytes, r.o.resume + ": the state to resume, which every rank reads whole");
    auto saved = read_checkpoint(r.o.resume, parameters, r.memory);
    found.emplace(resumed_part{part_of(saved.state), std::move(saved.sums)});
  });
  return found;
}

/// Corrects what a rank has read, and keeps the text that the first one has.
inline void correct_part(rank_run const& r, scan_input& scan, view<float, 3> y, std::span<float const> angles) {
  auto const found = correct({r.host, {}}, r.o.scan.corrections, y, angles);
  if (r.is_root()) scan.corrected.insert(scan.corrected.end(), found.begin(), found.end());
}

/// Slices of parallel beam. Returns nothing if it was interrupted.
std::optional<finished_recon> recon_of_slices(rank_run const& r, scan_input& scan);
/// Views of cone beam. Returns nothing if it was interrupted.
std::optional<finished_recon> recon_of_views(rank_run const& r, scan_input& scan);

/// Calls run, an iterative reconstruction, and shows its progress. @param done  iterations of an earlier run
template <class Run>
recon_log iterate_in_ranks(rank_run const& r, recon_options& options, int done, Run const& run) {
  r.watch.step("first image");
  iteration_progress bar(options.max_iterations, done, r.o.quiet);
  options.progress = [&](iteration_report const& report) {
    bar.done(report);
    r.watch.step(fmt::format("iteration {} of {} done", report.iteration, report.iterations));
    return !interrupt_asked();
  };
  auto record = naming(r.o.scan.files.input, run);
  bar.clear();
  return record;
}
/// Whether a reconstruction was interrupted, which rank 0 then says.
inline bool interrupted_before_the_end(rank_run const& r, recon_log const& record, recon_options const& options) {
  if (!record.cancelled || record.num_iterations >= options.max_iterations) return false;
  if (r.is_root())
    diagnose("mbirk: interrupted after iteration {} of {} (exit code 1); {}\n", record.num_iterations,
             options.max_iterations,
             r.o.checkpoint.empty() ? std::string("nothing was written")
                                    : fmt::format("the state is in {}, and --resume {} continues", r.o.checkpoint,
                                                  r.o.checkpoint));
  return true;
}

}  // namespace mbirk::program
