// The slabs of a volume that one process reconstructs one after the other: while it works on one, the neighbours stay
// as they are. whole_volume and slab_part are other models of this policy. Not for users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "mbirk/distributed/communicator.hpp"
#include "mbirk/distributed/self.hpp"
#include "mbirk/distributed/slab_image.hpp"
#include "mbirk/recon/whole_volume.hpp"

namespace mbirk::distributed::detail {

/// A communicator between two ranks that do not exist: they have a boundary slice each, and never update it.
class fixed_neighbours : public self {
 public:
  static constexpr bool never_update = true;

  /// @param below, above  a slice each (rows, cols), which must outlive this; empty where there is no neighbour
  fixed_neighbours(std::span<float const> below, std::span<float const> above) : below_(below), above_(above) {}

  int rank() const noexcept { return below_.empty() ? 0 : 1; }
  int size() const noexcept { return rank() + (above_.empty() ? 1 : 2); }
  /// Slices of the neighbours: the only messages there are.
  pending_exchange start_exchange(char const*, neighbour_exchange const& e) const noexcept {
    auto const receive = [&](std::span<float const> slice, std::span<std::byte> to) {
      std::ranges::copy(std::as_bytes(slice).first(to.size()), to.begin());
    };
    receive(below_, e.from_below);
    receive(above_, e.from_above);
    return {};
  }

 private:
  std::span<float const> below_, above_;
};
static_assert(communicator<fixed_neighbours>);

/// A slab between its neighbours; all else is as for a whole volume, so that each slab has its own steps.
struct slab_in_turn : mbirk::detail::whole_volume {
  template <class Context> using image = slab_image<Context, fixed_neighbours>;
  fixed_neighbours neighbours;

  slab_in_turn(std::span<float const> below, std::span<float const> above) : neighbours(below, above) {}
  template <class Context> image<Context> make_image(Context const& ctx, view<float, 3> x, bool coupled) const {
    return {ctx, neighbours, x, coupled};
  }
};

}  // namespace mbirk::distributed::detail
