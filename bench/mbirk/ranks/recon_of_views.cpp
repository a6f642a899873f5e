// mbirk-mpi recon in cone beam: every rank has some of the views, and computes some rows of the image.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "commands/iteration_progress.hpp"
#include "commands/recon_result.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/state_of_views.hpp"
#include "operations/recon_memory.hpp"
#include "operations/views_memory.hpp"
#include "output/volume_stream.hpp"
#include "process/streams.hpp"
#include "ranks/rank_run.hpp"

namespace mbirk::program {
namespace {

/// Checksums of what a checkpoint depends on, those of `mbirk recon`: a rank goes on with the sums of rows where the
/// one before has stopped.
data_sums sums_of_ranks(distributed::mpi const& ranks, distributed::cone_views const& part,
                        view<float const, 3> const& y) {
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(y.extent(1)), 0);
  auto const bytes = std::as_writable_bytes(std::span(rows));
  if (ranks.rank() > 0) ranks.receive("checksums", bytes, ranks.rank() - 1);
  rows = sums_of_rows(y, std::move(rows));
  auto const last = ranks.size() - 1;
  if (ranks.rank() < last) ranks.send("checksums", std::as_bytes(std::span(rows)), ranks.rank() + 1);
  ranks.broadcast("checksums", std::as_writable_bytes(std::span(rows)), last);
  auto const& mask = part.whole().mask();
  return {{"mask", data_sum(mask.data(), mask.size())}, {"line integrals", sum_text(rows_sum(rows))}};
}

/// Reads the views of a rank.
repair_count read_views(rank_run const& r, measurement_source const& source, distributed::index_range views,
                        std::vector<float>& to) {
  repair_count repaired;
  progress bar(static_cast<std::size_t>(views.count), r.o.quiet);
  index_t const each = source.block(), view = source.shape()[1] * source.shape()[2];
  for (index_t v = 0; v < views.count; v += each) {
    bar.at(static_cast<std::size_t>(v), "views of " + source.description());
    stop_if_asked();
    repaired += source.read({r.host, {}}, views.first + v, std::min(each, views.count - v), to.data() + v * view);
  }
  bar.clear();
  return repaired;
}

/// Gathers these rows of the image on rank 0, at `to`, from the ranks that have some of them. Collective; only rank 0
/// uses `to`. @param band  the rows of this rank
void gather_rows(rank_run const& r, distributed::cone_views const& part, distributed::index_range rows,
                 std::vector<float> const& band, float* to) {
  auto const& ranks = r.ranks;
  auto const shape = part.whole().recon_shape();
  index_t const row = shape[1] * shape[2];
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto const has = part.rows(rank);
    index_t const first = std::max(rows.first, has.first), count = std::min(rows.end(), has.end()) - first;
    if (count <= 0) continue;
    auto const floats = static_cast<std::size_t>(count * row);
    if (rank == ranks.rank()) {
      std::span const mine(band.data() + (first - has.first) * row, floats);
      if (r.is_root()) std::copy(mine.begin(), mine.end(), to + (first - rows.first) * row);
      else ranks.send("bands", std::as_bytes(mine), 0);
    } else if (r.is_root()) {
      ranks.receive("bands", std::as_writable_bytes(std::span(to + (first - rows.first) * row, floats)), rank);
    }
  }
}

/// Rank 0 writes the image. @param buffer  on rank 0 rows_to_write() rows
void write_bands(rank_run const& r, geometry_file const& g, distributed::cone_views const& part,
                 std::vector<float> const& band, std::vector<float> buffer,
                 std::vector<std::pair<std::string, std::string>> const& record) {
  auto const shape = part.whole().recon_shape();
  if (!takes_rows(r.o.out)) {
    npy_array<float> image{{shape.begin(), shape.end()}, std::move(buffer)};
    gather_rows(r, part, {0, shape[0]}, band, image.data.data());
    return agree(r.ranks, [&] {
      if (r.is_root()) write_result(r.o, g, image, record);
    });
  }
  std::unique_ptr<result_stream> file;
  agree(r.ranks, [&] {
    if (r.is_root()) file = open_result(r.o, g, 0);
  });
  for (index_t first = 0; first < shape[0]; first += band_unit) {
    index_t const count = std::min(band_unit, shape[0] - first);
    gather_rows(r, part, {first, count}, band, buffer.data());
    agree(r.ranks, [&] {
      stop_if_asked();
      if (r.is_root()) file->add_rows(view<float const, 3>(buffer.data(), {count, shape[1], shape[2]}));
    });
  }
  agree(r.ranks, [&] {
    if (r.is_root()) file->finish(record);
  });
}

}  // namespace

