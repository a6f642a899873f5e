// The worker of bench/instruction_sets.py for a C++ library: for each line with the name of a projection it prints the
// processor time of one call.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <mbirk/exec/host.hpp>
#include <mbirk/exec/instruction_set.hpp>
#include <mbirk/instrument/none.hpp>
#include <mbirk/projector/all.hpp>
#include <string>
#include <vector>

namespace {

constexpr mbirk::index_t size = 128;

std::vector<float> angles() {
  std::vector<float> a(size);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = 3.14159265f * static_cast<float>(k) / size;
  return a;
}

/// The arrays of both directions.
template <class Scan> struct projections {
  Scan scan;
  std::vector<float> recon = std::vector<float>(elements(scan.recon_shape()), 1),
                     sinogram = std::vector<float>(elements(scan.sinogram_shape()), 1);

  static std::size_t elements(std::array<mbirk::index_t, 3> const& s) {
    return static_cast<std::size_t>(s[0] * s[1] * s[2]);
  }
  void forward(auto const& ctx) {
    mbirk::forward_project(ctx, scan, {recon.data(), scan.recon_shape()}, {sinogram.data(), scan.sinogram_shape()});
  }
  void back(auto const& ctx) {
    mbirk::back_project(ctx, scan, {sinogram.data(), scan.sinogram_shape()}, {recon.data(), scan.recon_shape()});
  }
};

}  // namespace

int main() {
  mbirk::context const ctx{mbirk::exec::host{1}, mbirk::instrument::none{}};
  std::array<mbirk::index_t, 3> const shape{size, size, size};
  projections<mbirk::parallel_scan> parallel{mbirk::parallel_scan({.sinogram_shape = shape, .angles = angles()})};
  projections<mbirk::cone_scan> cone{mbirk::cone_scan({.sinogram_shape = shape,
                                                       .angles = angles(),
                                                       .source_detector_dist = 4.0 * size,
                                                       .source_iso_dist = 2.0 * size})};
  std::string const set(mbirk::instruction_set());
  std::printf("%s\n", set.c_str());
  std::fflush(stdout);
  for (std::string name; std::getline(std::cin, name);) {
    auto const begin = std::clock();
    if (name == "parallel_forward") parallel.forward(ctx);
    if (name == "parallel_back") parallel.back(ctx);
    if (name == "cone_forward") cone.forward(ctx);
    if (name == "cone_back") cone.back(ctx);
    std::printf("%.9g\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    std::fflush(stdout);
  }
}
