// Parallel-beam projection.
#pragma once

#include "mbirk/projector/parallel_projector.hpp"

namespace mbirk::detail {

template <> struct projector<parallel_geometry> : parallel_projector<parallel_geometry> {};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/projector/all.hpp"  // declares the instances of all projectors
#endif
