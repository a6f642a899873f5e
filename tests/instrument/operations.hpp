// The ten projector operations on small data, for tests that run them under different policies.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "mbirk/mbirk.hpp"

namespace mbirk::testing {

enum class op { forward, back, sparse_forward, sparse_back, sparse_back_squared, hessian, weighted_hessian };
inline constexpr op all_ops[] = {
    op::forward,         op::back, op::sparse_forward, op::sparse_back, op::sparse_back_squared, op::hessian,
    op::weighted_hessian};

inline std::vector<float> positive(index_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0.1f, 1.0f);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = uniform(random);
  return x;
}

/// The profile's geometry at size n.
inline parallel_scan square_parallel(index_t n) {
  parallel_parameters p{.sinogram_shape = {n / 2, n, n}, .angles = {}};
  for (index_t v = 0; v < n / 2; ++v)
    p.angles.push_back(static_cast<float>(M_PI * static_cast<double>(v) / static_cast<double>(n / 2)));
  return parallel_scan(p);
}
inline cone_scan square_cone(index_t n) {
  double const size = static_cast<double>(n);
  cone_parameters p{
      .sinogram_shape = {n / 2, n, n}, .angles = {}, .source_detector_dist = 4 * size, .source_iso_dist = 2 * size};
  for (index_t v = 0; v < n / 2; ++v)
    p.angles.push_back(static_cast<float>(2 * M_PI * static_cast<double>(v) / static_cast<double>(n / 2)));
  return cone_scan(p);
}
/// Odd sizes, offsets, footprints of two and three channels, and of five.
inline parallel_scan odd_parallel(double voxel) {
  return parallel_scan(parallel_parameters{.sinogram_shape = {5, 19, 23},
                                           .angles = {0.1f, 0.7f, 1.5f, 2.2f, 3.0f},
                                           .delta_det_channel = 0.7,
                                           .det_channel_offset = 0.9,
                                           .delta_voxel = voxel,
                                           .recon_shape = std::array<index_t, 3>{17, 21, 19}});
}
inline cone_scan odd_cone(double row_pitch, bool curved) {
  return cone_scan(cone_parameters{.sinogram_shape = {5, 17, 23},
                                   .angles = {0.1f, 1.3f, 2.9f, 4.4f, 6.0f},
                                   .source_detector_dist = 60,
                                   .source_iso_dist = 41,
                                   .helical_z_shifts = {-1.f, -.5f, 0.f, .5f, 1.f},
                                   .use_curved_detector = curved,
                                   .delta_det_channel = 0.9,
                                   .delta_det_row = row_pitch,
                                   .det_channel_offset = 0.7,
                                   .det_row_offset = -0.6,
                                   .delta_voxel = 0.75,
                                   .recon_shape = std::array<index_t, 3>{19, 21, 37},
                                   .recon_slice_offset = 0.4});
}

/// Runs one operation and returns its result. Without data (the cost model) nothing is read or written and the result
/// is empty. Only this operation is compiled, because each takes seconds to compile for every policy.
template <op What, class Context, class Scan> std::vector<float> run(Context const& ctx, Scan const& s) {
  bool constexpr has_data = Context::backend::has_data;
  auto const size = [](std::array<index_t, 3> e) { return e[0] * e[1] * e[2]; };
  auto const recon_shape = s.recon_shape(), sinogram_shape = s.sinogram_shape();
  std::vector<std::int32_t> pixels;  // scattered, one of them twice
  for (index_t p = 3; p < recon_shape[0] * recon_shape[1]; p += 7) pixels.push_back(static_cast<std::int32_t>(p));
  if (!pixels.empty()) pixels.push_back(pixels.front());
  index_t const count = static_cast<index_t>(pixels.size());
  auto x = has_data ? positive(size(recon_shape), 1) : std::vector<float>(),
       y = has_data ? positive(size(sinogram_shape), 2) : std::vector<float>();
  auto v = has_data ? positive(count * recon_shape[2], 3) : std::vector<float>();
  view<float, 3> const recon(x.data(), recon_shape), sinogram(y.data(), sinogram_shape);
  view<float, 2> const values(v.data(), {count, recon_shape[2]});
  view<std::int32_t const, 1> const list(pixels.data(), {count});
  if constexpr (What == op::forward) return forward_project(ctx, s, recon, sinogram), y;
  else if constexpr (What == op::back) return back_project(ctx, s, sinogram, recon), x;
  else if constexpr (What == op::sparse_forward) return sparse_forward_project(ctx, s, values, list, sinogram), y;
  else if constexpr (What == op::sparse_back) return sparse_back_project(ctx, s, sinogram, list, values), v;
  else if constexpr (What == op::sparse_back_squared) return sparse_back_project(ctx, s, sinogram, list, values, 2), v;
  else if constexpr (What == op::hessian) return hessian_diagonal(ctx, s, std::nullopt, recon), x;
  else return hessian_diagonal(ctx, s, sinogram, recon), x;
}
/// Overload for an operation that is known at run time only.
template <class Context, class Scan> std::vector<float> run(Context const& ctx, Scan const& s, op what) {
  switch (what) {
    case op::forward: return run<op::forward>(ctx, s);
    case op::back: return run<op::back>(ctx, s);
    case op::sparse_forward: return run<op::sparse_forward>(ctx, s);
    case op::sparse_back: return run<op::sparse_back>(ctx, s);
    case op::sparse_back_squared: return run<op::sparse_back_squared>(ctx, s);
    case op::hessian: return run<op::hessian>(ctx, s);
    case op::weighted_hessian: return run<op::weighted_hessian>(ctx, s);
  }
  return {};
}

}  // namespace mbirk::testing
