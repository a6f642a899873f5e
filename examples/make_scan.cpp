// make_scan [parallel|cone] [size] [folder] [defect]: a simulated beamline measurement, an HDF5 file in the Data
// Exchange layout with counts, white and dark frames and angles, of a Shepp-Logan phantom; and the geometry file for
//
//     mbirk recon scan.h5 --geometry scan.json --out recon.h5
//
// A defect makes the data inconsistent with the geometry file, or poor: few (a sixteenth of the views), noisy (a tenth
// of the photons), axis (3 channels beside the middle), rings (three channels with excessive gain), narrow and low (the
// object is wider, or taller, than the detector's field of view), metal (two rods).
#include <algorithm>
#include <array>
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

constexpr double dark_level = 100;

struct defect {
  double photons = 20000, axis = 0, gain = 1;
  index_t views_over = 1;
  bool narrow = false, low = false, metal = false;
};

defect parse_defect(std::string const& name) {
  if (name == "none") return {};
  if (name == "few") return {.views_over = 16};
  if (name == "noisy") return {.photons = 2000};
  if (name == "axis") return {.axis = 3};
  if (name == "rings") return {.gain = 1.1};
  if (name == "metal") return {.metal = true};
  if (name == "narrow") return {.narrow = true};
  if (name == "low") return {.low = true};
  throw parameter_error("defect is " + name + ", expected none, few, noisy, axis, rings, metal, narrow or low",
                        source_location::current());
}

/// Detector counts of line integrals (views, rows, channels): Poisson noise around beam exp(-y), on top of the dark
/// current. Three channels count `gain` times too much.
std::vector<std::uint16_t> counts(std::vector<float> const& y, index_t channels, double beam, double gain,
                                  std::mt19937& random) {
  std::vector<std::uint16_t> n;
  for (std::size_t k = 0; k < y.size(); ++k) {
    auto const c = static_cast<index_t>(k) % channels;
    double const channel_gain = c == channels / 4 || c == channels / 3 || c == channels * 3 / 5 ? gain : 1;
    std::poisson_distribution<int> noise(beam * channel_gain * std::exp(-static_cast<double>(y[k])) + dark_level);
    n.push_back(static_cast<std::uint16_t>(std::min(noise(random), 65535)));
  }
  return n;
}

/// Rods of about a 30th of the width along the axis.
void add_rods(view<float, 3> volume) {
  auto const n = static_cast<double>(volume.extent(1));
  for (double const side : {-0.16, 0.16})
    for (index_t i = 0; i < volume.extent(0); ++i)
      for (index_t j = 0; j < volume.extent(1); ++j)
        if (std::hypot(static_cast<double>(i) / n - 0.5, static_cast<double>(j) / n - 0.5 - side) < 1.0 / 60)
          for (index_t k = 0; k < volume.extent(2); ++k) volume(i, j, k) += static_cast<float>(100 / n);
}

/// Part of the projections that falls on a centred detector of this smaller shape.
std::vector<float> middle_of(view<float const, 3> y, std::array<index_t, 3> const& shape) {
  index_t const above = (y.extent(1) - shape[1]) / 2, beside = (y.extent(2) - shape[2]) / 2;
  std::vector<float> seen;
  for (index_t v = 0; v < shape[0]; ++v)
    for (index_t m = 0; m < shape[1]; ++m)
      for (index_t n = 0; n < shape[2]; ++n) seen.push_back(y(v, above + m, beside + n));
  return seen;
}

/// `scan` has a detector that covers the object; `shape` is the part of it that is measured.
template <class Scan> void write(Scan const& scan, std::array<index_t, 3> const& shape, defect const& how,
                                 std::filesystem::path const& folder, std::string const& parameters) {
  auto const [views, rows, channels] = shape;
  auto const [n_r, n_c, slices] = scan.recon_shape();
  auto const samples = scan.sinogram_shape()[0] * scan.sinogram_shape()[1] * scan.sinogram_shape()[2];
  std::vector<float> phantom(static_cast<std::size_t>(n_r * n_c * slices)), y(static_cast<std::size_t>(samples));
  view<float, 3> const volume(phantom.data(), scan.recon_shape());
  generate_3d_shepp_logan_low_dynamic_range(volume, 2.0);  // lines attenuate by a factor of about exp(2) at most
  if (how.metal) add_rods(volume);
  forward_project(context{exec::host{}, instrument::none{}}, scan, volume,
                  view<float, 3>(y.data(), scan.sinogram_shape()));
  y = middle_of(view<float const, 3>(y.data(), scan.sinogram_shape()), shape);

  std::mt19937 random(1);
  index_t const white_frames = 10, dark_frames = 5, pixels = rows * channels;
  std::vector<float> const white(static_cast<std::size_t>(white_frames * pixels)),
      dark(static_cast<std::size_t>(dark_frames * pixels));
  std::vector<double> degrees;
  for (auto const angle : scan.angles()) degrees.push_back(static_cast<double>(angle) * 180 / std::numbers::pi);
  hdf5_output file(folder / "scan.h5");
  file.write("/exchange/data", {views, rows, channels}, counts(y, channels, how.photons, how.gain, random).data());
  file.write("/exchange/data_white", {white_frames, rows, channels},
             counts(white, channels, how.photons, 1, random).data());
  file.write("/exchange/data_dark", {dark_frames, rows, channels}, counts(dark, channels, 0, 1, random).data());
  file.write("/exchange/theta", {views}, degrees.data());
  file.attribute("/exchange/theta", "units", "deg");
  file.write("/phantom", {n_r, n_c, slices}, phantom.data());  // ground truth for comparison; not a part of the layout
  file.commit();
  output_file json(folder / "scan.json");
  json.write("{\"geometry\": \"" + std::string(scan.geometry().name) + "\", \"params\": {" + parameters + "}}\n");
  json.commit();
  std::printf("%s: %lld views of %lld x %lld pixels\n", (folder / "scan.h5").string().c_str(),
              static_cast<long long>(views), static_cast<long long>(rows), static_cast<long long>(channels));
}

}  // namespace

int main(int argc, char** argv) try {
  bool const cone = argc > 1 && std::string(argv[1]) == "cone";
  index_t const n = argc > 2 ? std::max(8, std::atoi(argv[2])) : 32;
  std::filesystem::path const folder = argc > 3 ? argv[3] : ".";
  auto const how = parse_defect(argc > 4 ? argv[4] : "none");
  std::filesystem::create_directories(folder);
  index_t const views = (n + n / 2) / how.views_over;
  std::vector<float> angles;
  for (index_t v = 0; v < views; ++v)
    angles.push_back(
        static_cast<float>((cone ? 2 : 1) * std::numbers::pi * static_cast<double>(v) / static_cast<double>(views)));
  double const size = static_cast<double>(n);
  std::array<index_t, 3> const shape{views, n / 2, n}, needed{views, how.low ? n : n / 2, how.narrow ? n + n / 2 : n};
  if (!cone)
    write(parallel_scan({.sinogram_shape = needed, .angles = angles, .det_channel_offset = how.axis}), shape, how,
          folder, "");
  else
    write(
        cone_scan({.sinogram_shape = needed,
                   .angles = angles,
                   .source_detector_dist = 4 * size,
                   .source_iso_dist = 2 * size,
                   .det_channel_offset = how.axis}),
        shape, how, folder,
        "\"source_detector_dist\": " + std::to_string(4 * size) + ", \"source_iso_dist\": " + std::to_string(2 * size));
} catch (std::exception const& e) {
  std::fprintf(stderr, "make_scan: %s\n", e.what());
  return 1;
}
