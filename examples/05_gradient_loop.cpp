// Projectors in your own loop: least squares by steepest descent, with Eigen's vectors as arrays. docs/interop.md shows
// the marked part.
#include <Eigen/Core>
#include <cstdio>
#include <numbers>
#include <vector>

#include "mbirk/interop/eigen.hpp"
#include "mbirk/mbirk.hpp"

int main() {
  using namespace mbirk;
  std::vector<float> angles;
  for (int v = 0; v < 40; ++v) angles.push_back(static_cast<float>(std::numbers::pi * v / 40));
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {40, 4, 32}, .angles = angles});
  Eigen::VectorXf phantom(32 * 32 * 4), measured(40 * 4 * 32);
  nested_ellipsoids(to_view(phantom, scan.recon_shape()));
  host_context const ctx;
  forward_project(ctx, scan, to_view(phantom, scan.recon_shape()), to_view(measured, scan.sinogram_shape()));

  // example: begin
  Eigen::VectorXf x = Eigen::VectorXf::Zero(phantom.size()), gradient(phantom.size());
  Eigen::VectorXf residual = -measured, change(measured.size());           // residual: A x - y
  std::vector<double> costs{0.5 * residual.cast<double>().squaredNorm()};  // ||A x - y||^2 / 2
  projection_plan const plan(ctx, scan);                                   // made once for all iterations
  view<float, 3> const r = to_view(residual, scan.sinogram_shape()), d = to_view(change, scan.sinogram_shape()),
                       g = to_view(gradient, scan.recon_shape());
  for (int k = 0; k < 10; ++k) {
    back_project(ctx, plan, r, g);     // gradient = A' (A x - y)
    forward_project(ctx, plan, g, d);  // change = A gradient
    double const step = gradient.cast<double>().squaredNorm() / change.cast<double>().squaredNorm();  // the best one
    x -= static_cast<float>(step) * gradient;
    residual -= static_cast<float>(step) * change;
    costs.push_back(0.5 * residual.cast<double>().squaredNorm());
  }
  // example: end
  bool falls = true;
  for (std::size_t k = 1; k < costs.size(); ++k) falls = falls && costs[k] < costs[k - 1];
  std::printf("cost %.4g at first, %.4g after %zu steps; error %.1f %% of the phantom\n", costs.front(), costs.back(),
              costs.size() - 1, static_cast<double>(100 * (x - phantom).norm() / phantom.norm()));
  return falls && costs.back() < 0.01 * costs.front() ? 0 : 1;
}
