// recon and prox_map in parallel beam of a scan that is larger than memory, by one process: slabs of slices in turn,
// which are read from and written to wherever the caller keeps them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/device_values.hpp"
#include "mbirk/distributed/fixed_neighbours.hpp"
#include "mbirk/distributed/regularization.hpp"
#include "mbirk/distributed/slab_arrays.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::distributed {

namespace detail {

/// What a prior is like.
struct slab_prior_traits { bool couples_slices = false, needs_sigma_x = false, needs_sigma_prox = false; };

/// Solve: reconstructs a slab, solve(solver, range).
template <class Context, class Solve> class slab_sweeps {
  using solver = mbirk::detail::vcd_solver<Context, parallel_geometry, slab_in_turn>;

 public:
  slab_sweeps(Context const& ctx, parallel_parameters const& whole, slab_division const& division,
              slab_arrays const& arrays, recon_options const& options, char const* operation,
              slab_prior_traits const& traits, Solve const& solve)
      : ctx_(ctx), whole_(whole), division_(division), arrays_(arrays), o_(options), operation_(operation),
        traits_(traits), solve_(solve), all_(make_geometry(whole)),
        iterations_(std::max(0, options.max_iterations - options.first_iteration)) {
    check();
    for (index_t first = 0; first < all_.slices; first += division.slices)
      slabs_.push_back({{first, std::min(division.slices, all_.slices - first)}});
    shape_ = {all_.recon_rows, all_.recon_cols, slabs_.front().range.count};
    rows_ = {all_.views, slabs_.front().range.count, all_.channels};
  }

  /// All slices.
  parallel_scan whole_scan() const { return parallel_scan(whole_); }

  recon_log run() {
    auto const samples = static_cast<index_t>(element_count(rows_)),
               voxels = static_cast<index_t>(element_count(shape_));
    mbirk::detail::host_memory<Context> const held[] = {{ctx_, "sinogram of a slab", samples},
                                               {ctx_, "weights of a slab", arrays_.weighted ? samples : 0},
                                               {ctx_, "image of a slab", voxels},
                                               {ctx_, "boundary slices of all slabs", boundary_floats()}};
    sinogram_.resize(element_count(rows_));
    if (arrays_.weighted) weights_.resize(sinogram_.size());
    image_.resize(element_count(shape_));
    if (slabs_.size() == 1) {
      visit(slabs_.front(), o_, {}, {});
      return slabs_.front().log;
    }
    survey();
    int const sweeps = iterations_ > 0 && traits_.couples_slices ? division_.sweeps : 1;
    for (int sweep = 0; sweep < sweeps && !cancelled_; ++sweep) {
      for (std::size_t s = 0; s < slabs_.size() && !cancelled_; ++s) visit_in_sweep(s, sweep, sweeps);
      auto const so_far = log();
      if (so_far.num_iterations > 0 && so_far.stop_threshold_change_pct.back() < o_.stop_threshold_change_pct) break;
    }
    return log();
  }

 private:
  struct slab {
    index_range range;
    recon_log log = {};
    std::vector<double> norms = {};          // ||x||_1 after every iteration
    double weight = 1;                       // sum of the weights
    std::vector<float> first = {}, last = {};  // its boundary slices as they are now, where neighbours need them
  };

  void check() const {
    using mbirk::detail::message;
    auto const refuse = [&](bool asked, char const* what) {
      require(!asked, [&] { return message(operation_, ": ", what, ", expected none in slabs"); });
    };
    require(division_.slices >= 1, [&] {
      return message(operation_, ": slabs have ", division_.slices, " slices, expected at least 1");
    });
    int const most = std::max(1, iterations_);
    require(division_.sweeps >= 1 && division_.sweeps <= most, [&] {
      return message(operation_, ": sweeps is ", division_.sweeps, ", expected 1 to ", most,
                     ", the number of iterations");
    });
    require(arrays_.read_data && arrays_.read_image && arrays_.write_image, [&] {
      return message(operation_, ": slab_arrays has empty functions, expected some that read and write slabs");
    });
    refuse(std::holds_alternative<view<float const, 3>>(o_.init_recon), "init_recon is an array");
    refuse(o_.mbirjax_rounding, "mbirjax_rounding adds all samples in one order");
    refuse(o_.compute_prior_loss, "compute_prior_loss is set");
    refuse(o_.resume != nullptr, "there is a state to resume");
    refuse(static_cast<bool>(o_.checkpoint), "there is a checkpoint callback");
    require(all_.slices > 0 && all_.views > 0 && all_.channels > 0 && all_.recon_rows > 0 && all_.recon_cols > 0, [&] {
      return message(operation_, ": the scan is empty, expected some samples and voxels");
    });
  }

  index_t boundary_floats() const {
    return traits_.couples_slices && slabs_.size() > 1
               ? 2 * static_cast<index_t>(slabs_.size()) * all_.recon_rows * all_.recon_cols
               : 0;
  }
  view<float, 3> image_of(slab const& s) { return {image_.data(), {shape_[0], shape_[1], s.range.count}}; }
  view<float, 3> sinogram_of(slab const& s) { return {sinogram_.data(), {rows_[0], s.range.count, rows_[2]}}; }
  std::optional<view<float, 3>> weights_of(slab const& s) {
    if (!arrays_.weighted) return {};
    return view<float, 3>(weights_.data(), {rows_[0], s.range.count, rows_[2]});
  }
  void read(slab const& s) { arrays_.read_data(s.range.first, sinogram_of(s), weights_of(s)); }

  /// Calls f(solver, sinogram, weights) for the data that were read, where the solver leaves its image in image_of(s),
  /// and begins with it if the options have an array as first image. On a device the three arrays are copied there and
  /// the image back.
  template <class F>
  void with_solver(slab const& s, recon_options const& options, std::span<float const> below,
                   std::span<float const> above, F const& f) {
    parallel_slab const part(whole_, s.range);
    slab_in_turn const between(below, above);
    auto const y_shape = sinogram_of(s).extents(), x_shape = image_of(s).extents();
    auto const samples = static_cast<index_t>(element_count(y_shape)),
               voxels = static_cast<index_t>(element_count(x_shape));
    bool const begins_with_image = std::holds_alternative<view<float const, 3>>(options.init_recon);
    device_values const y(ctx_, "sinogram of a slab", sinogram_.data(), samples),
        w(ctx_, "weights of a slab", weights_.data(), arrays_.weighted ? samples : 0),
        x(ctx_, "image of a slab", image_.data(), voxels, begins_with_image);
    view<float const, 3> const sinogram(y.data(), y_shape);
    std::optional<view<float const, 3>> weights;
    if (arrays_.weighted) weights.emplace(w.data(), y_shape);
    view<float, 3> const image(x.data(), x_shape);
    auto o = options;
    if (begins_with_image) o.init_recon = view<float const, 3>(image);
    f(solver(ctx_, between, part.scan(), sinogram, weights, image, o, operation_), sinogram, weights);
    x.copy_back();
  }

  /// Reads all data once: checks them, finds the sigmas, and makes the first image if there is none.
  void survey() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("survey");
    bool const automatic = !o_.sigma_y || (traits_.needs_sigma_x && !o_.sigma_x) ||
                           (traits_.needs_sigma_prox && !o_.sigma_prox);
    bool const fit = std::holds_alternative<std::monostate>(o_.init_recon);
    index_t const step = sampling_step(all_.views), views = ceil_div(all_.views, step);
    index_t const sampled = automatic ? views * all_.slices * all_.channels : 0;
    mbirk::detail::host_memory const held(ctx_, "sampled views", arrays_.weighted ? 2 * sampled : sampled);
    std::vector<float> samples(static_cast<std::size_t>(sampled)),
        sampled_weights(arrays_.weighted ? samples.size() : 0);
    auto const sample = [&](view<float const, 3> from, index_t first, std::vector<float>& to) {
      index_t const run = from.extent(1) * all_.channels;
      for (index_t i = 0; i < views && automatic; ++i)
        std::copy_n(from.data() + i * step * run, run, to.begin() + (i * all_.slices + first) * all_.channels);
    };
    bool positive = false;
    fit_products total;
    for (auto& s : slabs_) {
      read(s);
      sample(sinogram_of(s), s.range.first, samples);
      if (auto const weights = weights_of(s)) sample(*weights, s.range.first, sampled_weights);
      with_solver(s, o_, {}, {}, [&](solver const& run, auto const& sinogram, auto const& weights) {
        positive |= require_data_of_part(ctx_, message(operation_, ", rows from ", s.range.first, " on"), sinogram,
                                         weights);
        run.check();
        auto const found = run.survey_data();
        total.with_data += found.fit.with_data;
        total.with_itself += found.fit.with_itself;
        s.weight = found.mean_weight * static_cast<double>(sinogram_of(s).size());
      });
      if (fit) arrays_.write_image(s.range.first, image_of(s));
      else std::fill_n(image_.begin(), image_of(s).size(), static_cast<float>(std::get<double>(o_.init_recon)));
      keep_boundaries(s);
    }
    require_positive(positive, operation_);
    if (total.with_itself != 0) scale_ = static_cast<float>(total.with_data / total.with_itself);
    if (fit)
      for (auto& s : slabs_)
        for (auto* slice : {&s.first, &s.last}) scale(*slice);

    recon_log start;
    start.granularity = o_.granularity;
    if (automatic) {
      parallel_scan const scan = parallel_slab(whole_, {0, all_.slices}).sampled(step);
      device_table const all(ctx_, samples, "sampled views"), all_weights(ctx_, sampled_weights, "sampled weights");
      view<float const, 3> const y(all.data(), scan.sinogram_shape());
      std::optional<view<float const, 3>> w;
      if (arrays_.weighted) w.emplace(all_weights.data(), scan.sinogram_shape());
      auto const found = find_regularization(ctx_, scan, y, w, o_.snr_db, o_.sharpness);
      start.sigma_y = found.sigma_y;
      start.sigma_x = found.sigma_x;
      start.sigma_prox = found.sigma_prox;
      warnings_ = found.warnings;
    }
    start.sigma_y = o_.sigma_y.value_or(start.sigma_y);
    start.sigma_x = o_.sigma_x.value_or(start.sigma_x);
    start.sigma_prox = o_.sigma_prox.value_or(start.sigma_prox);
    for (auto& s : slabs_) s.log = start;
  }

