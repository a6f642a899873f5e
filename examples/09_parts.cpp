// A projection in parts, each for a range of views, which is how several processes would share it. The parts here are
// threads; between machines, your own communication layer (MPI, NCCL) adds the images. docs/interop.md shows the marked
// part.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "mbirk/mbirk.hpp"

int main() {
  using namespace mbirk;
  parallel_parameters all{.sinogram_shape = {50, 6, 40},
                          .angles = {},
                          .delta_voxel = 1.0,
                          .recon_shape = std::array<index_t, 3>{40, 40, 6}};
  for (int v = 0; v < 50; ++v) all.angles.push_back(static_cast<float>(v) * 0.0628f);
  parallel_scan const whole(all);
  std::vector<float> phantom(40 * 40 * 6), sinogram(50 * 6 * 40), expected(sinogram.size()), image(phantom.size()),
      sum(phantom.size());
  nested_ellipsoids(view<float, 3>(phantom.data(), whole.recon_shape()));

  // example: begin
  constexpr index_t ranks = 3;
  std::vector<std::vector<float>> partial(ranks, std::vector<float>(phantom.size()));
  auto const work = [&](index_t rank) {
    index_t const first = 50 * rank / ranks, views = 50 * (rank + 1) / ranks - first;
    parallel_parameters mine = all;  // delta_voxel and recon_shape are given: the grid is that of the whole scan
    mine.sinogram_shape[0] = views;
    mine.angles.assign(all.angles.begin() + first, all.angles.begin() + first + views);
    parallel_scan const part(mine);
    context const ctx{exec::host{1}, instrument::none{}};
    view<float, 3> const y(sinogram.data() + first * 6 * 40, part.sinogram_shape());  // its views of the whole sinogram
    forward_project(ctx, part, view<float const, 3>(phantom.data(), part.recon_shape()), y);
    back_project(ctx, part, y, view<float, 3>(partial[static_cast<std::size_t>(rank)].data(), part.recon_shape()));
  };
  std::vector<std::jthread> threads;
  for (index_t rank = 0; rank < ranks; ++rank) threads.emplace_back(work, rank);
  threads.clear();  // waits for them
  for (auto const& p : partial)  // A' y = sum of A_r' y_r: only these images need to be communicated
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += p[i];
  // example: end
  host_context const ctx;
  forward_project(ctx, whole, view<float const, 3>(phantom.data(), whole.recon_shape()),
                  view<float, 3>(expected.data(), whole.sinogram_shape()));
  back_project(ctx, whole, view<float const, 3>(expected.data(), whole.sinogram_shape()),
               view<float, 3>(image.data(), whole.recon_shape()));
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(image[i])));
    off = std::max(off, std::abs(static_cast<double>(image[i]) - static_cast<double>(sum[i])));
  }
  std::printf("%s sinogram; images differ by %.1g of the largest voxel\n",
              sinogram == expected ? "the same" : "another", off / largest);
  // Tolerance: one rounding for each of three weights per view, on both sides.
  return sinogram == expected && off <= 2 * 50 * 3 * 0x1p-24 * largest ? 0 : 1;
}
