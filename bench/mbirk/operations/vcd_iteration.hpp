// One iteration of vectorised coordinate descent with many subsets: what a long reconstruction consists of, and no operation of its own.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "operations/modelled_work.hpp"

namespace mbirk::program {

struct vcd_iteration {
  std::string geometry;
  index_t subsets = 128;

  std::string name() const { return geometry + "_vcd_iteration"; }
};

/// Seconds of each iteration after the first, which plans the subsets; set-up is left out. x starts at 0, parameters are the defaults.
/// @param memory  where the work space comes from
std::vector<double> time_iterations(vcd_iteration const& what, profile_problem const& problem, int threads, std::pmr::memory_resource* memory);

/// What an iteration needs, as MBIRJAX's algorithm is written down: two projections, 94 flops a voxel for prior and update, 6 a sample of every subset;
/// the bytes of its arrays when memory holds them: 24 a sample of every subset (the error read by the back projection; a projection written while
/// the error is read for the line search; both read and the error written), 28 a voxel, 44 with slice damping. The two take turns.
modelled_work work_of(vcd_iteration const& what, profile_problem const& problem);

}  // namespace mbirk::program
