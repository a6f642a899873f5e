#include "operations/ranks_estimate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <variant>

#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/views.hpp"
#include "operations/recon_memory.hpp"
#include "operations/views_memory.hpp"

namespace mbirk::program {
namespace {

constexpr double subsets = 128;
// Nanoseconds of one thread, measured at 256^3 (docs/distributed.md): for each pixel and view in parallel beam, and for
// each of its slices; for each voxel and view in cone beam, and for each voxel.
constexpr double pixel_time = 16, slice_time = 0.41, ray_time = 1.0, voxel_time = 10;

double product(index_t a, index_t b) { return static_cast<double>(a) * static_cast<double>(b); }

/// Waiting for messages of all ranks, and sending.
void communicate(ranks_estimate& e, network const& carrier, double exchanges, double bytes_of_subset) {
  if (e.ranks == 1) return;
  e.latencies = subsets * exchanges * std::log2(e.ranks);
  e.bytes = subsets * bytes_of_subset;
  e.communication = e.latencies * carrier.latency + e.bytes / carrier.bandwidth;
}

ranks_estimate of_slices(parallel_scan const& scan, int ranks, int threads, network const& carrier,
                         exec::host const& host) {
  auto const& g = scan.geometry();
  auto const most = distributed::most_slices(g.slices, ranks);
  auto const pixels = static_cast<double>(scan.full_indices().size());
  auto const seconds = [&](index_t slices) {
    return 1e-9 * pixels * static_cast<double>(g.views) * (pixel_time + slice_time * static_cast<double>(slices)) /
           threads;
  };
  ranks_estimate e{.ranks = ranks, .compute = seconds(most), .alone = seconds(g.slices)};
  // The sums of its units to all ranks; boundaries to two neighbours.
  double const units = std::ceil(static_cast<double>(most) / static_cast<double>(distributed::slice_unit));
  communicate(e, carrier, 1, 24 * units + 2 * 4 * pixels / subsets);

  parallel_parameters p;
  p.sinogram_shape = {g.views, g.rows, g.channels};
  p.angles.assign(scan.angles().begin(), scan.angles().end());
  p.recon_shape = scan.recon_shape();
  int const largest = [&] {
    int r = 0;
    while (distributed::slices_of(g.slices, r, ranks).count < most) ++r;
    return r;
  }();
  distributed::parallel_slab const slab(p, largest, ranks);
  e.memory = total_bytes(recon_memory(host, slab.scan(), {}, {})) +
             (ranks > 1 ? 4 * product(g.recon_rows, g.recon_cols) * static_cast<double>(most + 17) : 0);
  return e;
}

ranks_estimate of_views(cone_scan const& scan, int ranks, int threads, network const& carrier) {
  auto const& g = scan.geometry();
  cone_parameters p;
  p.sinogram_shape = {g.views, g.rows, g.channels};
  p.angles.assign(scan.angles().begin(), scan.angles().end());
  p.recon_shape = scan.recon_shape();
  p.source_detector_dist = 1 / g.inverse_detector_dist;
  p.source_iso_dist = p.source_detector_dist * g.inverse_magnification;
  distributed::cone_views const part(p, 0, ranks);
  double const voxels = static_cast<double>(scan.full_indices().size()) * static_cast<double>(g.slices);
  auto const seconds = [&](double views, double share) {
    return 1e-9 * voxels * (ray_time * views + voxel_time * share) / threads;
  };
  ranks_estimate e{.ranks = ranks,
                   .compute = seconds(static_cast<double>(part.most_views()), 1.0 / ranks),
                   .alone = seconds(static_cast<double>(g.views), 1)};
  // Parts of the back projection to the ranks that have the pixels, and the direction to all, each as much as the
  // voxels of the other ranks; damping and line search to all.
  double const elsewhere = 4 * voxels / subsets * (1 - 1.0 / ranks);
  communicate(e, carrier, 4, 2 * elsewhere + 16 * static_cast<double>(g.slices) + 24);
  for (int r = 0; r < ranks; ++r)
    e.memory = std::max(e.memory, views_memory(distributed::cone_views(p, r, ranks), r, {}, {}, false));
  return e;
}

}  // namespace

network read_network(std::string const& text) {
  network n;
  double latency = 0, bandwidth = 0;
  auto const* const end = text.data() + text.size();
  auto const first = std::from_chars(text.data(), end, latency);
  bool fits = first.ec == std::errc{} && first.ptr != end && *first.ptr == ',';
  if (fits) {
    auto const second = std::from_chars(first.ptr + 1, end, bandwidth);
    fits = second.ec == std::errc{} && second.ptr == end;
  }
  require(fits && latency >= 0 && bandwidth > 0 && std::isfinite(latency) && std::isfinite(bandwidth), [&] {
    return "--network is \"" + text + "\", expected microseconds and GB/s, as in 2,12.5";
  });
  n.latency = 1e-6 * latency;
  n.bandwidth = 1e9 * bandwidth;
  return n;
}

ranks_estimate estimate_ranks(recon_scan const& any, int ranks, int threads, network const& carrier,
                              exec::host const& host) {
  if (auto const* scan = std::get_if<parallel_scan>(&any)) return of_slices(*scan, ranks, threads, carrier, host);
  auto const* cone = std::get_if<cone_scan>(&any);
  require(cone != nullptr, [] {
    return std::string("--ranks: mbirk-mpi reconstructs parallel beam and cone beam only");
  });
  return of_views(*cone, ranks, threads, carrier);
}

}  // namespace mbirk::program
