// recon and prox_map over several ranks: in parallel beam every rank has some of the slices, in cone beam some of the
// views and some pixel rows of the image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/part_of_views.hpp"
#include "mbirk/distributed/slab_part.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::distributed {
namespace detail {

template <class Context, communicator Comm>
using slab_solver = mbirk::detail::vcd_solver<Context, parallel_geometry, slab_part<Comm>>;
template <class Context, communicator Comm>
using solver_of_views = mbirk::detail::vcd_solver<Context, cone_geometry, part_of_views<Comm>>;

/// The values of the scan on which ranks must agree.
/// @param device  whether this rank has its slab on a device
inline std::vector<common_value> common_values(parallel_slab const& slab, view<float const, 3> image, bool device) {
  auto const g = make_geometry(slab.whole());
  auto const of = [](auto const&... values) { return fingerprint(values...).value(); };
  return {{"the number of slices", slab.slices()},
          {"the number of views", g.views},
          {"the number of channels", g.channels},
          {"the rows of the image", image.extent(0)},
          {"its columns", image.extent(1)},
          {"the pitches or the channel offset", of(g.delta_det_channel, g.det_channel_offset, g.delta_x, g.delta_y)},
          {"the angles", of(slab.scan().angles())},
          {"the mask", of(slab.scan().mask())},
          {"the instruction set", of(instruction_set())},
          {"having the slab on a device", device ? 1 : 0}};
}
/// The values of the options on which ranks must agree.
inline std::vector<common_value> common_values(bool weighted, recon_options const& o) {
  auto const of = [](auto const&... values) { return fingerprint(values...).value(); };
  auto const* constant = std::get_if<double>(&o.init_recon);
  recon_log const resumed = o.resume ? o.resume->record : recon_log{};
  return {{"having weights", weighted ? 1 : 0},
          {"max_iterations", o.max_iterations},
          {"first_iteration", o.first_iteration},
          {"stop_threshold_change_pct", of(o.stop_threshold_change_pct)},
          {"seed", o.seed},
          {"checkpoint_every, or in having a checkpoint callback", o.checkpoint ? o.checkpoint_every : 0},
          {"the iterations of the state to resume, or in having one", o.resume ? resumed.num_iterations : -1},
          {"the log of the state to resume",
           of(resumed.sigma_y, resumed.sigma_x, resumed.sigma_prox, resumed.partition_sequence,
              resumed.stop_threshold_change_pct)},
          {"the kind of init_recon", static_cast<std::int64_t>(o.init_recon.index())},
          {"init_recon", of(constant ? *constant : 0.0)},
          {"sigma_y", of(o.sigma_y)},
          {"sigma_x", of(o.sigma_x)},
          {"sigma_prox", of(o.sigma_prox)},
          {"snr_db", of(o.snr_db)},
          {"sharpness", of(o.sharpness)},
          {"p, q or T", of(o.p, o.q, o.T)},
          {"qggmrf_nbr_wts", of(o.qggmrf_nbr_wts)},
          {"positivity_flag", o.positivity_flag ? 1 : 0},
          {"max_alpha", of(o.max_alpha)},
          {"slice_damping", of(o.slice_damping)},
          {"granularity", of(o.granularity)},
          {"partition_sequence", of(o.partition_sequence)}};
}

/// Validates all shapes and options before any work, on all ranks.
/// @param empty  whether the scan has no samples or voxels
/// @param scan   makes the values of the scan that ranks must agree on, after further checks of this rank
template <communicator Comm, class Solver, class Scan>
void check_options(Comm const& ranks, Solver const& solver, bool empty, bool weighted, recon_options const& o,
                   std::string const& operation, Scan const& scan) {
  using mbirk::detail::message;
  std::vector<common_value> values;
  agree(ranks, [&] {
    solver.check();
    auto const refuse = [&](bool asked, char const* what) {
      require(!asked, [&] { return message(operation, ": ", what, ", which is not distributed"); });
    };
    refuse(o.mbirjax_rounding, "mbirjax_rounding adds all samples in one order");
    refuse(o.compute_prior_loss, "compute_prior_loss is set");
    require(!empty, [&] { return message(operation, ": the scan is empty, expected some samples and voxels"); });
    values = scan();
    auto const options = common_values(weighted, o);
    values.insert(values.end(), options.begin(), options.end());
  });
  require_same(ranks, values, operation);
}
/// @param more  further checks of this rank
template <communicator Comm, class Solver, class More>
void check_ranks(Comm const& ranks, parallel_slab const& slab, Solver const& solver, view<float const, 3> image,
                 bool weighted, recon_options const& o, std::string const& operation, More const& more) {
  using mbirk::detail::message;
  bool const empty = slab.slices() == 0 || element_count(slab.scan().sinogram_shape()) == 0 || image.size() == 0;
  check_options(ranks, solver, empty, weighted, o, operation, [&] {
    more();
    return common_values(slab, image, Solver::runs_on_device);
  });
  // Every slab but the last ends with a unit; slabs made for another number of ranks would not meet.
  auto const expected = slices_of(slab.slices(), ranks.rank(), ranks.size());
  agree(ranks, [&] {
    require(expected.first == slab.range().first && expected.count == slab.range().count, [&] {
      return message(operation, ": the slab begins with slice ", slab.range().first, ", expected ", expected.first,
                     ": it is of another rank or number of ranks");
    });
  });
}
template <communicator Comm, class Solver, class More>
void check_ranks(Comm const& ranks, cone_views const& part, Solver const& solver, view<float const, 3> sinogram,
                 std::optional<view<float const, 3>> const& weights, recon_options const& o, char const* operation,
                 More const& more) {
  auto const& whole = part.whole();
  bool const empty = element_count(whole.sinogram_shape()) == 0 || element_count(whole.recon_shape()) == 0;
  check_options(ranks, solver, empty, weights.has_value(), o, operation, [&] {
    require_part(ranks, part, operation);
    require_dense(sinogram, operation, "sinogram");
    more();
    return common_values(part, Solver::runs_on_device);
  });
}

}  // namespace detail

