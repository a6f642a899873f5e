// expect: one index per dimension
#include "mbirk/core/view.hpp"

float corner(mbirk::view<float const, 3> v) {
#if defined(MBIRK_GOOD)
  return v(0, 0, 0);
#else
  return v(0, 0);
#endif
}
