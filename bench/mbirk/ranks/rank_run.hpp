// Types shared by the reconstructions of mbirk-mpi, by slices and by views.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/recon_files.hpp"
#include "commands/run_watch.hpp"
#include "input/geometry_file.hpp"
#include "input/measurement.hpp"
#include "input/scan_corrections.hpp"
#include "machine/memory.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// A scan as every rank opens it.
struct opened_scan {
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

inline std::size_t size_of(std::array<index_t, 3> const& n) { return static_cast<std::size_t>(n[0] * n[1] * n[2]); }

/// All that reconstructions need.
struct rank_run {
  recon_command const& o;
  distributed::mpi const& ranks;
  memory_budget const& memory;
  exec::host const& host;
  recon_context const& ctx;
  run_watch& watch;

  bool is_root() const noexcept { return ranks.rank() == 0; }
};

/// Corrects what a rank has read, and keeps the text that the first one has.
inline void correct_part(rank_run const& r, opened_scan& scan, view<float, 3> y, std::span<float const> angles) {
  auto const found = correct({r.host, {}}, r.o.scan.corrections, y, angles);
  if (r.is_root()) scan.corrected.insert(scan.corrected.end(), found.begin(), found.end());
}

/// Slices of parallel beam. Returns nothing if it was interrupted.
std::optional<finished_recon> recon_of_slices(rank_run const& r, opened_scan& scan);
/// The method of Feldkamp, Davis and Kress, by ranks that have views.
finished_recon fdk_of_views(rank_run const& r, opened_scan& scan);

}  // namespace mbirk::program
