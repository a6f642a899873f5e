// recon and prox_map: model-based iterative reconstruction by vectorised coordinate descent.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/recon/damping.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/log_check.hpp"
#include "mbirk/recon/options.hpp"
#include "mbirk/recon/regularization.hpp"
#include "mbirk/recon/vcd.hpp"
#include "mbirk/recon/whole_volume.hpp"
#include "mbirk/util/partition_set.hpp"

namespace mbirk {
namespace detail {

/// Announces floats that an operation keeps in vectors on the host while this exists. Says nothing on a device, whose
/// memory it is not.
template <class Context> class host_memory {
 public:
  host_memory(Context const& ctx, char const* name, index_t floats)
      : ctx_(ctx), name_(name), bytes_(floats * static_cast<index_t>(sizeof(float))) {
    if constexpr (!on_device<Context>) ctx_.instr.allocated(name_, bytes_);
  }
  ~host_memory() {
    if constexpr (!on_device<Context>) ctx_.instr.released(name_, bytes_);
  }
  host_memory(host_memory const&) = delete;
  host_memory& operator=(host_memory const&) = delete;

 private:
  Context const& ctx_;
  char const* name_;
  index_t bytes_;
};

/// The prior that the options ask for.
inline qggmrf_parameters qggmrf_of(recon_options const& o, double sigma_x) {
  return {sigma_x, o.p, o.q, o.T, o.qggmrf_nbr_wts};
}

/// Implementation shared by recon and prox_map. Part: the part of the problem that this process has: whole_volume,
/// distributed::detail::slab_part or part_of_views; scan and arrays are those of the part.
template <class Context, class Geometry, class Part = whole_volume> class vcd_solver {
  using B = typename Context::backend;
  using state_of_part = vcd_state<Context, Geometry, Part>;
  using subset_of_part = typename Part::template subset<Context>;
  using subsets_of_part = std::vector<std::unique_ptr<subset_of_part>>;

 public:
  static constexpr bool runs_on_device = on_device<Context>;

  vcd_solver(Context const& ctx, Part const& part, scan<Geometry> const& s, view<float const, 3> sinogram,
             std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& o,
             char const* operation)
      : ctx_(ctx), part_(part), scan_(s), sinogram_(sinogram), weights_(weights), recon_(recon), o_(o),
        operation_(operation) {}

  template <class T> void check_dense(view<T, 3> const& v, char const* name) const {
    detail::check(ctx_, v, part_.recon_shape(scan_), operation_, name, "(rows, cols, slices)");
    bool const dense = v.stride(1) == v.extent(2) && v.stride(0) == v.extent(1) * v.extent(2);
    require<shape_error>(v.size() == 0 || dense, [&] {
      return detail::message(operation_, ": ", name,
                             " has gaps between its rows or columns, or axes in another order, expected a dense array");
    });
  }

  void check_prox_input(view<float const, 3> const& prox_input) const {
    check_dense(prox_input, "prox_input");
    require(!prox_input.data() || prox_input.data() != recon_.data(), [&] {
      return message(operation_, ": prox_input and recon are the same array, expected two");
    });
  }

  /// Validates all shapes and options before any work.
  void check() const {
    detail::check(ctx_, sinogram_, scan_.sinogram_shape(), operation_, "sinogram", "(views, rows, channels)");
    if (weights_)
      detail::check(ctx_, *weights_, scan_.sinogram_shape(), operation_, "weights", "(views, rows, channels)");
    check_dense(recon_, "recon");
    if (auto const* image = std::get_if<view<float const, 3>>(&o_.init_recon)) check_dense(*image, "init_recon");
    auto const need = [&](bool ok, char const* name, double value, char const* expected) {
      require(ok, [&] {
        return detail::message(operation_, ": ", name, " is ", value, ", expected ", expected);
      });
    };
    require_valid_call(o_, operation_);
    need(o_.max_alpha > 0 && std::isfinite(o_.max_alpha), "max_alpha", o_.max_alpha, "a positive number");
    need(o_.checkpoint_every >= 1, "checkpoint_every", o_.checkpoint_every, "at least 1");
    require(!o_.granularity.empty(), [&] {
      return detail::message(operation_, ": granularity is empty, expected at least one number of subsets");
    });
    for (auto const& sigma :
         {std::pair(o_.sigma_y, "sigma_y"), std::pair(o_.sigma_x, "sigma_x"), std::pair(o_.sigma_prox, "sigma_prox")})
      if (sigma.first)
        need(*sigma.first > 0 && std::isfinite(*sigma.first), sigma.second, *sigma.first, "a positive number");
    if (auto const* c = std::get_if<double>(&o_.init_recon))
      need(std::isfinite(*c), "init_recon", *c, "a finite number or an array");
    for (auto const k : o_.partition_sequence)
      require<index_error>(k >= 0 && k < std::ssize(o_.granularity), [&] {
        return detail::message(operation_, ": partition_sequence has the entry ", k, ", expected 0 to ",
                               o_.granularity.size() - 1, " (granularity has ", o_.granularity.size(), " entries)");
      });
    require(Geometry::has_slice_damping || !o_.slice_damping.value_or(false),
            [&] { return detail::message(operation_,
                                         ": slice_damping is true, expected false: it is for cone beam"); });
    if (o_.resume) check_resume(*o_.resume);
  }

  /// recon, once checked.
  recon_log minimise() const {
    auto const prior_of = [&](recon_log const& r) { return qggmrf_of(o_, r.sigma_x); };
    return run([&](state_of_part const& vcd, recon_log const& r) { return vcd.image().prior(prior_of(r)); },
               [&](recon_log const& r) { return part_.prior_loss(ctx_, recon_, prior_of(r)); },
               {.couples_slices = true, .needs_sigma_x = true});
  }
  /// prox_map, once checked.
  recon_log proximal_point(view<float const, 3> prox_input) const {
    auto const& g = scan_.geometry();
    return run(
        [&](state_of_part const& vcd, recon_log const& r) {
          return kernel::proximal_cylinder<B>{vcd.image().observe_slices(),
                                              observe(ctx_, prox_input, "prox_input", array_role::argument),
                                              g.slices,
                                              g.recon_cols * g.slices,
                                              g.slices,
                                              static_cast<float>(definition::proximal_curvature(r.sigma_prox))};
        },
        [](recon_log const&) { return 0.0; }, {.needs_sigma_prox = true});
  }

  /// Sums over a part of the data, which a caller that has it part by part adds up.
  struct survey { fit_products fit; double mean_weight = 1; };
  /// Without init_recon, x = the direct image, and the products that its scale is found from; the mean weight.
  survey survey_data() const {
    bool const fit = std::holds_alternative<std::monostate>(o_.init_recon);
    state_of_part vcd(ctx_, part_, scan_, recon_, weights_.has_value(), false, operation_);
    vcd.load(sinogram_, weights_);
    survey found;
    if (fit) {
      make_direct_image(vcd);
      found.fit = vcd.fit(part_);
    }
    found.mean_weight = vcd.mean_weight();
    return found;
  }

 private:
  /// What a prior is like.
  struct prior_traits { bool couples_slices = false, needs_sigma_x = false, needs_sigma_prox = false; };

  /// Runs the iterations and returns their log. make_prior(state, record) returns the cylinder kernel; loss(record) the
  /// prior loss per voxel.
  template <class MakePrior, class Loss>
  recon_log run(MakePrior const& make_prior, Loss const& loss, prior_traits const& traits) const {
    numpy_random_state random(o_.seed);
    std::vector<pixel_partition> partitions;
    part_.agree([&] {
      partitions = partition_set(host_context_of(ctx_), scan_.full_indices(), o_.granularity, random,
                                 array_role::temporary, array_role::temporary);
    });
    auto const sequence = partition_sequence();

    recon_log record;
    if (o_.resume) record = o_.resume->record;
    record.granularity = o_.granularity;
    record.cancelled = false;
    if (record.num_iterations == 0)
      for (auto const& p : partitions)
        record.warnings.insert(record.warnings.end(), p.warnings.begin(), p.warnings.end());
    std::size_t const done = record.partition_sequence.size();
    for (std::size_t k = 0; k < std::min(done, sequence.size()); ++k)  // repeat the draws of the completed iterations
      random.permutation(partitions[static_cast<std::size_t>(sequence[k])].subsets);

    if (!o_.resume) set_sigmas(record, traits);
    require(!o_.resume || (record.sigma_y > 0 && (!traits.needs_sigma_x || record.sigma_x > 0) &&
                           (!traits.needs_sigma_prox || record.sigma_prox > 0)),
            [&] {
              return detail::message(operation_, ": the state to resume has sigma_y ", record.sigma_y, ", sigma_x ",
                                     record.sigma_x, " and sigma_prox ", record.sigma_prox,
                                     ", expected positive ones: it is of another operation");
            });
    vcd_settings const settings{record.sigma_y, o_.max_alpha, o_.positivity_flag, damping()};
    std::optional<state_of_part> made;
    part_.agree([&] {
      made.emplace(ctx_, part_, scan_, recon_, weights_.has_value(), traits.couples_slices, operation_);
      for (std::size_t k = done; k < sequence.size(); ++k)
        made->reserve(partitions[static_cast<std::size_t>(sequence[k])].length);
    });
    auto& vcd = *made;
    if (o_.resume && !has_log_only(*o_.resume)) part_.agree([&] { restore(vcd, *o_.resume); });
    else initialize(vcd, sequence.empty());
    bool const finished = done > 0 && record.stop_threshold_change_pct.back() < o_.stop_threshold_change_pct;
    if (!sequence.empty() && !finished) {
      vcd.image().exchange_slices();
      iterate_from(done, vcd, make_prior, loss, partitions, sequence, random, settings, record);
    }
    vcd.image().store();
    return record;
  }

  /// The iterations from number `done` on.
  template <class MakePrior, class Loss>
  void iterate_from(std::size_t done, state_of_part& vcd, MakePrior const& make_prior, Loss const& loss,
                    std::vector<pixel_partition> const& partitions, std::vector<index_t> const& sequence,
                    numpy_random_state& random, vcd_settings const& settings, recon_log& record) const {
    double const mean_weight = vcd.mean_weight();
    std::vector<subsets_of_part> subsets(partitions.size());  // planned on first use
    for (std::size_t k = done; k < sequence.size(); ++k) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("iteration");
      auto const& partition = partitions[static_cast<std::size_t>(sequence[k])];
      auto& planned = subsets[static_cast<std::size_t>(sequence[k])];
      auto const report = iterate(vcd, make_prior(vcd, record), partition, planned,
                                  random.permutation(partition.subsets), settings, mean_weight, record);
      record.partition_sequence.push_back(sequence[k]);
      record.num_iterations = static_cast<int>(k) + 1;
      record.prior_loss.push_back(o_.compute_prior_loss ? loss(record) : 0.0);
      bool wanted = true;
      part_.agree([&] {
        if (o_.progress)
          wanted = o_.progress(iteration_report{record.num_iterations, static_cast<int>(sequence.size()),
                                                report.change, report.alpha, record.fm_rmse.back(),
                                                record.prior_loss.back(), report.norm});
      });
      bool const go_on = part_.go_on(wanted);
      record.cancelled = !go_on;
      if (o_.checkpoint && (!go_on || record.num_iterations % o_.checkpoint_every == 0)) {
        host_memory const copies(ctx_, "copy for a checkpoint", 2 * recon_.size() + sinogram_.size());
        std::optional<recon_state> saved;
        part_.agree([&] {
          vcd.image().store();
          saved.emplace(state(vcd, record));
        });
        part_.checkpoint(*saved, o_.checkpoint);
      }
      if (!go_on || report.change < o_.stop_threshold_change_pct / 100) break;
    }
  }

