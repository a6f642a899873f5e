// State and updates of recon and prox_map on the slices of a rank in parallel beam: recon/vcd.hpp, with every sum by
// units of slices and, for the prior, one slice of each neighbour. Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/distributed/slab_image.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/unit_sums.hpp"
#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/prior/parameters.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

/// Comm: the ranks, in the order of their slices. coupled: whether the prior couples slices.
template <class Context, communicator Comm> class vcd_slab {
  using B = typename Context::backend;
  using P = projector<parallel_geometry>;
  using tables = typename P::template tables<Context>;
  static_assert(!on_device<Context>, "distributed reconstructions run on the host");

 public:
  vcd_slab(Context const& ctx, Comm const& ranks, parallel_slab const& slab, view<float, 3> image, bool weighted,
           bool coupled, char const* operation)
      : ctx_(ctx),
        ranks_(ranks),
        slab_(slab),
        scan_(slab.scan()),
        operation_(operation),
        image_(ctx, ranks, image, coupled),
        slices_(image.extent(2)),
        shape_(kernel::make_unit_chunks<B>(scan_.geometry().views, scan_.geometry().channels, scan_.geometry().rows)),
        tables_(ctx, scan_, shape_),
        units_(kernel::units_of<B>(slices_)),
        padded_slices_(round_up(std::max<index_t>(1, slices_), B::lanes)),
        all_units_(ranks, units_),
        error_(ctx, "weighted error", shape_.size()),
        hessian_(ctx, "Hessian diagonal", image.size()),
        slice_norms_(ctx, "slice norms", padded_slices_) {
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

  slab_image<Context, Comm>& image() noexcept { return image_; }
  slab_image<Context, Comm> const& image() const noexcept { return image_; }

  /// The prior of the image, for kernels.
  kernel::slab_prior<B, kernel::qggmrf_cylinder<B>> prior(qggmrf_parameters const& p) const {
    auto const x = image_.slices();
    return {{image_.observe_columns(), x.extent(0), x.extent(1), image_.column(), x.stride(0), x.stride(1),
             kernel::qggmrf_constants(p)},
            image_.lead(),
            slices_};
  }

  void load(view<float const, 3> sinogram, std::optional<view<float const, 3>> weights) {
    load_sinogram(ctx_, sinogram, error_, shape_, "sinogram");
    if (weights) load_sinogram(ctx_, *weights, *weights_, shape_, "weights");
  }
  /// Diagonal of A' diag(w) A at all pixels.
  void make_hessian() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("Hessian");
    auto const& g = scan_.geometry();
    device_plan const plan(ctx_, grid_pixels(scan_, {g.recon_cols * slices_, slices_, 1}));
    if (weights_)
      P::back_project_channel_major(ctx_, scan_, tables_, observe(ctx_, *weights_), shape_, plan, 2,
                                    observe(ctx_, hessian_));
    else P::unweighted_hessian(ctx_, scan_, plan, observe(ctx_, hessian_));
  }

  /// Replaces the loaded sinogram y by w (y - A x), after scaling x to fit it if `fit`. @param zero  whether x is 0
  void make_error(bool fit, bool zero) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    temporary<float, Context> fresh(ctx_, "projection", projection_ ? 0 : shape_.size());
    auto const& z = projection_ ? *projection_ : fresh;
    if (zero) {
      launch(ctx_, ceil_div(shape_.size(), kernel::voxel_block),
             kernel::fill_values<B>{observe(ctx_, z), 0, shape_.size()});
    } else {
      auto const all = plan_mask(ctx_, scan_, image_.slices());
      P::project_channel_major(ctx_, scan_, all.tables, image_.observe_slices(), all.pixels, observe(ctx_, z), shape_,
                               kernel::store_epilogue<B>{});
    }
    double const scale = fit ? fitting_scale(z) : 1;
    if (fit) image_.scale(static_cast<float>(scale));
    with_weights(ctx_, weights_, [&](auto weighted, auto w) {
      launch(ctx_, shape_.chunks * shape_.views,
             kernel::make_error<B, weighted>{observe(ctx_, z), w, observe(ctx_, error_), static_cast<float>(scale),
                                             shape_});
    });
  }

  /// Mean of the weights over all samples of all ranks.
  double mean_weight() {
    if (!weights_) return 1;
    [[maybe_unused]] auto const guard = ctx_.instr.stage("mean weight");
    return sum_samples("mean weight", kernel::sample<B>{observe(ctx_, *weights_)}) / samples();
  }
  /// sqrt(sum w e^2 / (mean(w) V R C)).
  double rmse(double mean_of_weights) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("rmse");
    double sum = 0;
    with_weights(ctx_, weights_, [&](auto weighted, auto w) {
      sum = sum_samples("rmse", kernel::error_square<B, weighted>{observe(ctx_, error_), w});
    });
    return std::sqrt(sum / (mean_of_weights * samples()));
  }
  /// Sum over the subsets since begin() of |alpha d|, and ||x||_1 over all voxels.
  std::pair<double, double> change_and_norm() {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("norm");
    index_t const tasks = ceil_div(image_.pixels(), kernel::absolute_unit_sums<B>::batch);
    temporary<double, Context> sums(ctx_, "norm sums", units_ * tasks);
    launch(ctx_, tasks,
           kernel::absolute_unit_sums<B>{image_.observe_slices(), observe(ctx_, sums), image_.columns(),
                                         image_.pixels()});
    auto const norms = reduce_units(ctx_, sums, units_, 1);
    std::vector<double> both;
    for (std::size_t u = 0; u < norms.size(); ++u) both.insert(both.end(), {changes_[u], norms[u]});
    auto const [change, norm] = all_units_.template sum<2>(ranks_, "change and norm", both);
    return {change, norm};
  }
  /// sqrt of the sum of (alpha d)^2 since begin(), of every slice of all ranks.
  std::vector<double> slice_norms(std::vector<index_t> const& slices_of_ranks) const {
    std::vector<double> norms(static_cast<std::size_t>(slices_));
    if constexpr (B::has_data)
      for (std::size_t k = 0; k < norms.size(); ++k) norms[k] = std::sqrt(slice_norms_.data()[k]);
    return gather(ranks_, "slice norms", norms, slices_of_ranks);
  }

  /// Starts an iteration.
  void begin() {
    clear(ctx_, slice_norms_);
    changes_.assign(static_cast<std::size_t>(units_), 0.0);
  }

  /// Updates one subset: direction, line search, updates. Returns the step. `direction` holds (pixels, slices).
  template <class Prior>
  double update(Prior const& prior, vcd_subset<Context> const& subset, temporary<float, Context> const& direction,
                vcd_settings const& o) {
    auto const& plan = subset.plan;
    back(subset, direction);
    double const c = 1 / (o.sigma_y * o.sigma_y);
    auto const slopes = find_direction(prior, plan, direction, c);
    auto const squares = measure(subset, direction);
    double const found = find_step(slopes, squares, kernel::vcd_line_search{c, o.max_alpha});
    kernel::step_length const alpha{found};
    if (o.positivity) {
      clip(subset, direction, alpha);
      if (keeps(subset.size())) measure(subset, direction);  // the stored projection must be that of the clipped one
    }
    if (fuses_update(subset.size())) pending_ = pending_update{&subset, alpha};
    else subtract(subset, alpha);
    move(subset, direction, alpha);
    return found;
  }

  /// Brings the error up to date: the step of a subset may have been deferred to the back projection of the next one.
  void apply_pending_step() {
    if (!pending_) return;
    subtract(*pending_->subset, pending_->alpha);
    pending_.reset();
  }

 private:
  void grow(std::optional<temporary<float, Context>>& room, char const* name, index_t floats) {
    if (!room || room->size() < floats) room.emplace(ctx_, name, floats);
  }
  double samples() const noexcept {
    return static_cast<double>(shape_.views) * static_cast<double>(slab_.slices()) *
           static_cast<double>(shape_.channels);
  }

  /// Sum of a term over the samples of every unit of this rank.
  template <class Term> std::vector<double> unit_sums(Term const& term) {
    temporary<double, Context> sums(ctx_, "sinogram sums", units_ * shape_.views);
    launch(ctx_, shape_.chunks * shape_.views,
           kernel::sinogram_unit_sums<B, Term>{term, observe(ctx_, sums), shape_});
    return reduce_units(ctx_, sums, units_, 1);
  }
  template <class Term> double sum_samples(char const* what, Term const& term) {
    return all_units_.template sum<1>(ranks_, what, unit_sums(term))[0];
  }
  /// <w z, y> / <w z, z>; 1 if the projection is 0.
  double fitting_scale(temporary<float, Context> const& z) {
    std::vector<double> both;
    with_weights(ctx_, weights_, [&](auto weighted, auto w) {
      auto const with_data = unit_sums(kernel::data_product<B, weighted>{observe(ctx_, z), observe(ctx_, error_), w});
      auto const with_itself = unit_sums(kernel::norm_product<B, weighted>{observe(ctx_, z), w});
      for (std::size_t u = 0; u < with_data.size(); ++u)
        both.insert(both.end(), {with_data[u], with_itself[u]});
    });
    auto const [with_data, with_itself] = all_units_.template sum<2>(ranks_, "fit", both);
    return B::has_data && with_itself != 0 ? with_data / with_itself : 1;
  }

  /// Computes the direction; returns the sums of G d and h_prior d^2 of every unit.
  template <class Prior>
  std::vector<double> find_direction(Prior const& prior, device_plan<Context> const& plan,
                                     temporary<float, Context> const& direction, double c) {
    image_.receive_boundaries();
    [[maybe_unused]] auto const guard = ctx_.instr.stage("direction");
    auto const& g = scan_.geometry();
    index_t const tasks = plan.groups.size();
    temporary<double, Context> partial(ctx_, "direction sums", 2 * tasks * units_);
    kernel::subset_arrays<B> const subset{observe(ctx_, plan.rows), observe(ctx_, plan.cols),
                                          observe(ctx_, plan.offsets), observe(ctx_, direction),
                                          observe(ctx_, hessian_), g.recon_cols * slices_, slices_,
                                          plan.groups.all()};
    kernel::vcd_unit_direction<B, std::remove_cvref_t<decltype(prior.inner)>> kernel{
        prior, subset, static_cast<float>(c), observe(ctx_, partial)};
    kernel.plan_scratch();
    launch(ctx_, tasks, kernel);
    return reduce_units(ctx_, partial, units_, 2);
  }

  /// @throws error if the step is not finite, on every rank
  double find_step(std::vector<double> const& slopes, std::vector<double> const& squares,
                   kernel::vcd_line_search const& search) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("sums of all ranks");
    std::vector<double> three;
    for (std::size_t u = 0; u < squares.size(); ++u)
      three.insert(three.end(), {slopes[2 * u], slopes[2 * u + 1], squares[u]});
    auto const sums = all_units_.template sum<3>(ranks_, "line search", three);
    double alpha[1] = {1};
    if constexpr (B::has_data) {
      search({sums[0], sums[1], sums[2]}, alpha);
      require<error>(std::isfinite(alpha[0]), [&] {
        return operation_ + std::string(": the line search found no finite step: the data, the first image, weights or "
                                        "sigmas are not finite or out of range");
      });
    }
    return alpha[0];
  }

  void clip(vcd_subset<Context> const& subset, temporary<float, Context> const& direction,
            kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("positivity");
    auto const x = image_.slices();
    auto const ranges = subset.ranges.all();
    launch(ctx_, ranges.size(),
           kernel::vcd_clip_direction<B>{observe(ctx_, subset.pixels), image_.observe_slices(),
                                         observe(ctx_, direction),
                                         x.extent(1), x.extent(2), x.stride(0), x.stride(1), alpha, 0x1p-23,
                                         {slices_, padded_slices_, padded_slices_}, ranges});
    pack_direction(subset, direction);
  }

  /// x += alpha d, and sends the neighbours their part of it.
  void move(vcd_subset<Context> const& subset, temporary<float, Context> const& direction, kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("update");
    auto const ranges = subset.ranges.all();
    index_t const tasks = ranges.size();
    temporary<double, Context> change(ctx_, "change sums", tasks * units_),
        squares(ctx_, "slice sums", tasks * padded_slices_);
    launch(ctx_, tasks,
           kernel::vcd_unit_update<B>{observe(ctx_, subset.pixels), observe(ctx_, direction),
                                      image_.observe_slices(), image_.columns(), padded_slices_, alpha,
                                      observe(ctx_, change), observe(ctx_, squares), ranges});
    launch(ctx_, padded_slices_ / B::lanes,
           kernel::reduce_slice_sums<B>{observe(ctx_, squares), observe(ctx_, slice_norms_), tasks, padded_slices_});
    auto const moved = reduce_units(ctx_, change, units_, 1);
    for (std::size_t u = 0; u < moved.size(); ++u) changes_[u] += moved[u];
    image_.send_boundaries(subset, direction, alpha);
  }

  // The following members do the same as those of vcd_state in recon/vcd.hpp, with sums by units of slices.

  bool keeps(index_t pixels) const { return P::template keeps_projection<Context>(tables_, shape_, pixels); }
  index_t fused_update_floats(index_t pixels) const {
    return P::template partial_sum_floats<Context>(tables_, shape_, pixels);
  }
  bool fuses_update(index_t pixels) const {
    index_t const floats = fused_update_floats(pixels);
    return floats > 0 && partial_sums_ && partial_sums_->size() >= floats;
  }
  /// Computes A' w e for a subset.
  void back(vcd_subset<Context> const& subset, temporary<float, Context> const& direction) {
    if (fuses_update(subset.size())) {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("back");
      auto const at = [](auto const& array) { return array ? &*array : nullptr; };
      deferred_update<Context> const update{pending_ ? &pending_->subset->plan : nullptr,
                                            pending_ ? pending_->alpha : kernel::step_length{},
                                            error_, at(weights_), at(projection_), at(packed_direction_), shape_};
      P::fused_update_backproject(ctx_, scan_, tables_, update, subset.plan, *partial_sums_,
                                  observe(ctx_, direction));
      pending_.reset();
      return;
    }
    apply_pending_step();
    [[maybe_unused]] auto const guard = ctx_.instr.stage("back");
    P::back_project_channel_major(ctx_, scan_, tables_, observe(ctx_, error_), shape_, subset.plan, 1,
                                  observe(ctx_, direction));
  }
  void pack_direction(vcd_subset<Context> const& subset, temporary<float, Context> const& direction) {
    if (!keeps(subset.size())) P::pack_subset(ctx_, shape_, direction, subset.plan, *packed_direction_);
  }
  /// Computes the sum of w (A d)^2 of every unit; may store w A d.
  std::vector<double> measure(vcd_subset<Context> const& subset, temporary<float, Context> const& direction) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("line search");
    pack_direction(subset, direction);
    bool const kept = keeps(subset.size());
    index_t const slots = kept ? P::template forward_tasks<Context>(tables_, shape_) / shape_.chunks : shape_.views;
    temporary<double, Context> sums(ctx_, "line search sums", units_ * slots);
    with_weights(ctx_, weights_, [&](auto weighted, auto w) {
      if (kept) {
        kernel::unit_norm_epilogue<B, weighted, true> const epilogue{w, observe(ctx_, sums), shape_, slots};
        P::project_channel_major(ctx_, scan_, tables_, observe(ctx_, direction), subset.plan,
                                 observe(ctx_, *projection_), shape_, epilogue);
      } else {
        P::project_subset(ctx_, tables_, shape_, *packed_direction_, subset.plan,
                          kernel::unit_norm_epilogue<B, weighted, false>{w, observe(ctx_, sums), shape_, slots});
      }
    });
    return reduce_units(ctx_, sums, units_, 1);
  }
  /// Computes w e -= alpha w A d for the subset whose projection or direction is stored.
  void subtract(vcd_subset<Context> const& subset, kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    if (keeps(subset.size())) {
      launch(ctx_, shape_.chunks * shape_.views,
             kernel::axpy_projection<B>{observe(ctx_, *projection_), observe(ctx_, error_), alpha, shape_});
    } else {
      with_weights(ctx_, weights_, [&](auto weighted, auto w) {
        P::project_subset(ctx_, tables_, shape_, *packed_direction_, subset.plan,
                          kernel::axpy_epilogue<B, weighted>{w, observe(ctx_, error_), alpha.get(), shape_});
      });
    }
  }

  struct pending_update { vcd_subset<Context> const* subset; kernel::step_length alpha; };

  Context const& ctx_;
  Comm const& ranks_;
  parallel_slab const& slab_;
  parallel_scan const& scan_;
  char const* operation_;
  slab_image<Context, Comm> image_;
  index_t slices_;
  kernel::chunked_shape shape_;
  tables tables_;
  index_t units_, padded_slices_;
  unit_table all_units_;
  temporary<float, Context> error_, hessian_;
  temporary<double, Context> slice_norms_;
  std::vector<double> changes_;  // sums of |alpha d| in this iteration, by units
  std::optional<temporary<float, Context>> weights_, projection_;
  std::optional<temporary<float, Context>> packed_direction_, partial_sums_;
  std::optional<pending_update> pending_;
};

}  // namespace mbirk::distributed::detail
