// mbirk-mpi recon --method fdk: every rank has some of the views, and computes some rows of the image.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "commands/recon_files.hpp"
#include "commands/recon_result.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/views.hpp"
#include "operations/recon_memory.hpp"
#include "process/streams.hpp"
#include "ranks/rank_run.hpp"
#include "ranks/slab_recon.hpp"

namespace mbirk::program {
namespace {

/// Memory of a rank: its views, twice; a range of them in the layout of the projector; the parts of the image, and that
/// of rank 0, which writes it.
double fdk_memory(distributed::cone_views const& part, bool root) {
  auto const views = static_cast<double>(element_count(part.sinogram_shape())),
             band = static_cast<double>(element_count(part.recon_shape())),
             whole = static_cast<double>(element_count(part.whole().recon_shape()));
  return 4 * (3 * views + band + whole / 3 + (root ? whole : 0));
}

}  // namespace

finished_recon fdk_of_views(rank_run const& r, scan_input& scan) {
  auto const& o = r.o;
  auto const& ranks = r.ranks;
  auto const& g = *scan.g;
  auto const& source = *scan.source;
  std::optional<distributed::cone_views> made;
  agree(ranks, [&] { made.emplace(std::get<cone_parameters>(g.parameters), ranks.rank(), ranks.size()); });
  auto const& part = *made;
  auto const shape = part.sinogram_shape(), band_shape = part.recon_shape(), whole = part.whole().recon_shape();
  finished_recon out;
  std::vector<float> sinogram, band;
  npy_array<float> image{{whole.begin(), whole.end()}, {}};
  agree(ranks, [&] {
    auto const views = part.views();
    double const needed = fdk_memory(part, r.is_root()) +
                          total_bytes(program_memory(r.host, source.shape(), whole, source.memory()));
    if (!o.quiet)
      say("{} ranks, of {} views at most; memory of rank 0 {}\n", ranks.size(), part.most_views(),
          bytes_text(needed));
    r.memory.require(needed, fmt::format("{}: the views {} to {} of a rank", o.scan.files.input, views.first,
                                         views.end() - 1));
    sinogram.resize(element_count(shape));
    band.resize(element_count(band_shape));
    if (r.is_root()) image.data.resize(element_count(whole));
    r.watch.step("reading " + source.description());
    progress bar(static_cast<std::size_t>(shape[0]), o.quiet);
    index_t const each = source.block(), view = shape[1] * shape[2];
    for (index_t v = 0; v < shape[0]; v += each) {
      bar.at(static_cast<std::size_t>(v), "views of " + source.description());
      stop_if_asked();
      out.repaired += source.read({r.host, {}}, views.first + v, std::min(each, shape[0] - v),
                                  sinogram.data() + v * view);
    }
    bar.clear();
    correct_part(r, scan, {sinogram.data(), shape}, {});
  });
  if (!o.quiet)
    for (auto const& line : scan.corrected) say("{}\n", line);
  r.watch.step(o.method);
  naming(o.scan.files.input, [&] {
    fdk_of_ranks(r.ctx, ranks, part, view<float const, 3>(sinogram.data(), shape),
                 view<float, 3>(band.data(), band_shape), out.record.warnings);
    return 0;
  });
  sinogram = {};
  agree(ranks, [] { stop_if_asked(); });
  r.watch.step("writing");
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto const rows = part.rows(rank);
    auto const row = static_cast<std::size_t>(whole[1] * whole[2]);
    std::span<float> to;
    if (r.is_root())
      to = std::span(image.data).subspan(static_cast<std::size_t>(rows.first) * row,
                                         static_cast<std::size_t>(rows.count) * row);
    if (rank == 0 && r.is_root()) std::copy(band.begin(), band.end(), to.begin());
    else if (r.is_root()) ranks.receive("bands", std::as_writable_bytes(to), rank);
    else if (rank == ranks.rank()) ranks.send("bands", std::as_bytes(std::span(band)), 0);
  }
  agree(ranks, [&] {
    if (r.is_root()) write_result(o, g, image, text_of(o, g, out.record, source.description()));
  });
  return out;
}

}  // namespace mbirk::program
