// A sinogram has three sizes.
// expect: no match for [^ ]*operator=|no viable overloaded
#include "mbirk/geometry/scan.hpp"

mbirk::cone_parameters parameters() {
  mbirk::cone_parameters p;
#if defined(MBIRK_GOOD)
  p.sinogram_shape = {16, 32, 32};
#else
  p.sinogram_shape = {16, 32, 32, 1};
#endif
  return p;
}