  /// The entries of the partition sequence that are used.
  std::vector<index_t> partition_sequence() const {
    auto sequence = gen_partition_sequence(o_.partition_sequence, o_.max_iterations);
    sequence.erase(sequence.begin(),
                   sequence.begin() + std::min<std::ptrdiff_t>(std::ssize(sequence), o_.first_iteration));
    return sequence;
  }
  static bool has_log_only(recon_state const& state) {
    return state.recon.empty() && state.hessian.empty() && state.weighted_error.empty() &&
           element_count(state.recon_shape) > 0;
  }
  void check_resume(recon_state const& state) const {
    require<shape_error>(
        state.sinogram_shape == scan_.sinogram_shape() && state.recon_shape == part_.recon_shape(scan_), [&] {
          return detail::message(operation_, ": the state to resume is of a sinogram ",
                                 shape_text(state.sinogram_shape), " and a recon ", shape_text(state.recon_shape),
                                 ", expected ", shape_text(scan_.sinogram_shape()), " and ",
                                 shape_text(part_.recon_shape(scan_)));
        });
    require(state.seed == o_.seed && state.record.granularity == o_.granularity, [&] {
      return detail::message(operation_, ": the state to resume has seed ", state.seed,
                             " and its granularity, expected the same seed (", o_.seed,
                             ") and granularity, so that the same subsets are drawn");
    });
    auto const sequence = partition_sequence();
    auto const& done = state.record.partition_sequence;
    auto const common = std::min(std::ssize(done), std::ssize(sequence));
    require(std::equal(done.begin(), done.begin() + common, sequence.begin()), [&] {
      return detail::message(operation_,
                             ": the state to resume was made with another partition_sequence, expected the same one, "
                             "so that the same subsets are drawn");
    });
    auto const fault = log_fault(state.record, part_.total_slices(state.recon_shape[2]));
    require(fault.empty(), [&] {
      return detail::message(operation_, ": the log in the state to resume has lists of unequal lengths: ", fault);
    });
    if (has_log_only(state)) {
      require(!std::holds_alternative<std::monostate>(o_.init_recon), [&] {
        return detail::message(operation_, ": the state to resume has no arrays, expected an init_recon to go on from");
      });
      return;
    }
    require<shape_error>(state.recon.size() == element_count(state.recon_shape) &&
                             state.hessian.size() == state.recon.size() &&
                             state.weighted_error.size() == element_count(state.sinogram_shape), [&] {
      return detail::message(operation_, ": the state to resume has arrays that do not fit its shapes");
    });
  }