/// mbirk::recon, by several ranks that have some slices each. Collective: every rank calls it with its slab, the same
/// options, and its part of the arrays.
///
/// @param ctx       execution and instrumentation; on a device the arrays of the slab are in its memory. The call
///                  returns when this rank's part is complete, on a device when it is queued.
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
/// @throws as recon, on every rank the error of the first that failed, also in a callback or in an
///         allocation of a large array; communication_error; parameter_error also when ranks differ in the scan or the
///         options, and when the data are not finite.
/// Cost: as recon of the slab. Memory besides: the slab once more, with a slice of each neighbour. Traffic of a rank:
/// for each subset 24 bytes a unit of 32 slices, and 4 bytes a pixel of the subset to each neighbour; once 4 bytes a
/// pixel to each, and 20 to 39 views (all if fewer) of the rows to rank 0, if sigmas are automatic. The image and the
/// log have the bits of mbirk::recon for every number of ranks and threads; those of devices, which send the sums of a
/// rank instead of those of units, agree to rounding.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log recon(context<Exec, Instr> const& ctx, Comm const& ranks, parallel_slab const& slab,
                view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                recon_options const& options = {}) {
  static_assert(context<Exec, Instr>::backend::has_data);
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
  static_assert(context<Exec, Instr>::backend::has_data);
  detail::slab_part const part(ranks, slab);
  detail::slab_solver<context<Exec, Instr>, Comm> const run(ctx, part, slab.scan(), sinogram, weights, image, options,
                                                            "prox_map");
  detail::check_ranks(ranks, slab, run, image, weights.has_value(), options, "prox_map",
                      [&] { run.check_prox_input(prox_input); });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "prox_map">, mbirk::detail::masked_pairs(slab.scan())});
  return run.proximal_point(prox_input);
}

/// mbirk::recon in cone beam, by several ranks that have some views each, and some rows of the image each. Collective:
/// every rank calls it with its part, the same options, and its part of the arrays.
///
/// @param part      the views and rows of this rank: cone_views(parameters, ranks.rank(), ranks.size()).
/// @param sinogram  (views of the rank, rows, channels), dense, line integrals.
/// @param weights   as sinogram, >= 0 and not all 0 on all ranks; nothing for 1.
/// @param image     (rows of the rank, cols, slices), dense; overwritten with x.
/// @param options   as in parallel beam above, with init_recon of the rows of the rank; resume: state_of_views of the
///                  state of the whole. slice_damping is on unless it is switched off, as in mbirk::recon.
/// All else as in parallel beam; on a device, messages go through the host.
/// Cost: as recon of the views of the rank; voxels are updated by the rank that has them. Memory besides: the direction
/// of all pixels of the largest subset, and some arrays of 2048 to 4095 of its pixels, or of a sixteenth if that is
/// more. Traffic of a rank: for each subset 4 bytes a voxel of the other ranks, 4 a voxel of its own (8 with
/// positivity), 24 bytes, and with damping 16 bytes a slice; all but the second up to three times as much where the
/// number of ranks is no power of two. The image and the log have the same bits for every number of ranks, up to 16,
/// and of threads; they agree with mbirk::recon, which adds the views in another order, to float32 rounding. On devices
/// they have the same bits for every number of ranks, too, and agree with those of the host to that rounding.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log recon(context<Exec, Instr> const& ctx, Comm const& ranks, cone_views const& part,
                view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                recon_options const& options = {}) {
  static_assert(context<Exec, Instr>::backend::has_data);
  detail::part_of_views const mine(ranks, part);
  auto const scan = part.scan();
  detail::solver_of_views<context<Exec, Instr>, Comm> const run(ctx, mine, scan, sinogram, weights, image, options,
                                                                "recon");
  detail::check_ranks(ranks, part, run, sinogram, weights, options, "recon", [&] {
    require_valid(mbirk::detail::qggmrf_of(options, options.sigma_x.value_or(1)), "recon");
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<cone_geometry, "mbir_recon">, mbirk::detail::masked_pairs(scan)});
  return run.minimise();
}

/// mbirk::prox_map in cone beam by several ranks; arguments and results as for recon above, prox_input having the rows
/// of the rank.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log prox_map(context<Exec, Instr> const& ctx, Comm const& ranks, cone_views const& part,
                   view<float const, 3> prox_input, view<float const, 3> sinogram,
                   std::optional<view<float const, 3>> weights, view<float, 3> image,
                   recon_options const& options = {{.max_iterations = 3}}) {
  static_assert(context<Exec, Instr>::backend::has_data);
  detail::part_of_views const mine(ranks, part);
  auto const scan = part.scan();
  detail::solver_of_views<context<Exec, Instr>, Comm> const run(ctx, mine, scan, sinogram, weights, image, options,
                                                                "prox_map");
  detail::check_ranks(ranks, part, run, sinogram, weights, options, "prox_map",
                      [&] { run.check_prox_input(prox_input); });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<cone_geometry, "prox_map">, mbirk::detail::masked_pairs(scan)});
  return run.proximal_point(prox_input);
}

}  // namespace mbirk::distributed
