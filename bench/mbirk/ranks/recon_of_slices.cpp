// mbirk-mpi recon in parallel beam: every rank has some of the slices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "commands/interrupt.hpp"
#include "commands/iteration_progress.hpp"
#include "commands/recon_options.hpp"
#include "commands/recon_result.hpp"
#include "input/checkpoint_file.hpp"
#include "input/direct_scan.hpp"
#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/slab_state.hpp"
#include "operations/recon_memory.hpp"
#include "process/streams.hpp"
#include "ranks/rank_run.hpp"
#include "ranks/slab_recon.hpp"

namespace mbirk::program {
namespace {

using distributed::agree;

/// Reads the rows of a slab in all views.
repair_count read_slab(measurement_source const& source, distributed::index_range rows, exec::host const& host,
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

/// Bytes of the state of all slices.
double state_bytes(distributed::parallel_slab const& slab) {
  auto const whole = make_geometry(slab.whole());
  auto const elements = [](index_t a, index_t b, index_t c) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  };
  return sizeof(float) * (2 * elements(whole.recon_rows, whole.recon_cols, whole.slices) +
                          elements(whole.views, whole.rows, whole.channels));
}

/// The slab's part of a checkpoint, and the checksums of the data that it was made from.
struct resumed_slab {
  recon_state slab;
  data_sums sums;
};
/// Every rank reads the whole file, and keeps its slab.
std::optional<resumed_slab> resumed_state(rank_run const& r, distributed::parallel_slab const& slab,
                                          json const& parameters) {
  std::optional<resumed_slab> found;
  if (r.o.resume.empty()) return found;
  agree(r.ranks, [&] {
    auto saved = read_checkpoint(r.o.resume, parameters, r.memory);
    found.emplace(resumed_slab{distributed::state_of_slab(saved.state, slab), std::move(saved.sums)});
  });
  return found;
}

/// Checksums of what a checkpoint depends on, those of `mbirk recon`.
data_sums sums_of_ranks(rank_run const& r, distributed::parallel_slab const& slab, view<float const, 3> const& y) {
  auto const mine = rows_sum(y, slab.range().first);
  std::uint64_t total = 0;
  for (auto const sum : distributed::gather_number(r.ranks, "checksums", static_cast<index_t>(mine)))
    total += static_cast<std::uint64_t>(sum);
  auto const& mask = slab.scan().mask();
  return {{"mask", data_sum(mask.data(), mask.size())}, {"line integrals", sum_text(total)}};
}

}  // namespace

std::optional<finished_recon> recon_of_slices(rank_run const& r, opened_scan& scan) {
  auto const& o = r.o;
  auto const& ranks = r.ranks;
  auto const& g = *scan.g;
  auto const& source = *scan.source;
  std::optional<distributed::parallel_slab> made;
  agree(ranks, [&] { made.emplace(std::get<parallel_parameters>(g.parameters), ranks.rank(), ranks.size()); });
  auto const& slab = *made;
  bool const vcd = o.method == "vcd", weighted = vcd && o.weights != "unweighted";
  recon_options options(o.call, g.model);
  auto const shape = slab.scan().sinogram_shape(), recon_shape = slab.scan().recon_shape();
  json const parameters = {{"geometry", geometry_json(g)}, {"weights", o.weights}};
  auto resumed = resumed_state(r, slab, parameters);
  int const done_before = resumed ? resumed->slab.record.num_iterations : 0;
  if (resumed && !o.seed_given) options.seed = resumed->slab.seed;
  std::vector<float> sinogram, weights, image;
  finished_recon out;
  agree(ranks, [&] {
    auto const needed = total_bytes(recon_memory(r.host, slab.scan(), options, {vcd, weighted}, r.memory.limit())) +
                        source.memory() + (r.is_root() && !o.checkpoint.empty() ? state_bytes(slab) : 0) +
                        (resumed ? sizeof(float) * static_cast<double>(2 * size_of(recon_shape) + size_of(shape)) : 0);
    if (!o.quiet)
      say("{} ranks, of {} slices at most; memory of a rank {}\n", ranks.size(), recon_shape[2], bytes_text(needed));
    r.memory.require(needed, fmt::format("{}: the slices {} to {} of a rank", o.scan.files.input, slab.range().first,
                                         slab.range().end() - 1));
    sinogram.resize(size_of(shape));
    image.resize(size_of(recon_shape));
    if (weighted) weights.resize(size_of(shape));
    r.watch.step("reading " + source.description());
    progress bar(static_cast<std::size_t>(shape[0]), o.quiet);
    out.repaired = read_slab(source, slab.range(), r.host, sinogram.data(), bar);
    bar.clear();
    view<float, 3> const y(sinogram.data(), shape);
    correct_part(r, scan, y, slab.scan().angles());
    if (weighted) sinogram_weights(r.ctx, o.weights, y, view<float, 3>(weights.data(), shape));
  });
  if (!o.quiet)
    for (auto const& line : scan.corrected) say("{}\n", line);

  data_sums sums;
  if (vcd) sums = sums_of_ranks(r, slab, {sinogram.data(), shape});
  if (resumed) {
    agree(ranks, [&] { require_same_data(o.resume, resumed->sums, sums); });
    options.resume = &resumed->slab;
  }
  if (!o.checkpoint.empty())
    options.checkpoint = [&](recon_state const& state) { write_checkpoint(o.checkpoint, state, parameters, sums); };

  auto& record = out.record;
  view<float, 3> const x(image.data(), recon_shape);
  if (vcd) {
    r.watch.step("first image");
    iteration_progress bar(options.max_iterations, done_before, o.quiet);
    options.progress = [&](iteration_report const& report) {
      bar.done(report);
      r.watch.step(fmt::format("iteration {} of {} done", report.iteration, report.iterations));
      return !interrupt_asked();
    };
    std::optional<view<float const, 3>> w;
    if (weighted) w.emplace(weights.data(), shape);
    record = naming(o.scan.files.input, [&] {
      return slab_recon(r.ctx, ranks, slab, view<float const, 3>(sinogram.data(), shape), w, x, options);
    });
    bar.clear();
    if (record.cancelled && record.num_iterations < options.max_iterations) {
      if (r.is_root())
        diagnose("mbirk: interrupted after iteration {} of {} (exit code 1); {}\n", record.num_iterations,
                 options.max_iterations,
                 o.checkpoint.empty() ? std::string("nothing was written")
                                      : fmt::format("the state is in {}, and --resume {} continues", o.checkpoint,
                                                    o.checkpoint));
      return {};
    }
  } else {
    r.watch.step(o.method);
    agree(ranks, [&] {
      auto part = g;
      part.scan = slab.scan();
      record.warnings = naming(o.scan.files.input, [&] {
        return direct_scan_recon(r.ctx, part, view<float, 3>(sinogram.data(), shape), x);
      });
      stop_if_asked();
    });
  }
  sinogram = {};
  weights = {};
  r.watch.step("writing");
  write_slabs(ranks, o, g, recon_shape, slab.slices(), image, text_of(o, g, record, source.description()));
  return out;
}

}  // namespace mbirk::program