  std::vector<float> damping() const {
    if constexpr (Geometry::has_slice_damping) {
      if (o_.slice_damping.value_or(true)) return slice_damping(part_.whole(scan_));
    }
    return {};
  }

  /// Uses the given sigmas and derives the others from the data.
  void set_sigmas(recon_log& record, prior_traits const& traits) const {
    bool const automatic =
        !o_.sigma_y || (traits.needs_sigma_x && !o_.sigma_x) || (traits.needs_sigma_prox && !o_.sigma_prox);
    if (auto const found = part_.check_data(ctx_, scan_, sinogram_, weights_, o_.snr_db, o_.sharpness, automatic,
                                            operation_)) {
      record.sigma_y = found->sigma_y;
      record.sigma_x = found->sigma_x;
      record.sigma_prox = found->sigma_prox;
      record.warnings.insert(record.warnings.end(), found->warnings.begin(), found->warnings.end());
    }
    record.sigma_y = o_.sigma_y.value_or(record.sigma_y);
    record.sigma_x = o_.sigma_x.value_or(record.sigma_x);
    record.sigma_prox = o_.sigma_prox.value_or(record.sigma_prox);
  }

  void make_direct_image(state_of_part const& vcd) const {
    part_.direct_image(ctx_, scan_, sinogram_, vcd,
                       {.taps = o_.mbirjax_rounding ? ramp_taps::float32 : ramp_taps::closed});
  }
  /// Computes the initial image, its error sinogram and the Hessian diagonal.
  void initialize(state_of_part& vcd, bool image_only) const {
    auto const* image = std::get_if<view<float const, 3>>(&o_.init_recon);
    auto const* constant = std::get_if<double>(&o_.init_recon);
    bool const fit = !image && !constant, zero = constant && *constant == 0;
    part_.agree([&] { vcd.load(sinogram_, weights_); });
    {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("initial image");
      if (image) vcd.image().assign(*image);
      if (constant) vcd.image().fill(static_cast<float>(*constant));
      if (fit) make_direct_image(vcd);
    }
    if (image_only && !fit) return;
    vcd.make_error(part_,
                   !fit                  ? initial_scale::one
                   : o_.mbirjax_rounding ? initial_scale::float32_fit
                                         : initial_scale::fit,
                   zero);
    if (!image_only) vcd.make_hessian(part_);
  }

