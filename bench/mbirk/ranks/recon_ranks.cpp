#include "ranks/recon_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "commands/interrupt.hpp"
#include "commands/iteration_progress.hpp"
#include "commands/recon_options.hpp"
#include "commands/recon_result.hpp"
#include "commands/run_watch.hpp"
#include "input/direct_scan.hpp"
#include "input/geometry_file.hpp"
#include "input/measurement.hpp"
#include "machine/memory.hpp"
#include "mbirk/distributed/agreement.hpp"
#include "operations/recon_memory.hpp"
#include "process/streams.hpp"
#include "ranks/slab_recon.hpp"

namespace mbirk::program {
namespace {

using distributed::agree;

/// FNV-1a, to compare what ranks have read.
std::int64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char const c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<std::int64_t>(hash);
}

/// Refuses options of `mbirk recon` that ranks do not support.
void check_distributed(recon_command const& o) {
  auto const refuse = [&](bool asked, std::string const& what) {
    require<io_error>(!asked, [&] { return what + " is not available in mbirk-mpi; mbirk recon has it"; });
  };
  refuse(!o.checkpoint.empty(), "--checkpoint");
  refuse(!o.resume.empty(), "--resume");
  refuse(!o.monitor.file.empty(), "--monitor");
  refuse(o.call.compute_prior_loss, "--compute-prior-loss");
  refuse(o.call.mbirjax_rounding, "--mbirjax-rounding");
  require<io_error>(!o.scan.corrections.needs_rows(), [] {
    return std::string(
        "--zingers, --background, --rotate, --drift and --paganin need all rows of a view, of which each rank has "
        "some: expected none of them; mbirk prepare applies them before");
  });
}

/// The memory that this rank may take: its share of what its machine has.
memory_budget budget_of(recon_command const& o, distributed::mpi const& ranks) {
  if (o.memory_limit) return memory_budget(available_memory{static_cast<double>(*o.memory_limit), "--memory-limit"});
  MPI_Comm machine = MPI_COMM_NULL;
  int here = 1;
  if (MPI_Comm_split_type(ranks.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) == MPI_SUCCESS) {
    MPI_Comm_size(machine, &here);
    MPI_Comm_free(&machine);
  }
  auto available = memory_available();
  if (available && here > 1) {
    available->bytes /= here;
    available->source += fmt::format(", shared by {} ranks", here);
  }
  return memory_budget(available);
}

/// A scan as every rank opens it.
struct opened_scan {
  std::optional<measurement_source> source;
  std::optional<geometry_file> g;
  std::vector<scan_fact> used;
  std::vector<std::string> corrected;
};
void open(recon_command const& o, memory_budget const& memory, bool writes, opened_scan& scan) {
  require_host(o, "recon");
  check_ignored(o);
  check_distributed(o);
  auto const& source = scan.source.emplace(o.scan.files, o.scan.part, memory);
  auto const options = with_centre(o.scan, source, o.threads, scan.corrected);
  auto& g = scan.g.emplace(
      scan_geometry(source.scan(), source.part(), source.theta(), options, o.scan.files.input, scan.used, memory));
  for (auto& mistake : checked_mistakes(o.scan, source.scan(), g)) g.warnings.push_back(std::move(mistake));
  check_method(o, g.scan);
  require<io_error>(std::holds_alternative<parallel_parameters>(g.parameters), [&] {
    return std::string("mbirk-mpi reconstructs parallel beam only, found geometry ") +
           std::visit([]<class Geometry>(mbirk::scan<Geometry> const&) { return Geometry::name; }, g.scan) +
           "; mbirk recon has all geometries";
  });
  g.model = merged(g.model, o);
  if (writes) check_out(o, g, source.scan());
}

/// Ranks on other machines may see other files under the same names.
void require_same_scan(distributed::mpi const& ranks, recon_command const& o, opened_scan const& scan) {
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

/// Reads the rows of a slab in all views.
repair_count read_slab(measurement_source const& source, distributed::slice_range rows, exec::host const& host,
                       float* to, progress& bar) {
  constexpr index_t block_samples = index_t{1} << 20;  // that a reader converts at once
  auto const [views, all, channels] = source.shape();
  index_t const step = std::clamp<index_t>(block_samples / (rows.count * channels), 1, views);
  repair_count repaired;
  for (index_t v = 0; v < views; v += step) {
    bar.at(static_cast<std::size_t>(v), "views of " + source.description());
    stop_if_asked();
    repaired += source.read_rows({host, {}}, v, std::min(step, views - v), rows.first, rows.count,
                                 to + v * rows.count * channels);
  }
  return repaired;
}

/// Writes the slabs of all ranks, which rank 0 receives one after the other.
void write_slabs(distributed::mpi const& ranks, recon_command const& o, geometry_file const& g,
                 std::array<index_t, 3> const& shape, index_t slices, std::vector<float>& slab,
                 std::vector<std::pair<std::string, std::string>> const& record) {
  std::unique_ptr<result_stream> file;
  agree(ranks, [&] {
    if (ranks.rank() == 0) file = open_result(o, g, distributed::slice_unit);
  });
  for (int r = 0; r < ranks.size(); ++r) {
    auto const range = distributed::slices_of(slices, r, ranks.size());
    std::array<index_t, 3> const part{shape[0], shape[1], range.count};
    if (ranks.rank() == r && r > 0) ranks.send("slabs", std::as_bytes(std::span(slab)), 0);
    if (ranks.rank() == 0 && r > 0) {
      slab.resize(static_cast<std::size_t>(part[0] * part[1] * part[2]));
      ranks.receive("slabs", std::as_writable_bytes(std::span(slab)), r);
    }
    agree(ranks, [&] {
      if (ranks.rank() == 0) file->add(view<float const, 3>(slab.data(), part));
    });
  }
  agree(ranks, [&] {
    if (ranks.rank() == 0) file->finish(record);
  });
}

}  // namespace

void require_same_text(distributed::mpi const& ranks, std::string_view text, std::string const& message) {
  distributed::require_same(ranks, checksum(text), message);
}

int reconstruct_in_ranks(recon_command const& given, distributed::mpi const& ranks) {
  auto o = given;
  bool const root = ranks.rank() == 0;
  o.quiet = given.quiet || !root;
  interrupt_watch const interrupts;
  auto const start = std::chrono::steady_clock::now();
  auto const memory = budget_of(o, ranks);
  opened_scan scan;
  agree(ranks, [&] { open(o, memory, root, scan); });
  require_same_scan(ranks, o, scan);
  auto const& g = *scan.g;
  auto const& source = *scan.source;
  if (o.scan.geometry.file.empty() && !o.quiet) print_facts(scan.used);
  agree(ranks, [&] {
    if (!root || o.save_parameters.empty()) return;
    output_file file(o.save_parameters);
    file.write(dump_text(geometry_json(g), 1) + '\n');
    file.commit();
  });

  std::optional<distributed::parallel_slab> made;
  agree(ranks, [&] { made.emplace(std::get<parallel_parameters>(g.parameters), ranks.rank(), ranks.size()); });
  auto const& slab = *made;
  bool const vcd = o.method == "vcd", weighted = vcd && o.weights != "unweighted";
  recon_options options(o.call, g.model);
  exec::host const host(o.threads);
  run_watch watch("recon", o.monitor, o.quiet);
  recon_context const ctx{host, instrument::any(host, instrument::live(watch.memory()))};
  auto const shape = slab.scan().sinogram_shape(), recon_shape = slab.scan().recon_shape();
  auto const size = [](std::array<index_t, 3> const& n) { return static_cast<std::size_t>(n[0] * n[1] * n[2]); };
  std::vector<float> sinogram, weights, image;
  repair_count repaired;
  std::vector<std::string> notes = g.warnings;
  agree(ranks, [&] {
    auto const needed = total_bytes(recon_memory(host, slab.scan(), options, {vcd, weighted}, memory.limit())) +
                        source.memory();
    if (!o.quiet)
      say("{} ranks, of {} slices at most; memory of a rank {}\n", ranks.size(), recon_shape[2], bytes_text(needed));
    memory.require(needed, fmt::format("{}: the slices {} to {} of a rank", o.scan.files.input, slab.range().first,
                                       slab.range().first + slab.range().count - 1));
    sinogram.resize(size(shape));
    image.resize(size(recon_shape));
    if (weighted) weights.resize(size(shape));
    watch.step("reading " + source.description());
    progress bar(static_cast<std::size_t>(shape[0]), o.quiet);
    repaired = read_slab(source, slab.range(), host, sinogram.data(), bar);
    bar.clear();
    view<float, 3> const y(sinogram.data(), shape);
    auto const found = correct({host, {}}, o.scan.corrections, y, slab.scan().angles());
    if (root) scan.corrected.insert(scan.corrected.end(), found.begin(), found.end());
    if (weighted) sinogram_weights(ctx, o.weights, y, view<float, 3>(weights.data(), shape));
  });
  if (!o.quiet)
    for (auto const& line : scan.corrected) say("{}\n", line);

  recon_log record;
  view<float, 3> const x(image.data(), recon_shape);
  if (vcd) {
    watch.step("first image");
    iteration_progress bar(options.max_iterations, 0, o.quiet);
    options.progress = [&](iteration_report const& report) {
      bar.done(report);
      watch.step(fmt::format("iteration {} of {} done", report.iteration, report.iterations));
      return !interrupt_asked();
    };
    std::optional<view<float const, 3>> w;
    if (weighted) w.emplace(weights.data(), shape);
    record = naming(o.scan.files.input, [&] {
      return slab_recon(ctx, ranks, slab, view<float const, 3>(sinogram.data(), shape), w, x, options);
    });
    bar.clear();
    if (record.cancelled && record.num_iterations < options.max_iterations) {
      if (root) diagnose("mbirk: interrupted after iteration {} of {} (exit code 1); nothing was written\n",
                         record.num_iterations, options.max_iterations);
      return check_failed;
    }
  } else {
    watch.step(o.method);
    agree(ranks, [&] {
      auto part = g;
      part.scan = slab.scan();
      record.warnings = naming(o.scan.files.input, [&] {
        return direct_scan_recon(ctx, part, view<float, 3>(sinogram.data(), shape), x);
      });
      stop_if_asked();
    });
  }
  sinogram = {};
  weights = {};
  watch.step("writing");
  write_slabs(ranks, o, g, recon_shape, slab.slices(), image, text_of(o, g, record, source.description()));

  std::array<std::int64_t, 2> counts{static_cast<std::int64_t>(repaired.repaired),
                                     static_cast<std::int64_t>(repaired.lost)};
  ranks.all_reduce("dead pixels", counts, distributed::reduction::sum);
  repaired.repaired = static_cast<decltype(repaired.repaired)>(counts[0]);
  repaired.lost = static_cast<decltype(repaired.lost)>(counts[1]);
  if (o.quiet) return done;
  print_result(o, g.scan, record, start);
  print_notes(std::move(notes), record, repaired);
  return done;
}

}  // namespace mbirk::program
