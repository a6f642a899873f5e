// Which slices and iterations the visits of slabs do, and whether a state of them can be resumed. Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/distributed/slab_arrays.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/geometry/parallel.hpp"
#include "mbirk/recon/log_check.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::distributed::detail {

struct slab_schedule {
  index_t all, each;       // slices: of the whole, and of every slab but the last
  int iterations, sweeps;  // of each slab

  slab_schedule(index_t slices, slab_division const& division, recon_options const& o, bool couples_slices)
      : all(slices),
        each(division.slices),
        iterations(std::max(0, o.max_iterations - o.first_iteration)),
        sweeps(iterations > 0 && couples_slices ? division.sweeps : 1) {}

  index_t slabs() const { return ceil_div(all, each); }
  index_t visits() const { return slabs() * sweeps; }
  index_range range(index_t slab) const { return {slab * each, std::min(each, all - slab * each)}; }
  /// Iterations that a slab has done after so many sweeps.
  index_t iterations_after(index_t sweeps_done) const { return iterations * sweeps_done / sweeps; }
};

/// @param place  where the state comes from, for messages
/// @throws shape_error, parameter_error
MBIRK_COLD inline void require_resumable(slabs_state const& state, parallel_geometry const& all,
                                         slab_division const& division, recon_options const& o, bool couples_slices,
                                         std::string const& place) {
  using mbirk::detail::message;
  using mbirk::detail::shape_text;
  std::array<index_t, 3> const sinogram{all.views, all.rows, all.channels},
      recon{all.recon_rows, all.recon_cols, all.slices};
  require<shape_error>(state.sinogram_shape == sinogram && state.recon_shape == recon, [&] {
    return message(place, ": the state to resume is of a sinogram ", shape_text(state.sinogram_shape), " and a recon ",
                   shape_text(state.recon_shape), ", expected ", shape_text(sinogram), " and ", shape_text(recon));
  });
  auto const same = [&](char const* what, auto there, auto here) {
    require(there == here, [&] {
      return message(place, ": the state to resume has ", what, " = ", there, ", expected ", here);
    });
  };
  same("slices of a slab", state.division.slices, division.slices);
  same("sweeps", state.division.sweeps, division.sweeps);
  same("seed", state.seed, o.seed);
  require(division.slices >= 1 && division.sweeps >= 1, [&] {
    return message(place, ": the state to resume has ", division.sweeps, " sweeps over slabs of ", division.slices,
                   " slices, expected at least 1 of both");
  });
  slab_schedule const schedule(all.slices, division, o, couples_slices);
  auto const slabs = schedule.slabs();
  same("slabs", std::ssize(state.slabs), slabs);
  require(state.visits >= 0 && state.visits <= schedule.visits(), [&] {
    return message(place, ": the state to resume has ", state.visits, " visits, expected 0 to ", schedule.visits());
  });
  for (index_t at = 0; at < slabs; ++at) {
    auto const& [log, norms, weight] = state.slabs[static_cast<std::size_t>(at)];
    auto const fault = mbirk::detail::log_fault(log, schedule.range(at).count);
    require(fault.empty(), [&] {
      return message(place, ": the log of slab ", at, " in the state to resume is inconsistent: ", fault);
    });
    if (slabs == 1) continue;  // it may have stopped before its last iteration
    auto const of_visits = schedule.iterations_after((state.visits + slabs - 1 - at) / slabs);
    same("iterations", index_t{log.num_iterations}, of_visits);
    same("norms", std::ssize(norms), of_visits);
  }
}

}  // namespace mbirk::distributed::detail
