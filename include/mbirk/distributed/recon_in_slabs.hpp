// recon and prox_map in parallel beam of a scan that is larger than memory, by one process: slabs of slices in turn,
// which are read from and written to wherever the caller keeps them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/device_values.hpp"
#include "mbirk/distributed/slab_arrays.hpp"
#include "mbirk/distributed/slab_sweeps.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::distributed {

/// mbirk::recon in parallel beam of arrays that are larger than memory. Slabs of slices are reconstructed one after the
/// other, between the newest boundary slices of their neighbours. Every sweep over the slabs does an equal share of the
/// iterations, and goes on in the partition sequence with the same random draws as in memory.
///
/// @param ctx       execution and instrumentation. A device receives one slab at a time, so that a scan may be larger
///                  than its memory, too; the arrays are those of the host.
/// @param whole     parameters of the whole scan.
/// @param division  slices of a slab, and 1 to max_iterations sweeps. Multiples of 32 slices take the least memory and
///                  time for each slice.
/// @param arrays    read and write the slabs, receive states, and hold the one to resume.
/// @param options   as for recon, but init_recon may not be an array, and mbirjax_rounding, compute_prior_loss, resume
///                  and checkpoint may not be set. progress is called after each iteration of each slab, with values of
///                  the slab; iteration and iterations count those of all slabs. stop_threshold_change_pct is compared
///                  after each sweep, with the change of all slabs in its last iteration.
/// @return the log. Sigmas, the scale of the first image and delta_norm_per_slice are those of the whole; alpha, change
///         and error of an iteration are means over slabs, which did it at different times. After a cancellation, it
///         has the iterations that all slabs have done.
/// @throws as recon; parameter_error also for other slabs and sweeps than those above; what `arrays` throws.
/// Cost: as recon, and for each sweep, which makes the error sinogram and the Hessian diagonal anew, about two thirds
/// of an iteration. Reads the data once more than there are sweeps. Memory: that of recon for the slices of a slab, the
/// slab once more, two slices for each slab, and 20 to 39 views of all rows while sigmas are found. A single slab has
/// the bits of recon. Slabs of 8 or more slices come within 0.1 % of the range (RMSE) of 15 iterations in memory by 3
/// sweeps of 5, and any number of sweeps has the same minimiser.
template <execution_policy Exec, instrumentation_policy Instr>
recon_log recon_in_slabs(context<Exec, Instr> const& ctx, parallel_parameters const& whole,
                         slab_division const& division, slab_arrays const& arrays,
                         recon_options const& options = {}) {
  static_assert(context<Exec, Instr>::backend::has_data);
  require_valid(mbirk::detail::qggmrf_of(options, options.sigma_x.value_or(1)), "recon_in_slabs");
  auto const solve = [](auto const& run, index_range) { return run.minimise(); };
  detail::slab_sweeps run(ctx, whole, division, arrays, options, "recon_in_slabs",
                          {.couples_slices = true, .needs_sigma_x = true}, solve);
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "mbir_recon">, mbirk::detail::masked_pairs(run.whole_scan())});
  return run.run();
}

/// mbirk::prox_map in parallel beam of arrays that are larger than memory; see recon_in_slabs. It couples no slices, so
/// that there is one sweep, which does all iterations; division.sweeps is not used.
template <execution_policy Exec, instrumentation_policy Instr>
recon_log prox_map_in_slabs(context<Exec, Instr> const& ctx, parallel_parameters const& whole,
                            slab_division const& division, slab_arrays const& arrays,
                            recon_options const& options = {{.max_iterations = 3}}) {
  static_assert(context<Exec, Instr>::backend::has_data);
  require(static_cast<bool>(arrays.read_prox_input), [] {
    return std::string("prox_map_in_slabs: slab_arrays has no read_prox_input, expected a function");
  });
  auto const all = make_geometry(whole);
  std::vector<float> values;
  auto const solve = [&](auto const& run, index_range range) {
    std::array<index_t, 3> const shape{all.recon_rows, all.recon_cols, range.count};
    values.resize(element_count(shape));
    arrays.read_prox_input(range.first, view<float, 3>(values.data(), shape));
    device_table const uploaded(ctx, values, "prox_input of a slab");
    view<float const, 3> const prox_input(uploaded.data(), shape);
    run.check_prox_input(prox_input);
    return run.proximal_point(prox_input);
  };
  detail::slab_sweeps run(ctx, whole, {division.slices, 1}, arrays, options, "prox_map_in_slabs",
                          {.needs_sigma_prox = true}, solve);
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "prox_map">, mbirk::detail::masked_pairs(run.whole_scan())});
  return run.run();
}

}  // namespace mbirk::distributed
