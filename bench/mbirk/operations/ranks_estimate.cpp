#include "operations/ranks_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>
#include <variant>

#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/views.hpp"
#include "operations/recon_memory.hpp"
#include "operations/views_memory.hpp"
#include "output/volume_stream.hpp"

namespace mbirk::program {
namespace {

constexpr double subsets = 128;
// Nanoseconds of one thread, measured at 256^3 (docs/distributed.md): for each pixel and view in parallel beam, and for
// each of its slices; for each voxel and view in cone beam, and for each voxel.
constexpr double pixel_time = 16, slice_time = 0.41, ray_time = 1.0, voxel_time = 10;

double product(index_t a, index_t b) { return static_cast<double>(a) * static_cast<double>(b); }

/// How ranks share out a scan: slabs of slices and, in each slab, groups of views.
struct sharing {
  int slabs, groups;
  index_t slices, views;  ///< of the rank that has most
};

/// @param waits  messages for which a subset waits, one after the other
ranks_estimate with_messages(ranks_estimate e, network const& carrier, double waits, double bytes_of_subset) {
  if (e.ranks == 1) return e;
  e.latencies = subsets * waits;
  e.bytes = subsets * bytes_of_subset;
  e.communication = e.latencies * carrier.latency + e.bytes / carrier.bandwidth;
  return e;
}
/// Bytes that a rank sends for a subset of so many pixels. Parts of the back projection go to the ranks of its group
/// that have the pixels, and the direction to all of them: each is as much as the voxels of the others. Boundary values
/// of its own pixels go to the neighbours in other slabs.
double bytes_of_voxels(sharing const& by, double pixels) {
  double const groups = by.groups, elsewhere = 4 * pixels * static_cast<double>(by.slices) * (1 - 1 / groups);
  return 2 * elsewhere + (by.slabs > 1 ? 2 * 4 * pixels / groups : 0);
}

ranks_estimate of_parallel(parallel_scan const& scan, sharing const& by, int threads, network const& carrier) {
  auto const& g = scan.geometry();
  auto const pixels = static_cast<double>(scan.full_indices().size());
  auto const seconds = [&](index_t slices, index_t views) {
    return 1e-9 * pixels * static_cast<double>(views) * (pixel_time + slice_time * static_cast<double>(slices)) /
           threads;
  };
  ranks_estimate const e{.ranks = by.slabs * by.groups, .slabs = by.slabs, .groups = by.groups,
                         .compute = seconds(by.slices, by.views), .alone = seconds(g.slices, g.views)};
  // The sums of its units to all ranks.
  double const units = std::ceil(static_cast<double>(by.slices) / static_cast<double>(distributed::slice_unit));
  return with_messages(e, carrier, std::log2(e.ranks) + 2 * std::log2(by.groups),
                       24 * units + bytes_of_voxels(by, pixels / subsets));
}

/// Rows of the detector that see voxels on both sides of a plane between slices: the magnification of a point depends
/// on its distance from the source.
double rows_of_both_sides(cone_geometry const& g, index_t plane) {
  double const height = std::abs(static_cast<double>(plane) - static_cast<double>(g.slices) / 2) * g.delta_z,
               radius = std::max(static_cast<double>(g.recon_cols) * g.delta_x,
                                 static_cast<double>(g.recon_rows) * g.delta_y) / 2,
               q = radius * g.inverse_detector_dist / g.inverse_magnification;
  return 1 + height / (g.inverse_magnification * g.delta_det_row) * 2 * q / (1 - q * q);
}
/// Such rows of the slab that has most of them, and whether none of them belongs to three slabs.
struct shared_rows {
  double most = 0;
  bool of_two_slabs = true;
};
shared_rows rows_between(cone_geometry const& g, int slabs) {
  shared_rows found;
  for (index_t s = 0; s < slabs; ++s) {
    index_t const first = g.slices * s / slabs, end = g.slices * (s + 1) / slabs;
    double const below = s > 0 ? rows_of_both_sides(g, first) : 0,
                 above = s + 1 < slabs ? rows_of_both_sides(g, end) : 0,
                 own = static_cast<double>(end - first) * g.delta_z / (g.inverse_magnification * g.delta_det_row);
    found.most = std::max(found.most, below + above);
    found.of_two_slabs = found.of_two_slabs && std::max(below, above) <= own;
  }
  return found;
}

ranks_estimate of_cone(cone_scan const& scan, sharing const& by, int threads, network const& carrier) {
  auto const& g = scan.geometry();
  auto const pixels = static_cast<double>(scan.full_indices().size());
  auto const seconds = [&](index_t slices, index_t views, double share) {
    return 1e-9 * pixels * static_cast<double>(slices) * (ray_time * static_cast<double>(views) + voxel_time * share) /
           threads;
  };
  ranks_estimate const e{.ranks = by.slabs * by.groups, .slabs = by.slabs, .groups = by.groups,
                         .compute = seconds(by.slices, by.views, 1.0 / by.groups),
                         .alone = seconds(g.slices, g.views, 1)};
  // Damping and line search to all ranks; to the neighbouring slabs the projection in the rows that both see.
  double const rows = rows_between(g, by.slabs).most;
  return with_messages(e, carrier, 2 * std::log2(e.ranks) + 2 * std::log2(by.groups) + (by.slabs > 1 ? 1 : 0),
                       bytes_of_voxels(by, pixels / subsets) + 16 * static_cast<double>(by.slices) + 24 +
                           4 * product(by.views, g.channels) * rows);
}

ranks_estimate of_slices(parallel_scan const& scan, int ranks, int threads, network const& carrier,
                         exec::host const& host) {
  auto const& g = scan.geometry();
  auto const most = distributed::most_slices(g.slices, ranks);
  auto e = of_parallel(scan, {ranks, 1, most, g.views}, threads, carrier);

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
  auto e = of_cone(scan, {1, ranks, g.slices, part.most_views()}, threads, carrier);
  for (int r = 0; r < ranks; ++r)
    e.memory = std::max(e.memory, views_memory(distributed::cone_views(p, r, ranks), r, {}, {}, false, band_unit));
  return e;
}

/// Calls f with the scan, which must be one that mbirk-mpi reconstructs.
template <class F> auto of_ranks(recon_scan const& any, F const& f) {
  if (auto const* scan = std::get_if<parallel_scan>(&any)) return f(*scan);
  auto const* cone = std::get_if<cone_scan>(&any);
  require(cone != nullptr, [] {
    return std::string("--ranks: mbirk-mpi reconstructs parallel beam and cone beam only");
  });
  return f(*cone);
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
  return of_ranks(any, [&]<class Scan>(Scan const& scan) {
    if constexpr (std::is_same_v<Scan, parallel_scan>) return of_slices(scan, ranks, threads, carrier, host);
    else return of_views(scan, ranks, threads, carrier);
  });
}

ranks_estimate estimate_slabs_and_views(recon_scan const& any, int ranks, int threads, network const& carrier) {
  return of_ranks(any, [&]<class Scan>(Scan const& scan) {
    auto const& g = scan.geometry();
    std::optional<ranks_estimate> best;
    for (int slabs = 1; slabs <= std::min<index_t>(ranks, g.slices); ++slabs) {
      int const groups = ranks / slabs;
      if (slabs * groups != ranks || groups > g.views) continue;
      index_t const views = ceil_div(g.views, groups);
      ranks_estimate e;
      if constexpr (std::is_same_v<Scan, parallel_scan>) {
        if (slabs > ceil_div(g.slices, distributed::slice_unit)) continue;
        e = of_parallel(scan, {slabs, groups, distributed::most_slices(g.slices, slabs), views}, threads, carrier);
      } else {
        if (!rows_between(g, slabs).of_two_slabs) continue;
        e = of_cone(scan, {slabs, groups, ceil_div(g.slices, slabs), views}, threads, carrier);
      }
      if (!best || e.seconds() < best->seconds()) best = e;
    }
    require(best.has_value(), [&] {
      return fmt::format("{} ranks for {} slices and {} views, expected a number that slabs times groups of views give",
                         ranks, g.slices, g.views);
    });
    return *best;
  });
}

}  // namespace mbirk::program
