// Scans, compiled: they do not depend on vectors.
#include "mbirk/instances/projectors.hpp"

namespace mbirk {

MBIRK_SCANS()

}  // namespace mbirk