std::optional<finished_recon> recon_of_views(rank_run const& r, scan_input& scan) {
  auto const& o = r.o;
  auto const& ranks = r.ranks;
  auto const& g = *scan.g;
  auto const& source = *scan.source;
  std::optional<distributed::cone_views> made;
  agree(ranks, [&] { made.emplace(std::get<cone_parameters>(g.parameters), ranks.rank(), ranks.size()); });
  auto const& part = *made;
  bool const vcd = o.method == "vcd", weighted = vcd && o.weights != "unweighted";
  recon_options options(o.call, g.model);
  auto const shape = part.sinogram_shape(), band_shape = part.recon_shape(), whole = part.whole().recon_shape();
  json const parameters = {{"geometry", geometry_json(g)}, {"weights", o.weights}};
  double const bytes_to_resume =
      state_bytes(part.whole().sinogram_shape(), whole) + state_bytes(shape, band_shape);
  auto resumed = resumed_state(r, bytes_to_resume, parameters, [&](recon_state const& state) {
    return distributed::state_of_views(state, part, ranks.rank());
  });
  int const done_before = resumed ? resumed->mine.record.num_iterations : 0;
  if (resumed && !o.seed_given) options.seed = resumed->mine.seed;
  finished_recon out;
  std::vector<float> sinogram, weights, band, buffer;
  agree(ranks, [&] {
    auto const views = part.views();
    memory_question const question{vcd, weighted, r.on_device()};
    index_t const rows_to_receive = r.is_root() ? rows_to_write(o.out, whole[0]) : 0;
    double const needed =
        views_memory(part, ranks.rank(), options, question, !o.checkpoint.empty(), rows_to_receive) +
        (resumed ? state_bytes(shape, band_shape) : 0) +
        total_bytes(program_memory(r.host, source.shape(), whole, source.memory()));
    if (!o.quiet)
      say("{} ranks, of {} views at most; memory of rank 0 {}\n", ranks.size(), part.most_views(),
          bytes_text(needed));
    auto const mine = fmt::format("{}: the views {} to {} of a rank", o.scan.files.input, views.first, views.end() - 1);
    r.memory.require(needed, mine);
    r.require_device(mine, [&] { return device_memory_of_views(part, ranks.rank(), options, question); });
    sinogram.resize(element_count(shape));
    band.resize(element_count(band_shape));
    if (weighted) weights.resize(element_count(shape));
    buffer.resize(element_count({rows_to_receive, whole[1], whole[2]}));
    r.watch.step("reading " + source.description());
    out.repaired = read_views(r, source, views, sinogram);
    view<float, 3> const y(sinogram.data(), shape);
    correct_part(r, scan, y, {});
    if (weighted) sinogram_weights(r.ctx, o.weights, y, view<float, 3>(weights.data(), shape));
  });
  if (!o.quiet)
    for (auto const& line : scan.corrected) say("{}\n", line);

  view<float const, 3> const y(sinogram.data(), shape);
  view<float, 3> const x(band.data(), band_shape);
  auto& record = out.record;
  if (vcd) {
    auto const sums = sums_of_ranks(ranks, part, y);
    if (resumed) {
      agree(ranks, [&] { require_same_data(o.resume, resumed->sums, sums); });
      options.resume = &resumed->mine;
    }
    if (!o.checkpoint.empty())
      options.checkpoint = [&](recon_state const& state) { write_checkpoint(o.checkpoint, state, parameters, sums); };
    std::optional<view<float const, 3>> w;
    if (weighted) w.emplace(weights.data(), shape);
    record = iterate_in_ranks(r, options, done_before, [&] {
      return r.with.views(part, y, w, x, options);
    });
    if (interrupted_before_the_end(r, record, options)) return {};
  } else {
    r.watch.step(o.method);
    naming(o.scan.files.input, [&] {
      r.with.fdk(part, y, x, record.warnings);
      return 0;
    });
    agree(ranks, [] { stop_if_asked(); });
  }
  sinogram = {};
  weights = {};
  r.watch.step("writing");
  write_bands(r, g, part, band, std::move(buffer), text_of(o, g, record, source.description()));
  if (resumed && resumed->sums.empty()) scan.g->warnings.push_back(note_without_sums(o.resume));
  return out;
}

}  // namespace mbirk::program