  struct outcome { double change = 0, alpha = 0, norm = 0; };
  template <class Prior>
  outcome iterate(state_of_part& vcd, Prior const& prior, pixel_partition const& partition,
                  subsets_of_part& subsets, std::vector<std::int32_t> const& order,
                  vcd_settings const& settings, double mean_weight, recon_log& record) const {
    auto const& g = scan_.geometry();
    bool const damped = !settings.damping.empty();
    std::optional<typename Part::template step<Context>> step;
    part_.agree([&] {
      if (subsets.empty())
        for (index_t s = 0; s < partition.subsets; ++s)
          subsets.push_back(std::make_unique<subset_of_part>(ctx_, part_, partition.subset(s), g.recon_rows,
                                                             g.recon_cols, g.slices, damped));
      step.emplace(ctx_, part_, subsets, partition.length, g.slices, damped);
    });
    vcd.begin_iteration(std::ssize(order));
    for (std::size_t n = 0; n < order.size(); ++n) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("subset");
      vcd.update(prior, *subsets[static_cast<std::size_t>(order[n])], static_cast<index_t>(n), *step, settings);
    }
    auto const [moved, alphas, norm] = vcd.end_iteration();
    double const change = B::has_data ? moved / norm : 1.0, alpha = alphas / static_cast<double>(order.size());
    record.fm_rmse.push_back(vcd.rmse(mean_weight) / settings.sigma_y);
    record.alpha_values.push_back(alpha);
    record.stop_threshold_change_pct.push_back(100 * change);
    record.delta_norm_per_slice.push_back(part_.all_slices(vcd.slice_norms()));
    return {change, alpha, norm};
  }

