// Every operation of `mbirk profile`, under its name there, on small data, for any policy whose memory the host shares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "instrument/operations.hpp"
#include "mbirk/util/partition_set.hpp"

namespace mbirk::testing {

/// Names without "parallel_" and "cone_". The last four take no scan.
inline std::vector<std::string> const& operations_of_a_scan() {
  static std::vector<std::string> const names{"forward_project",     "back_project",     "sparse_forward_project",
                                              "sparse_back_project", "hessian_diagonal", "direct_filter",
                                              "mbir_recon",          "prox_map",         "direct_recon",
                                              "gen_weights_mar"};
  return names;
}
inline std::vector<std::string> const& direct_operations(parallel_scan const&) {
  static std::vector<std::string> const names{"fbp_recon", "fbp_filter"};
  return names;
}
inline std::vector<std::string> const& direct_operations(cone_scan const&) {
  static std::vector<std::string> const names{"fdk_recon", "fdk_filter"};
  return names;
}
inline std::vector<std::string> const& operations_of_an_image() {
  static std::vector<std::string> const names{
      "gen_weights_transmission",       "qggmrf_denoise",          "median_filter3d", "gen_pixel_partition",
      "gen_pixel_partition_blue_noise", "gen_pixel_partition_grid"};
  return names;
}
template <class Scan> std::vector<std::string> every_operation(Scan const& s) {
  auto names = operations_of_a_scan();
  for (auto const& more : {direct_operations(s), operations_of_an_image()})
    names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// Runs an operation and returns its result. @throws std::runtime_error for an unknown name.
template <class Context, class Scan>
std::vector<float> run_named(Context const& ctx, Scan const& s, std::string_view name) {
  auto const size = [](std::array<index_t, 3> e) { return e[0] * e[1] * e[2]; };
  auto x = positive(size(s.recon_shape()), 1), y = positive(size(s.sinogram_shape()), 2);
  auto const input = positive(size(s.recon_shape()), 3);
  view<float, 3> const recon_view(x.data(), s.recon_shape()), sinogram(y.data(), s.sinogram_shape());
  view<float const, 3> const prox_input(input.data(), s.recon_shape());
  std::vector<float> result(y.size());
  view<float, 3> const samples(result.data(), s.sinogram_shape());
  recon_options options;
  options.max_iterations = 1, options.stop_threshold_change_pct = 0;

  if (name == "forward_project") return run<op::forward>(ctx, s);
  if (name == "back_project") return run<op::back>(ctx, s);
  if (name == "sparse_forward_project") return run<op::sparse_forward>(ctx, s);
  if (name == "sparse_back_project") return run<op::sparse_back>(ctx, s);
  if (name == "hessian_diagonal") return run<op::weighted_hessian>(ctx, s);
  if (name == "direct_filter") return direct_filter(ctx, s, sinogram, samples), result;
  if (name == "direct_recon") return direct_recon(ctx, s, sinogram, recon_view), x;
  if (name == "mbir_recon") return recon(ctx, s, sinogram, std::nullopt, recon_view, options), x;
  if (name == "prox_map") return prox_map(ctx, s, prox_input, sinogram, std::nullopt, recon_view, options), x;
  if (name == "gen_weights_mar")
    return gen_weights_mar(ctx, s, sinogram, std::nullopt, std::nullopt, 1.0, 3.0, samples), result;
  if constexpr (std::is_same_v<Scan, parallel_scan>) {
    if (name == "fbp_recon") return fbp_recon(ctx, s, sinogram, recon_view), x;
    if (name == "fbp_filter") return fbp_filter(ctx, s, sinogram, samples), result;
  } else {
    if (name == "fdk_recon") return fdk_recon(ctx, s, sinogram, recon_view), x;
    if (name == "fdk_filter") return fdk_filter(ctx, s, sinogram, samples), result;
  }
  if (name == "gen_weights_transmission") return gen_weights(ctx, sinogram, weight_type::transmission, samples), result;
  if (name == "qggmrf_denoise")
    return qggmrf_denoise(ctx, prox_input, {{.max_iterations = 1, .stop_threshold_change_pct = 0}}, recon_view), x;
  if (name == "median_filter3d") return median_filter3d(ctx, prox_input, recon_view), x;
  if (name.starts_with("gen_pixel_partition")) {
    numpy_random_state random(0);
    auto const here = host_context_of(ctx);
    auto const [rows, cols, slices] = s.recon_shape();
    auto const partition = name.ends_with("grid") ? gen_pixel_partition_grid(here, s.mask(), rows, cols, 4, random)
                           : name.ends_with("noise")
                               ? gen_pixel_partition_blue_noise(here, s.mask(), rows, cols, 4, random)
                               : gen_pixel_partition(here, s.mask(), rows, cols, 4, random);
    return {partition.indices.begin(), partition.indices.end()};
  }
  throw std::runtime_error("no operation " + std::string(name));
}

}  // namespace mbirk::testing
