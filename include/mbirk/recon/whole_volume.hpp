// An iterative reconstruction by one process, which has the whole volume. The other models of this policy are in
// distributed: a rank that has some of the slices (slab_part.hpp), or some of the views (part_of_views.hpp). Not for
// users.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/recon/data_term.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/options.hpp"
#include "mbirk/recon/regularization.hpp"
#include "mbirk/recon/task_sums.hpp"
#include "mbirk/recon/unit_sums.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::detail {

/// The caller's array.
template <class Context> class whole_image {
  using B = typename Context::backend;

 public:
  static constexpr bool dense = true;  // voxel columns follow each other

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
  void send_boundaries(vcd_subset<Context> const&, vcd_step<Context> const&,
                       kernel::step_length const&) const noexcept {}
  void receive_boundaries() const noexcept {}
  void store() const noexcept {}

 private:
  index_t blocks() const noexcept { return ceil_div(image_.size(), kernel::voxel_block); }

  Context const& ctx_;
  view<float, 3> image_;
};

/// Where slices only meet in the prior, the host sums by units of slices, as it does when several processes share them.
template <class Context, class Geometry>
inline constexpr bool sums_by_units = !on_device<Context> && std::same_as<Geometry, parallel_geometry>;

struct whole_volume {
  template <class Context> using image = whole_image<Context>;
  template <class Context, class Geometry> using data = data_term<Context, Geometry>;
  template <class Context, class Geometry>
  using sums = std::conditional_t<sums_by_units<Context, Geometry>, unit_sums<Context, whole_volume>,
                                  task_sums<Context, projector<Geometry>>>;
  template <class Context> using subset = vcd_subset<Context>;
  template <class Context> using step = vcd_step<Context>;

  /// @param coupled  whether the prior couples slices
  template <class Context> whole_image<Context> make_image(Context const& ctx, view<float, 3> x, bool) const {
    return {ctx, x};
  }
  /// The scan of all processes, of which `mine` is the part of this one.
  template <class Geometry> scan<Geometry> const& whole(scan<Geometry> const& mine) const noexcept { return mine; }
  /// Shape of the image of this process.
  template <class Geometry> std::array<index_t, 3> recon_shape(scan<Geometry> const& mine) const {
    return mine.recon_shape();
  }
  /// Slices, and samples of the detector, of all processes.
  index_t total_slices(index_t mine) const noexcept { return mine; }
  double samples(kernel::chunked_shape const& shape) const {
    return static_cast<double>(shape.views) * static_cast<double>(shape.rows) * static_cast<double>(shape.channels);
  }
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
  /// x = a direct reconstruction of the sinogram, which the state has loaded.
  template <class Context, class Geometry, class State>
  void direct_image(Context const& ctx, scan<Geometry> const& s, view<float const, 3>, State const& state,
                    filter_options const& filter) const {
    direct_recon_channel_major(ctx, s, state.error_sinogram(), state.shape(), state.image().slices(), filter);
  }
  /// Prior loss per voxel.
  template <class Context>
  double prior_loss(Context const& ctx, view<float, 3> image, qggmrf_parameters const& p) const {
    return qggmrf_loss(ctx, view<float const, 3>(image), p) / static_cast<double>(image.size());
  }
};

}  // namespace mbirk::detail
