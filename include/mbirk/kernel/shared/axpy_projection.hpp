// The update of the error sinogram by a stored projection.
#pragma once

#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/step.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// error -= step w z, where `projection` holds w z, as stored by squared_norm_epilogue with Keep. A task is a piece of
/// the channels of a view block.
template <class B> struct axpy_projection {
  typename B::template cursor<float const> projection;
  typename B::template cursor<float> error;
  step_length step;
  chunked_shape shape;
  index_t pieces = 1;  // of a view block

  index_t tasks() const noexcept { return shape.chunks * shape.views * pieces; }
  /// From the last view to the first, because the preceding projection has left the last ones in the cache.
  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const piece = task % pieces;
    channels(shape.chunks * shape.views - 1 - task / pieces, piece * shape.channels / pieces,
             (piece + 1) * shape.channels / pieces);
  }
  MBIRK_HD void view(index_t block) const noexcept { channels(block, 0, shape.channels); }

 private:
  MBIRK_HD void channels(index_t block, index_t from, index_t to) const noexcept {
    index_t const at = block * shape.view_size();
    auto const alpha = B::broadcast(step.get());
    each_sample_pack<B>(shape, shape.used(block / shape.views), from, to, [&](index_t k, index_t) MBIRK_FLAT {
      B::store(error + (at + k), fnma(alpha, B::load(projection + (at + k)), B::load(error + (at + k))));
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
