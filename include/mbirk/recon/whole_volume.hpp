// An iterative reconstruction by one process, which has the whole volume. distributed/slab_part.hpp is the other model
// of this policy: a rank that has some of the slices. Not for users.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/recon/options.hpp"
#include "mbirk/recon/regularization.hpp"
#include "mbirk/recon/unit_sums.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::detail {

/// The caller's array.
template <class Context> class whole_image {
  using B = typename Context::backend;

 public:
  whole_image(Context const& ctx, view<float, 3> image) : ctx_(ctx), image_(image) {}

  view<float, 3> slices() const noexcept { return image_; }
  auto observe_slices() const { return observe(ctx_, image_, "recon", array_role::output); }
  kernel::slab_columns columns() const noexcept {
    return {image_.extent(1), image_.extent(2), image_.stride(0), image_.stride(1)};
  }
  index_t pixels() const noexcept { return image_.extent(0) * image_.extent(1); }

  /// The prior of the image, for kernels.
  kernel::qggmrf_cylinder<B> prior(qggmrf_parameters const& p) const {
    return {observe_slices(),  image_.extent(0), image_.extent(1),           image_.extent(2), image_.stride(0),
            image_.stride(1), kernel::qggmrf_constants(p)};
  }

  /// x = values
  void assign(view<float const, 3> values) const {
    if (values.data() == image_.data() && B::has_data) return;
    launch(ctx_, blocks(),
           kernel::copy_values<B>{observe(ctx_, values, "init_recon", array_role::argument), observe_slices(),
                                  image_.size()});
  }
  void fill(float value) const {
    launch(ctx_, blocks(), kernel::fill_values<B>{observe_slices(), value, image_.size()});
  }
  void scale(float factor) const {
    launch(ctx_, blocks(), kernel::scale_values<B>{observe_slices(), factor, image_.size()});
  }

  /// x = values in the memory of the host
  void restore(std::vector<float> const& values) const { put(ctx_, values.data(), image_.size(), image_.data()); }

  // There are no neighbours.
  void exchange_slices() const noexcept {}
  void send_boundaries(vcd_subset<Context> const&, temporary<float, Context> const&,
                       kernel::step_length const&) const noexcept {}
  void receive_boundaries() const noexcept {}
  void store() const noexcept {}

 private:
  index_t blocks() const noexcept { return ceil_div(image_.size(), kernel::voxel_block); }

  Context const& ctx_;
  view<float, 3> image_;
};

struct whole_volume {
  template <class Context> using image = whole_image<Context>;

  /// @param coupled  whether the prior couples slices
  template <class Context> whole_image<Context> make_image(Context const& ctx, view<float, 3> x, bool) const {
    return {ctx, x};
  }
  /// Rows of the detector (or, where they are the same, slices) of all processes.
  index_t all_rows(index_t mine) const noexcept { return mine; }
  /// Adds the sums of units of B.
  template <class B> own_units units() const noexcept { return {}; }
  /// The numbers of all slices.
  std::vector<double> all_slices(std::vector<double> mine) const { return mine; }
  /// Calls f, which does not communicate; an error in any process is one in all.
  template <class F> void agree(F const& f) const { f(); }
  /// Passes the state of all processes to a callback.
  template <class Callback> void checkpoint(recon_state const& mine, Callback const& callback) const {
    callback(mine);
  }
  /// Whether to go on, if any process may stop all.
  bool go_on(bool mine) const noexcept { return mine; }

  /// Checks the data, and returns the sigmas if they are asked for.
  template <class Context, class Geometry>
  std::optional<regularization> check_data(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                                           std::optional<view<float const, 3>> const& weights, double snr_db,
                                           double sharpness, bool automatic, char const* operation) const {
    if (automatic) return auto_regularization(ctx, s, sinogram, weights, snr_db, sharpness);
    require_finite_sinogram(ctx, sinogram, operation);
    if (weights) require_weights(ctx, *weights, operation);
    return {};
  }
  /// Prior loss per voxel.
  template <class Context>
  double prior_loss(Context const& ctx, view<float, 3> image, qggmrf_parameters const& p) const {
    return qggmrf_loss(ctx, view<float const, 3>(image), p) / static_cast<double>(image.size());
  }
};

}  // namespace mbirk::detail
