// A scan that is larger than memory, for recon_in_slabs.hpp: how slabs of slices are read and written, and their size.
#pragma once

#include <functional>
#include <optional>

#include "mbirk/core/view.hpp"

namespace mbirk::distributed {

/// Arrays of a scan that are larger than memory. All views are dense; rows of the detector are slices of the image.
/// The functions are called by one thread, one at a time; an error that they throw ends the reconstruction.
struct slab_arrays {
  /// Reads rows [first, first + sinogram.extent(1)) of all views: (views, rows, channels), and the weights of as many
  /// if `weighted`.
  std::function<void(index_t first, view<float, 3> sinogram, std::optional<view<float, 3>> weights)> read_data;
  /// Reads slices [first, first + image.extent(2)) of the image, (rows, cols, slices), as they were last written. Every
  /// slice is written before it is read.
  std::function<void(index_t first, view<float, 3> image)> read_image;
  /// Writes as many slices. What was written last is the result.
  std::function<void(index_t first, view<float const, 3> image)> write_image;
  bool weighted = false;
  /// prox_map_in_slabs: reads as many slices of prox_input.
  std::function<void(index_t first, view<float, 3> prox_input)> read_prox_input = {};
};

/// How a reconstruction larger than memory is divided.
struct slab_division {
  index_t slices = 0;  ///< of every slab but the last, which may have fewer
  int sweeps = 3;      ///< over all slabs, which share the iterations of each slab equally
};

}  // namespace mbirk::distributed