  recon_state state(state_of_part const& vcd, recon_log const& record) const {
    recon_state out{scan_.sinogram_shape(), part_.recon_shape(scan_), o_.seed, {}, {}, {}, record};
    temporary<float, Context> error(ctx_, "weighted error in rows", sinogram_.size());
    if constexpr (B::has_data) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("checkpoint");
      host_copy const image(ctx_, recon_.data(), recon_.size()), hessian(ctx_, vcd.hessian());
      out.recon.assign(image.begin(), image.end());
      out.hessian.assign(hessian.begin(), hessian.end());
      store_sinogram(ctx_, vcd.error_sinogram(), view<float, 3>(error.data(), out.sinogram_shape), vcd.shape());
      host_copy const rows(ctx_, error);
      out.weighted_error.assign(rows.begin(), rows.end());
    }
    return out;
  }
  void restore(state_of_part& vcd, recon_state const& state) const {
    if constexpr (B::has_data) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("resume");
      device_table const error(ctx_, state.weighted_error, "weighted error in rows");
      vcd.load(view<float const, 3>(error.data(), state.sinogram_shape), weights_);
      vcd.image().restore(state.recon);
      put(ctx_, state.hessian.data(), recon_.size(), vcd.hessian().data());
    }
  }

  Context const& ctx_;
  Part const& part_;
  scan<Geometry> const& scan_;
  view<float const, 3> sinogram_;
  std::optional<view<float const, 3>> weights_;
  view<float, 3> recon_;
  recon_options const& o_;
  char const* operation_;
};

}  // namespace detail

