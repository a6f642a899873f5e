#include "ranks/recon_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "commands/interrupt.hpp"
#include "commands/recon_files.hpp"
#include "commands/recon_options.hpp"
#include "commands/recon_result.hpp"
#include "commands/run_watch.hpp"
#include "input/direct_scan.hpp"
#include "input/geometry_file.hpp"
#include "input/measurement.hpp"
#include "machine/memory.hpp"
#include "mbirk/profile/session.hpp"
#include "process/streams.hpp"
#include "ranks/rank_place.hpp"
#include "ranks/rank_run.hpp"
#include "ranks/rank_trace.hpp"

namespace mbirk::program {
namespace {

/// Refuses options of `mbirk recon` that ranks do not support.
void check_distributed(recon_command const& o) {
  auto const refuse = [&](bool asked, std::string const& what) {
    require<io_error>(!asked, [&] { return what + " is not available in mbirk-mpi; mbirk recon has it"; });
  };
  refuse(!o.monitor.file.empty(), "--monitor");
  refuse(o.slab_sweeps.has_value(), "--slab-sweeps");
  refuse(o.call.compute_prior_loss, "--compute-prior-loss");
  refuse(o.call.mbirjax_rounding, "--mbirjax-rounding");
}

/// Refuses scans that ranks cannot share.
void check_scan(recon_command const& o, geometry_file const& g) {
  if (std::holds_alternative<parallel_parameters>(g.parameters)) {
    require<io_error>(!o.scan.corrections.needs_rows(), [] {
      return std::string(
          "--zingers, --median, --background, --rotate, --drift and --paganin need all rows of a view, of which each "
          "rank has some: expected none of them; mbirk prepare applies them before");
    });
    return;
  }
  auto const* cone = std::get_if<cone_parameters>(&g.parameters);
  require<io_error>(cone && !g.fan, [&] {
    return fmt::format("mbirk-mpi reconstructs parallel beam (fbp, vcd) and cone beam (fdk, vcd), found geometry {} "
                       "and --method {}; mbirk recon has all",
                       g.fan ? "fan"
                             : std::visit([]<class Geometry>(mbirk::scan<Geometry> const&) { return Geometry::name; },
                                          g.scan),
                       o.method);
  });
  require<io_error>(!o.scan.corrections.needs_views(), [] {
    return std::string("--stripes and --drift need all views of a row, of which each rank has some: expected none of "
                       "them; mbirk prepare applies them before");
  });
  require<io_error>(o.method == "vcd" || coverage_of(*cone) == scan_coverage::full, [] {
    return std::string("--method fdk: the views do not cover a full turn, or the detector reaches farther to one side "
                       "of the axis: expected neither, because mbirk-mpi has no weights for them; mbirk recon has");
  });
}
void open(recon_command const& o, memory_budget const& memory, bool writes, scan_input& scan) {
  check_ignored(o);
  check_distributed(o);
  auto const& source = scan.source.emplace(o.scan.files, o.scan.part, memory);
  auto const options = with_centre(o.scan, source, o.threads, scan.corrected);
  auto& g = scan.g.emplace(
      scan_geometry(source.scan(), source.part(), source.theta(), options, o.scan.files.input, scan.used, memory));
  for (auto& mistake : checked_mistakes(o.scan, source.scan(), g)) g.warnings.push_back(std::move(mistake));
  check_method(o, g.scan);
  check_scan(o, g);
  g.model = merged(g.model, o);
  if (writes) check_out(o, g, source.scan());
}

/// Ranks on other machines may see other files under the same names.
void require_same_scan(distributed::mpi const& ranks, recon_command const& o, scan_input const& scan) {
  auto const& source = *scan.source;
  std::string const files = "ranks see different data in " + o.scan.files.input + ", expected the same files for all";
  require_same_text(ranks, dump_text(geometry_json(*scan.g)) + source.description() +
                               mbirk::detail::shape_text(source.shape()), files);
  // The first and the last view stand for all, because no rank reads the others whole.
  auto const [views, rows, channels] = source.shape();
  std::vector<float> view(static_cast<std::size_t>(rows * channels));
  for (index_t const v : {index_t{0}, views - 1}) {
    agree(ranks, [&] { source.read({exec::host{1}, {}}, v, 1, view.data()); });
    require_same_text(ranks, {reinterpret_cast<char const*>(view.data()), view.size() * sizeof(float)}, files);
  }
}

}  // namespace

void require_same_text(distributed::mpi const& ranks, std::string_view text, std::string const& message) {
  distributed::require_same(ranks, distributed::fingerprint(text).value(), message);
}

int reconstruct_in_ranks(recon_command const& given, std::string const& trace_folder, distributed::mpi const& ranks) {
  auto o = given;
  bool const root = ranks.rank() == 0;
  o.quiet = given.quiet || !root;
  interrupt_watch const interrupts;
  auto const start = std::chrono::steady_clock::now();
  auto const here = find_neighbours(ranks);
  auto const memory = budget_of(o.memory_limit, here);
  scan_input scan;
  agree(ranks, [&] { open(o, memory, root, scan); });
  require_same_scan(ranks, o, scan);
  auto const& g = *scan.g;
  if (o.scan.geometry.file.empty() && !o.quiet) print_facts(scan.used);
  agree(ranks, [&] {
    if (!root || o.save_parameters.empty()) return;
    output_file file(o.save_parameters);
    file.write(dump_text(geometry_json(g), 1) + '\n');
    file.commit();
  });

  run_watch watch("recon", o.monitor, o.quiet);
  std::optional<rank_trace> trace;
  agree(ranks, [&] {
    if (root && !trace_folder.empty()) profile::detail::require_writable(trace_folder, "trace", "ranks");
    trace.emplace(!trace_folder.empty(), ranks, here.with_root);
  });
  std::optional<place_of_rank> place;
  agree_on_available(ranks, [&] {
    place.emplace(o, trace->messages(), here, rank_notes{watch.memory(), trace->buffer()});
  });
  if (auto const device = place->device(); !device.empty() && !o.quiet) say("device of rank 0: {}\n", device);
  rank_run const run{o, ranks, memory, place->host().exec, place->host(), watch, place->alone(), place->with(),
                     place->free_on_device()};
  auto finished = std::holds_alternative<cone_parameters>(g.parameters) ? recon_of_views(run, scan)
                                                                        : recon_of_slices(run, scan);
  if (trace->buffer()) {
    trace->write(trace_folder);
    trace->write_summary(trace_folder, o.quiet);
  }
  if (!finished) return check_failed;
  auto& [record, repaired] = *finished;

  std::array<std::int64_t, 2> counts{static_cast<std::int64_t>(repaired.repaired),
                                     static_cast<std::int64_t>(repaired.lost)};
  ranks.all_reduce("dead pixels", counts, distributed::reduction::sum);
  repaired.repaired = static_cast<decltype(repaired.repaired)>(counts[0]);
  repaired.lost = static_cast<decltype(repaired.lost)>(counts[1]);
  if (o.quiet) return done;
  print_result(o, g.scan, record, start);
  print_notes(g.warnings, record, repaired);
  return done;
}

}  // namespace mbirk::program
