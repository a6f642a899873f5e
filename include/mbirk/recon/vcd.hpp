// State and updates of recon and prox_map: vectorised coordinate descent (Bouman and Buzzard 2024) on a channel-major
// weighted error sinogram. It keeps w e = w (y - A x) throughout the run, because nothing else is ever back projected.
// Consists of kernel launches; recon.hpp contains the algorithm around them. Two policies vary it: how sums are taken
// (task_sums.hpp, unit_sums.hpp), and which part of the volume a process has (whole_volume.hpp, and slab_part.hpp of
// distributed). Not for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"
#include "mbirk/projector/operations.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/task_sums.hpp"
#include "mbirk/recon/unit_sums.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::detail {

/// Where slices only meet in the prior, the host sums by units of slices, as it does when several processes share them.
template <class Context, class Geometry>
inline constexpr bool sums_by_units = !on_device<Context> && std::same_as<Geometry, parallel_geometry>;

template <class Context, class Geometry, class Part> class vcd_state {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  using tables = typename P::template tables<Context>;
  static_assert(projector_of<P, Geometry, Context>);
  using image_part = typename Part::template image<Context>;
  using sums_part =
      std::conditional_t<sums_by_units<Context, Geometry>, unit_sums<Context, Part>, task_sums<Context, P>>;
  using subset_sums = typename sums_part::of_subset;

 public:
  static constexpr double epsilon = 0x1p-23;

  /// @param coupled  whether the prior couples slices
  vcd_state(Context const& ctx, Part const& part, scan<Geometry> const& s, view<float, 3> recon, bool weighted,
            bool coupled, char const* operation)
      : ctx_(ctx),
        scan_(s),
        image_(part.make_image(ctx, recon, coupled)),
        shape_(sums_part::shape(s.geometry())),
        tables_(ctx, s, shape_),
        error_(ctx, "weighted error", shape_.size()),
        hessian_(ctx, "Hessian diagonal", recon.size()),
        sums_(ctx, part, shape_, recon.extent(2), operation),
        samples_(static_cast<double>(shape_.views) * static_cast<double>(part.all_rows(shape_.rows)) *
                 static_cast<double>(shape_.channels)) {
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
  image_part& image() noexcept { return image_; }
  image_part const& image() const noexcept { return image_; }

  void load(view<float const, 3> sinogram, std::optional<view<float const, 3>> weights) {
    load_sinogram(ctx_, sinogram, error_, shape_, "sinogram");
    if (weights) load_sinogram(ctx_, *weights, *weights_, shape_, "weights");
  }
  /// Diagonal of A' diag(w) A at all pixels.
  void make_hessian() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("Hessian");
    auto const& g = scan_.geometry();
    device_plan const plan(ctx_, grid_pixels(scan_, {g.recon_cols * g.slices, g.slices, 1}));
    if (weights_)
      P::back_project_channel_major(ctx_, scan_, tables_, observe(ctx_, *weights_), shape_, plan, 2,
                                    observe(ctx_, hessian_));
    else P::unweighted_hessian(ctx_, scan_, plan, observe(ctx_, hessian_));
  }
  /// Replaces the loaded sinogram y by w (y - A x), after scaling x. @param zero  whether x is 0 everywhere.
  void make_error(Part const& part, initial_scale scaling, bool zero) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    std::optional<temporary<float, Context>> fresh;
    part.agree([&] {
      fresh.emplace(ctx_, "projection", projection_ ? 0 : shape_.size());
      project(zero, projection_ ? *projection_ : *fresh);
    });
    auto const& z = projection_ ? *projection_ : *fresh;
    double scale = 1;
    if (scaling != initial_scale::one) {
      auto const [with_data, with_itself] = scaling == initial_scale::fit
                                                ? sums_.fit(z, error_, weights_)
                                                : float32_fit_sums(ctx_, shape_, z, error_, weights_);
      if (B::has_data && with_itself != 0) scale = with_data / with_itself;
      image_.scale(static_cast<float>(scale));
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
    return sums_.weight_sum(*weights_) / samples_;
  }
  /// sqrt(sum w e^2 / (mean(w) V R C)).
  double rmse(double mean_of_weights) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("rmse");
    return std::sqrt(sums_.error_sum(error_, weights_) / (mean_of_weights * samples_));
  }

  /// Allocates memory for the steps of an iteration.
  void begin_iteration(index_t subsets) { sums_.begin_iteration(subsets); }
  /// Completes all updates, so that no message is in flight between iterations.
  /// @throws error if a line search found no finite step
  iteration_sums end_iteration() {
    apply_pending_step();
    image_.receive_boundaries();
    return sums_.end_iteration(image_);
  }
  /// sqrt of the sum of (alpha d)^2 in this iteration, per slice.
  std::vector<double> slice_norms() const { return sums_.slice_norms(); }

  /// Updates one subset: direction, line search, updates; `place` is its position in the iteration. `direction` and
  /// `curvature` hold (pixels, slices); curvature is needed only with damping. On a device nothing waits.
  template <class Prior>
  void update(Prior const& prior, vcd_subset<Context> const& subset, index_t place,
              temporary<float, Context> const& direction, temporary<float, Context> const& curvature,
              vcd_settings const& o) {
    back(subset, direction);
    image_.receive_boundaries();
    double const c = 1 / (o.sigma_y * o.sigma_y);
    subset_sums sums(sums_, subset.direction_groups().size(), keeps(subset.size()), measuring_tasks(subset.size()));
    find_direction(prior, subset, direction, curvature, o, c, sums);
    measure(subset, direction, sums);
    auto const alpha = sums_.find_step(place, kernel::vcd_line_search{c, o.max_alpha}, sums);
    if (o.positivity) {
      clip(subset, direction, alpha);
      // The stored projection must be that of the clipped direction.
      if (keeps(subset.size())) measure(subset, direction, sums);
    }
    if (fuses_update(subset.size())) pending_update_ = pending_update{&subset, alpha};
    else subtract(subset, alpha);

    [[maybe_unused]] auto const guard = ctx_.instr.stage("update");
    sums_.move(place, subset, direction, image_, alpha);
    image_.send_boundaries(subset, direction, alpha);
  }

 private:
  /// z = A x. @param zero  whether x is 0 everywhere.
  void project(bool zero, temporary<float, Context> const& z) {
    if (zero) {
      launch(ctx_, ceil_div(shape_.size(), kernel::voxel_block),
             kernel::fill_values<B>{observe(ctx_, z), 0, shape_.size()});
      return;
    }
    auto const all = plan_mask(ctx_, scan_, image_.slices());
    P::project_channel_major(ctx_, scan_, all.tables, image_.observe_slices(), all.pixels, observe(ctx_, z), shape_,
                             kernel::store_epilogue<B>{});
  }

  /// Brings the error up to date: the step of a subset may have been deferred to the back projection of the next one.
  void apply_pending_step() {
    if (!pending_update_) return;
    subtract(*pending_update_->subset, pending_update_->alpha);
    pending_update_.reset();
  }

  void grow(std::optional<temporary<float, Context>>& room, char const* name, index_t floats) {
    if (!room || room->size() < floats) room.emplace(ctx_, name, floats);
  }
  index_t padded_slices() const noexcept {
    return round_up(std::max<index_t>(1, scan_.geometry().slices), B::lanes);
  }
  index_t blocks() const noexcept { return shape_.chunks * shape_.views; }
  /// Calls f with a compile-time flag for the presence of weights, and their cursor.
  template <class F> void with_weights(F const& f) const {
    detail::with_weights(ctx_, weights_, f);
  }

  /// Computes the direction and its two sums.
  template <class Prior>
  void find_direction(Prior const& prior, vcd_subset<Context> const& subset_pixels,
                      temporary<float, Context> const& direction, temporary<float, Context> const& curvature,
                      vcd_settings const& o, double c, subset_sums const& sums) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("direction");
    auto const& g = scan_.geometry();
    auto const& plan = subset_pixels.plan;
    kernel::subset_arrays<B> const subset{observe(ctx_, plan.rows), observe(ctx_, plan.cols),
                                          observe(ctx_, plan.offsets), observe(ctx_, direction),
                                          observe(ctx_, hessian_), g.recon_cols * g.slices, g.slices,
                                          subset_pixels.direction_groups()};
    if (o.damping.empty()) {
      sums_.find_direction(sums, prior, subset, c);
    } else if constexpr (Geometry::has_slice_damping) {
      index_t const tasks = subset.groups.size(), padded = padded_slices();
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
                                             observe(ctx_, shift), observe(ctx_, sums.slopes), g.slices});
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
  /// Keeps x + alpha d from being negative.
  void clip(vcd_subset<Context> const& subset, temporary<float, Context> const& direction,
            kernel::step_length const& alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("positivity");
    auto const ranges = subset.ranges.all();
    auto const pieces = sums_.pieces_of(ranges.size());
    auto const at = image_.columns();
    launch(ctx_, ranges.size() * pieces.count(),
           kernel::vcd_clip_direction<B>{observe(ctx_, subset.pixels), image_.observe_slices(),
                                         observe(ctx_, direction), at.cols, at.slices, at.row_stride, at.col_stride,
                                         alpha, epsilon, pieces, ranges});
    pack_direction(subset, direction);
  }
  /// Computes the sums of w (A d)^2; may store w A d.
  void measure(vcd_subset<Context> const& subset, temporary<float, Context> const& direction,
               subset_sums const& sums) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("line search");
    pack_direction(subset, direction);
    with_weights([&](auto weighted, auto w) {
      if (keeps(subset.size())) {
        P::project_channel_major(ctx_, scan_, tables_, observe(ctx_, direction), subset.plan,
                                 observe(ctx_, *projection_), shape_,
                                 sums_.template norm_epilogue<weighted, true>(sums, w));
      } else {
        P::project_subset(ctx_, tables_, shape_, *packed_direction_, subset.plan,
                          sums_.template norm_epilogue<weighted, false>(sums, w));
      }
    });
  }
  /// Computes w e -= alpha w A d for the subset whose projection or direction is stored.
  void subtract(vcd_subset<Context> const& subset, kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    if (keeps(subset.size())) {
      launch(ctx_, blocks(),
             kernel::axpy_projection<B>{observe(ctx_, *projection_), observe(ctx_, error_), alpha, shape_});
    } else {
      with_weights([&](auto weighted, auto w) {
        P::project_subset(ctx_, tables_, shape_, *packed_direction_, subset.plan,
                          kernel::axpy_epilogue<B, weighted>{w, observe(ctx_, error_), alpha.get(), shape_});
      });
    }
  }

  struct pending_update { vcd_subset<Context> const* subset; kernel::step_length alpha; };
  Context const& ctx_;
  scan<Geometry> const& scan_;
  image_part image_;
  kernel::chunked_shape shape_;
  tables tables_;
  temporary<float, Context> error_, hessian_;
  sums_part sums_;
  double samples_;             // of all processes
  std::vector<float> shares_;  // what undamped_ refers to on the host
  std::optional<device_table<float, Context>> undamped_;
  std::optional<temporary<float, Context>> weights_, projection_;    // w; w A d of the last line search
  // d of the last line search, in the order of its plan, (pixels, chunks * width).
  std::optional<temporary<float, Context>> packed_direction_;
  std::optional<temporary<float, Context>> partial_sums_;            // partial sums of a back projection by views
  // Update not yet subtracted from the error sinogram.
  std::optional<pending_update> pending_update_;
};

}  // namespace mbirk::detail
