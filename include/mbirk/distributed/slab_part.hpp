// A rank's part of an iterative reconstruction in parallel beam: some of the slices. mbirk::detail::whole_volume is the
// other model of this policy. Not for users.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/distributed/agreeing_part.hpp"
#include "mbirk/distributed/rank_sums.hpp"
#include "mbirk/distributed/regularization.hpp"
#include "mbirk/distributed/slab_image.hpp"
#include "mbirk/distributed/slab_state.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/units_of_ranks.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/recon/data_term.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/unit_sums.hpp"

namespace mbirk::distributed::detail {

/// Comm: the ranks, in the order of their slices. Refers to both arguments.
template <communicator Comm> class slab_part : public agreeing_part<Comm> {
  using agreeing_part<Comm>::ranks_;

 public:
  template <class Context> using image = slab_image<Context, Comm>;
  template <class Context, class Geometry> using data = data_term<Context, Geometry>;
  template <class Context, class Geometry>
  using sums = std::conditional_t<on_device<Context>, rank_sums<Context, Geometry, Comm>,
                                  unit_sums<Context, slab_part>>;
  template <class Context> using subset = vcd_subset<Context>;
  template <class Context> using step = vcd_step<Context>;
  using agreeing_part<Comm>::agree;

  slab_part(Comm const& ranks, parallel_slab const& slab) : agreeing_part<Comm>(ranks), slab_(slab) {}

  template <class Context> image<Context> make_image(Context const& ctx, view<float, 3> x, bool coupled) const {
    return {ctx, ranks_, x, coupled};
  }
  parallel_scan const& whole(parallel_scan const& mine) const noexcept { return mine; }
  std::array<index_t, 3> recon_shape(parallel_scan const& mine) const { return mine.recon_shape(); }
  index_t total_slices(index_t) const noexcept { return slab_.slices(); }
  double samples(kernel::chunked_shape const& shape) const {
    return static_cast<double>(shape.views) * static_cast<double>(slab_.slices()) *
           static_cast<double>(shape.channels);
  }
  template <class B> units_of_ranks<Comm> units() const {
    auto counts = slices_of_ranks();
    for (auto& n : counts) n = kernel::units_of<B>(n);
    return {ranks_, std::move(counts)};
  }
  /// One sum of each rank.
  units_of_ranks<Comm> whole_ranks() const {
    return {ranks_, std::vector<index_t>(static_cast<std::size_t>(ranks_.size()), 1)};
  }
  std::vector<double> all_slices(std::vector<double> const& mine) const {
    return gather(ranks_, "slice norms", mine, slices_of_ranks());
  }
  /// Rank 0 receives the state of all ranks, and its callback gets it.
  template <class Callback> void checkpoint(recon_state const& mine, Callback const& callback) const {
    std::optional<recon_state> whole, other;
    agree([&] {
      if (ranks_.rank() > 0) return;
      whole.emplace(empty_state(mine, slab_.slices()));
      if (ranks_.size() > 1) other.emplace(empty_state(mine, most_slices(slab_.slices(), ranks_.size())));
    });
    if (ranks_.rank() > 0) {
      for (auto const* array : {&mine.recon, &mine.hessian, &mine.weighted_error})
        ranks_.send("checkpoint", std::as_bytes(std::span(*array)), 0);
    } else {
      add_slab(*whole, mine, slab_.range());
      for (int r = 1; r < ranks_.size(); ++r) {
        auto const range = slices_of(slab_.slices(), r, ranks_.size());
        set_slices(*other, range.count);
        for (auto* array : {&other->recon, &other->hessian, &other->weighted_error})
          ranks_.receive("checkpoint", std::as_writable_bytes(std::span(*array)), r);
        add_slab(*whole, *other, range);
      }
      other.reset();
    }
    agree([&] {
      if (whole) callback(*whole);
    });
  }

  template <class Context>
  std::optional<regularization> check_data(Context const& ctx, parallel_scan const&, view<float const, 3> sinogram,
                                           std::optional<view<float const, 3>> const& weights, double snr_db,
                                           double sharpness, bool automatic, char const* operation) const {
    require_data(ctx, ranks_, message(operation, ", rows from ", slab_.range().first, " on"), sinogram, weights,
                 operation);
    if (!automatic) return {};
    return regularize(ctx, ranks_, slab_, sinogram.extent(0), sinogram, weights, snr_db, sharpness, operation);
  }
  /// x = a direct reconstruction of the slab's sinogram.
  template <class Context, class State>
  void direct_image(Context const& ctx, parallel_scan const& s, view<float const, 3>, State const& state,
                    filter_options const& filter) const {
    agree([&] {
      direct_recon_channel_major(ctx, s, state.error_sinogram(), state.shape(), state.image().slices(), filter);
    });
  }

 private:
  std::vector<index_t> slices_of_ranks() const {
    std::vector<index_t> counts;
    for (int r = 0; r < ranks_.size(); ++r) counts.push_back(slices_of(slab_.slices(), r, ranks_.size()).count);
    return counts;
  }

  parallel_slab const& slab_;
};

}  // namespace mbirk::distributed::detail
