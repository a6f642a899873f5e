// The definitions of the projectors, compiled with optimisation for all tests.
#include "definition/support.hpp"

namespace mbirk::test {

MBIRK_TEST_DEFINITIONS()

}  // namespace mbirk::test
