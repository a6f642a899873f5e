// State and updates of recon and prox_map: vectorised coordinate descent (Bouman and Buzzard 2024) on a channel-major
// weighted error sinogram. It keeps w e = w (y - A x) throughout the run, because nothing else is ever back projected.
// Consists of kernel launches; recon.hpp contains the algorithm around them. Not for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"
#include "mbirk/projector/operations.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/step_search.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::detail {

template <class Context, class Geometry> class vcd_state {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  using tables = typename P::template tables<Context>;
  static_assert(projector_of<P, Geometry, Context>);
  using cursor = typename B::template cursor<float const>;

 public:
  static constexpr double epsilon = 0x1p-23;

  vcd_state(Context const& ctx, scan<Geometry> const& s, view<float, 3> recon, bool weighted, char const* operation)
      : ctx_(ctx),
        scan_(s),
        recon_(recon),
        operation_(operation),
        shape_(P::template channel_major_shape<Context>(s.geometry())),
        tables_(ctx, s, shape_),
        error_(ctx, "weighted error", shape_.size()),
        hessian_(ctx, "Hessian diagonal", recon.size()),
        slice_norms_(ctx, "slice norms", padded_slices()) {
    if (weighted) weights_.emplace(ctx, "weights", shape_.size());
  }
  /// Allocates memory for the updates of a subset. Must be called for every subset before make_error, which uses the
  /// same memory.
  void reserve(index_t pixels) {
    if (!projection_ && keeps(pixels)) projection_.emplace(ctx_, "weighted projection", shape_.size());
    if (index_t const floats = fused_update_floats(pixels); floats > 0)
      grow(partial_sums_, "parts of the back projection", floats);
    if (!keeps(pixels)) grow(packed_direction_, "step", pixels * shape_.chunks * shape_.width);
  }

  kernel::chunked_shape const& shape() const noexcept { return shape_; }
  temporary<float, Context> const& error_sinogram() const noexcept { return error_; }
  temporary<float, Context> const& hessian() const noexcept { return hessian_; }

  void load(view<float const, 3> sinogram, std::optional<view<float const, 3>> weights) {
    load_sinogram(ctx_, sinogram, error_, shape_, "sinogram");
    if (weights) load_sinogram(ctx_, *weights, *weights_, shape_, "weights");
  }
  /// Diagonal of A' diag(w) A at all pixels.
  void make_hessian() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("Hessian");
    device_plan const plan(ctx_, grid_pixels(scan_, recon_.strides()));
    if (weights_)
      P::back_project_channel_major(ctx_, scan_, tables_, observe(ctx_, *weights_), shape_, plan, 2,
                                    observe(ctx_, hessian_));
    else P::unweighted_hessian(ctx_, scan_, plan, observe(ctx_, hessian_));
  }
  /// Replaces the loaded sinogram y by w (y - A x), after scaling x. @param zero  whether x is 0 everywhere.
  void make_error(initial_scale scaling, bool zero) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    temporary<float, Context> fresh(ctx_, "projection", projection_ ? 0 : shape_.size());
    auto const& z = projection_ ? *projection_ : fresh;
    if (zero) {
      launch(ctx_, ceil_div(shape_.size(), kernel::voxel_block),
             kernel::fill_values<B>{observe(ctx_, z), 0, shape_.size()});
    } else {
      auto const all = plan_mask(ctx_, scan_, recon_);
      P::project_channel_major(ctx_, scan_, all.tables, observe_recon(), all.pixels, observe(ctx_, z), shape_,
                               kernel::store_epilogue<B>{});
    }
    double scale = 1;
    if (scaling != initial_scale::one) {
      scale = scale_of(scaling, ctx_, shape_, z, error_, weights_);
      launch(ctx_, ceil_div(recon_.size(), kernel::voxel_block),
             kernel::scale_values<B>{observe_recon(), static_cast<float>(scale), recon_.size()});
    }
    with_weights([&](auto weighted, auto w) {
      launch(ctx_, blocks(),
             kernel::make_error<B, weighted>{observe(ctx_, z), w, observe(ctx_, error_), static_cast<float>(scale),
                                             shape_});
    });
  }

  /// Mean of the weights over all samples.
  double mean_weight() {
    if (!weights_) return 1;
    [[maybe_unused]] auto const guard = ctx_.instr.stage("mean weight");
    temporary<double, Context> sums(ctx_, "weight sums", blocks());
    launch(ctx_, blocks(), kernel::sinogram_sum<B>{observe(ctx_, *weights_), observe(ctx_, sums), shape_});
    return reduce(ctx_, sums) / samples();
  }
  /// sqrt(sum w e^2 / (mean(w) V R C)).
  double rmse(double mean_of_weights) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("rmse");
    temporary<double, Context> sums(ctx_, "error sums", blocks());
    with_weights([&](auto weighted, auto w) {
      launch(ctx_, blocks(),
             kernel::weighted_squares<B, weighted>{observe(ctx_, error_), w, observe(ctx_, sums), shape_});
    });
    return std::sqrt(reduce(ctx_, sums) / (mean_of_weights * samples()));
  }
  /// ||x||_1 over all voxels.
  double recon_norm() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("norm");
    index_t const tasks = ceil_div(recon_.size(), kernel::voxel_block);
    temporary<double, Context> sums(ctx_, "norm sums", tasks);
    launch(ctx_, tasks, kernel::absolute_sum<B>{observe_recon(), observe(ctx_, sums), recon_.size()});
    return reduce(ctx_, sums);
  }
  void clear_slice_norms() { clear(ctx_, slice_norms_); }
  /// sqrt of the sum of (alpha d)^2 since the last clear, per slice.
  std::vector<double> slice_norms() const {
    std::vector<double> norms(static_cast<std::size_t>(recon_.extent(2)));
    if constexpr (B::has_data) {
      host_copy const squares(ctx_, slice_norms_);
      for (std::size_t k = 0; k < norms.size(); ++k) norms[k] = std::sqrt(squares[static_cast<index_t>(k)]);
    }
    return norms;
  }

  /// Updates one subset: direction, line search, updates; `place` is its position in the iteration. `direction` and
  /// `curvature` hold (pixels, slices); curvature is needed only with damping. On a device nothing waits.
  template <class Prior>
  void update(Prior const& prior, vcd_subset<Context> const& subset, index_t place,
              temporary<float, Context> const& direction, temporary<float, Context> const& curvature,
              vcd_settings const& o) {
    auto const& g = scan_.geometry();
    back(subset, direction);
    double const c = 1 / (o.sigma_y * o.sigma_y);
    temporary<double, Context> slopes(ctx_, "direction sums", 2 * subset.direction_groups().size());
    temporary<double, Context> squares(ctx_, "line search sums", measuring_tasks(subset.size()));
    find_direction(prior, subset, direction, curvature, o, c, slopes);
    measure(subset, direction, squares);
    auto const alpha = search_->find(place, kernel::vcd_line_search{c, o.max_alpha}, slopes, &squares);

    auto const ranges = subset.ranges.all();
    auto const pieces = pieces_of(ranges.size());
    auto const pixels = observe(ctx_, subset.pixels);
    if (o.positivity) {
      {
        [[maybe_unused]] auto const guard = ctx_.instr.stage("positivity");
        launch(ctx_, ranges.size() * pieces.count(),
               kernel::vcd_clip_direction<B>{pixels, observe_recon(), observe(ctx_, direction), g.recon_cols, g.slices,
                                             recon_.stride(0), recon_.stride(1), alpha, epsilon, pieces,
                                             ranges});
        pack_direction(subset, direction);
      }
      // The stored projection must be that of the clipped direction.
      if (keeps(subset.size())) measure(subset, direction, squares);
    }
    if (fuses_update(subset.size())) pending_update_ = pending_update{&subset, alpha};
    else subtract(subset, alpha);

    [[maybe_unused]] auto const guard = ctx_.instr.stage("update");
    index_t const tasks = ranges.size() * pieces.count();
    temporary<double, Context> change(ctx_, "change sums", tasks),
        columns(ctx_, "slice sums", ranges.size() * padded_slices());
    kernel::vcd_update<B> kernel{pixels,   observe(ctx_, direction), observe_recon(),        g.recon_cols,
                                 g.slices, padded_slices(),          recon_.stride(0),       recon_.stride(1),
                                 alpha,    observe(ctx_, change),    observe(ctx_, columns), pieces,
                                 ranges};
    kernel.plan_scratch();
    launch(ctx_, tasks, kernel);
    launch(ctx_, padded_slices() / B::lanes,
           kernel::reduce_slice_sums<B>{observe(ctx_, columns), observe(ctx_, slice_norms_), ranges.size(),
                                        padded_slices()});
    search_->add_changes(place, change);
  }

  /// Brings the error up to date: the step of a subset may have been deferred to the back projection of the next one.
  void apply_pending_step() {
    if (!pending_update_) return;
    subtract(*pending_update_->subset, pending_update_->alpha);
    pending_update_.reset();
  }

  /// Allocates memory for the steps of an iteration.
  void begin(index_t subsets) {
    search_.emplace(ctx_, subsets,
                    operation_ + std::string(": the line search found no finite step: the data, the first image, "
                                             "weights or sigmas are not finite or out of range"));
  }
  /// Step and sum of |alpha d| of every subset since begin(). @throws error if a line search found no finite step.
  std::vector<subset_step<1>> const& steps() { return search_->steps(); }

  auto observe_recon() const { return observe(ctx_, recon_, "recon", array_role::output); }

 private:
  void grow(std::optional<temporary<float, Context>>& room, char const* name, index_t floats) {
    if (!room || room->size() < floats) room.emplace(ctx_, name, floats);
  }
  index_t padded_slices() const noexcept {
    return std::max<index_t>(1, ceil_div(recon_.extent(2), B::lanes)) * B::lanes;
  }
  index_t blocks() const noexcept { return shape_.chunks * shape_.views; }
  /// How the tasks of a pass over voxel columns share their slices.
  kernel::slice_pieces pieces_of(index_t ranges) const {
    index_t const padded = padded_slices();
    if constexpr (on_device<Context>) return kernel::pieces_for_device(ranges, recon_.extent(2), padded, B::lanes);
    else return {recon_.extent(2), padded, padded};
  }
  double samples() const noexcept {
    return static_cast<double>(shape_.views) * static_cast<double>(shape_.rows) * static_cast<double>(shape_.channels);
  }

  /// Calls f with a compile-time flag for the presence of weights, and their cursor.
  template <class F> void with_weights(F const& f) const {
    detail::with_weights(ctx_, weights_, f);
  }

  /// Computes the direction and stores the two sums of every task in `partial`.
  template <class Prior>
  void find_direction(Prior const& prior, vcd_subset<Context> const& subset_pixels,
                      temporary<float, Context> const& direction, temporary<float, Context> const& curvature,
                      vcd_settings const& o, double c, temporary<double, Context> const& partial) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("direction");
    auto const& g = scan_.geometry();
    auto const& plan = subset_pixels.plan;
    kernel::subset_arrays<B> const subset{observe(ctx_, plan.rows), observe(ctx_, plan.cols),
                                          observe(ctx_, plan.offsets), observe(ctx_, direction),
                                          observe(ctx_, hessian_), g.recon_cols * g.slices, g.slices,
                                          subset_pixels.direction_groups()};
    index_t const tasks = subset.groups.size(), padded = padded_slices();
    if (o.damping.empty()) {
      launch(ctx_, tasks,
             kernel::vcd_direction<B, Prior>{prior, subset, static_cast<float>(c), observe(ctx_, partial)});
    } else if constexpr (Geometry::has_slice_damping) {
      temporary<double, Context> columns(ctx_, "damping sums", 2 * tasks * padded);
      temporary<float, Context> shift(ctx_, "slice shifts", padded);
      auto const& undamped = undamped_shares(o.damping);
      kernel::vcd_damped_gradient<B, Prior> first{
          prior, subset, static_cast<float>(c), observe(ctx_, curvature), observe(ctx_, columns), padded};
      first.plan_scratch();
      launch(ctx_, tasks, first);
      launch(ctx_, padded / B::lanes,
             kernel::vcd_slice_means<B>{observe(ctx_, columns), observe(ctx_, undamped), observe(ctx_, shift), tasks,
                                        padded});
      launch(ctx_, tasks,
             kernel::vcd_damped_direction<B>{subset, static_cast<float>(c), observe(ctx_, curvature),
                                             observe(ctx_, shift), observe(ctx_, partial), g.slices});
    }
  }

  /// 1 - s_k of every slice, made once: the damping is the same in all updates of a run.
  device_table<float, Context> const& undamped_shares(std::vector<float> const& damping) {
    if (!undamped_) {
      shares_.resize(static_cast<std::size_t>(padded_slices()));
      std::transform(damping.begin(), damping.end(), shares_.begin(), [](float s) { return 1 - s; });
      undamped_.emplace(ctx_, shares_, "undamped share");
    }
    return *undamped_;
  }

  /// Floats of partial sums for the fused update and back projection of this number of pixels; 0 if it is not used.
  index_t fused_update_floats(index_t pixels) const {
    return P::template partial_sum_floats<Context>(tables_, shape_, pixels);
  }
  /// Whether the back projection of this number of pixels proceeds view by view and includes the pending error update.
  bool fuses_update(index_t pixels) const {
    index_t const floats = fused_update_floats(pixels);
    return floats > 0 && partial_sums_ && partial_sums_->size() >= floats;
  }
  kernel::axpy_projection<B> axpy_projection(kernel::step_length alpha) {
    return {observe(ctx_, *projection_), observe(ctx_, error_), alpha, shape_};
  }
  template <bool Weighted> kernel::axpy_epilogue<B, Weighted> axpy_epilogue(cursor weights, kernel::step_length alpha) {
    return {weights, observe(ctx_, error_), alpha.get(), shape_};
  }
  /// Computes A' w e for a subset.
  void back(vcd_subset<Context> const& subset, temporary<float, Context> const& direction) {
    if (fuses_update(subset.size())) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("back");
      auto const at = [](auto const& array) { return array ? &*array : nullptr; };
      deferred_update<Context> const update{pending_update_ ? &pending_update_->subset->plan : nullptr,
                                            pending_update_ ? pending_update_->alpha : kernel::step_length{},
                                            error_, at(weights_), at(projection_), at(packed_direction_), shape_};
      P::fused_update_backproject(ctx_, scan_, tables_, update, subset.plan, *partial_sums_,
                                  observe(ctx_, direction));
      pending_update_.reset();
      return;
    }
    apply_pending_step();
    [[maybe_unused]] auto const guard = ctx_.instr.stage("back");
    P::back_project_channel_major(ctx_, scan_, tables_, observe(ctx_, error_), shape_, subset.plan, 1,
                                  observe(ctx_, direction));
  }

  /// Whether w A d of a subset is stored from the line search to the update, rather than projected again.
  bool keeps(index_t pixels) const { return P::template keeps_projection<Context>(tables_, shape_, pixels); }
  /// Packs d for the projection if its projection is not stored.
  void pack_direction(vcd_subset<Context> const& subset, temporary<float, Context> const& direction) {
    if (!keeps(subset.size())) P::pack_subset(ctx_, shape_, direction, subset.plan, *packed_direction_);
  }
  index_t measuring_tasks(index_t pixels) const {
    return keeps(pixels) ? P::template forward_tasks<Context>(tables_, shape_) : shape_.views;
  }
  /// Computes the sum of w (A d)^2 per task; may store w A d.
  void measure(vcd_subset<Context> const& subset, temporary<float, Context> const& direction,
               temporary<double, Context> const& partial) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("line search");
    pack_direction(subset, direction);
    with_weights([&](auto weighted, auto w) {
      if (keeps(subset.size())) {
        kernel::squared_norm_epilogue<B, weighted, true> const epilogue{w, observe(ctx_, partial), shape_};
        P::project_channel_major(ctx_, scan_, tables_, observe(ctx_, direction), subset.plan,
                                 observe(ctx_, *projection_), shape_, epilogue);
      } else {
        P::project_subset(ctx_, tables_, shape_, *packed_direction_, subset.plan,
                          kernel::squared_norm_epilogue<B, weighted, false>{w, observe(ctx_, partial), shape_});
      }
    });
  }
  /// Computes w e -= alpha w A d for the subset whose projection or direction is stored.
  void subtract(vcd_subset<Context> const& subset, kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    if (keeps(subset.size())) {
      launch(ctx_, blocks(), axpy_projection(alpha));
    } else {
      with_weights([&](auto weighted, auto w) {
        P::project_subset(ctx_, tables_, shape_, *packed_direction_, subset.plan,
                          axpy_epilogue<weighted>(w, alpha));
      });
    }
  }

  struct pending_update { vcd_subset<Context> const* subset; kernel::step_length alpha; };
  Context const& ctx_;
  scan<Geometry> const& scan_;
  view<float, 3> recon_;
  char const* operation_;
  kernel::chunked_shape shape_;
  tables tables_;
  temporary<float, Context> error_, hessian_;
  temporary<double, Context> slice_norms_;
  std::vector<float> shares_;  // what undamped_ refers to on the host
  std::optional<device_table<float, Context>> undamped_;
  std::optional<step_search<Context, 1>> search_;  // changes: the sum of |alpha d|
  std::optional<temporary<float, Context>> weights_, projection_;    // w; w A d of the last line search
  // d of the last line search, in the order of its plan, (pixels, chunks * width).
  std::optional<temporary<float, Context>> packed_direction_;
  std::optional<temporary<float, Context>> partial_sums_;            // partial sums of a back projection by views
  // Update not yet subtracted from the error sinogram.
  std::optional<pending_update> pending_update_;
};

}  // namespace mbirk::detail
