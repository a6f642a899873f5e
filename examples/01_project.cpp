// Forward and back projection of a cone-beam scan. Compile with -O3 -march=native for speed.
#include <cstdio>
#include <numbers>
#include <vector>

#include "mbirk/mbirk.hpp"
#include "mbirk/util/phantom.hpp"

int main() {
  // example: begin
  using namespace mbirk;
  std::vector<float> angles;
  for (int v = 0; v < 60; ++v) angles.push_back(static_cast<float>(2 * std::numbers::pi * v / 60));
  cone_scan const scan(cone_parameters{.sinogram_shape = {60, 48, 64},  // views, detector rows, detector channels
                                       .angles = angles,
                                       .source_detector_dist = 256,
                                       .source_iso_dist = 128});        // voxels and their number are sized to fit
  std::vector<float> recon(48 * 64 * 64), sinogram(60 * 48 * 64);       // any memory will do: mbirk owns none of it
  view<float, 3> const x(recon.data(), scan.recon_shape()), y(sinogram.data(), scan.sinogram_shape());
  nested_ellipsoids(x);
  host_context const ctx;                                               // all threads, no instrumentation
  forward_project(ctx, scan, x, y);                                     // y = A x
  back_project(ctx, scan, y, x);                                        // x = A' y, the exact transpose
  // example: end
  std::printf("centre of A'Ax: %g\n", static_cast<double>(x(32, 32, 24)));
  return x(32, 32, 24) > 0 ? 0 : 1;
}