  void scale(std::vector<float>& values) const {
    for (float& x : values) x *= scale_;
  }
  void keep_boundaries(slab& s) {
    if (!traits_.couples_slices) return;
    auto const x = image_of(s);
    auto const pixels = static_cast<std::size_t>(shape_[0] * shape_[1]);
    s.first.resize(pixels);
    s.last.resize(pixels);
    for (std::size_t p = 0; p < pixels; ++p) {
      auto const* const column = x.data() + static_cast<index_t>(p) * s.range.count;
      s.first[p] = column[0];
      s.last[p] = column[s.range.count - 1];
    }
  }

  /// The iterations of a slab in a sweep, which go on with those of the sweeps before.
  void visit_in_sweep(std::size_t at, int sweep, int sweeps) {
    auto& s = slabs_[at];
    auto o = o_;
    o.max_iterations = o_.first_iteration + static_cast<int>(std::int64_t{iterations_} * (sweep + 1) / sweeps);
    o.stop_threshold_change_pct = 0;
    o.progress = [&](iteration_report const& of_slab) {
      s.norms.push_back(of_slab.norm);
      auto report = of_slab;
      report.iteration = ++done_;
      report.iterations = iterations_ * static_cast<int>(slabs_.size());
      return !o_.progress || o_.progress(report);
    };
    bool const constant = std::holds_alternative<double>(o_.init_recon);
    if (sweep > 0 || !constant) {
      arrays_.read_image(s.range.first, image_of(s));
      if (sweep == 0) scale(image_);
      o.init_recon = view<float const, 3>(image_of(s));
    }
    recon_state const before{sinogram_of(s).extents(), image_of(s).extents(), o.seed, {}, {}, {}, s.log};
    o.resume = &before;
    std::span<float const> below, above;
    if (at > 0) below = slabs_[at - 1].last;
    if (at + 1 < slabs_.size()) above = slabs_[at + 1].first;
    visit(s, o, below, above);
    cancelled_ = s.log.cancelled;
  }
  void visit(slab& s, recon_options const& o, std::span<float const> below, std::span<float const> above) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("slab");
    read(s);
    with_solver(s, o, below, above, [&](solver const& run, auto const&, auto const&) {
      run.check();
      s.log = solve_(run, s.range);
    });
    keep_boundaries(s);
    arrays_.write_image(s.range.first, image_of(s));
  }

  /// The log of all slabs, for the iterations that all have done.
  recon_log log() const {
    auto all = slabs_.front().log;
    for (auto const& s : slabs_) all.num_iterations = std::min(all.num_iterations, s.log.num_iterations);
    auto const done = static_cast<std::size_t>(all.num_iterations);
    all.partition_sequence.resize(done);
    all.prior_loss.assign(done, 0.0);
    all.warnings.insert(all.warnings.end(), warnings_.begin(), warnings_.end());
    all.cancelled = cancelled_;
    for (auto* list : {&all.fm_rmse, &all.stop_threshold_change_pct, &all.alpha_values}) list->clear();
    all.delta_norm_per_slice.assign(done, {});
    double weight = 0;
    for (auto const& s : slabs_) weight += s.weight;
    for (std::size_t k = 0; k < done; ++k) {
      double square = 0, moved = 0, norm = 0, alpha = 0;
      for (auto const& s : slabs_) {
        if (s.weight > 0) square += s.log.fm_rmse[k] * s.log.fm_rmse[k] * s.weight;
        if (s.norms[k] > 0) moved += s.log.stop_threshold_change_pct[k] * s.norms[k];
        norm += s.norms[k];
        alpha += s.log.alpha_values[k] * static_cast<double>(s.range.count);
        auto const& of_slab = s.log.delta_norm_per_slice[k];
        all.delta_norm_per_slice[k].insert(all.delta_norm_per_slice[k].end(), of_slab.begin(), of_slab.end());
      }
      all.fm_rmse.push_back(std::sqrt(square / weight));
      all.stop_threshold_change_pct.push_back(moved / norm);
      all.alpha_values.push_back(alpha / static_cast<double>(all_.slices));
    }
    return all;
  }

  Context const& ctx_;
  parallel_parameters const& whole_;
  slab_division division_;
  slab_arrays const& arrays_;
  recon_options const& o_;
  char const* operation_;
  slab_prior_traits traits_;
  Solve const& solve_;
  parallel_geometry all_;
  int iterations_, done_ = 0;  // of a slab; of all slabs so far
  std::array<index_t, 3> shape_{}, rows_{};  // image and sinogram of the largest slab
  std::vector<slab> slabs_;
  std::vector<float> sinogram_, weights_, image_;
  std::vector<std::string> warnings_;
  float scale_ = 1;  // of the direct image
  bool cancelled_ = false;
};

}  // namespace detail

/// mbirk::recon in parallel beam of arrays that are larger than memory. Slabs of slices are reconstructed one after the
/// other, between the newest boundary slices of their neighbours. Every sweep over the slabs does an equal share of the
/// iterations, and goes on in the partition sequence with the same random draws as in memory.
///
/// @param ctx       execution and instrumentation. A device receives one slab at a time, so that a scan may be larger
///                  than its memory, too; the arrays are those of the host.
/// @param whole     parameters of the whole scan.
/// @param division  slices of a slab, and 1 to max_iterations sweeps. Multiples of 32 slices take the least memory and
///                  time for each slice.
/// @param arrays    read and write the slabs.
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
