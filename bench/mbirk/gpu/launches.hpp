// Launches of an operation on a device and how often each unit of their kernels runs, found on the host from the scan.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/prediction.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/warp.hpp"

namespace mbirk::program::gpu {

/// The constants of a kernel are those of any warp, which need not exist.
struct no_warp;
using any_warp = simd::warp_backend<no_warp>;

/// Whether the launches of projections are known for the geometry of a scan. If not, they are empty.
bool describes_projections(any_scan const& scan);
/// Launches of projections of all pixels in the mask, or of the listed ones. Views are sampled, at most 16.
std::vector<launch_work> forward_launches(any_scan const& scan, std::vector<std::int32_t> const& listed);
/// @param power  exponent of the weights
std::vector<launch_work> back_launches(any_scan const& scan, std::vector<std::int32_t> const& listed, int power);
/// The Hessian diagonal of all pixels, without weights.
std::vector<launch_work> hessian_launches(any_scan const& scan);
/// Both projections of a subset of an iteration, from and to the internal layout. The forward projection of sorted
/// pixels leaves the sums of the line search; in parallel beam a second one updates the error.
struct subset_projections {
  std::vector<launch_work> back, forward, update;
  kernel::chunked_shape shape{};
};
subset_projections projections_of_subset(any_scan const& scan, std::vector<std::int32_t> const& pixels);
/// An iteration of vectorised coordinate descent.
std::vector<launch_work> iteration_launches(any_scan const& scan, index_t subsets);
/// A kernel without units of its own: a pass over arrays.
/// @param requests  of whole warps, 128 bytes each
launch_work streaming_launch(std::string kernel, double tasks, double requests, double memory_bytes);

}  // namespace mbirk::program::gpu
