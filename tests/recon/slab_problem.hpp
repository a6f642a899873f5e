// A scan in parallel beam that is reconstructed in memory or in slabs, and phantoms to try it with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <random>

#include "mbirk/distributed/recon_in_slabs.hpp"
#include "mbirk/util/phantom.hpp"
#include "recon/recon_support.hpp"

namespace in_slabs {

using namespace mbirk;
using namespace mbirk::test;

inline constexpr float not_written = -7;

/// A scan in arrays that are read and written slab by slab.
struct slab_problem {
  parallel_parameters parameters;
  parallel_scan scan{parameters};
  array<3> image{scan.recon_shape()}, sinogram{scan.sinogram_shape()};
  std::optional<array<3>> weights = {}, prox_input = {};

  vcd_outcome in_memory(recon_options const& o, int threads = 1) const {
    vcd_outcome out{array<3>(scan.recon_shape(), NAN), {}};
    std::optional<view<float const, 3>> w;
    if (weights) w = weights->all();
    out.record = prox_input ? run_prox_map(scan, prox_input->all(), sinogram.all(), w, out.image.all(), o, threads)
                            : run_recon(scan, sinogram.all(), w, out.image.all(), o, threads);
    return out;
  }
  /// @param keep   called with each state and the image at that time
  /// @param state  to go on from, with the image that belongs to it
  vcd_outcome in_slabs(recon_options const& o, distributed::slab_division const& division, int threads = 1,
                       std::function<void(distributed::slabs_state const&, array<3> const&)> const& keep = {},
                       distributed::slabs_state const* state = nullptr, array<3> const* its_image = nullptr) const {
    vcd_outcome out{its_image ? *its_image : array<3>(scan.recon_shape(), not_written), {}};
    // Rows are axis 1 of a sinogram, and slices axis 2 of an image.
    auto const copy = [](auto const& f, auto const& to) {
      for (index_t i = 0; i < to.extent(0); ++i)
        for (index_t j = 0; j < to.extent(1); ++j)
          for (index_t k = 0; k < to.extent(2); ++k) f(i, j, k);
    };
    distributed::slab_arrays arrays;
    arrays.weighted = weights.has_value();
    arrays.read_data = [&](index_t first, view<float, 3> y, std::optional<view<float, 3>> w) {
      EXPECT_EQ(w.has_value(), weights.has_value());
      copy([&](index_t i, index_t j, index_t k) {
        y(i, j, k) = sinogram.all()(i, first + j, k);
        if (w) (*w)(i, j, k) = weights->all()(i, first + j, k);
      }, y);
    };
    arrays.read_image = [&](index_t first, view<float, 3> x) {
      copy([&](index_t i, index_t j, index_t k) {
        x(i, j, k) = out.image.all()(i, j, first + k);
        EXPECT_NE(x(i, j, k), not_written);
      }, x);
    };
    arrays.write_image = [&](index_t first, view<float const, 3> x) {
      copy([&](index_t i, index_t j, index_t k) { out.image.all()(i, j, first + k) = x(i, j, k); }, x);
    };
    arrays.read_prox_input = [&](index_t first, view<float, 3> v) {
      copy([&](index_t i, index_t j, index_t k) { v(i, j, k) = prox_input->all()(i, j, first + k); }, v);
    };
    arrays.resume = state;
    if (keep) arrays.checkpoint = [&](distributed::slabs_state const& now) { keep(now, out.image); };
    auto const ctx = on_host(threads);
    out.record = prox_input ? distributed::prox_map_in_slabs(ctx, parameters, division, arrays, o)
                            : distributed::recon_in_slabs(ctx, parameters, division, arrays, o);
    return out;
  }
};

/// The Shepp-Logan phantom with noise of 1 % of the largest line integral.
inline slab_problem noisy_phantom(std::array<index_t, 3> const& sinogram_shape, bool weighted = false) {
  parallel_parameters p;
  p.sinogram_shape = sinogram_shape;
  for (index_t v = 0; v < sinogram_shape[0]; ++v)
    p.angles.push_back(
        static_cast<float>(std::numbers::pi * static_cast<double>(v) / static_cast<double>(sinogram_shape[0])));
  p.recon_shape = shape_3{sinogram_shape[2], sinogram_shape[2], sinogram_shape[1]};
  slab_problem out{p};
  generate_3d_shepp_logan_low_dynamic_range(out.image.all());
  forward_project(on_host(2), out.scan, view<float const, 3>(out.image.all()), out.sinogram.all());
  float const most = *std::ranges::max_element(out.sinogram.data);
  std::mt19937 engine(11);
  auto const uniform = [&] { return (static_cast<double>(engine()) + 0.5) * 0x1p-32; };
  for (float& y : out.sinogram.data)
    y += static_cast<float>(0.01 * static_cast<double>(most) * std::sqrt(-2 * std::log(uniform())) *
                            std::cos(2 * std::numbers::pi * uniform()));
  if (weighted) {
    out.weights.emplace(out.scan.sinogram_shape());
    for (std::size_t n = 0; n < out.sinogram.data.size(); ++n)
      out.weights->data[n] = n % 7 == 0 ? 0.0f : std::exp(-0.1f * out.sinogram.data[n]);
  }
  return out;
}
inline slab_problem small_phantom(bool weighted = false) { return noisy_phantom({12, 21, 14}, weighted); }
inline recon_options iterations(int n) { return {{.max_iterations = n, .stop_threshold_change_pct = 0, .seed = 3}}; }

}  // namespace in_slabs
