// Graphs of the operations, recorded from their definitions. The data of a scan are inputs, like the arrays.
#pragma once

#include <array>
#include <string>

#include "mbirk/definition/cone.hpp"
#include "mbirk/definition/direct_recon.hpp"
#include "mbirk/definition/general.hpp"
#include "mbirk/definition/median.hpp"
#include "mbirk/definition/metal_weights.hpp"
#include "mbirk/definition/multiaxis.hpp"
#include "mbirk/definition/parallel.hpp"
#include "mbirk/definition/qggmrf.hpp"
#include "mbirk/definition/ramp.hpp"
#include "mbirk/definition/translation.hpp"
#include "mbirk/definition/vcd.hpp"
#include "mbirk/definition/weights.hpp"
#include "mbirk/record/recorder.hpp"

namespace mbirk::record {

namespace detail {
template <class Scan> std::string name_of(char const* operation) {
  return std::string(Scan::geometry_type::name) + "_" + operation;
}
inline std::vector<index_t> sinogram_shape(auto const& scan) {
  auto const s = scan.sinogram_shape();
  return {s[0], s[1], s[2]};
}
}  // namespace detail

/// voxel_values (pixels, slices), pixel_indices (pixels) -> sinogram (views, rows, channels).
/// @param pixels  number of listed pixels, each given as i * cols + j.
template <class Scan> graph sparse_forward_project(Scan const& s, index_t pixels) {
  graph g(detail::name_of<Scan>("sparse_forward_project"));
  recorder m(g);
  auto const x = m.reals("voxel_values", {pixels, s.geometry().slices});
  auto const p = m.indices("pixel_indices", {pixels});
  definition::operators<typename Scan::geometry_type>::forward(m, s, x, p, pixels,
                                                               m.output("sinogram", detail::sinogram_shape(s)));
  return g;
}

/// sinogram (views, rows, channels), pixel_indices (pixels) -> voxel_values (pixels, slices). With power 2 and the
/// weights as the sinogram, it is the Hessian diagonal.
template <class Scan> graph sparse_back_project(Scan const& s, index_t pixels, int coeff_power = 1) {
  graph g(detail::name_of<Scan>(coeff_power == 2 ? "hessian_diagonal" : "sparse_back_project"));
  recorder m(g);
  auto const y = m.reals(coeff_power == 2 ? "weights" : "sinogram", detail::sinogram_shape(s));
  auto const p = m.indices("pixel_indices", {pixels});
  definition::operators<typename Scan::geometry_type>::back(m, s, y, p, pixels, coeff_power,
                                                            m.output("voxel_values", {pixels, s.geometry().slices}));
  return g;
}

/// sinogram -> filtered sinogram, both (views, rows, channels); written as the direct sum, which equals the Fourier
/// form.
template <class Scan> graph direct_filter(Scan const& s) {
  graph g(detail::name_of<Scan>("direct_filter"));
  recorder m(g);
  auto const y = m.reals("sinogram", detail::sinogram_shape(s));
  definition::direct_filter(m, s.geometry(), y, m.output("filtered", detail::sinogram_shape(s)));
  return g;
}

/// recon (rows, cols, slices), pixel_indices (pixels) -> gradient, hessian (pixels, slices).
inline graph qggmrf_gradient_and_hessian(std::array<index_t, 3> const& shape, qggmrf_parameters const& v,
                                         index_t pixels) {
  graph g("qggmrf_gradient_and_hessian");
  recorder m(g);
  auto const x = m.reals("recon", {shape[0], shape[1], shape[2]});
  auto const p = m.indices("pixel_indices", {pixels});
  auto const gradient = m.output("gradient", {pixels, shape[2]}), hessian = m.output("hessian", {pixels, shape[2]});
  definition::qggmrf_gradient_and_hessian(m, shape, v, x, p, pixels, gradient, hessian);
  return g;
}

namespace detail {
/// The subset update with the prior that make_prior(recorder) returns.
template <class Scan, class MakePrior>
graph subset_update(char const* operation, Scan const& s, double sigma_y, double max_alpha, index_t pixels,
                    MakePrior const& make_prior) {
  graph g(name_of<Scan>(operation));
  recorder m(g);
  auto const shape = s.recon_shape();
  auto const sinogram = sinogram_shape(s);
  std::vector<index_t> const voxel_columns{pixels, shape[2]};
  auto const x = m.reals("recon", {shape[0], shape[1], shape[2]});
  auto const prior = make_prior(m);
  auto const error = m.reals("error", sinogram), weights = m.reals("weights", sinogram),
             hessian = m.reals("hessian", voxel_columns);
  auto const p = m.indices("pixel_indices", {pixels});
  auto const damping = [&] {
    if constexpr (Scan::geometry_type::has_slice_damping) return m.reals("slice_damping", {shape[2]});
    else return definition::undamped{};
  }();
  auto const new_values = m.output("new_values", voxel_columns), new_error = m.output("new_error", sinogram);
  definition::vcd_subset_update(m, s, prior, damping, sigma_y, max_alpha, x, error, weights, hessian, p, pixels,
                                new_values, new_error);
  return g;
}
}  // namespace detail

/// recon (rows, cols, slices), error and weights (views, rows, channels), hessian (pixels, slices), pixel_indices
/// (pixels) -> new_values (pixels, slices), new_error (views, rows, channels). One subset update of recon. In
/// geometries with slice damping its factors (slices) are an input, slice_damping.
template <class Scan>
graph vcd_subset_update(Scan const& s, qggmrf_parameters const& v, double sigma_y, double max_alpha, index_t pixels) {
  return detail::subset_update("vcd_subset_update", s, sigma_y, max_alpha, pixels, [&](recorder&) { return v; });
}

/// One subset update of prox_map: vcd_subset_update with the proximal term, whose prox_input (rows, cols, slices) is an
/// input too.
template <class Scan>
graph prox_map_subset_update(Scan const& s, double sigma_prox, double sigma_y, double max_alpha, index_t pixels) {
  return detail::subset_update("prox_map_subset_update", s, sigma_y, max_alpha, pixels, [&](recorder& m) {
    auto const shape = s.recon_shape();
    return definition::proximal_prior{sigma_prox, m.reals("prox_input", {shape[0], shape[1], shape[2]})};
  });
}

/// sinogram (views, rows, channels), pixel_indices (pixels) -> voxel_values (pixels, slices), filtered and back
/// projected. The slice weights of helical scans are not part of it.
template <class Scan> graph direct_recon(Scan const& s, index_t pixels) {
  graph g(detail::name_of<Scan>("direct_recon"));
  recorder m(g);
  auto const y = m.reals("sinogram", detail::sinogram_shape(s));
  auto const p = m.indices("pixel_indices", {pixels});
  definition::direct_recon(m, s, y, p, pixels, m.output("voxel_values", {pixels, s.geometry().slices}));
  return g;
}

/// sinogram (views, rows, channels), init_recon (rows, cols, slices), metal_threshold (1), pixel_indices (pixels: all
/// in the mask) -> weights (views, rows, channels). The threshold is an input because Otsu's method finds it from the
/// data unless it is given.
template <class Scan> graph gen_weights_mar(Scan const& s, double beta, double gamma, index_t pixels) {
  graph g(detail::name_of<Scan>("gen_weights_mar"));
  recorder m(g);
  auto const shape = s.recon_shape();
  auto const sinogram = detail::sinogram_shape(s);
  auto const y = m.reals("sinogram", sinogram), x = m.reals("init_recon", {shape[0], shape[1], shape[2]}),
             threshold = m.reals("metal_threshold", {1});
  auto const p = m.indices("pixel_indices", {pixels});
  definition::metal_weights(m, s, y, x, threshold, p, pixels, beta, gamma, m.output("weights", sinogram));
  return g;
}

/// sinogram -> weights exp(-y), both (views, rows, channels).
inline graph gen_weights_transmission(std::array<index_t, 3> const& shape) {
  graph g("gen_weights_transmission");
  recorder m(g);
  std::vector<index_t> const s{shape[0], shape[1], shape[2]};
  auto const y = m.reals("sinogram", s);
  definition::transmission_weights(m, shape, -1, y, m.output("weights", s));
  return g;
}

/// image (rows, cols, slices) -> median, minimum and maximum of the 3 x 3 x 3 neighbourhood.
inline graph median_filter3d(std::array<index_t, 3> const& shape) {
  graph g("median_filter3d");
  recorder m(g);
  std::vector<index_t> const s{shape[0], shape[1], shape[2]};
  auto const x = m.reals("image", s);
  auto const median = m.output("median", s), least = m.output("minimum", s), greatest = m.output("maximum", s);
  definition::median_filter3d(m, x, shape, median, least, greatest);
  return g;
}

}  // namespace mbirk::record
