// One iteration of vectorised coordinate descent with many subsets. Long reconstructions consist of such iterations,
// but it is not an operation of the table.
#pragma once

#include <functional>
#include <memory_resource>
#include <string>

#include "mbirk/recon/options.hpp"
#include "operations/modelled_work.hpp"

namespace mbirk::program {

struct vcd_iteration {
  std::string geometry;
  index_t subsets = 128;

  std::string name() const { return geometry + "_vcd_iteration"; }
};

/// Options of such iterations: x starts at 0, and parameters are the defaults. They call begins() right before each
/// iteration after the first one, which plans the subsets, and ends(seconds) right after it, until that returns false.
recon_options iterations_of(vcd_iteration const& what, std::function<void()> begins, std::function<bool(double)> ends);

/// Iterates with these options.
/// @param memory  source of the work space
void time_iterations(vcd_iteration const& what, profile_problem const& problem, int threads,
                     std::pmr::memory_resource* memory, std::function<void()> const& begins,
                     std::function<bool(double)> const& ends);

/// Work of an iteration of MBIRJAX's algorithm as published. Flops: two projections, 94 per voxel for prior and update,
/// 6 per sample of every subset. Bytes of its arrays in memory: 24 per sample of every subset (the error read by the
/// back projection; a projection written while the error is read for the line search; both read and the error written)
/// and 28 per voxel, 44 with slice damping. Arithmetic and memory traffic do not overlap.
modelled_work work_of(vcd_iteration const& what, profile_problem const& problem);

}  // namespace mbirk::program
