// Sums over all ranks in one order. A kernel leaves a number per unit of slices and task; the tasks of a unit are added
// up in their order, by the rank that has the unit, and the units in their order, by every rank.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "mbirk/distributed/communicator.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::distributed {

/// The sums of every unit of this rank, (units, numbers), from what the tasks of a kernel left: (units, tasks,
/// numbers). Zeros under a policy without data.
template <class Context>
std::vector<double> reduce_units(Context const& ctx, temporary<double, Context> const& partial, index_t units,
                                 index_t numbers) {
  std::vector<double> sums(static_cast<std::size_t>(units * numbers), 0.0);
  if constexpr (Context::backend::has_data) {
    host_copy const values(ctx, partial);
    index_t const each = units > 0 ? values.size() / units : 0;
    for (index_t u = 0; u < units; ++u)
      for (index_t k = 0; k < each; ++k)
        sums[static_cast<std::size_t>(u * numbers + k % numbers)] += values[u * each + k];
  }
  return sums;
}

/// The units of all ranks, so that each can receive the sums of the others.
class unit_table {
 public:
  template <communicator C>
  unit_table(C const& c, index_t mine) : counts_(gather_number(c, "units", mine)) {}

  /// The sums over all units. @param mine  (units of this rank, Numbers)
  template <std::size_t Numbers, communicator C>
  std::array<double, Numbers> sum(C const& c, char const* what, std::vector<double> const& mine) const {
    auto counts = counts_;
    for (auto& n : counts) n *= static_cast<index_t>(Numbers);
    std::array<double, Numbers> total{};
    auto const all = gather(c, what, mine, counts);
    for (std::size_t k = 0; k < all.size(); ++k) total[k % Numbers] += all[k];
    return total;
  }

 private:
  std::vector<index_t> counts_;
};

}  // namespace mbirk::distributed
