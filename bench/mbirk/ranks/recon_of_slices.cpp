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
#include "commands/recon_slabs.hpp"
#include "input/direct_scan.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/slab_state.hpp"
#include "mbirk/util/histogram.hpp"
#include "operations/recon_memory.hpp"
#include "process/streams.hpp"
#include "ranks/rank_run.hpp"

namespace mbirk::program {
namespace {

/// Writes the slabs of all ranks, which rank 0 receives one after the other, in the memory of its own: `slab` has room
/// for the largest.
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
      slab.resize(element_count(part));
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

/// Bytes of arrays that have so many of the slices.
class bytes_of_slices {
 public:
  explicit bytes_of_slices(distributed::parallel_slab const& slab) : all_(make_geometry(slab.whole())) {}

  double image(index_t slices) const { return sizeof(float) * count(all_.recon_rows, all_.recon_cols, slices); }
  double sinogram(index_t slices) const { return sizeof(float) * count(all_.views, slices, all_.channels); }
  double state(index_t slices) const { return 2 * image(slices) + sinogram(slices); }
  /// The views that automatic sigmas are found from.
  double sampled(index_t slices) const {
    auto const views = std::max<index_t>(1, all_.views);
    return sizeof(float) * count(ceil_div(views, mbirk::detail::sampling_step(views)), slices, all_.channels);
  }

 private:
  static double count(index_t a, index_t b, index_t c) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  }
  parallel_geometry all_;
};

/// Memory of this rank, besides a state to resume: the larger of what it needs to find the sigmas and in iterations.
double slab_memory(rank_run const& r, distributed::parallel_slab const& slab, measurement_source const& source,
                   recon_options const& options, memory_question const& question) {
  bytes_of_slices const bytes(slab);
  auto const shape = slab.scan().recon_shape();
  index_t const mine = shape[2], all = slab.slices(), most = distributed::most_slices(all, r.ranks.size());
  bool const receives = r.is_root() && r.ranks.size() > 1;
  // Rank 0 has the fewest slices, and room for the most.
  double const kept = total_bytes(program_memory(r.host, source.shape(), shape, source.memory())) +
                      (receives ? bytes.image(most - mine) : 0);
  auto const memory_of_scan = [&](double limit) {
    return total_bytes(recon_memory(r.host, slab.scan(), options, question, limit));
  };
  double iterating = memory_of_scan(r.memory.limit()), regularizing = memory_of_scan(0);
  if (!question.vcd) return kept + iterating;
  // The slab once more, between a pack below and a slice above; with a device the host has the values of slices only.
  if (r.ranks.size() > 1) iterating += bytes.image(question.on_device ? 4 : mine + 17);
  if (r.is_root() && !r.o.checkpoint.empty()) iterating += bytes.state(all) + (receives ? bytes.state(most) : 0);
  if (!options.sigma_y || !options.sigma_x)
    regularizing += r.is_root() ? bytes.sampled(most) + (question.weighted ? 2 : 1) * bytes.sampled(all)
                                : bytes.sampled(mine);
  return kept + std::max(iterating, regularizing);
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

std::optional<finished_recon> recon_of_slices(rank_run const& r, scan_input& scan) {
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
  bytes_of_slices const bytes(slab);
  auto resumed = resumed_state(r, bytes.state(slab.slices()) + bytes.state(slab.range().count), parameters,
                               [&](recon_state const& state) { return distributed::state_of_slab(state, slab); });
  int const done_before = resumed ? resumed->mine.record.num_iterations : 0;
  if (resumed && !o.seed_given) options.seed = resumed->mine.seed;
  std::vector<float> sinogram, weights, image;
  finished_recon out;
  agree(ranks, [&] {
    memory_question const question{vcd, weighted, r.on_device(), !r.on_device() || !o.checkpoint.empty()};
    auto const needed =
        slab_memory(r, slab, source, options, question) + (resumed ? bytes.state(recon_shape[2]) : 0);
    index_t const most = distributed::most_slices(slab.slices(), ranks.size());
    if (!o.quiet)
      say("{} ranks, of {} slices at most; memory of rank 0 {}\n", ranks.size(), most, bytes_text(needed));
    auto const mine = fmt::format("{}: the slices {} to {} of a rank", o.scan.files.input, slab.range().first,
                                  slab.range().end() - 1);
    r.memory.require(needed, mine);
    r.require_device(mine, [&] {
      return vcd ? device_memory_of_slabs(r.host, slab.scan(), slab.slices(), options, weighted)
                 : device_memory(r.host, slab.scan(), options, {.vcd = false});
    });
    sinogram.resize(element_count(shape));
    image.reserve(element_count({recon_shape[0], recon_shape[1], r.is_root() ? most : recon_shape[2]}));
    image.resize(element_count(recon_shape));
    if (weighted) weights.resize(element_count(shape));
    r.watch.step("reading " + source.description());
    progress bar(static_cast<std::size_t>(shape[0]), o.quiet);
    auto const show_views = [&](index_t done) {
      bar.at(static_cast<std::size_t>(done), "views of " + source.description());
    };
    out.repaired =
        read_slab(source, r.host, slab.range().first, slab.range().count, sinogram.data(), show_views);
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
    options.resume = &resumed->mine;
  }
  if (!o.checkpoint.empty())
    options.checkpoint = [&](recon_state const& state) { write_checkpoint(o.checkpoint, state, parameters, sums); };

  auto& record = out.record;
  view<float, 3> const x(image.data(), recon_shape);
  if (vcd) {
    std::optional<view<float const, 3>> w;
    if (weighted) w.emplace(weights.data(), shape);
    record = iterate_in_ranks(r, options, done_before, [&] {
      return r.with.slab(slab, view<float const, 3>(sinogram.data(), shape), w, x, options);
    });
    if (interrupted_before_the_end(r, record, options)) return {};
  } else {
    r.watch.step(o.method);
    agree(ranks, [&] {
      auto part = g;
      part.scan = slab.scan();
      record.warnings = naming(o.scan.files.input, [&] {
        return direct_scan_recon(r.alone, part, view<float, 3>(sinogram.data(), shape), x);
      });
      stop_if_asked();
    });
  }
  sinogram = {};
  weights = {};
  r.watch.step("writing");
  write_slabs(ranks, o, g, recon_shape, slab.slices(), image, text_of(o, g, record, source.description()));
  if (resumed && resumed->sums.empty()) scan.g->warnings.push_back(note_without_sums(o.resume));
  return out;
}

}  // namespace mbirk::program
