// Sums over the units of all ranks. Not for users.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "mbirk/distributed/communicator.hpp"
#include "mbirk/recon/unit_sums.hpp"

namespace mbirk::distributed::detail {

/// The units of all ranks: every rank receives the sums of all units, and adds them in their order.
template <communicator Comm> class units_of_ranks {
 public:
  /// @param counts  the units of every rank
  units_of_ranks(Comm const& ranks, std::vector<index_t> counts) : ranks_(ranks), counts_(std::move(counts)) {}

  /// The sums over all units. @param mine  (units of this rank, Numbers)
  template <std::size_t Numbers>
  std::array<double, Numbers> sum(char const* what, std::vector<double> const& mine) const {
    auto counts = counts_;
    for (auto& n : counts) n *= static_cast<index_t>(Numbers);
    return mbirk::detail::add_units<Numbers>(gather(ranks_, what, mine, counts));
  }

 private:
  Comm const& ranks_;
  std::vector<index_t> counts_;
};

}  // namespace mbirk::distributed::detail
