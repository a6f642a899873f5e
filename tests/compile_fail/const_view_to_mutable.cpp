// An operation that writes does not take a view of constant elements.
// expect: (no matching function|could not convert|no viable conversion)
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/parallel.hpp"

#if defined(MBIRK_GOOD)
using element = float;
#else
using element = float const;
#endif

void project(mbirk::parallel_scan const& scan, mbirk::view<float const, 3> recon, mbirk::view<element, 3> sinogram) {
  mbirk::forward_project(mbirk::context{mbirk::exec::host{}, mbirk::instrument::none{}}, scan, recon, sinogram);
}
