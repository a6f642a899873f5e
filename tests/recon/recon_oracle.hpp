// An independent version of recon and prox_map: serial, in double, with the matrix A as an explicit list of columns and
// every sum over samples. Nothing here is fast, and nothing is shared with the library except the definitions of the
// projectors and the parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "mbirk/recon/options.hpp"
#include "projector/operations.hpp"
#include "util/partition_reference.hpp"

namespace mbirk::test {

/// The columns of A: for every voxel (i N_c + j) S + k, inside the mask or not, the samples that see it.
struct system_matrix {
  struct entry { std::size_t sample; double weight; };
  std::vector<std::vector<entry>> columns;

  explicit system_matrix(any_scan const& s) {
    auto const shape = recon_shape(s);
    std::vector<double> one(static_cast<std::size_t>(shape[2]));
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(shape[0] * shape[1]); ++p)
      for (auto& voxel : one) {
        voxel = 1;
        auto const y = std::visit([&](auto const& scan) { return define_forward(scan, one, {p}); }, s);
        voxel = 0;
        auto& column = columns.emplace_back();
        for (std::size_t n = 0; n < y.size(); ++n)
          if (y[n] != 0) column.push_back({n, y[n]});
      }
  }
};

struct oracle_iteration {
  double alpha, change, rmse;
  std::vector<double> slice_norms, image;
};

/// Vectorised coordinate descent from a given image, with given sigmas.
class vcd_oracle {
 public:
  std::vector<double> x, e, hessian;         ///< image, y - A x, diagonal of A' diag(w) A
  std::vector<oracle_iteration> iterations;
  bool repeats_within_a_subset = false;      ///< some update had a pixel twice

  /// w is empty for weights of 1; v is the input of a proximal map, empty for the qGGMRF prior.
  vcd_oracle(any_scan const& s, system_matrix const& a, std::vector<float> const& y, std::vector<float> const& w,
             std::vector<float> const& init, recon_options const& o, std::vector<float> const& v = {})
      : x(init.begin(), init.end()),
        e(y.begin(), y.end()),
        a_(a),
        o_(o),
        shape_(recon_shape(s)),
        inside_(mask_of(s)),
        w_(w.begin(), w.end()),
        v_(v.begin(), v.end()),
        damping_(slices(), 1.0) {
    if (w_.empty()) w_.assign(e.size(), 1.0);
    for (std::size_t voxel = 0; voxel < x.size(); ++voxel) {
      if (inside_[voxel / slices()]) add(e, voxel, -x[voxel]);
      double sum = 0;
      for (auto const& [n, weight] : a_.columns[voxel]) sum += w_[n] * weight * weight;
      hessian.push_back(sum);
    }
    if (auto const* cone = std::get_if<cone_scan>(&s); cone && o.slice_damping.value_or(true)) damp(*cone);
    run(masked_in(s));
  }

  /// Damping factors of the slices, in double; 1 without damping.
  std::vector<double> const& damping() const { return damping_; }
  /// The objective: 1/(2 sigma_y^2) sum w (y - A x)^2 + h(x).
  double objective() const {
    double sum = 0;
    for (std::size_t n = 0; n < e.size(); ++n) sum += w_[n] * e[n] * e[n];
    return sum / (2 * *o_.sigma_y * *o_.sigma_y) + prior_loss(x);
  }
  double prior_loss(std::vector<double> const& image) const {
    double sum = 0;
    if (!v_.empty()) {
      for (std::size_t k = 0; k < image.size(); ++k)
        sum += (image[k] - v_[k]) * (image[k] - v_[k]) / (2 * *o_.sigma_prox * *o_.sigma_prox);
      return sum;
    }
    for (index_t i = 0; i < shape_[0]; ++i)
      for (index_t j = 0; j < shape_[1]; ++j)
        for (index_t k = 0; k < shape_[2]; ++k) {
          double const here = image[at(i, j, k)];
          if (i + 1 < shape_[0]) sum += strength(0) * rho(here - image[at(i + 1, j, k)]);
          if (j + 1 < shape_[1]) sum += strength(1) * rho(here - image[at(i, j + 1, k)]);
          if (k + 1 < shape_[2]) sum += strength(2) * rho(here - image[at(i, j, k + 1)]);
        }
    return sum;
  }

