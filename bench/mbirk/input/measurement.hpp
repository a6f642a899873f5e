// The user's own measurements in any format that open_scan reads: read in blocks of views, cut out and binned, and
// converted to line integrals.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "input/scan_open.hpp"
#include "input/scan_selection.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/util/preprocess.hpp"

namespace mbirk::program {

/// Mean of the white or dark frames that were taken together, and how many views were taken before them.
struct mean_field {
  double at = 0;
  std::vector<float> values;  ///< (rows, channels) of the selection
};

/// The constructor opens and checks the files; it reads only the fields.
class measurement_source {
 public:
  /// @param memory  limits what is read, and what reading the views will take; shapes are compared with it before.
  /// @throws io_error, in one line: file, data set, what was expected and found; allocation_error
  explicit measurement_source(measurement_files const& files, selection_options const& part = {},
                              memory_budget const& memory = {});

  /// Shape of the selection.
  std::array<index_t, 3> shape() const noexcept { return part_.shape; }
  selection const& part() const noexcept { return part_; }
  scan_description const& scan() const noexcept { return scan_; }
  /// Angles of the selected views in radians; empty if the file has none.
  std::vector<float> const& theta() const noexcept { return theta_; }
  /// Whether the input is counts, which need the logarithm; otherwise it is line integrals.
  bool counts() const noexcept { return !white_.empty(); }
  /// Text for the log: "counts (uint16), 10 white and 5 dark frames".
  std::string description() const;
  /// Bytes that this object takes, with what reading views will add to the views themselves; known from shapes.
  double memory() const noexcept { return memory_; }
  /// Number of views read at once, about 64 MiB.
  index_t block() const noexcept;

  /// Reads views [first, first + count) as line integrals. Counts are normalised, with fields interpolated between
  /// those taken before and after, and their dead pixels repaired; line integrals must be finite.
  /// @param to  (count, rows, channels), dense.
  /// @throws io_error
  repair_count read(context<exec::host, instrument::none> const& ctx, index_t first, index_t count, float* to) const;
  /// Reads rows [first_row, first_row + rows) of the views only, to the same bits.
  repair_count read_rows(context<exec::host, instrument::none> const& ctx, index_t first, index_t count,
                         index_t first_row, index_t rows, float* to) const;
  /// Reads the whole sinogram (views, rows, channels), dense, block by block; calls done(views) after each block.
  repair_count read_all(context<exec::host, instrument::none> const& ctx, float* sinogram,
                        std::function<void(index_t)> const& done = {}) const;

 private:
  void read_selected(frame_stack const& stack, std::vector<index_t> const& frames, index_t first_row, index_t rows,
                     float* to) const;
  struct row_band {
    index_t first, rows;
  };
  /// Reads rows of frames as line integrals, and counts the dead pixels of some of these rows.
  repair_count read_counts(context<exec::host, instrument::none> const& ctx, std::vector<index_t> const& frames,
                           row_band read, row_band counted, float* to) const;
  double needed_memory() const;
  std::vector<mean_field> read_fields(frame_stack const& stack, std::vector<index_t> const& at) const;

  scan_description scan_;
  selection part_;
  std::vector<float> theta_;
  std::vector<mean_field> white_, dark_;
  index_t white_frames_ = 0, dark_frames_ = 0;
  double memory_ = 0;
};

}  // namespace mbirk::program
