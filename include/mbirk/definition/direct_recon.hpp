// Direct reconstruction as a template over an interpreter that has `temporary(name, shape)`: filter, then back
// projection. The slice weights of helical scans are not part of it.
// Shapes: sinogram (views, rows, channels), voxel columns (pixels, slices).
#pragma once

#include "mbirk/definition/ramp.hpp"

namespace mbirk::definition {

/// x = A' q at the listed pixels, q the filtered sinogram; x must be zero on entry.
template <class M, class Geometry, class Sinogram, class Pixels, class VoxelColumns>
void direct_recon(M& m, scan<Geometry> const& s, Sinogram y, Pixels pixels, index_t count, VoxelColumns x) {
  auto const& g = s.geometry();
  auto const filtered = m.temporary("filtered", {g.views, g.rows, g.channels});
  direct_filter(m, g, y, filtered);
  operators<Geometry>::back(m, s, m.input(filtered), pixels, count, 1, x);
}

}  // namespace mbirk::definition