 private:
  static constexpr double epsilon = 0x1p-23;

  std::size_t slices() const { return static_cast<std::size_t>(shape_[2]); }
  std::size_t at(index_t i, index_t j, index_t k) const {
    return static_cast<std::size_t>((i * shape_[1] + j) * shape_[2] + k);
  }
  void add(std::vector<double>& sinogram, std::size_t voxel, double value) const {
    for (auto const& [n, weight] : a_.columns[voxel]) sinogram[n] += value * weight;
  }

  double strength(std::size_t axis) const {
    auto const& b = o_.qggmrf_nbr_wts;
    return b[axis] / (2 * (b[0] + b[1] + b[2]));
  }
  double size_of(double difference) const { return std::max(std::abs(difference), o_.T * *o_.sigma_x * epsilon); }
  double rho(double difference) const {
    double const a = size_of(difference), u = std::pow(a / (o_.T * *o_.sigma_x), o_.q - o_.p);
    return std::pow(a, o_.p) / (o_.p * std::pow(*o_.sigma_x, o_.p)) * u / (1 + u);
  }
  double kappa(double difference) const {
    double const a = size_of(difference), u = std::pow(a / (o_.T * *o_.sigma_x), o_.q - o_.p);
    return std::pow(a, o_.p - 2) / std::pow(*o_.sigma_x, o_.p) * u * (o_.q / o_.p + u) / ((1 + u) * (1 + u));
  }
  struct derivatives { double gradient, curvature; };
  derivatives prior(index_t i, index_t j, index_t k) const {
    double const here = x[at(i, j, k)];
    if (!v_.empty()) {
      double const h = 1 / (*o_.sigma_prox * *o_.sigma_prox);
      return {(here - v_[at(i, j, k)]) * h, h};
    }
    derivatives d{0, 0};
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (int const way : {-1, 1}) {
        std::array<index_t, 3> other{i, j, k};
        other[axis] += way;
        bool const exists = other[axis] >= 0 && other[axis] < shape_[axis];
        double const difference = exists ? here - x[at(other[0], other[1], other[2])] : 0;
        d.gradient += strength(axis) * kappa(difference) * difference,
            d.curvature += strength(axis) * kappa(difference);
      }
    return d;
  }

  void damp(cone_scan const& s) {
    auto const& g = s.geometry();
    double const iso_dist = g.inverse_magnification / g.inverse_detector_dist,
                 length = static_cast<double>(g.recon_rows) * g.delta_x;
    for (std::size_t k = 0; k < slices(); ++k) {
      double const z =
          g.delta_z * (static_cast<double>(k) - static_cast<double>(g.slices - 1) / 2) + g.recon_slice_offset;
      double sum = 0;
      for (auto const zeta : s.z_shifts()) {
        double const t = std::pow(length * std::abs(z - static_cast<double>(zeta)) / (iso_dist * g.delta_z), 0.7),
                     knee = std::pow(100, 0.7);
        sum += (0.5 * t + 0.25 * knee) / (t + knee);
      }
      damping_[k] = sum / static_cast<double>(g.views);
    }
  }

