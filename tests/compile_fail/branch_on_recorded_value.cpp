// A definition that branches on a value would be recorded with only one of its branches, so a recorded condition does
// not convert to bool.
// expect: bool
#include "mbirk/record/recorder.hpp"

mbirk::record::real larger(mbirk::record::real a, mbirk::record::real b) {
#if !defined(MBIRK_GOOD)
  if (a < b) return b;
  return a;
#else
  return max(a, b);
#endif
}
