// The work of an operation according to the cost model, and the least time that the ceilings of a machine allow for it.
#pragma once

#include <algorithm>

#include "machine/ceilings.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program {

struct modelled_work {
  double items = 0, flops = 0, minimal_flops = 0;
  double bytes = 0;     ///< compulsory bytes: every argument and result once
  bool in_turn = false;  ///< memory traffic precedes or follows the arithmetic instead of overlapping with it

  double fma_seconds(ceilings const& c) const { return flops / 2 / c.fma.best; }
  double memory_seconds(ceilings const& c) const { return bytes / c.levels.back().read.best; }
  /// Lower bound of the time: the larger of both times, or their sum if they do not overlap.
  double roof(ceilings const& c) const {
    return in_turn ? fma_seconds(c) + memory_seconds(c) : std::max(fma_seconds(c), memory_seconds(c));
  }
};

inline modelled_work work_of(profile_entry const& entry, problem_shape const& shape) {
  auto const [r, minimal] = model_operation(entry, shape);
  return {static_cast<double>(r.items), static_cast<double>(r.operations.flops()), static_cast<double>(minimal),
          static_cast<double>(bytes_compulsory(r.arrays, false)), false};
}

}  // namespace mbirk::program
