// The data term of an iterative reconstruction: the weighted error sinogram, and all passes that project. It keeps
// w e = w (y - A x) throughout the run, because nothing else is ever back projected. distributed/data_term_of_views.hpp
// is the other model of this policy, for ranks that have some of the views. Not for users.
#pragma once

#include <optional>

#include "mbirk/kernel/shared/axpy_projection.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/projector/operations.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::detail {

/// The channel-major sinograms of a data term, and the passes over them that do not project.
template <class Context> class data_sinograms {
  using B = typename Context::backend;

 public:
  data_sinograms(Context const& ctx, kernel::chunked_shape const& shape, bool weighted)
      : ctx_(ctx), shape_(shape), error_(ctx, "weighted error", shape.size()) {
    if (weighted) weights_.emplace(ctx, "weights", shape.size());
  }

  kernel::chunked_shape const& shape() const noexcept { return shape_; }
  temporary<float, Context> const& error() const noexcept { return error_; }
  std::optional<temporary<float, Context>> const& weights() const noexcept { return weights_; }

  void load(view<float const, 3> sinogram, std::optional<view<float const, 3>> weights) {
    load_sinogram(ctx_, sinogram, error_, shape_, "sinogram");
    if (weights) load_sinogram(ctx_, *weights, *weights_, shape_, "weights");
  }
  /// Replaces the loaded sinogram y by w (y - scale z).
  void make_error(temporary<float, Context> const& z, double scale) {
    with_weights([&](auto weighted, auto w) {
      launch(ctx_, shape_.chunks * shape_.views,
             kernel::make_error<B, weighted>{observe(ctx_, z), w, observe(ctx_, error_), static_cast<float>(scale),
                                             shape_});
    });
  }

 protected:
  /// Calls f with a compile-time flag for the presence of weights, and their cursor.
  template <class F> void with_weights(F const& f) const { detail::with_weights(ctx_, weights_, f); }
  /// w e -= alpha w A d, whose projection is stored.
  void subtract_projection(kernel::step_length alpha) {
    kernel::axpy_projection<B> const kernel{
        observe(ctx_, *projection_), observe(ctx_, error_), alpha, shape_,
        on_device<Context> ? kernel::pieces_for_device(shape_.chunks * shape_.views, shape_.channels) : 1};
    launch(ctx_, kernel.tasks(), kernel);
  }
  void fill_with_zeros(temporary<float, Context> const& z) const {
    launch(ctx_, ceil_div(shape_.size(), kernel::voxel_block),
           kernel::fill_values<B>{observe(ctx_, z), 0, shape_.size()});
  }
  /// Memory for a projection: that of the line searches if there is any, else `fresh`, which is allocated.
  temporary<float, Context> const& room_for_projection(std::optional<temporary<float, Context>>& fresh) const {
    fresh.emplace(ctx_, "projection", projection_ ? 0 : shape_.size());
    return projection_ ? *projection_ : *fresh;
  }

  Context const& ctx_;
  kernel::chunked_shape shape_;
  temporary<float, Context> error_;
  std::optional<temporary<float, Context>> weights_, projection_;  // w; w A d of the last line search
};

