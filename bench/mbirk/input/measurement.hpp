// The user's own measurements: an .npy file or an HDF5 file in the Data Exchange layout, read in blocks of views and
// converted to line integrals.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "input/hdf5_source.hpp"
#include "machine/memory.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/util/preprocess.hpp"

namespace mbirk::program {

/// Input files given on the command line.
struct measurement_files {
  std::string input = {};              ///< (views, rows, channels); in HDF5 /exchange/data
  /// Fields (frames, rows, channels) or (rows, channels); empty: /exchange/data_white and data_dark if present.
  std::string white = {}, dark = {};
  bool counts = false;                 ///< the input must be counts, so a white field is required
  hdf5_trust trust = {};               ///< of HDF5 files
};

/// Checksums of arrays as they lie in files, by name; equal on every machine.
using data_sums = std::map<std::string, std::string>;
/// Checksum of an array.
std::string data_sum(void const* data, std::size_t bytes);

/// An array in a file, read along its first axis.
struct stored_array {
  std::string name;  ///< name for messages: file, or file and data set
  std::vector<index_t> shape;
  std::string type;  ///< element type: "float32", "<u2"
  std::function<void(index_t first, index_t count, float* to)> read;
};

/// The constructor opens and checks the files; it reads only the fields.
class measurement_source {
 public:
  /// @param memory  limits what is read, and the sinogram that will be; all of it is checked from the shapes, before
  ///                anything is read.
  /// @throws io_error, in one line: file, data set, what was expected and found; allocation_error
  explicit measurement_source(measurement_files const& files, memory_budget const& memory = {});

  std::array<index_t, 3> shape() const noexcept { return shape_; }
  /// Angles in radians; empty if the file has none.
  std::vector<float> const& theta() const noexcept { return theta_; }
  /// Whether the input is counts, which need the logarithm; otherwise it is line integrals.
  bool counts() const noexcept { return !white_.empty(); }
  /// Text for the log: "counts (uint16), 10 white and 5 dark frames".
  std::string description() const;
  /// Number of views read at once, about 64 MiB.
  index_t block() const noexcept;

  /// Reads views [first, first + count) as line integrals. Counts are normalised and their dead pixels repaired; line
  /// integrals must be finite.
  /// @param to  (count, rows, channels), dense.
  /// @throws io_error
  repair_count read(context<exec::host, instrument::none> const& ctx, index_t first, index_t count, float* to) const;
  /// Reads the whole sinogram (views, rows, channels), dense, block by block; calls done(views) after each block.
  /// @param sums  if not null, receives a checksum of each array that was read, by its name
  repair_count read_all(context<exec::host, instrument::none> const& ctx, float* sinogram,
                        std::function<void(index_t)> const& done = {}, data_sums* sums = nullptr) const;

 private:
  repair_count convert(context<exec::host, instrument::none> const& ctx, index_t first, index_t count, float* to) const;

  stored_array data_;
  std::array<index_t, 3> shape_{};
  std::vector<float> theta_, white_, dark_;
  index_t white_frames_ = 0, dark_frames_ = 0;
};

}  // namespace mbirk::program
