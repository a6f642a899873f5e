// How recon_in_slabs.hpp goes through the slabs: a survey of all data, then sweeps of visits. Not for users.
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
#include "mbirk/distributed/slab_schedule.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::distributed::detail {

/// Properties of a prior.
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
        schedule_(all_.slices, division, options, traits.couples_slices) {
    check();
    for (index_t at = 0; at < schedule_.slabs(); ++at) slabs_.push_back({schedule_.range(at)});
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
    if (arrays_.resume) go_on_from(*arrays_.resume);
    if (slabs_.size() == 1) {
      if (visits_ > 0) return slabs_.front().done.log;
      visit(slabs_.front(), o_, {}, {});
      visited();
      return slabs_.front().done.log;
    }
    if (!arrays_.resume) {
      survey();
      save();
    }
    auto const slabs = std::ssize(slabs_);
    while (visits_ < schedule_.visits() && !cancelled_) {
      auto const at = visits_ % slabs;
      if (at == 0 && visits_ > 0) {
        auto const so_far = log();
        if (so_far.num_iterations > 0 && so_far.stop_threshold_change_pct.back() < o_.stop_threshold_change_pct) break;
      }
      visit_in_sweep(static_cast<std::size_t>(at), static_cast<int>(visits_ / slabs));
      visited();
    }
    return log();
  }

 private:
  struct slab {
    index_range range;
    slab_record done = {};
    std::vector<float> first = {}, last = {};  // its boundary slices as they are now, where neighbours need them
  };

  bool is_constant() const { return std::holds_alternative<double>(o_.init_recon); }
  bool is_fit() const { return std::holds_alternative<std::monostate>(o_.init_recon); }

  void check() const {
    using mbirk::detail::message;
    auto const refuse = [&](bool asked, char const* what) {
      require(!asked, [&] { return message(operation_, ": ", what, ", expected none in slabs"); });
    };
    require(division_.slices >= 1, [&] {
      return message(operation_, ": slabs have ", division_.slices, " slices, expected at least 1");
    });
    int const most = std::max(1, schedule_.iterations);
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

  /// Whether one of the weights is positive.
  template <class Sinogram, class Weights>
  bool require_data_of_slab(slab const& s, Sinogram const& sinogram, Weights const& weights) const {
    return require_data_of_part(ctx_, mbirk::detail::message(operation_, ", rows from ", s.range.first, " on"),
                                sinogram, weights);
  }

  /// Reads all data once: checks them, finds the sigmas, and makes the first image if there is none.
  void survey() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("survey");
    bool const automatic = !o_.sigma_y || (traits_.needs_sigma_x && !o_.sigma_x) ||
                           (traits_.needs_sigma_prox && !o_.sigma_prox);
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
        positive |= require_data_of_slab(s, sinogram, weights);
        run.check();
        auto const found = run.survey_data();
        total.with_data += found.fit.with_data;
        total.with_itself += found.fit.with_itself;
        s.done.weight = found.mean_weight * static_cast<double>(sinogram_of(s).size());
      });
      if (is_fit()) arrays_.write_image(s.range.first, image_of(s));
      else fill_constant(s);
      keep_boundaries(s);
    }
    require_positive(positive, operation_);
    if (is_fit() && total.with_itself != 0) scale_ = static_cast<float>(total.with_data / total.with_itself);
    for (auto& s : slabs_) scale_boundaries(s);

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
    for (auto& s : slabs_) s.done.log = start;
  }

  void scale(std::vector<float>& values) const {
    for (float& x : values) x *= scale_;
  }
  void scale_boundaries(slab& s) const {
    for (auto* slice : {&s.first, &s.last}) scale(*slice);
  }
  void fill_constant(slab const& s) {
    std::fill_n(image_.begin(), image_of(s).size(), static_cast<float>(std::get<double>(o_.init_recon)));
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

  /// Takes over a state, and the boundary slices that belong to it.
  void go_on_from(slabs_state const& state) {
    require_resumable(state, all_, division_, o_, traits_.couples_slices, operation_);
    visits_ = state.visits;
    scale_ = state.scale;
    warnings_ = state.warnings;
    for (std::size_t at = 0; at < slabs_.size(); ++at) {
      auto& s = slabs_[at];
      s.done = state.slabs[at];
      done_ += static_cast<int>(s.done.log.num_iterations);
      if (slabs_.size() == 1 || !traits_.couples_slices) continue;
      bool const is_visited = static_cast<index_t>(at) < visits_;
      if (is_visited || !is_constant()) arrays_.read_image(s.range.first, image_of(s));
      else fill_constant(s);
      keep_boundaries(s);
      if (!is_visited) scale_boundaries(s);
    }
  }
  void visited() {
    if (cancelled_) return;
    ++visits_;
    save();
  }
  void save() const {
    if (!arrays_.checkpoint) return;
    slabs_state state{{all_.views, all_.rows, all_.channels}, {all_.recon_rows, all_.recon_cols, all_.slices},
                      division_, o_.seed, visits_, scale_, warnings_, {}};
    for (auto const& s : slabs_) state.slabs.push_back(s.done);
    arrays_.checkpoint(state);
  }

  /// The iterations of a slab in a sweep, which go on with those of the sweeps before.
  void visit_in_sweep(std::size_t at, int sweep) {
    auto& s = slabs_[at];
    auto o = o_;
    o.max_iterations = o_.first_iteration + static_cast<int>(schedule_.iterations_after(sweep + 1));
    o.stop_threshold_change_pct = 0;
    o.progress = [&](iteration_report const& of_slab) {
      s.done.norms.push_back(of_slab.norm);
      auto report = of_slab;
      report.iteration = ++done_;
      report.iterations = schedule_.iterations * static_cast<int>(slabs_.size());
      return !o_.progress || o_.progress(report);
    };
    if (sweep > 0 || !is_constant()) {
      arrays_.read_image(s.range.first, image_of(s));
      if (sweep == 0) scale(image_);
      o.init_recon = view<float const, 3>(image_of(s));
    }
    recon_state const before{sinogram_of(s).extents(), image_of(s).extents(), o.seed, {}, {}, {}, s.done.log};
    o.resume = &before;
    std::span<float const> below, above;
    if (at > 0) below = slabs_[at - 1].last;
    if (at + 1 < slabs_.size()) above = slabs_[at + 1].first;
    visit(s, o, below, above);
  }
  void visit(slab& s, recon_options const& o, std::span<float const> below, std::span<float const> above) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("slab");
    read(s);
    with_solver(s, o, below, above, [&](solver const& run, auto const& sinogram, auto const& weights) {
      // The survey checks the data; a reconstruction that goes on from a state has none.
      if (arrays_.resume && slabs_.size() > 1) require_data_of_slab(s, sinogram, weights);
      run.check();
      s.done.log = solve_(run, s.range);
    });
    cancelled_ = s.done.log.cancelled;
    keep_boundaries(s);
    arrays_.write_image(s.range.first, image_of(s));
  }

  /// The log of all slabs, for the iterations that all have done.
  recon_log log() const {
    auto all = slabs_.front().done.log;
    for (auto const& s : slabs_) all.num_iterations = std::min(all.num_iterations, s.done.log.num_iterations);
    auto const done = static_cast<std::size_t>(all.num_iterations);
    all.partition_sequence.resize(done);
    all.prior_loss.assign(done, 0.0);
    all.warnings.insert(all.warnings.end(), warnings_.begin(), warnings_.end());
    all.cancelled = cancelled_;
    for (auto* list : {&all.fm_rmse, &all.stop_threshold_change_pct, &all.alpha_values}) list->clear();
    all.delta_norm_per_slice.assign(done, {});
    double weight = 0;
    for (auto const& s : slabs_) weight += s.done.weight;
    for (std::size_t k = 0; k < done; ++k) {
      double square = 0, moved = 0, norm = 0, alpha = 0;
      for (auto const& s : slabs_) {
        if (s.done.weight > 0) square += s.done.log.fm_rmse[k] * s.done.log.fm_rmse[k] * s.done.weight;
        if (s.done.norms[k] > 0) moved += s.done.log.stop_threshold_change_pct[k] * s.done.norms[k];
        norm += s.done.norms[k];
        alpha += s.done.log.alpha_values[k] * static_cast<double>(s.range.count);
        auto const& of_slab = s.done.log.delta_norm_per_slice[k];
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
  slab_schedule schedule_;
  int done_ = 0;        // iterations of all slabs so far
  index_t visits_ = 0;  // of slabs, so far
  std::array<index_t, 3> shape_{}, rows_{};  // image and sinogram of the largest slab
  std::vector<slab> slabs_;
  std::vector<float> sinogram_, weights_, image_;
  std::vector<std::string> warnings_;
  float scale_ = 1;  // of the direct image
  bool cancelled_ = false;
};

}  // namespace mbirk::distributed::detail