/// Minimises (1 / (2 sigma_y^2)) sum w (y - A x)^2 + h(x) over the voxels inside the mask, where h is the qGGMRF prior
/// (prior/qggmrf.hpp), by vectorised coordinate descent: each iteration updates the pixels of a partition subset by
/// subset, along a preconditioned gradient with a line search.
///
/// @param ctx       execution and instrumentation. On the host the call returns when the result is complete;
///                  on a device it waits several times per iteration for values of the log; the rest is queued.
/// @param s         the geometry: parallel_scan or cone_scan.
/// @param sinogram  (views, rows, channels), line integrals.
/// @param weights   (views, rows, channels), >= 0 and not all 0; nothing for 1.
/// @param image     (rows, cols, slices), dense; overwritten with x, attenuation per unit of length. Voxels outside the
///                  mask keep their initial value (0 for the direct image) and influence the prior.
/// @param options   parameters, callbacks, and the state to resume from.
/// @return the log: the values used, and change, step and error of every iteration.
/// @throws shape_error, index_error, parameter_error before anything runs; error when the data are not finite, or zero
///         with automatic sigma_y; allocation_error. On an error the contents of image are unspecified.
/// Cost: the set-up takes one filter, two projections and the Hessian diagonal; an iteration takes two projections of
/// the pixels of its partition (three in parallel beam with small subsets, where projecting again is cheaper than
/// keeping a sinogram), and about 74 flops per voxel for the prior. Memory: two channel-major sinograms (three with
/// weights; one less while iterating if all subsets are small, in parallel beam), the Hessian diagonal, a direction of
/// the largest subset, and on the host a second one if it is small, in parallel beam, and with many subsets up to a
/// quarter (cone beam) or half (parallel beam) of a sinogram for partial sums. The result is bitwise independent of the
/// number of threads. Source: Bouman and Buzzard, "Vectorized Coordinate Descent for Fast CT Reconstruction" (2024);
/// MBIRJAX.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
recon_log recon(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                std::optional<view<float const, 3>> weights, view<float, 3> image, recon_options const& options = {}) {
  require_valid(detail::qggmrf_of(options, options.sigma_x.value_or(1)), "recon");
  detail::whole_volume const whole;
  detail::vcd_solver<context<Exec, Instr>, Geometry> const run(ctx, whole, s, sinogram, weights, image, options,
                                                               "recon");
  run.check();
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({detail::operation_name<Geometry, "mbir_recon">, detail::pairs(s, std::ssize(s.full_indices()))});
  return run.minimise();
}

/// Proximal map of the data term at v: minimises (1 / (2 sigma_y^2)) sum w (y - A x)^2 + |x - v|^2 / (2 sigma_prox^2),
/// for plug-and-play methods.
///
/// @param s           the geometry: parallel_scan or cone_scan.
/// @param prox_input  v, (rows, cols, slices), dense, attenuation per unit of length; may not alias image.
/// @param options     as for recon; a sigma_prox given here is used for this call only. MBIRJAX's default is
///                    max_iterations = 3.
/// All other parameters are as for recon.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
recon_log prox_map(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> prox_input,
                   view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                   recon_options const& options = {{.max_iterations = 3}}) {
  detail::whole_volume const whole;
  detail::vcd_solver<context<Exec, Instr>, Geometry> const run(ctx, whole, s, sinogram, weights, image, options,
                                                               "prox_map");
  run.check();
  run.check_prox_input(prox_input);
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({detail::operation_name<Geometry, "prox_map">, detail::pairs(s, std::ssize(s.full_indices()))});
  return run.proximal_point(prox_input);
}

}  // namespace mbirk

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/recon.hpp"
#endif
