// recon and prox_map over several ranks, in parallel beam: every rank has some of the slices.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/distributed/regularization.hpp"
#include "mbirk/distributed/vcd_slab.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::distributed {
namespace detail {

/// Implementation shared by recon and prox_map; mbirk::detail::vcd_solver is that of one memory.
template <class Context, communicator Comm> class slab_solver {
  using B = typename Context::backend;

 public:
  slab_solver(Context const& ctx, Comm const& ranks, parallel_slab const& slab, view<float const, 3> sinogram,
              std::optional<view<float const, 3>> weights, view<float, 3> image, recon_options const& o,
              char const* operation)
      : ctx_(ctx), ranks_(ranks), slab_(slab), sinogram_(sinogram), weights_(weights), image_(image), o_(o),
        operation_(operation) {}

  /// Validates all shapes and options before any work. @param more  further checks of this rank
  template <class More> void check(More const& more) const {
    agree(ranks_, [&] {
      mbirk::detail::vcd_solver<Context, parallel_geometry> const alone(ctx_, slab_.scan(), sinogram_, weights_, image_,
                                                                        o_, operation_);
      alone.check();
      auto const refuse = [&](bool asked, char const* what) {
        require(!asked, [&] {
          return mbirk::detail::message(operation_, ": ", what, ", which is not distributed");
        });
      };
      refuse(o_.mbirjax_rounding, "mbirjax_rounding adds all samples in one order");
      refuse(o_.compute_prior_loss, "compute_prior_loss is set");
      refuse(o_.checkpoint || o_.resume, "checkpoint or resume is set");
      require(slab_.slices() > 0 && sinogram_.size() > 0 && image_.size() > 0, [&] {
        return mbirk::detail::message(operation_, ": the scan is empty, expected some samples and voxels");
      });
      more(alone);
    });
    auto const same = [&](std::int64_t number, char const* what) {
      require_same(ranks_, number, mbirk::detail::message(operation_, ": ranks differ in ", what,
                                                          ", expected the same on all"));
    };
    auto const shape = slab_.scan().sinogram_shape();
    same(slab_.slices(), "the number of slices");
    same(shape[0], "the number of views");
    same(shape[2], "the number of channels");
    same(image_.extent(0), "the rows of the image");
    same(image_.extent(1), "its columns");
    same(weights_ ? 1 : 0, "having weights");
    same(o_.max_iterations, "max_iterations");
    same(o_.first_iteration, "first_iteration");
    same(o_.seed, "seed");
    same(static_cast<std::int64_t>(o_.init_recon.index()), "the kind of init_recon");
    same((o_.sigma_y ? 1 : 0) + (o_.sigma_x ? 2 : 0) + (o_.sigma_prox ? 4 : 0), "the sigmas that are given");
    // Every slab but the last ends with a unit; slabs made for another number of ranks would not meet.
    auto const expected = slices_of(slab_.slices(), ranks_.rank(), ranks_.size());
    agree(ranks_, [&] {
      require(expected.first == slab_.range().first && expected.count == slab_.range().count, [&] {
        return mbirk::detail::message(operation_, ": the slab begins with slice ", slab_.range().first,
                                      ", expected ", expected.first, ": it is of another rank or number of ranks");
      });
    });
  }

  /// @param make_prior  the cylinder kernel, from the state and the log
  template <class MakePrior>
  recon_log run(MakePrior const& make_prior, bool coupled, bool needs_sigma_x, bool needs_sigma_prox) {
    numpy_random_state random(o_.seed);
    auto const partitions = partition_set(ctx_, slab_.scan().full_indices(), o_.granularity, random,
                                          array_role::temporary, array_role::temporary);
    auto sequence = gen_partition_sequence(o_.partition_sequence, o_.max_iterations);
    sequence.erase(sequence.begin(),
                   sequence.begin() + std::min<std::ptrdiff_t>(std::ssize(sequence), o_.first_iteration));
    recon_log record;
    record.granularity = o_.granularity;
    for (auto const& p : partitions)
      record.warnings.insert(record.warnings.end(), p.warnings.begin(), p.warnings.end());
    set_sigmas(record, needs_sigma_x, needs_sigma_prox);
    auto const slices = gather_number(ranks_, "slices", image_.extent(2));

    vcd_settings const settings{record.sigma_y, o_.max_alpha, o_.positivity_flag, {}};
    std::optional<vcd_slab<Context, Comm>> made;
    made.emplace(ctx_, ranks_, slab_, image_, weights_.has_value(), coupled, operation_);
    auto& vcd = *made;
    agree(ranks_, [&] {
      for (auto const k : sequence) vcd.reserve(partitions[static_cast<std::size_t>(k)].length);
    });
    initialize(vcd, sequence.empty());
    if (!sequence.empty()) {
      if (coupled) vcd.image().exchange_slices();
      iterate(vcd, make_prior(vcd, record), partitions, sequence, random, settings, slices, record);
    }
    vcd.image().store();
    return record;
  }

 private:
  /// Uses the given sigmas and derives the others from the data.
  void set_sigmas(recon_log& record, bool needs_sigma_x, bool needs_sigma_prox) const {
    require_data(ctx_, ranks_, slab_, sinogram_, weights_, operation_);
    if (!o_.sigma_y || (needs_sigma_x && !o_.sigma_x) || (needs_sigma_prox && !o_.sigma_prox)) {
      auto const automatic = regularize(ctx_, ranks_, slab_, sinogram_, weights_, o_.snr_db, o_.sharpness);
      record.sigma_y = automatic.sigma_y;
      record.sigma_x = automatic.sigma_x;
      record.sigma_prox = automatic.sigma_prox;
      record.warnings.insert(record.warnings.end(), automatic.warnings.begin(), automatic.warnings.end());
    }
    record.sigma_y = o_.sigma_y.value_or(record.sigma_y);
    record.sigma_x = o_.sigma_x.value_or(record.sigma_x);
    record.sigma_prox = o_.sigma_prox.value_or(record.sigma_prox);
  }

  /// Computes the initial image, its error sinogram and the Hessian diagonal.
  void initialize(vcd_slab<Context, Comm>& vcd, bool image_only) const {
    vcd.load(sinogram_, weights_);
    bool fit = false, zero = false;
    auto const x = vcd.image().slices();
    if (auto const* image = std::get_if<view<float const, 3>>(&o_.init_recon)) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("initial image");
      index_t const pixels = x.extent(0) * x.extent(1);
      if (image->data() != x.data())
        launch(ctx_, ceil_div(pixels, kernel::copy_slab_columns<B>::batch),
               kernel::copy_slab_columns<B>{observe(ctx_, *image, "init_recon", array_role::argument),
                                            vcd.image().observe_slices(), x.extent(2), x.stride(1), x.extent(2),
                                            pixels});
    } else if (auto const* constant = std::get_if<double>(&o_.init_recon)) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("initial image");
      zero = *constant == 0;
      vcd.image().fill(static_cast<float>(*constant));
    } else {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("initial image");
      fit = true;
      direct_recon_channel_major(ctx_, slab_.scan(), vcd.error_sinogram(), vcd.shape(), x);
    }
    if (image_only && !fit) return;
    vcd.make_error(fit, zero);
    if (!image_only) vcd.make_hessian();
  }

  template <class Prior>
  void iterate(vcd_slab<Context, Comm>& vcd, Prior const& prior, std::vector<pixel_partition> const& partitions,
               std::vector<index_t> const& sequence, numpy_random_state& random, vcd_settings const& settings,
               std::vector<index_t> const& slices, recon_log& record) const {
    double const mean_weight = vcd.mean_weight();
    std::vector<std::deque<vcd_subset<Context>>> subsets(partitions.size());  // planned on first use
    for (std::size_t k = 0; k < sequence.size(); ++k) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("iteration");
      auto const& partition = partitions[static_cast<std::size_t>(sequence[k])];
      auto& planned = subsets[static_cast<std::size_t>(sequence[k])];
      if (planned.empty())
        for (index_t s = 0; s < partition.subsets; ++s)
          planned.emplace_back(ctx_, partition.subset(s), image_.extent(0), image_.extent(1), image_.extent(2),
                               false);
      temporary<float, Context> direction(ctx_, "direction", partition.length * image_.extent(2));
      double alphas = 0;
      vcd.begin();
      for (auto const s : random.permutation(partition.subsets)) {
        [[maybe_unused]] auto const stage = ctx_.instr.stage("subset");
        alphas += vcd.update(prior, planned[static_cast<std::size_t>(s)], direction, settings);
      }
      vcd.apply_pending_step();
      auto const [moved, norm] = vcd.change_and_norm();
      double const change = B::has_data ? moved / norm : 1.0, alpha = alphas / static_cast<double>(partition.subsets);
      record.fm_rmse.push_back(vcd.rmse(mean_weight) / settings.sigma_y);
      record.alpha_values.push_back(alpha);
      record.stop_threshold_change_pct.push_back(100 * change);
      record.delta_norm_per_slice.push_back(vcd.slice_norms(slices));
      record.partition_sequence.push_back(sequence[k]);
      record.num_iterations = static_cast<int>(k) + 1;
      record.prior_loss.push_back(0.0);
      // A callback of any rank can stop all.
      bool const mine = !o_.progress || o_.progress(iteration_report{record.num_iterations,
                                                                     static_cast<int>(sequence.size()), change, alpha,
                                                                     record.fm_rmse.back(), 0.0});
      bool const go_on = all_reduce(ranks_, "whether to go on", mine ? 1 : 0, reduction::minimum) != 0;
      record.cancelled = !go_on;
      if (!go_on || change < o_.stop_threshold_change_pct / 100) break;
    }
    vcd.image().receive_boundaries();
  }

  Context const& ctx_;
  Comm const& ranks_;
  parallel_slab const& slab_;
  view<float const, 3> sinogram_;
  std::optional<view<float const, 3>> weights_;
  view<float, 3> image_;
  recon_options const& o_;
  char const* operation_;
};

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
/// @param options   as for recon, with init_recon of the slab. mbirjax_rounding, compute_prior_loss, checkpoint and
///                  resume must not be set. Any rank's progress callback can stop all of them.
/// @return the log, the same on every rank; delta_norm_per_slice is of all slices.
/// @throws as recon, on every rank the error of the first that failed; communication_error; parameter_error also when
///         ranks differ in what they must agree on, and when the data are not finite.
/// Cost: as recon of the slab. Memory besides: the slab once more, with a slice of each neighbour. Traffic of a rank:
/// for each subset 24 bytes a unit of 32 slices, and 4 bytes a pixel of the subset to each neighbour; once 4 bytes a
/// pixel to each, and 20 to 39 views of the rows to rank 0, if sigmas are automatic. The image and the log have the
/// same bits for every number of ranks and threads; they agree with those of recon, which adds in another order, to
/// float32 rounding.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log recon(context<Exec, Instr> const& ctx, Comm const& ranks, parallel_slab const& slab,
                view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                recon_options const& options = {}) {
  using Context = context<Exec, Instr>;
  auto const prior_of = [&](double sigma_x) {
    return qggmrf_parameters{sigma_x, options.p, options.q, options.T, options.qggmrf_nbr_wts};
  };
  detail::slab_solver<Context, Comm> run(ctx, ranks, slab, sinogram, weights, image, options, "recon");
  run.check([&](auto const&) { require_valid(prior_of(options.sigma_x.value_or(1)), "recon"); });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "mbir_recon">, mbirk::detail::masked_pairs(slab.scan())});
  return run.run([&](auto const& vcd, recon_log const& r) { return vcd.prior(prior_of(r.sigma_x)); }, true, true,
                 false);
}

