// Cone-beam projection.
#pragma once

#include "mbirk/projector/cone_projector.hpp"

namespace mbirk::detail {

template <> struct projector<cone_geometry> : cone_projector<cone_geometry> {};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/projector/all.hpp"  // declares the instances of all projectors
#endif
