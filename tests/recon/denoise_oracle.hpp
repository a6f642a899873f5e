// The denoiser in double, voxel by voxel, over the definition of the prior: the reference for tests of the operation.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/definition/qggmrf.hpp"
#include "mbirk/recon/denoise.hpp"

namespace mbirk::testing {

class denoise_oracle {
 public:
  std::vector<double> x;
  double sigma_noise, sigma_x;
  std::vector<double> alphas, changes;

  denoise_oracle(std::vector<float> const& image, std::array<index_t, 3> const& s, denoise_options const& o)
      : image_(image.begin(), image.end()), s_(s) {
    x = image_;
    if (o.init_image) x.assign(o.init_image->data(), o.init_image->data() + image.size());
    double const n = static_cast<double>(image.size());
    auto const every = static_cast<index_t>(std::nearbyint(std::cbrt(n / std::min(5e6, n))));
    sigma_noise =
        o.sigma_noise ? *o.sigma_noise : deviation({every, every, every}, deviation({every, every, every}, 0));
    index_t const rows = std::max<index_t>(s[0] / std::min<index_t>(20, s[0]), 1);
    sigma_x = o.sigma_x ? *o.sigma_x : 0.2 * std::exp2(o.sharpness) * deviation({rows, 1, 1}, sigma_noise);
    numpy_random_state random(o.seed);
    auto const pixels = full_indices(make_mask(s[0], s[1], o.use_ror_mask.value_or(false)));
    auto const partition = gen_pixel_partition(std::span<std::int32_t const>(pixels), o.granularity, random);
    qggmrf_parameters const prior{sigma_x, o.p, o.q, o.T, o.qggmrf_nbr_wts};
    for (int it = 0; it < o.max_iterations; ++it) {
      double alpha_sum = 0, moved = 0, norm = 0;
      for (index_t k = 0; k < partition.subsets; ++k) {
        auto const [alpha, length] = update(partition.subset(k), prior);
        alpha_sum += alpha, moved += length;
      }
      for (auto const v : x) norm += std::abs(v);
      alphas.push_back(alpha_sum / static_cast<double>(partition.subsets)), changes.push_back(moved / norm);
    }
  }

 private:
  /// Mean standard deviation of every voxel of a subsample and the three before it, over those at or above the
  /// threshold.
  double deviation(std::array<index_t, 3> const& step, double sigma) const {
    std::array<index_t, 3> n;
    for (std::size_t d = 0; d < 3; ++d) n[d] = (s_[d] + step[d] - 1) / step[d];
    auto const f = [&](index_t i, index_t j, index_t k) {
      auto const wrap = [](index_t a, index_t m) { return (a + m) % m; };
      return image_[static_cast<std::size_t>((wrap(i, n[0]) * step[0] * s_[1] + wrap(j, n[1]) * step[1]) * s_[2] +
                                             wrap(k, n[2]) * step[2])];
    };
    double magnitude = 0, largest = -INFINITY, sum = 0, members = 0;
    auto const each = [&](auto const& g) {
      for (index_t i = 0; i < n[0]; ++i)
        for (index_t j = 0; j < n[1]; ++j)
          for (index_t k = 0; k < n[2]; ++k) g(i, j, k);
    };
    each([&](index_t i, index_t j, index_t k) {
      magnitude += std::abs(f(i, j, k)), largest = std::max(largest, f(i, j, k));
    });
    double const threshold = std::min(0.05 * magnitude / static_cast<double>(n[0] * n[1] * n[2]) + sigma, largest);
    each([&](index_t i, index_t j, index_t k) {
      if (f(i, j, k) < threshold) return;
      double const v[] = {f(i, j, k), f(i - 1, j, k), f(i, j - 1, k), f(i, j, k - 1)},
                   mean = (v[0] + v[1] + v[2] + v[3]) / 4;
      double square = 0;
      for (double const u : v) square += (u - mean) * (u - mean) / 4;
      sum += std::sqrt(square), ++members;
    });
    return sum / members;
  }
  std::pair<double, double> update(std::span<std::int32_t const> subset, qggmrf_parameters const& prior) {
    index_t const count = std::ssize(subset);
    definition::plain_interpreter<double> m;
    std::vector<double> g(static_cast<std::size_t>(count * s_[2])), h = g, d = g;
    definition::qggmrf_gradient_and_hessian(m, s_, prior, m.input(view<double const, 3>(x.data(), s_)),
                                            m.input(view<std::int32_t const, 1>(subset.data(), {count})), count,
                                            view<double, 2>(g.data(), {count, s_[2]}),
                                            view<double, 2>(h.data(), {count, s_[2]}));
    double const c = 1 / (sigma_noise * sigma_noise);
    double slope = 0, curve = 0x1p-23, moved = 0;
    auto const slices = static_cast<std::size_t>(s_[2]);
    auto const voxel = [&](std::size_t k) {
      return static_cast<std::size_t>(subset[k / slices]) * slices + k % slices;
    };
    for (std::size_t k = 0; k < d.size(); ++k) {
      double const e = image_[voxel(k)] - x[voxel(k)];
      d[k] = -(-c * e + g[k]) / (1 + h[k]);
      slope += c * e * d[k] - g[k] * d[k], curve += c * d[k] * d[k] + h[k] * d[k] * d[k];
    }
    double const alpha = std::min(std::max(slope / curve, 0x1p-23), 1.5);
    for (std::size_t k = 0; k < d.size(); ++k) x[voxel(k)] += alpha * d[k], moved += std::abs(alpha * d[k]);
    return {alpha, moved};
  }

  std::vector<double> image_;
  std::array<index_t, 3> s_;
};

}  // namespace mbirk::testing
