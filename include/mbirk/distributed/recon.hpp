// recon and prox_map over several ranks, in parallel beam: every rank has some of the slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mbirk/distributed/slab_part.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::distributed {
namespace detail {

template <class Context, communicator Comm>
using slab_solver = mbirk::detail::vcd_solver<Context, parallel_geometry, slab_part<Comm>>;

/// Validates all shapes and options before any work, on all ranks. @param more  further checks of this rank
template <communicator Comm, class Solver, class More>
void check_ranks(Comm const& ranks, parallel_slab const& slab, Solver const& solver, view<float const, 3> image,
           bool weighted, recon_options const& o, std::string const& operation, More const& more) {
  using mbirk::detail::message;
  agree(ranks, [&] {
    solver.check();
    auto const refuse = [&](bool asked, char const* what) {
      require(!asked, [&] { return message(operation, ": ", what, ", which is not distributed"); });
    };
    refuse(o.mbirjax_rounding, "mbirjax_rounding adds all samples in one order");
    refuse(o.compute_prior_loss, "compute_prior_loss is set");
    auto const shape = slab.scan().sinogram_shape();
    require(slab.slices() > 0 && shape[0] * shape[1] * shape[2] > 0 && image.size() > 0, [&] {
      return message(operation, ": the scan is empty, expected some samples and voxels");
    });
    more();
  });
  auto const same = [&](std::int64_t number, char const* what) {
    require_same(ranks, number, message(operation, ": ranks differ in ", what, ", expected the same on all"));
  };
  auto const shape = slab.scan().sinogram_shape();
  same(slab.slices(), "the number of slices");
  same(shape[0], "the number of views");
  same(shape[2], "the number of channels");
  same(image.extent(0), "the rows of the image");
  same(image.extent(1), "its columns");
  same(weighted ? 1 : 0, "having weights");
  same(o.max_iterations, "max_iterations");
  same(o.first_iteration, "first_iteration");
  same(o.seed, "seed");
  same(o.checkpoint ? o.checkpoint_every : 0, "checkpoint_every, or in having a checkpoint callback");
  same(o.resume ? o.resume->record.num_iterations : -1, "the iterations of the state to resume, or in having one");
  same(static_cast<std::int64_t>(o.init_recon.index()), "the kind of init_recon");
  same((o.sigma_y ? 1 : 0) + (o.sigma_x ? 2 : 0) + (o.sigma_prox ? 4 : 0), "the sigmas that are given");
  // Every slab but the last ends with a unit; slabs made for another number of ranks would not meet.
  auto const expected = slices_of(slab.slices(), ranks.rank(), ranks.size());
  agree(ranks, [&] {
    require(expected.first == slab.range().first && expected.count == slab.range().count, [&] {
      return message(operation, ": the slab begins with slice ", slab.range().first, ", expected ", expected.first,
                     ": it is of another rank or number of ranks");
    });
  });
}

}  // namespace detail

/// mbirk::recon, by several ranks that have some slices each. Collective: every rank calls it with its slab, the same
/// options, and its part of the arrays.
///
/// @param ctx       execution (on the host) and instrumentation. The call returns when this rank's part is complete.
/// @param ranks     a communicator: self, mpi, or either one counted.
/// @param slab      the slices of this rank: parallel_slab(parameters, ranks.rank(), ranks.size()).
/// @param sinogram  (views, rows of the slab, channels), line integrals.
/// @param weights   as sinogram, >= 0 and not all 0 on all ranks; nothing for 1.
/// @param image     (rows, cols, slices of the slab), dense; overwritten with x. Voxels outside the mask keep their
///                  initial value.
/// @param options   as for recon, with init_recon of the slab. mbirjax_rounding and compute_prior_loss must not be
///                  set. Any rank's progress callback can stop all of them. checkpoint must be set on all ranks or
///                  none; rank 0 receives the state of all, and only its callback is called. resume: state_of_slab of
///                  that state.
/// @return the log, the same on every rank; delta_norm_per_slice is of all slices.
/// @throws as recon, on every rank the error of the first that failed; communication_error; parameter_error also when
///         ranks differ in what they must agree on, and when the data are not finite.
/// Cost: as recon of the slab. Memory besides: the slab once more, with a slice of each neighbour. Traffic of a rank:
/// for each subset 24 bytes a unit of 32 slices, and 4 bytes a pixel of the subset to each neighbour; once 4 bytes a
/// pixel to each, and 20 to 39 views of the rows to rank 0, if sigmas are automatic. The image and the log have the
/// bits of mbirk::recon for every number of ranks and threads.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log recon(context<Exec, Instr> const& ctx, Comm const& ranks, parallel_slab const& slab,
                view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                recon_options const& options = {}) {
  detail::slab_part const part(ranks, slab);
  detail::slab_solver<context<Exec, Instr>, Comm> const run(ctx, part, slab.scan(), sinogram, weights, image, options,
                                                            "recon");
  detail::check_ranks(ranks, slab, run, image, weights.has_value(), options, "recon", [&] {
    require_valid(mbirk::detail::qggmrf_of(options, options.sigma_x.value_or(1)), "recon");
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "mbir_recon">, mbirk::detail::masked_pairs(slab.scan())});
  return run.minimise();
}

/// mbirk::prox_map by several ranks; arguments and results as for recon above, prox_input being that of the slab. It
/// couples no slices, so that neighbours exchange nothing.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log prox_map(context<Exec, Instr> const& ctx, Comm const& ranks, parallel_slab const& slab,
                   view<float const, 3> prox_input, view<float const, 3> sinogram,
                   std::optional<view<float const, 3>> weights, view<float, 3> image,
                   recon_options const& options = {{.max_iterations = 3}}) {
  detail::slab_part const part(ranks, slab);
  detail::slab_solver<context<Exec, Instr>, Comm> const run(ctx, part, slab.scan(), sinogram, weights, image, options,
                                                            "prox_map");
  detail::check_ranks(ranks, slab, run, image, weights.has_value(), options, "prox_map",
                [&] { run.check_prox_input(prox_input); });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "prox_map">, mbirk::detail::masked_pairs(slab.scan())});
  return run.proximal_point(prox_input);
}

}  // namespace mbirk::distributed