/// mbirk::prox_map by several ranks; arguments and results as for recon above, prox_input being that of the slab. It
/// couples no slices, so that neighbours exchange nothing.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
recon_log prox_map(context<Exec, Instr> const& ctx, Comm const& ranks, parallel_slab const& slab,
                   view<float const, 3> prox_input, view<float const, 3> sinogram,
                   std::optional<view<float const, 3>> weights, view<float, 3> image,
                   recon_options const& options = {{.max_iterations = 3}}) {
  using Context = context<Exec, Instr>;
  using B = typename Context::backend;
  detail::slab_solver<Context, Comm> run(ctx, ranks, slab, sinogram, weights, image, options, "prox_map");
  run.check([&](auto const& alone) {
    alone.check_dense(prox_input, "prox_input");
    require(prox_input.data() != image.data(), [] {
      return std::string("prox_map: prox_input and recon are the same array, expected two");
    });
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<parallel_geometry, "prox_map">, mbirk::detail::masked_pairs(slab.scan())});
  return run.run(
      [&](auto const& vcd, recon_log const& r) {
        index_t const slices = image.extent(2);
        kernel::proximal_cylinder<B> const prior{vcd.image().observe_slices(),
                                                 observe(ctx, prox_input, "prox_input", array_role::argument),
                                                 slices,
                                                 image.extent(1) * slices,
                                                 slices,
                                                 static_cast<float>(1 / (r.sigma_prox * r.sigma_prox))};
        return kernel::slab_prior<B, kernel::proximal_cylinder<B>>{prior, 0, slices};
      },
      false, false, true);
}

}  // namespace mbirk::distributed
