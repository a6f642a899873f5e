// Axes of stored arrays in any order: "rows,views,channels". C++ standard library only.
#pragma once

#include <span>

#include "mbirk/io/frame_stack.hpp"
#include "mbirk/io/scan_raw.hpp"

namespace mbirk::detail {

/// Which axis of the file holds views (0), rows (1) and channels (2). Without rows, a view is one row.
struct axis_order {
  std::array<int, 3> at{0, 1, 2};  ///< axis of the file; -1: there is none, its size is 1
  int rank = 3;

  std::size_t of_axis(int k) const noexcept {
    return static_cast<std::size_t>(std::max(at[static_cast<std::size_t>(k)], 0));
  }
  std::array<index_t, 3> shape(std::span<index_t const> sizes) const {
    std::array<index_t, 3> s{1, 1, 1};
    for (std::size_t k = 0; k < 3; ++k)
      if (at[k] >= 0) s[k] = sizes[static_cast<std::size_t>(at[k])];
    return s;
  }
  /// First index and count along each axis of the file.
  void window(frame_window const& w, index_t channels, std::array<index_t, 3>& first,
              std::array<index_t, 3>& count) const {
    std::array<index_t, 3> const from{w.first, w.first_row, 0}, size{w.count, w.rows, channels};
    for (std::size_t k = 0; k < 3; ++k)
      if (at[k] >= 0) {
        first[static_cast<std::size_t>(at[k])] = from[k];
        count[static_cast<std::size_t>(at[k])] = size[k];
      }
  }
  /// Copies a block of the file, whose axes have these counts and strides, to (views, rows, channels).
  void gather(float const* from, std::array<index_t, 3> const& count, std::array<index_t, 3> const& stride,
              float* to) const {
    std::array<index_t, 3> n{1, 1, 1}, step{};
    for (std::size_t k = 0; k < 3; ++k)
      if (at[k] >= 0) {
        n[k] = count[static_cast<std::size_t>(at[k])];
        step[k] = stride[static_cast<std::size_t>(at[k])];
      }
    for (index_t v = 0; v < n[0]; ++v)
      for (index_t r = 0; r < n[1]; ++r)
        for (index_t c = 0; c < n[2]; ++c) *to++ = from[v * step[0] + r * step[1] + c * step[2]];
  }
};

/// Parses "views,rows,channels" in any order, or two of them with views and channels. Empty: that order.
/// @throws io_error with `name`
inline axis_order parse_axes(std::string const& text, int rank, std::string const& name) {
  axis_order order{{-1, -1, -1}, rank};
  std::string const expected = rank == 2 ? "views,channels" : "views,rows,channels";
  if (rank != 2 && rank != 3)
    scan_fail(name, "has " + std::to_string(rank) + " axes, expected (views, rows, channels) or (views, channels)");
  auto const words = split_text(text.empty() ? expected : text, ',');
  if (static_cast<int>(words.size()) != rank)
    scan_fail(name, "has " + std::to_string(rank) + " axes, but --axes names " + std::to_string(words.size()) +
                        ", expected an order of " + expected);
  constexpr char const* names[] = {"views", "rows", "channels"};
  for (int d = 0; d < rank; ++d)
    for (std::size_t k = 0; k < 3; ++k)
      if (words[static_cast<std::size_t>(d)] == names[k]) order.at[k] = d;
  if (order.at[0] < 0 || order.at[2] < 0 || (rank == 3 && order.at[1] < 0))
    scan_fail(name, "--axes is '" + text.substr(0, 60) + "', expected an order of " + expected);
  return order;
}

}  // namespace mbirk::detail
