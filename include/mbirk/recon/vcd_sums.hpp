// What all models of the sums of an iterative reconstruction share: task_sums.hpp, unit_sums.hpp, and band_sums.hpp of
// distributed. Not for users.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::detail {

/// Sums over the subsets of an iteration: of |alpha d| and of alpha; and ||x||_1.
struct iteration_sums { double moved = 0, alphas = 0, norm = 0; };

/// Message of a failed line search.
inline std::string no_finite_step(char const* operation) {
  return operation + std::string(": the line search found no finite step: the data, the first image, weights or "
                                 "sigmas are not finite or out of range");
}

/// How the tasks of a pass over voxel columns share their slices: on the host they have all.
template <class Context> kernel::slice_pieces column_pieces(index_t ranges, index_t slices, index_t padded) {
  if constexpr (on_device<Context>) return kernel::pieces_for_device(ranges, slices, padded, Context::backend::lanes);
  else return {slices, padded, padded};
}

/// Adds up rows of an array of sums, (rows, width), on a device: each of many tasks leaves a row, and a warp would add
/// them one after another. @return rows that are left, the first ones
template <class Context, class Cursor>
index_t folded_rows([[maybe_unused]] Context const& ctx, [[maybe_unused]] Cursor columns, index_t rows,
                    [[maybe_unused]] index_t width) {
  if constexpr (on_device<Context>) {
    using B = typename Context::backend;
    index_t const parts = kernel::rows_after_folding(rows);
    if (parts == rows) return rows;
    launch(ctx, parts * (width / B::lanes), kernel::fold_slice_sums<B>{columns, rows, parts, width});
    return parts;
  } else {
    return rows;
  }
}

/// sqrt of the sum of (alpha d)^2 of every slice.
template <class Context>
std::vector<double> norms_of_squares(Context const& ctx, temporary<double, Context> const& squares, index_t slices) {
  std::vector<double> norms(static_cast<std::size_t>(slices));
  if constexpr (Context::backend::has_data) {
    host_copy const values(ctx, squares);
    for (std::size_t k = 0; k < norms.size(); ++k) norms[k] = std::sqrt(values[static_cast<index_t>(k)]);
  }
  return norms;
}

}  // namespace mbirk::detail