  struct step { double alpha, moved; };
  step update(std::vector<std::int32_t> const& pixels, std::vector<double>& squares) {
    std::size_t const S = slices(), count = pixels.size() * S;
    repeats_within_a_subset =
        repeats_within_a_subset || std::adjacent_find(pixels.begin(), pixels.end()) != pixels.end();
    double const c = 1 / (*o_.sigma_y * *o_.sigma_y);
    auto const voxel = [&](std::size_t n) { return static_cast<std::size_t>(pixels[n / S]) * S + n % S; };
    std::vector<double> gradient(count), gp(count), hp(count), total(count), d(count);
    for (std::size_t n = 0; n < count; ++n) {
      auto const p = index_t{pixels[n / S]};
      auto const [g, h] = prior(p / shape_[1], p % shape_[1], static_cast<index_t>(n % S));
      double back = 0;
      for (auto const& [sample, weight] : a_.columns[voxel(n)]) back += weight * w_[sample] * e[sample];
      gp[n] = g, hp[n] = h;
      gradient[n] = g - c * back, total[n] = c * hessian[voxel(n)] + h;
    }
    for (std::size_t k = 0; k < S; ++k) {
      double mean = 0, inverse = 0;
      for (std::size_t n = k; n < count; n += S) mean += gradient[n] / total[n], inverse += 1 / total[n];
      mean /= inverse;
      for (std::size_t n = k; n < count; n += S) d[n] = -(gradient[n] - (1 - damping_[k]) * mean) / total[n];
    }
    std::vector<double> z(e.size());
    auto const project = [&] {
      std::fill(z.begin(), z.end(), 0.0);
      for (std::size_t n = 0; n < count; ++n) add(z, voxel(n), d[n]);
    };
    project();
    double slope = 0, curve = epsilon;
    for (std::size_t n = 0; n < e.size(); ++n) slope += c * w_[n] * e[n] * z[n], curve += c * w_[n] * z[n] * z[n];
    for (std::size_t n = 0; n < count; ++n) slope -= gp[n] * d[n], curve += hp[n] * d[n] * d[n];
    double const alpha = std::min(std::max(slope / curve, epsilon), o_.max_alpha);
    if (o_.positivity_flag) {
      for (std::size_t n = 0; n < count; ++n) d[n] = std::max(-x[voxel(n)] / (alpha + epsilon), d[n]);
      project();
    }
    double moved = 0;
    for (std::size_t n = 0; n < count; ++n) {
      x[voxel(n)] += alpha * d[n];
      moved += std::abs(alpha * d[n]);
      squares[n % S] += alpha * d[n] * alpha * d[n];
    }
    for (std::size_t n = 0; n < e.size(); ++n) e[n] -= alpha * z[n];
    return {alpha, moved};
  }

  void run(pixel_list const& pixels) {
    mbirk::testing::reference_random random{std::mt19937(o_.seed)};
    std::vector<mbirk::testing::rows_of_pixels> partitions;
    for (auto const subsets : o_.granularity)
      partitions.push_back(mbirk::testing::reference_partition(pixels, static_cast<std::size_t>(subsets), random));
    double weights = 0;
    for (auto const w : w_) weights += w;
    for (std::size_t it = static_cast<std::size_t>(o_.first_iteration);
         it < static_cast<std::size_t>(o_.max_iterations); ++it) {
      auto const entry = o_.partition_sequence[std::min(it, o_.partition_sequence.size() - 1)];
      auto const& subsets = partitions[static_cast<std::size_t>(entry)];
      std::vector<double> squares(slices());
      double alphas = 0, moved = 0, norm = 0, error = 0;
      for (auto const k : random.permutation(subsets.size())) {
        auto const done = update(subsets[static_cast<std::size_t>(k)], squares);
        alphas += done.alpha, moved += done.moved;
      }
      for (auto const value : x) norm += std::abs(value);
      for (std::size_t n = 0; n < e.size(); ++n) error += w_[n] * e[n] * e[n];
      for (auto& q : squares) q = std::sqrt(q);
      iterations.push_back({alphas / static_cast<double>(subsets.size()), moved / norm,
                            std::sqrt(error / weights) / *o_.sigma_y, squares, x});
    }
  }

  system_matrix const& a_;
  recon_options const& o_;
  shape_3 shape_;
  std::vector<std::uint8_t> const& inside_;
  std::vector<double> w_, v_, damping_;
};

}  // namespace mbirk::test
