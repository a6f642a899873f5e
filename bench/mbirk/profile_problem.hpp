// What `mbirk profile` runs: for a geometry and size N the scan, the data and the operations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "mbirk/mbirk.hpp"

namespace mbirk::program {

enum class projector_op { forward_project, back_project, sparse_forward_project, sparse_back_project, hessian_diagonal };
inline constexpr std::array<char const*, 5> projector_op_names{"forward_project", "back_project", "sparse_forward_project", "sparse_back_project",
                                                               "hessian_diagonal"};

/// Scan, inputs and outputs at one size. Arrays may be empty: the cost model needs the scan and the subset only.
template <class Scan> struct problem {
  Scan scan;
  std::vector<std::int32_t> subset;  ///< subset 0 of gen_pixel_partition(shape, 4), seed 0
  std::vector<float> recon, sinogram, values;
  std::vector<float> recon_out, sinogram_out, values_out;

  char const* geometry() const { return Scan::geometry_type::name; }
  std::span<std::int32_t const> pixels(projector_op op) const {
    bool const sparse = op == projector_op::sparse_forward_project || op == projector_op::sparse_back_project;
    return sparse ? std::span<std::int32_t const>(subset) : scan.full_indices();
  }
};
using any_problem = std::variant<problem<parallel_scan>, problem<cone_scan>>;

/// recon N^3, N/2 views, sinogram (N/2, N, N); angles evenly over [0, pi) in parallel beam and [0, 2 pi) in cone beam, source_detector_dist 4N,
/// source_iso_dist 2N. Data: two nested ellipsoids, their projection with 1 % noise, the subset's cylinders. Without data: the scan and the subset.
any_problem make_problem(bool cone, index_t n, int threads, bool with_data);

/// One call, whatever the context.
template <class Context, class Scan> void run_operation(Context const& ctx, problem<Scan>& p, projector_op op) {
  auto const recon = [&](std::vector<float>& x) { return view<float, 3>(x.data(), p.scan.recon_shape()); };
  auto const sinogram = [&](std::vector<float>& x) { return view<float, 3>(x.data(), p.scan.sinogram_shape()); };
  auto const cylinders = [&](std::vector<float>& x) {
    return view<float, 2>(x.data(), {static_cast<index_t>(p.subset.size()), p.scan.recon_shape()[2]});
  };
  view<std::int32_t const, 1> const pixels(p.subset.data(), {static_cast<index_t>(p.subset.size())});
  switch (op) {
    case projector_op::forward_project: return forward_project(ctx, p.scan, recon(p.recon), sinogram(p.sinogram_out));
    case projector_op::back_project: return back_project(ctx, p.scan, sinogram(p.sinogram), recon(p.recon_out));
    case projector_op::sparse_forward_project: return sparse_forward_project(ctx, p.scan, cylinders(p.values), pixels, sinogram(p.sinogram_out));
    case projector_op::sparse_back_project: return sparse_back_project(ctx, p.scan, sinogram(p.sinogram), pixels, cylinders(p.values_out));
    case projector_op::hessian_diagonal: return hessian_diagonal(ctx, p.scan, std::nullopt, recon(p.recon_out));
  }
}

}  // namespace mbirk::program
