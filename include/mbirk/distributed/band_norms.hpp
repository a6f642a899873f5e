// Sums of absolute values of an image by bands of pixel rows. Not for users.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "mbirk/distributed/slices.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

/// The sum of the absolute values of each band; waits for a device once.
/// @param bands  voxels of every band
template <class Context>
std::vector<double> band_norms(Context const& ctx, typename Context::backend::template cursor<float const> image,
                               std::vector<index_range> const& bands) {
  using B = typename Context::backend;
  auto const tasks_of = [](index_range const& band) { return ceil_div(band.count, kernel::voxel_block); };
  index_t tasks = 0;
  for (auto const& band : bands) tasks += tasks_of(band);
  temporary<double, Context> const sums(ctx, "norm sums", tasks);
  index_t task = 0;
  for (auto const& band : bands) {
    launch(ctx, tasks_of(band),
           kernel::absolute_sum<B>{image + band.first, observe(ctx, sums) + task, band.count});
    task += tasks_of(band);
  }
  host_copy const partial(ctx, sums);
  std::vector<double> norms;
  auto const* first = partial.begin();
  for (auto const& band : bands) {
    norms.push_back(std::accumulate(first, first + tasks_of(band), 0.0));
    first += tasks_of(band);
  }
  return norms;
}

}  // namespace mbirk::distributed::detail
