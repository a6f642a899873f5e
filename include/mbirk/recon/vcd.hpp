// The engine of recon and prox_map: vectorised coordinate descent (Bouman and Buzzard 2024) on a channel-major weighted error sinogram. It holds
// w e = w (y - A x) for the whole run, because that is all that is ever back projected. Made of launches of kernels; the algorithm around it is in
// recon.hpp. Not for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "mbirk/kernel/host/error_sinogram.hpp"
#include "mbirk/kernel/host/vcd.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// The numbers that every subset update uses.
struct vcd_settings {
  double sigma_y = 1, max_alpha = 1.5;
  bool positivity = false;
  std::vector<float> damping;  ///< s_k, or empty
};

/// What the initial image is multiplied by: 1, or what makes its projection fit best, from accurate sums or from those of MBIRJAX.
enum class initial_scale { one, fit, float32_fit };

template <class Context, class Geometry> class vcd_engine {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  using cursor = typename B::template cursor<float const>;

 public:
  static constexpr double epsilon = 0x1p-23;
  struct step { double alpha = 0, change = 0; };

  vcd_engine(Context const& ctx, scan<Geometry> const& s, view<float, 3> recon, bool weighted, char const* operation)
      : ctx_(ctx), scan_(s), recon_(recon), operation_(operation), shape_(P::template inside_shape<Context>(s.geometry())),
        tables_(P::template make_tables<Context>(s, shape_)),
        error_(ctx, "weighted error", shape_.size()), hessian_(ctx, "Hessian diagonal", recon.size()),
        slice_norms_(ctx, "slice norms", padded_slices()) {
    if (weighted) weights_.emplace(ctx, "weights", shape_.size());
    if (P::keeps_projection) kept_.emplace(ctx, "weighted projection", shape_.size());
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
    auto const& g = scan_.geometry();
    auto const plan = kernel::plan_grid(g.recon_rows, g.recon_cols, nullptr, g.recon_cols * g.slices, g.slices);
    [[maybe_unused]] auto const guard = ctx_.instr.stage("Hessian");
    if (weights_) P::back_inside(ctx_, scan_, tables_, observe(ctx_, *weights_), shape_, plan, 2, observe(ctx_, hessian_));
    else P::unit_hessian(ctx_, scan_, plan, observe(ctx_, hessian_));
  }
  /// Turns the loaded sinogram y into w (y - A x), after x has been scaled. @param zero  x is 0 everywhere.
  void make_error(initial_scale scaling, bool zero) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    temporary<float, Context> fresh(ctx_, "projection", kept_ ? 0 : shape_.size());
    auto const& z = kept_ ? *kept_ : fresh;
    if (zero) {
      launch(ctx_, ceil_div(shape_.size(), kernel::voxel_block), kernel::fill_values<B>{observe(ctx_, z), 0, shape_.size()});
    } else {
      auto const plan = kernel::plan_grid(recon_.extent(0), recon_.extent(1), scan_.mask().data(), recon_.stride(0), recon_.stride(1));
      typename P::tables const all(P::template make_full_tables<Context>(scan_));
      P::forward_inside(ctx_, scan_, all, observe_recon(), plan, observe(ctx_, z), shape_, kernel::keep_views<B>{});
    }
    double scale = 1;
    if (scaling != initial_scale::one) {
      auto const [with_data, with_itself] = scaling == initial_scale::fit ? fit_sums(z) : float32_fit_sums(z);
      if (B::has_data && with_itself != 0) scale = with_data / with_itself;
      launch(ctx_, ceil_div(recon_.size(), kernel::voxel_block), kernel::scale_values<B>{observe_recon(), static_cast<float>(scale), recon_.size()});
    }
    with_weights([&](auto weighted, auto w) {
      launch(ctx_, blocks(), kernel::make_error<B, weighted>{observe(ctx_, z), w, observe(ctx_, error_), static_cast<float>(scale), shape_});
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
      launch(ctx_, blocks(), kernel::weighted_squares<B, weighted>{observe(ctx_, error_), w, observe(ctx_, sums), shape_});
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
  void clear_slice_norms() {
    if constexpr (B::has_data) std::fill_n(slice_norms_.data(), slice_norms_.size(), 0.0);
  }
  /// sqrt of the sum of (alpha d)^2 since the last clear, per slice.
  std::vector<double> slice_norms() const {
    std::vector<double> norms(static_cast<std::size_t>(recon_.extent(2)));
    if constexpr (B::has_data)
      for (std::size_t k = 0; k < norms.size(); ++k) norms[k] = std::sqrt(slice_norms_.data()[k]);
    return norms;
  }

  /// One subset: direction, line search, updates. `direction` and `curvature` have room for (pixels, slices); curvature only with damping.
  template <class Prior>
  step update(Prior const& prior, std::span<std::int32_t const> ascending, temporary<float, Context> const& direction,
              temporary<float, Context> const& curvature, vcd_settings const& o) {
    auto const& g = scan_.geometry();
    auto const plan = kernel::plan_list(ascending, g.recon_rows, g.recon_cols, g.slices);
    {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("back");
      P::back_inside(ctx_, scan_, tables_, observe(ctx_, error_), shape_, plan, 1, observe(ctx_, direction));
    }
    double const c = 1 / (o.sigma_y * o.sigma_y);
    auto const [slope, curve] = find_direction(prior, plan, direction, curvature, o, c);
    double const squares = measure(plan, direction);
    double alpha = 1;
    if constexpr (B::has_data) {
      double const best = -slope / (c * squares + curve + epsilon);
      require<error>(std::isfinite(best), [&] {
        return operation_ + std::string(": the line search found no finite step: the data, the first image, weights or sigmas are not finite or out of range");
      });
      alpha = std::min(std::max(best, epsilon), o.max_alpha);
    }
    auto const ranges = kernel::cut_entries(ascending, kernel::group_pixels);
    auto const pixels = observe(ctx_, ascending.data(), {"subset", array_role::temporary, static_cast<index_t>(ascending.size())});
    if (o.positivity) {
      {
        [[maybe_unused]] auto const guard = ctx_.instr.stage("positivity");
        launch(ctx_, static_cast<index_t>(ranges.size()),
               kernel::vcd_keep_positive<B>{pixels, observe_recon(), observe(ctx_, direction), g.recon_cols, g.slices, recon_.stride(0), recon_.stride(1),
                                            static_cast<float>(alpha + epsilon), ranges});
      }
      if (P::keeps_projection) measure(plan, direction);  // the kept projection must be that of the clipped direction
    }
    subtract(plan, direction, alpha);

    [[maybe_unused]] auto const guard = ctx_.instr.stage("update");
    index_t const tasks = static_cast<index_t>(ranges.size());
    temporary<double, Context> change(ctx_, "change sums", tasks), columns(ctx_, "slice sums", tasks * padded_slices());
    kernel::vcd_update<B> kernel{pixels, observe(ctx_, direction), observe_recon(), g.recon_cols, g.slices, padded_slices(), recon_.stride(0), recon_.stride(1),
                                 static_cast<float>(alpha), observe(ctx_, change), observe(ctx_, columns), ranges};
    kernel.plan_scratch();
    launch(ctx_, tasks, kernel);
    launch(ctx_, padded_slices() / B::lanes, kernel::add_columns<B>{observe(ctx_, columns), observe(ctx_, slice_norms_), tasks, padded_slices()});
    return {alpha, reduce(ctx_, change)};
  }

  auto observe_recon() const { return observe(ctx_, recon_, "recon", array_role::output); }

 private:
  index_t padded_slices() const noexcept { return std::max<index_t>(1, ceil_div(recon_.extent(2), B::lanes)) * B::lanes; }
  index_t blocks() const noexcept { return shape_.chunks * shape_.views; }
  double samples() const noexcept { return static_cast<double>(shape_.views) * static_cast<double>(shape_.rows) * static_cast<double>(shape_.channels); }

  /// f(whether there are weights as a constant, their cursor).
  template <class F> void with_weights(F const& f) {
    if (weights_) f(std::true_type{}, cursor(observe(ctx_, *weights_)));
    else f(std::false_type{}, cursor{});
  }

  struct products { double with_data = 0, with_itself = 0; };  ///< <w z, y> and <w z, z>
  products fit_sums(temporary<float, Context> const& z) {
    temporary<double, Context> sums(ctx_, "fit sums", 2 * blocks());
    with_weights([&](auto weighted, auto w) {
      launch(ctx_, blocks(), kernel::projection_products<B, weighted>{observe(ctx_, z), observe(ctx_, error_), w, observe(ctx_, sums), shape_});
    });
    return {reduce(ctx_, sums, 0, 2), reduce(ctx_, sums, 1, 2)};
  }
  /// The same in float32, in the order (views, rows, channels). Products by way of double: rounded to float32 once, and never fused with the sum.
  products float32_fit_sums(temporary<float, Context> const& z) const {
    float with_data = 0, with_itself = 0;
    if constexpr (B::has_data) {
      auto const product = [](float a, float b) { return static_cast<float>(static_cast<double>(a) * static_cast<double>(b)); };
      for (index_t v = 0; v < shape_.views; ++v)
        for (index_t m = 0; m < shape_.rows; ++m)
          for (index_t n = 0; n < shape_.channels; ++n) {
            index_t const k = shape_.offset(m / shape_.width, v) + (n + kernel::guard_channels) * shape_.width + m % shape_.width;
            float const a = z.data()[k], wa = weights_ ? product(weights_->data()[k], a) : a;
            with_data += product(wa, error_.data()[k]), with_itself += product(wa, a);
          }
    }
    return {static_cast<double>(with_data), static_cast<double>(with_itself)};
  }

  struct slopes { double slope = 0, curve = 0; };  ///< of G d and of h_prior d^2
  template <class Prior>
  slopes find_direction(Prior const& prior, kernel::pixel_plan const& plan, temporary<float, Context> const& direction,
                      temporary<float, Context> const& curvature, vcd_settings const& o, double c) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("direction");
    auto const& g = scan_.geometry();
    observed_plan<Context> const pixels(ctx_, plan);
    kernel::subset_arrays<B> const subset{pixels.rows, pixels.cols, pixels.offsets, observe(ctx_, direction), observe(ctx_, hessian_),
                                          g.recon_cols * g.slices, g.slices, plan.groups};
    index_t const tasks = static_cast<index_t>(plan.groups.size()), padded = padded_slices();
    temporary<double, Context> partial(ctx_, "direction sums", 2 * tasks);
    if (o.damping.empty()) {
      launch(ctx_, tasks, kernel::vcd_direction<B, Prior>{prior, subset, static_cast<float>(c), observe(ctx_, partial)});
    } else {
      temporary<double, Context> columns(ctx_, "damping sums", 2 * tasks * padded);
      temporary<float, Context> shift(ctx_, "slice shifts", padded), undamped(ctx_, "undamped share", padded);
      if constexpr (B::has_data)
        for (index_t k = 0; k < padded; ++k) undamped.data()[k] = k < g.slices ? 1 - o.damping[static_cast<std::size_t>(k)] : 0.0f;
      kernel::vcd_damped_gradient<B, Prior> first{prior, subset, static_cast<float>(c), observe(ctx_, curvature), observe(ctx_, columns), padded};
      first.plan_scratch();
      launch(ctx_, tasks, first);
      launch(ctx_, padded / B::lanes, kernel::vcd_slice_means<B>{observe(ctx_, columns), observe(ctx_, undamped), observe(ctx_, shift), tasks, padded});
      launch(ctx_, tasks, kernel::vcd_damped_direction<B>{subset, static_cast<float>(c), observe(ctx_, curvature), observe(ctx_, shift),
                                                          observe(ctx_, partial), g.slices});
    }
    return {reduce(ctx_, partial, 0, 2), reduce(ctx_, partial, 1, 2)};
  }

  /// sum of w (A d)^2; w A d is kept where the geometry does so.
  double measure(kernel::pixel_plan const& plan, temporary<float, Context> const& direction) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("line search");
    temporary<double, Context> partial(ctx_, "line search sums", P::forward_tasks(tables_, shape_));
    typename B::template cursor<float> target{};
    if (kept_) target = observe(ctx_, *kept_);
    with_weights([&](auto weighted, auto w) {
      kernel::measure_views<B, weighted, P::keeps_projection> sink{w, observe(ctx_, partial), shape_};
      P::forward_inside(ctx_, scan_, tables_, observe(ctx_, direction), plan, target, shape_, sink);
    });
    return reduce(ctx_, partial);
  }
  /// w e -= alpha w A d.
  void subtract(kernel::pixel_plan const& plan, temporary<float, Context> const& direction, double alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    if constexpr (P::keeps_projection) {
      (void)plan, (void)direction;
      launch(ctx_, blocks(), kernel::subtract_kept<B>{observe(ctx_, *kept_), observe(ctx_, error_), static_cast<float>(alpha), shape_});
    } else {
      with_weights([&](auto weighted, auto w) {
        kernel::subtract_views<B, weighted> sink{w, observe(ctx_, error_), static_cast<float>(alpha), shape_};
        P::forward_inside(ctx_, scan_, tables_, observe(ctx_, direction), plan, {}, shape_, sink);
      });
    }
  }

  Context const& ctx_;
  scan<Geometry> const& scan_;
  view<float, 3> recon_;
  char const* operation_;
  kernel::chunked_shape shape_;
  typename P::tables tables_;
  temporary<float, Context> error_, hessian_;
  temporary<double, Context> slice_norms_;
  std::optional<temporary<float, Context>> weights_, kept_;  // w; w A d of the last line search
};

}  // namespace mbirk::detail
