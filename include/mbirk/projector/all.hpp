// The projectors of all geometries.
#pragma once

#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/projectors.hpp"
#endif
