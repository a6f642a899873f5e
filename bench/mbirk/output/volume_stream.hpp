// Volumes that are written in parts, because they are larger than memory: slabs of slices, or bands of rows.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/io/volume_files.hpp"

namespace mbirk::program {

/// A volume (rows, cols, slices) in a file that appears under its name only when it is complete.
class volume_stream {
 public:
  virtual ~volume_stream() = default;
  /// Writes the next slices. @throws io_error
  virtual void add(view<float const, 3> slab) = 0;
  /// Writes the next rows, dense. A file takes either slabs or bands. @throws io_error if its format takes no bands
  virtual void add_rows(view<float const, 3> band) = 0;
  /// Completes the file. @param record  attributes, for formats that have them. @throws io_error
  virtual void finish(std::vector<std::pair<std::string, std::string>> const& record) = 0;
};

/// Every band of rows but the last has a multiple of this many rows.
inline constexpr index_t band_unit = 32;

/// Whether the format of this file takes bands of rows: .h5, .hdf5, .npy. Others consist of slices.
bool takes_rows(std::string const& name);
/// The least rows, of `rows`, that must be in memory to write this file: a band, or all.
index_t rows_to_write(std::string const& name, index_t rows);

/// How a volume is written.
struct volume_options {
  std::array<index_t, 3> shape{};  ///< (rows, cols, slices)
  index_t slab = 1;                ///< slices of all slabs but the last; 0: bands of rows
  voxel_grid grid = {};
  std::optional<std::array<double, 2>> window = {};  ///< TIFF: see tiff_output
  int compress = 0;                                  ///< HDF5: level, 0 to 9
};

/// Begins a file whose format is that of its name: .h5, .hdf5, .npy, .nrrd, .mrc, .tif.
/// @throws io_error, also when this program was built without the format
std::unique_ptr<volume_stream> open_volume(std::string const& name, volume_options const& options);

}  // namespace mbirk::program
