// Denoising of an image with the qGGMRF prior, and a progress callback that could stop it.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "mbirk/mbirk.hpp"

int main() {
  using namespace mbirk;
  std::array<index_t, 3> const shape{48, 48, 12};
  std::vector<float> clean(48 * 48 * 12), noisy, denoised(clean.size());
  nested_ellipsoids(view<float, 3>(clean.data(), shape));
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.1f);
  for (float const x : clean) noisy.push_back(x + noise(random));

  host_context const ctx;
  denoise_options options;  // set sigma_noise if you know it; otherwise it is estimated
  options.progress = [](iteration_report const& r) {
    std::printf("%d of at most %d: change %.2g\n", r.iteration, r.iterations, r.change);
    return true;  // false stops
  };
  auto const record =
      qggmrf_denoise(ctx, view<float const, 3>(noisy.data(), shape), options, view<float, 3>(denoised.data(), shape));

  auto const error = [&](std::vector<float> const& image) {
    double sum = 0;
    for (std::size_t i = 0; i < image.size(); ++i) sum += std::pow(static_cast<double>(image[i] - clean[i]), 2);
    return std::sqrt(sum / static_cast<double>(image.size()));
  };
  std::printf("noise of %.3f was taken for %.3f; error %.3f before, %.3f after\n", 0.1, record.sigma_noise,
              error(noisy), error(denoised));
  return error(denoised) < 0.5 * error(noisy) ? 0 : 1;
}
