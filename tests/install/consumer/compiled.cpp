// Links the operations of mbirk::compiled: none of them is compiled here.
#include <cstdio>
#include <mbirk/instrument/none.hpp>
#include <mbirk/projector/parallel.hpp>
#include <vector>

int main() {
  mbirk::parallel_parameters p{.sinogram_shape = {3, 2, 4}, .angles = {0, 1, 2}};
  mbirk::parallel_scan const scan(p);
  auto const [rows, cols, slices] = scan.recon_shape();
  std::vector<float> const image(static_cast<std::size_t>(rows * cols * slices), 1.0f);
  std::vector<float> sinogram(24);
  mbirk::context const ctx{mbirk::exec::host{}, mbirk::instrument::none{}};
  mbirk::forward_project(ctx, scan, mbirk::view<float const, 3>(image.data(), scan.recon_shape()),
                         mbirk::view<float, 3>(sinogram.data(), scan.sinogram_shape()));
  std::printf("%g\n", static_cast<double>(sinogram[1]));
  return sinogram[1] > 0 ? 0 : 1;
}
