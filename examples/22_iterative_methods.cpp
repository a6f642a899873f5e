// Methods that users of ASTRA and TIGRE look for, each a few lines over the projectors: SIRT, CGLS, and FISTA with
// total variation.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <vector>

#include "mbirk/mbirk.hpp"

using namespace mbirk;
using array = std::vector<float>;

static std::size_t size_of(std::array<index_t, 3> const& shape) {
  return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
}

/// The projectors of a scan as functions of flat arrays.
struct projectors {
  parallel_scan const& scan;
  host_context ctx = {};

  array forward(array const& x) const {
    array y(size_of(scan.sinogram_shape()));
    forward_project(ctx, scan, view<float const, 3>(x.data(), scan.recon_shape()),
                    view<float, 3>(y.data(), scan.sinogram_shape()));
    return y;
  }
  array back(array const& y) const {
    array x(size_of(scan.recon_shape()));
    back_project(ctx, scan, view<float const, 3>(y.data(), scan.sinogram_shape()),
                 view<float, 3>(x.data(), scan.recon_shape()));
    return x;
  }
};

/// a + s b
static array plus(array a, float s, array const& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] += s * b[k];
  return a;
}
static double norm2(array const& a) { return std::inner_product(a.begin(), a.end(), a.begin(), 0.0); }

/// x += C A' R (y - A x), with C and R the inverse sums of columns and rows of A (Gilbert 1972).
static array sirt(projectors const& a, array const& y, int iterations) {
  auto const inverse = [](array v) {
    float const least = 1e-6f * *std::max_element(v.begin(), v.end());
    for (float& s : v) s = s > least ? 1 / s : 0;
    return v;
  };
  array x(size_of(a.scan.recon_shape()), 0.0f);
  array const r = inverse(a.forward(array(x.size(), 1.0f))), c = inverse(a.back(array(y.size(), 1.0f)));
  for (int k = 0; k < iterations; ++k) {
    array residual = plus(y, -1, a.forward(x));
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] *= r[i];
    array const step = a.back(residual);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += c[i] * step[i];
  }
  return x;
}

/// Minimises |y - A x|^2 by conjugate gradients; few iterations regularise (Hestenes and Stiefel 1952).
static array cgls(projectors const& a, array const& y, int iterations) {
  array x(size_of(a.scan.recon_shape()), 0.0f), residual = y, gradient = a.back(y), direction = gradient;
  double norm = norm2(gradient);
  for (int k = 0; k < iterations && norm > 0; ++k) {
    array const projected = a.forward(direction);
    auto const step = static_cast<float>(norm / norm2(projected));
    x = plus(std::move(x), step, direction);
    residual = plus(std::move(residual), -step, projected);
    gradient = a.back(residual);
    double const previous = norm;
    norm = norm2(gradient);
    direction = plus(gradient, static_cast<float>(norm / previous), direction);
  }
  return x;
}

/// Minimises |u - x|^2 / 2 + weight TV(u) by projected gradients of the dual (Beck and Teboulle 2009).
static array denoise_tv(array const& x, std::array<index_t, 3> const& shape, float weight, int iterations) {
  std::array<std::size_t, 3> const stride{static_cast<std::size_t>(shape[1] * shape[2]),
                                          static_cast<std::size_t>(shape[2]), 1};
  auto const at_end = [&](std::size_t k, std::size_t axis) {
    return k / stride[axis] % static_cast<std::size_t>(shape[axis]) == static_cast<std::size_t>(shape[axis]) - 1;
  };
  std::array<array, 3> dual{array(x.size()), array(x.size()), array(x.size())};
  auto const primal = [&] {  // x + weight div(dual); dual is 0 at the end of its axis
    array u = x;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (at_end(k, axis)) continue;
        u[k] += weight * dual[axis][k];
        u[k + stride[axis]] -= weight * dual[axis][k];
      }
    }
    return u;
  };
  for (int iteration = 0; iteration < iterations; ++iteration) {
    array const u = primal();
    for (std::size_t k = 0; k < x.size(); ++k) {
      float squares = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!at_end(k, axis)) dual[axis][k] += (u[k + stride[axis]] - u[k]) / (12 * weight);
        squares += dual[axis][k] * dual[axis][k];
      }
      float const scale = 1 / std::max(1.0f, std::sqrt(squares));
      for (array& d : dual) d[k] *= scale;
    }
  }
  return primal();
}

/// Minimises |y - A x|^2 / 2 + weight TV(x), x >= 0, by accelerated proximal gradients (Beck and Teboulle 2009).
static array fista_tv(projectors const& a, array const& y, float weight, int iterations) {
  array x(size_of(a.scan.recon_shape()), 0.0f), point = x, probe(x.size(), 1.0f);
  double bound = 1;
  for (int k = 0; k < 5; ++k) {  // powers of A'A approach its norm from below
    probe = a.back(a.forward(plus(array(probe.size()), static_cast<float>(1 / std::sqrt(norm2(probe))), probe)));
    bound = 1.05 * std::sqrt(norm2(probe));
  }
  auto const step = static_cast<float>(1 / bound);
  double momentum = 1;
  for (int k = 0; k < iterations; ++k) {
    array const previous = x, gradient = a.back(plus(a.forward(point), -1, y));
    x = denoise_tv(plus(point, -step, gradient), a.scan.recon_shape(), step * weight, 20);
    for (float& v : x) v = std::max(v, 0.0f);
    double const next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    point = plus(x, static_cast<float>((momentum - 1) / next), plus(x, -1, previous));
    momentum = next;
  }
  return x;
}

int main() {
  std::vector<float> angles;
  for (int v = 0; v < 20; ++v) angles.push_back(static_cast<float>(std::numbers::pi * v / 20));
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {20, 4, 32}, .angles = angles});
  projectors const a{scan};
  array phantom(size_of(scan.recon_shape()));
  nested_ellipsoids(view<float, 3>(phantom.data(), scan.recon_shape()));
  array const y = a.forward(phantom);

  double const zero = norm2(phantom);
  double worst = 0;
  auto const report = [&](char const* name, array const& x) {
    double const error = std::sqrt(norm2(plus(x, -1, phantom)) / zero);
    worst = std::max(worst, error);
    std::printf("%-8s error %.3f\n", name, error);
  };
  report("SIRT", sirt(a, y, 100));
  report("CGLS", cgls(a, y, 20));
  report("FISTA-TV", fista_tv(a, y, 0.02f, 50));
  return worst < 0.5 ? 0 : 1;
}
