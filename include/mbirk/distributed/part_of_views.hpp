// A rank's part of an iterative reconstruction in cone beam: some of the views, and of the image some bands of pixel
// rows. mbirk::detail::whole_volume is another model of this policy. Not for users.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/distributed/agreeing_part.hpp"
#include "mbirk/distributed/band_image.hpp"
#include "mbirk/distributed/band_sums.hpp"
#include "mbirk/distributed/data_term_of_views.hpp"
#include "mbirk/distributed/direct_recon.hpp"
#include "mbirk/distributed/regularization.hpp"
#include "mbirk/distributed/state_of_views.hpp"

namespace mbirk::distributed::detail {

/// Refers to both arguments.
template <communicator Comm> class part_of_views : public agreeing_part<Comm> {
  using agreeing_part<Comm>::ranks_;

 public:
  template <class Context> using image = band_image<Context, Comm>;
  template <class Context, class> using data = data_term_of_views<Context, Comm>;
  template <class Context, class> using sums = band_sums<Context, Comm>;
  template <class Context> using subset = subset_of_views<Context>;
  template <class Context> using step = step_of_views<Context, Comm>;
  using agreeing_part<Comm>::agree;

  part_of_views(Comm const& ranks, cone_views const& views) : agreeing_part<Comm>(ranks), views_(views) {}

  Comm const& ranks() const noexcept { return ranks_; }
  cone_views const& views() const noexcept { return views_; }

  template <class Context> image<Context> make_image(Context const& ctx, view<float, 3> x, bool coupled) const {
    return {ctx, ranks_, views_, x, coupled};
  }
  cone_scan const& whole(cone_scan const&) const noexcept { return views_.whole(); }
  std::array<index_t, 3> recon_shape(cone_scan const&) const { return views_.recon_shape(); }
  index_t total_slices(index_t mine) const noexcept { return mine; }
  double samples(kernel::chunked_shape const& shape) const {
    return static_cast<double>(views_.whole().geometry().views) * static_cast<double>(shape.rows) *
           static_cast<double>(shape.channels);
  }
  std::vector<double> all_slices(std::vector<double> norms) const { return norms; }

  /// Rank 0 receives the state of all ranks, and its callback gets it.
  template <class Callback> void checkpoint(recon_state const& mine, Callback const& callback) const {
    std::optional<recon_state> whole;
    agree([&] {
      if (ranks_.rank() == 0) whole.emplace(empty_state_of_views(mine, views_));
    });
    if (!whole) {
      for (auto const* array : {&mine.recon, &mine.hessian, &mine.weighted_error})
        ranks_.send("checkpoint", std::as_bytes(std::span(*array)), 0);
    } else {
      for (int r = 0; r < ranks_.size(); ++r)
        each_part_of_state(*whole, mine, views_, r, [&](std::span<float> to, std::vector<float> const& from) {
          if (r == 0) std::copy(from.begin(), from.end(), to.begin());
          else ranks_.receive("checkpoint", std::as_writable_bytes(to), r);
        });
    }
    agree([&] {
      if (whole) callback(*whole);
    });
  }

  template <class Context>
  std::optional<regularization> check_data(Context const& ctx, cone_scan const&, view<float const, 3> sinogram,
                                           std::optional<view<float const, 3>> const& weights, double snr_db,
                                           double sharpness, bool automatic, char const* operation) const {
    require_data(ctx, ranks_, message(operation, ", views from ", views_.views().first, " on"), sinogram, weights,
                 operation);
    if (!automatic) return {};
    return regularize(ctx, ranks_, views_, views_.whole().geometry().views, sinogram, weights, snr_db, sharpness,
                      operation);
  }
  /// x = the direct reconstruction of all views, in the rows of this rank.
  template <class Context, class State>
  void direct_image(Context const& ctx, cone_scan const&, view<float const, 3> sinogram, State const& state,
                    filter_options const& filter) const {
    fdk_of_views(ctx, ranks_, views_, sinogram, state.image().slices(), filter, nullptr);
  }

 private:
  cone_views const& views_;
};

}  // namespace mbirk::distributed::detail
