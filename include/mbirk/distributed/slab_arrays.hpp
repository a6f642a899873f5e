// A scan that is larger than memory, for recon_in_slabs.hpp: how slabs of slices are read and written, their size, and
// the state between two of them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/core/index.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::distributed {

/// How a reconstruction larger than memory is divided.
struct slab_division {
  index_t slices = 0;  ///< of every slab but the last, which may have fewer
  int sweeps = 3;      ///< over all slabs, which share the iterations of each slab equally
};

/// The iterations that a slab has done so far.
struct slab_record {
  recon_log log;
  std::vector<double> norms;  ///< ||x||_1 of the slab after each of its iterations
  double weight = 1;          ///< sum of its weights
};

/// Where a reconstruction in slabs is between two visits of slabs: what it needs to go on, besides the slices that were
/// written.
struct slabs_state {
  std::array<index_t, 3> sinogram_shape{}, recon_shape{};  ///< of the whole
  slab_division division;
  std::uint32_t seed = 0;
  index_t visits = 0;  ///< so far, of all sweeps
  float scale = 1;     ///< of the first image: slabs that were not visited yet are to be multiplied by it
  std::vector<std::string> warnings;
  std::vector<slab_record> slabs;
};

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
  /// Called with the state after the first image was made and after every complete visit of a slab; for a single slab
  /// after its visit only. To go on from it later, keep the slices as they are then: what write_image gets afterwards
  /// must not overwrite them.
  std::function<void(slabs_state const& state)> checkpoint = {};
  /// A state to go on from, to the bits of a reconstruction that was not interrupted, or null. It needs the same scan,
  /// options and data; read_image reads the slices that belong to it.
  slabs_state const* resume = nullptr;
};

}  // namespace mbirk::distributed
