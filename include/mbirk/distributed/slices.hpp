// How slices are shared out in parallel beam, where they only meet in the prior and in sums.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/geometry/scan.hpp"

namespace mbirk::distributed {

/// Slices are shared out in units: the ramp filter pairs rows within them, and sums are computed unit by unit, so that
/// results do not depend on how many units a rank has.
inline constexpr index_t slice_unit = 32;

/// Consecutive slices (which are also rows of the detector), views, pixel rows, or parts of them.
struct index_range {
  index_t first = 0, count = 0;
  index_t end() const noexcept { return first + count; }
};

/// Slices of a rank: whole units, as equal as possible.
/// @throws parameter_error if there are more ranks than units
inline index_range slices_of(index_t slices, int rank, int ranks) {
  index_t const units = ceil_div(slices, slice_unit);
  require(ranks >= 1 && ranks <= units, [&] {
    return mbirk::detail::message(ranks, " ranks for ", slices, " slices, expected at most ", units, ": one for each ",
                                  slice_unit, " slices");
  });
  auto const begin = [&](index_t r) { return std::min(slices, units * r / ranks * slice_unit); };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

/// Slices of the rank that has the most. @throws as slices_of
inline index_t most_slices(index_t slices, int ranks) {
  index_t most = 0;
  for (int r = 0; r < ranks; ++r) most = std::max(most, slices_of(slices, r, ranks).count);
  return most;
}

/// The part of a parallel-beam scan that a rank reconstructs, or that fits into memory. Projections, filters, direct
/// reconstruction and Hessian diagonal of its slices are those of scan(), by the ordinary operations and to the same
/// bits as in the whole; recon and prox_map are in distributed/recon.hpp and distributed/recon_in_slabs.hpp.
class parallel_slab {
 public:
  /// @throws parameter_error for parameters that parallel_scan refuses, and for more ranks than units of slices
  parallel_slab(parallel_parameters whole, int rank, int ranks)
      : whole_(std::move(whole)), total_(make_geometry(whole_).slices), range_(slices_of(total_, rank, ranks)),
        scan_(part(range_.count, 1)) {}
  /// Any slices, for a process that has them alone.
  /// @throws parameter_error for parameters that parallel_scan refuses, and for slices that the scan does not have
  parallel_slab(parallel_parameters whole, index_range range)
      : whole_(std::move(whole)), total_(make_geometry(whole_).slices), range_(checked(range, total_)),
        scan_(part(range_.count, 1)) {}

  parallel_scan const& scan() const noexcept { return scan_; }
  index_range range() const noexcept { return range_; }
  index_t slices() const noexcept { return total_; }  ///< of all ranks
  parallel_parameters const& whole() const noexcept { return whole_; }

  /// All slices, in every step-th view only.
  parallel_scan sampled(index_t step) const { return parallel_scan(part(total_, step)); }

 private:
  static index_range checked(index_range range, index_t slices) {
    require(range.first >= 0 && range.count >= 1 && range.end() <= slices, [&] {
      return mbirk::detail::message("parallel_slab: the slices ", range.first, " to ", range.end() - 1,
                                    ", expected some of 0 to ", slices - 1);
    });
    return range;
  }
  parallel_parameters part(index_t slices, index_t step) const {
    auto p = whole_;
    auto const all = make_geometry(whole_);
    p.recon_shape = {all.recon_rows, all.recon_cols, slices};
    p.angles.clear();
    for (index_t v = 0; v < all.views; v += step) p.angles.push_back(whole_.angles[static_cast<std::size_t>(v)]);
    p.sinogram_shape = {ceil_div(all.views, step), slices, all.channels};
    return p;
  }

  parallel_parameters whole_;
  index_t total_;
  index_range range_;
  parallel_scan scan_;
};

}  // namespace mbirk::distributed
