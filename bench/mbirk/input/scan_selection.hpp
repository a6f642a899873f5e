// Which part of a scan is used: rows, views, channels, and binning.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "mbirk/core/index.hpp"

namespace mbirk::program {

/// Half-open range with a step; without end, up to the last.
struct index_range {
  index_t first = 0;
  std::optional<index_t> last = {};
  index_t step = 1;
};

/// Parses "A:B", "A:", ":B" or, with a step, "A:B:S". @throws io_error with the option's name
index_range parse_range(std::string const& text, std::string const& option, bool may_step);

/// Selection on the command line, --rows, --views, --channels, --bin, resolved for a scan by select().
struct selection_options {
  index_range views, rows, channels;
  index_t bin = 1;
};

/// The part of a scan of shape `whole` that is used. `shape` counts binned pixels.
struct selection {
  std::array<index_t, 3> whole{}, first{}, shape{};
  index_t step = 1, bin = 1;
  bool all() const noexcept { return shape == whole; }
  /// Middle of the selected pixels along rows (1) or channels (2), in pixels of the whole detector.
  double middle(std::size_t axis) const noexcept {
    return static_cast<double>(first[axis]) + static_cast<double>(shape[axis] * bin - 1) / 2;
  }
};

/// @throws io_error when a range is empty or leaves the scan
selection select(selection_options const& options, std::array<index_t, 3> const& whole);

}  // namespace mbirk::program
