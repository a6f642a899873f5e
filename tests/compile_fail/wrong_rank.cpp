// Operations on whole grids take three dimensions, operations on voxel columns two.
// expect: (no matching function|could not convert|no viable conversion)
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/cone.hpp"

#if defined(MBIRK_GOOD)
constexpr int rank = 3;
#else
constexpr int rank = 2;
#endif

void project(mbirk::cone_scan const& scan, mbirk::view<float const, rank> recon, mbirk::view<float, 3> sinogram) {
  mbirk::forward_project(mbirk::context{mbirk::exec::host{}, mbirk::instrument::none{}}, scan, recon, sinogram);
}
