// Joins volumes that overlap along one axis with a cross-fade; used for the halves of a split reconstruction.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/view.hpp"

namespace mbirk {
namespace detail {

/// Weights of the later array over an overlap: zeros, then (t + 1) / (r + 1) for t = 0 ... r - 1, then as many ones as
/// zeros.
inline std::vector<float> stitch_weights(index_t overlap, index_t ramp) {
  index_t r = std::min(ramp, overlap);
  r -= (overlap - r) % 2;        // the rest is divided equally between the two plateaus
  r = std::max(r, overlap % 2);  // only with an odd overlap can r be below 0 here
  index_t const plateau = (overlap - r) / 2;
  std::vector<float> weights(static_cast<std::size_t>(overlap));
  for (index_t t = 0; t < overlap; ++t)
    weights[static_cast<std::size_t>(t)] =
        static_cast<float>(std::clamp(static_cast<double>(t - plateau + 1) / static_cast<double>(r + 1), 0.0, 1.0));
  return weights;
}

}  // namespace detail

/// Shape of the result of `stitch_arrays`: along `axis`, the sum of the lengths less one overlap per joint.
/// @throws parameter_error for an axis other than 0, 1, 2 or overlap < 0; shape_error for fewer than two arrays, for
///         differing other extents, or for a length along `axis` below the overlap.
inline std::array<index_t, 3> stitched_shape(std::span<view<float const, 3> const> arrays, index_t overlap,
                                             int axis = 2) {
  require(axis >= 0 && axis < 3,
          [&] { return "stitch_arrays: axis is " + std::to_string(axis) + ", expected 0, 1 or 2"; });
  require(overlap >= 0,
          [&] { return "stitch_arrays: overlap is " + std::to_string(overlap) + ", expected at least 0"; });
  require<shape_error>(arrays.size() >= 2, [&] {
    return "stitch_arrays: found " + std::to_string(arrays.size()) + " arrays, expected at least 2";
  });
  auto shape = arrays[0].extents();
  auto const along = static_cast<std::size_t>(axis);
  shape[along] = -overlap * static_cast<index_t>(arrays.size() - 1);
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    auto const e = arrays[n].extents();
    for (int d = 0; d < 3; ++d)
      require<shape_error>(d == axis || arrays[n].extent(d) == arrays[0].extent(d), [&] {
        return "stitch_arrays: array " + std::to_string(n) + " has shape " + detail::shape_text(e) +
               ", expected that of array 0, " + detail::shape_text(arrays[0].extents()) + ", except along axis " +
               std::to_string(axis);
      });
    require<shape_error>(e[along] >= overlap, [&] {
      return "stitch_arrays: array " + std::to_string(n) + " has shape " + detail::shape_text(e) +
             ", expected at least the overlap of " + std::to_string(overlap) + " along axis " + std::to_string(axis);
    });
    shape[along] += e[along];
  }
  return shape;
}

/// Concatenates arrays along one axis; neighbours share `overlap` entries, over which the later one fades in: plateau,
/// linear ramp, plateau. Proceeds from left to right: where an array is shorter than two overlaps, the next one fades
/// into the result so far, as in MBIRJAX.
///
/// @param arrays   two or more, any unit; equal extents except along `axis`.
/// @param out      shape `stitched_shape`; overwritten; may not alias the arrays.
/// @param overlap  number of entries that neighbours share; 0 concatenates.
/// @param ramp     number of entries of the ramp, half of the overlap by default; adjusted to leave equal plateaus. An
///                 array is not read where its weight is 0.
/// @throws the errors of `stitched_shape`; shape_error when `out` has another shape, parameter_error when ramp < 0.
/// Source: MBIRJAX 0.7.3.
inline void stitch_arrays(std::span<view<float const, 3> const> arrays, view<float, 3> out, index_t overlap,
                          int axis = 2, std::optional<index_t> ramp = std::nullopt) {
  require_shape(out, stitched_shape(arrays, overlap, axis), "stitch_arrays", "out", "(rows, cols, slices)");
  require(!ramp || *ramp >= 0,
          [&] { return "stitch_arrays: ramp is " + std::to_string(*ramp) + ", expected at least 0"; });
  auto const weights = detail::stitch_weights(overlap, ramp.value_or(overlap / 2));
  index_t start = 0;  // start of the array along the axis
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    auto const& a = arrays[n];
    require_shape(a, a.extents(), "stitch_arrays", "array", "(rows, cols, slices)");
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t j = 0; j < a.extent(1); ++j)
        for (index_t k = 0; k < a.extent(2); ++k) {
          std::array<index_t, 3> to{i, j, k};
          index_t const t = to[static_cast<std::size_t>(axis)];
          to[static_cast<std::size_t>(axis)] += start;
          float& x = out(to[0], to[1], to[2]);
          float const w = n > 0 && t < overlap ? weights[static_cast<std::size_t>(t)] : 1.0f;
          if (w == 1) x = a(i, j, k);
          else if (w > 0) x = (1 - w) * x + w * a(i, j, k);
        }
    start += a.extent(axis) - overlap;
  }
}

}  // namespace mbirk
