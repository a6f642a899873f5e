// A view of constant elements is read-only.
// expect: read-only location|returns a const value
#include "mbirk/core/view.hpp"

#if defined(MBIRK_GOOD)
using element = float;
#else
using element = float const;
#endif

void clear(mbirk::view<element, 2> v) { v(0, 0) = 0; }
