// Projection of a translated object.
#pragma once

#include "mbirk/geometry/translation.hpp"
#include "mbirk/projector/cone_projector.hpp"

namespace mbirk::detail {

template <> struct projector<translation_geometry> : cone_projector<translation_geometry> {};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/projector/all.hpp"  // declares the instances of all projectors
#endif
