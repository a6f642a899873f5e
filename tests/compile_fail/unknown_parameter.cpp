// A parameter that a geometry does not have: in parallel beam slices are detector rows, so no offset along the axis
// exists.
// expect: recon_slice_offset
#include "mbirk/geometry/scan.hpp"

mbirk::parallel_parameters parameters() {
  mbirk::parallel_parameters p;
#if !defined(MBIRK_GOOD)
  p.recon_slice_offset = 1;
#endif
  return p;
}