/// The data term of all views that this process needs.
template <class Context, class Geometry> class data_term : public data_sinograms<Context> {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  using tables = typename P::template tables<Context>;
  using base = data_sinograms<Context>;
  using base::ctx_, base::shape_, base::error_, base::weights_, base::projection_, base::with_weights;
  static_assert(projector_of<P, Geometry, Context>);

 public:
  template <class Part>
  data_term(Context const& ctx, Part const&, scan<Geometry> const& s, kernel::chunked_shape const& shape,
            bool weighted)
      : base(ctx, shape, weighted), scan_(s), tables_(ctx, s, shape) {}

  /// Allocates memory for the updates of a subset. Must be called for every subset before project_image, which uses the
  /// same memory.
  void reserve(index_t pixels) {
    if (!projection_ && keeps(pixels)) projection_.emplace(ctx_, "weighted projection", shape_.size());
    if (index_t const floats = fused_update_floats(pixels); floats > 0)
      grow(partial_sums_, "parts of the back projection", floats);
    if (!on_device<Context> && !keeps(pixels))
      grow(packed_direction_, "step", pixels * shape_.chunks * shape_.width);
  }

  /// Diagonal of A' diag(w) A at all pixels.
  template <class Part> void make_hessian(Part const& part, temporary<float, Context> const& hessian) {
    part.agree([&] {
      auto const& g = scan_.geometry();
      device_plan const plan(ctx_, grid_pixels(scan_, {g.recon_cols * g.slices, g.slices, 1}));
      if (weights_)
        P::back_project_channel_major(ctx_, scan_, tables_, observe(ctx_, *weights_), shape_, plan, 2,
                                      observe(ctx_, hessian));
      else P::unweighted_hessian(ctx_, scan_, plan, observe(ctx_, hessian));
    });
  }
  /// z = A x, in memory that lives as long as `fresh`. @param zero  whether x is 0 everywhere.
  template <class Part, class Image>
  temporary<float, Context> const& project_image(Part const& part, Image const& image, bool zero,
                                                 std::optional<temporary<float, Context>>& fresh) {
    part.agree([&] {
      auto const& z = base::room_for_projection(fresh);
      if (zero) return base::fill_with_zeros(z);
      auto const all = plan_mask(ctx_, scan_, image.slices());
      P::project_channel_major(ctx_, scan_, all.tables, image.observe_slices(), all.pixels, observe(ctx_, z), shape_,
                               kernel::store_epilogue<B>{});
    });
    return projection_ ? *projection_ : *fresh;
  }

  /// Computes A' w e for a subset.
  void back(vcd_subset<Context> const& subset, vcd_step<Context> const& step) {
    auto const& direction = step.direction();
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
  /// Tasks of measure() that leave w (A d)^2.
  index_t measuring_tasks(index_t pixels) const {
    return on_device<Context> || keeps(pixels) ? P::template forward_tasks<Context>(tables_, shape_) : shape_.views;
  }
  /// Computes the sums of w (A d)^2; may store w A d.
  template <class Sums>
  void measure(vcd_subset<Context> const& subset, temporary<float, Context> const& direction, Sums const& all,
               typename Sums::of_subset const& sums) {
    pack_direction(subset, direction);
    with_weights([&](auto weighted, auto w) {
      if (keeps(subset.size())) {
        P::project_channel_major(ctx_, scan_, tables_, observe(ctx_, direction), subset.plan,
                                 observe(ctx_, *projection_), shape_,
                                 all.template norm_epilogue<weighted, true>(sums, w));
      } else {
        sorted_.emplace(ctx_, tables_, shape_, subset.plan);
        P::project_subset(ctx_, tables_, shape_, *packed(), subset.plan, *sorted_,
                          all.template norm_epilogue<weighted, false>(sums, w));
      }
    });
  }
  /// Packs d for the projection if its projection is not stored. A device projects d itself: the array must live until
  /// step(), which projects what it then holds.
  void pack_direction(vcd_subset<Context> const& subset, temporary<float, Context> const& direction) {
    direction_ = &direction;
    if (!on_device<Context> && !keeps(subset.size()))
      P::pack_subset(ctx_, shape_, direction, subset.plan, *packed_direction_);
  }

  /// w e -= alpha w A d for the subset whose projection or direction is stored; may be deferred to the next back
  /// projection. The subset must live until then.
  void step(vcd_subset<Context> const& subset, kernel::step_length alpha) {
    if (fuses_update(subset.size())) pending_update_ = pending_update{&subset, alpha};
    else subtract(subset, alpha);
  }
  /// Brings the error up to date.
  void apply_pending_step() {
    if (!pending_update_) return;
    subtract(*pending_update_->subset, pending_update_->alpha);
    pending_update_.reset();
  }

 private:
  void grow(std::optional<temporary<float, Context>>& room, char const* name, index_t floats) {
    if (!room || room->size() < floats) room.emplace(ctx_, name, floats);
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
  void subtract(vcd_subset<Context> const& subset, kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    if (keeps(subset.size())) {
      base::subtract_projection(alpha);
    } else {
      with_weights([&](auto weighted, auto w) {
        P::project_subset(ctx_, tables_, shape_, *packed(), subset.plan, *sorted_,
                          kernel::axpy_epilogue<B, weighted>{w, observe(ctx_, error_), alpha, shape_});
      });
      sorted_.reset();
    }
  }

  /// d of the last line search, as project_subset takes it.
  temporary<float, Context> const* packed() const noexcept {
    return on_device<Context> ? direction_ : &*packed_direction_;
  }

  struct pending_update { vcd_subset<Context> const* subset; kernel::step_length alpha; };
  scan<Geometry> const& scan_;
  tables tables_;
  // d of the last line search: (pixels, slices); in the order of its plan, (pixels, chunks * width).
  temporary<float, Context> const* direction_ = nullptr;
  std::optional<temporary<float, Context>> packed_direction_;
  std::optional<typename P::template sorted_list<Context>> sorted_;  // of the pixels of the last line search
  std::optional<temporary<float, Context>> partial_sums_;  // partial sums of a back projection by views
  // Update not yet subtracted from the error sinogram.
  std::optional<pending_update> pending_update_;
};

}  // namespace mbirk::detail
