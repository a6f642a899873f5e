// Updates of recon and prox_map: vectorised coordinate descent (Bouman and Buzzard 2024). Consists of kernel launches;
// recon.hpp contains the algorithm around them. Policies of the part of the problem that a process has vary it: the
// data term (data_term.hpp), the image (whole_volume.hpp), and how sums are taken (task_sums.hpp, unit_sums.hpp). Those
// of several ranks are in distributed. Not for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"
#include "mbirk/recon/data_term.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/vcd_subset.hpp"
#include "mbirk/recon/vcd_sums.hpp"

namespace mbirk::detail {

template <class Context, class Geometry, class Part> class vcd_state {
  using B = typename Context::backend;
  using image_part = typename Part::template image<Context>;
  using data_part = typename Part::template data<Context, Geometry>;
  using sums_part = typename Part::template sums<Context, Geometry>;
  using subset_sums = typename sums_part::of_subset;
  using subset_part = typename Part::template subset<Context>;
  using step_part = typename Part::template step<Context>;

 public:
  static constexpr double epsilon = 0x1p-23;

  /// @param coupled  whether the prior couples slices
  vcd_state(Context const& ctx, Part const& part, scan<Geometry> const& s, view<float, 3> recon, bool weighted,
            bool coupled, char const* operation)
      : ctx_(ctx),
        scan_(s),
        image_(part.make_image(ctx, recon, coupled)),
        data_(ctx, part, s, sums_part::shape(s.geometry()), weighted),
        hessian_(ctx, "Hessian diagonal", recon.size()),
        sums_(ctx, part, data_.shape(), recon.extent(2), operation),
        samples_(part.samples(data_.shape())) {}
  /// Allocates memory for the updates of a subset. Must be called for every subset before make_error, which uses the
  /// same memory.
  void reserve(index_t pixels) { data_.reserve(pixels); }

  kernel::chunked_shape const& shape() const noexcept { return data_.shape(); }
  temporary<float, Context> const& error_sinogram() const noexcept { return data_.error(); }
  temporary<float, Context> const& hessian() const noexcept { return hessian_; }
  image_part& image() noexcept { return image_; }
  image_part const& image() const noexcept { return image_; }

  void load(view<float const, 3> sinogram, std::optional<view<float const, 3>> weights) {
    data_.load(sinogram, weights);
  }
  /// Diagonal of A' diag(w) A at all pixels.
  void make_hessian(Part const& part) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("Hessian");
    data_.make_hessian(part, hessian_);
  }
  /// Replaces the loaded sinogram y by w (y - A x), after scaling x. @param zero  whether x is 0 everywhere.
  void make_error(Part const& part, initial_scale scaling, bool zero) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    std::optional<temporary<float, Context>> fresh;
    auto const& z = data_.project_image(part, image_, zero, fresh);
    double scale = 1;
    if (scaling != initial_scale::one) {
      auto const [with_data, with_itself] =
          scaling == initial_scale::fit
              ? sums_.fit(z, data_.error(), data_.weights())
              : float32_fit_sums(ctx_, data_.shape(), z, data_.error(), data_.weights());
      if (B::has_data && with_itself != 0) scale = with_data / with_itself;
      image_.scale(static_cast<float>(scale));
    }
    data_.make_error(z, scale);
  }

  /// <w A x, y> and <w A x, A x>, where y is the loaded sinogram.
  fit_products fit(Part const& part) {
    std::optional<temporary<float, Context>> fresh;
    auto const& z = data_.project_image(part, image_, false, fresh);
    return sums_.fit(z, data_.error(), data_.weights());
  }

  /// Mean of the weights over all samples.
  double mean_weight() {
    if (!data_.weights()) return 1;
    [[maybe_unused]] auto const guard = ctx_.instr.stage("mean weight");
    return sums_.weight_sum(*data_.weights()) / samples_;
  }
  /// sqrt(sum w e^2 / (mean(w) V R C)).
  double rmse(double mean_of_weights) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("rmse");
    return std::sqrt(sums_.error_sum(data_.error(), data_.weights()) / (mean_of_weights * samples_));
  }

  /// Allocates memory for the steps of an iteration.
  void begin_iteration(index_t subsets) { sums_.begin_iteration(subsets); }
  /// Completes all updates, so that no message is in flight between iterations.
  /// @throws error if a line search found no finite step
  iteration_sums end_iteration() {
    data_.apply_pending_step();
    image_.receive_boundaries();
    return sums_.end_iteration(image_);
  }
  /// sqrt of the sum of (alpha d)^2 in this iteration, per slice.
  std::vector<double> slice_norms() const { return sums_.slice_norms(); }

  /// Updates one subset: direction, line search, updates; `place` is its position in the iteration. On a device it does
  /// not wait, except where ranks share out the sums.
  template <class Prior>
  void update(Prior const& prior, subset_part const& subset, index_t place, step_part& step,
              vcd_settings const& o) {
    data_.back(subset, step);
    image_.receive_boundaries();
    double const c = 1 / (o.sigma_y * o.sigma_y);
    subset_sums sums(sums_, subset, data_.keeps(subset.size()), data_.measuring_tasks(subset.size()));
    find_direction(prior, subset.own(), step, o, c, sums);
    measure(subset, step, sums);
    auto const alpha = sums_.find_step(place, kernel::vcd_line_search{c, o.max_alpha}, sums);
    if (o.positivity) {
      clip(subset, step, alpha);
      // The stored projection must be that of the clipped direction.
      if (data_.keeps(subset.size())) measure(subset, step, sums);
    }
    data_.step(subset, alpha);

    [[maybe_unused]] auto const guard = ctx_.instr.stage("update");
    sums_.move(place, subset, step.direction(), image_, alpha);
    image_.send_boundaries(subset, step, alpha);
  }

 private:
  index_t padded_slices() const noexcept {
    return round_up(std::max<index_t>(1, scan_.geometry().slices), B::lanes);
  }

  /// Computes the direction and its two sums.
  template <class Prior>
  void find_direction(Prior const& prior, vcd_subset<Context> const& pixels, step_part const& step,
                      vcd_settings const& o, double c, subset_sums const& sums) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("direction");
    auto const& g = scan_.geometry();
    auto const& plan = pixels.plan;
    kernel::subset_arrays<B> const subset{observe(ctx_, plan.rows), observe(ctx_, plan.cols),
                                          observe(ctx_, plan.offsets), observe(ctx_, step.direction()),
                                          observe(ctx_, hessian_), g.recon_cols * g.slices, g.slices,
                                          pixels.direction_groups()};
    if (o.damping.empty()) {
      sums_.find_direction(sums, prior, subset, c);
    } else if constexpr (Geometry::has_slice_damping) {
      index_t const tasks = subset.groups.size(), padded = padded_slices();
      auto const& curvature = step.curvature();
      temporary<double, Context> columns(ctx_, "damping sums", 2 * std::max<index_t>(1, tasks) * padded);
      temporary<float, Context> shift(ctx_, "slice shifts", padded);
      auto const& undamped = undamped_shares(o.damping);
      kernel::vcd_damped_gradient<B, Prior> first{
          prior, subset, static_cast<float>(c), observe(ctx_, curvature), observe(ctx_, columns), padded};
      first.plan_scratch();
      launch(ctx_, tasks, first);
      index_t const parts = sums_.damping_parts(sums, columns, tasks);
      launch(ctx_, padded / B::lanes,
             kernel::vcd_slice_means<B>{observe(ctx_, columns), observe(ctx_, undamped), observe(ctx_, shift), parts,
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

  /// Computes the sums of w (A d)^2; may store w A d.
  void measure(subset_part const& subset, step_part& step, subset_sums const& sums) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("line search");
    step.share(subset);
    data_.measure(subset, step.shared(), sums_, sums);
  }
  /// Keeps x + alpha d from being negative.
  void clip(subset_part const& subset, step_part const& step, kernel::step_length const& alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("positivity");
    vcd_subset<Context> const& own = subset.own();
    auto const ranges = own.ranges.all();
    auto const pieces = sums_.pieces_of(ranges.size());
    auto const at = image_.columns();
    launch(ctx_, ranges.size() * pieces.count(),
           kernel::vcd_clip_direction<B>{observe(ctx_, own.pixels), image_.observe_slices(),
                                         observe(ctx_, step.direction()), at.cols, at.slices, at.row_stride,
                                         at.col_stride, alpha, epsilon, pieces, ranges});
    data_.pack_direction(subset, step.direction());
  }

  Context const& ctx_;
  scan<Geometry> const& scan_;
  image_part image_;
  data_part data_;
  temporary<float, Context> hessian_;
  sums_part sums_;
  double samples_;             // of all processes
  std::vector<float> shares_;  // what undamped_ refers to on the host
  std::optional<device_table<float, Context>> undamped_;
};

}  // namespace mbirk::detail
