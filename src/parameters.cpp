// Parameter sets, compiled: they do not depend on vectors.
#include "mbirk/recon/parameters.hpp"

namespace mbirk {

#define MBIRK_DEFINE_PARAMETER_SET(nothing, G) template class parameter_set<G>;
MBIRK_EACH_GEOMETRY(MBIRK_DEFINE_PARAMETER_SET, )
template class parameter_set<image_geometry>;

}  // namespace mbirk
