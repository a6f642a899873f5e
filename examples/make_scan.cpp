// make_scan [parallel|cone] [size] [folder]: a measurement as a beamline writes it, an HDF5 file in the Data Exchange layout with counts, white and dark
// frames and angles, of a Shepp-Logan phantom; and the geometry file for
//
//     mbirk recon scan.h5 --geometry scan.json --out recon.h5
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "mbirk/io/hdf5.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/util/phantom.hpp"

namespace {

using namespace mbirk;

constexpr double photons = 20000, dark_level = 100;

/// Detector counts of line integrals y: Poisson noise around photons exp(-y), on top of the dark current.
std::vector<std::uint16_t> counts(std::vector<float> const& y, double beam, std::mt19937& random) {
  std::vector<std::uint16_t> n;
  for (auto const line : y) {
    std::poisson_distribution<int> noise(beam * std::exp(-static_cast<double>(line)) + dark_level);
    n.push_back(static_cast<std::uint16_t>(std::min(noise(random), 65535)));
  }
  return n;
}

template <class Scan> void write(Scan const& scan, std::filesystem::path const& folder, std::string const& parameters) {
  auto const [views, rows, channels] = scan.sinogram_shape();
  auto const [n_r, n_c, slices] = scan.recon_shape();
  std::vector<float> phantom(static_cast<std::size_t>(n_r * n_c * slices)), y(static_cast<std::size_t>(views * rows * channels));
  view<float, 3> const volume(phantom.data(), scan.recon_shape());
  generate_3d_shepp_logan_low_dynamic_range(volume, 2.0);  // lines attenuate by a factor of about exp(2) at most
  forward_project(context{exec::host{}, instrument::none{}}, scan, volume, view<float, 3>(y.data(), scan.sinogram_shape()));

  std::mt19937 random(1);
  index_t const white_frames = 10, dark_frames = 5, pixels = rows * channels;
  std::vector<float> const white(static_cast<std::size_t>(white_frames * pixels)), dark(static_cast<std::size_t>(dark_frames * pixels));
  std::vector<double> degrees;
  for (auto const angle : scan.angles()) degrees.push_back(static_cast<double>(angle) * 180 / std::numbers::pi);
  hdf5_output file(folder / "scan.h5");
  file.write("/exchange/data", {views, rows, channels}, counts(y, photons, random).data());
  file.write("/exchange/data_white", {white_frames, rows, channels}, counts(white, photons, random).data());
  file.write("/exchange/data_dark", {dark_frames, rows, channels}, counts(dark, 0, random).data());
  file.write("/exchange/theta", {views}, degrees.data());
  file.attribute("/exchange/theta", "units", "deg");
  file.write("/phantom", {n_r, n_c, slices}, phantom.data());  // to compare with; not a part of the layout
  file.commit();
  output_file json(folder / "scan.json");
  json.write("{\"geometry\": \"" + std::string(scan.geometry().name) + "\", \"params\": {" + parameters + "}}\n");
  json.commit();
  std::printf("%s: %lld views of %lld x %lld pixels\n", (folder / "scan.h5").string().c_str(), static_cast<long long>(views),
              static_cast<long long>(rows), static_cast<long long>(channels));
}

}  // namespace

int main(int argc, char** argv) try {
  bool const cone = argc > 1 && std::string(argv[1]) == "cone";
  index_t const n = argc > 2 ? std::max(8, std::atoi(argv[2])) : 32, views = n + n / 2;
  std::filesystem::path const folder = argc > 3 ? argv[3] : ".";
  std::vector<float> angles;
  for (index_t v = 0; v < views; ++v)
    angles.push_back(static_cast<float>((cone ? 2 : 1) * std::numbers::pi * static_cast<double>(v) / static_cast<double>(views)));
  double const size = static_cast<double>(n);
  if (!cone) write(parallel_scan({.sinogram_shape = {views, n / 2, n}, .angles = angles}), folder, "");
  else write(cone_scan({.sinogram_shape = {views, n / 2, n}, .angles = angles, .source_detector_dist = 4 * size, .source_iso_dist = 2 * size}), folder,
             "\"source_detector_dist\": " + std::to_string(4 * size) + ", \"source_iso_dist\": " + std::to_string(2 * size));
} catch (std::exception const& e) {
  std::fprintf(stderr, "make_scan: %s\n", e.what());
  return 1;
}
