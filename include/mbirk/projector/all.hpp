// The projectors of all geometries. Without an include guard: the first of these headers ends by declaring the
// instances in mbirk::compiled, which include this one again for the others.
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/general.hpp"
#include "mbirk/projector/multiaxis.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/projector/translation.hpp"

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/projectors.hpp"
#endif
