// make_scan [parallel|cone] [size] [folder] [defect]: a simulated beamline measurement, an HDF5 file in the Data
// Exchange layout with counts, white and dark frames and angles, of a Shepp-Logan phantom; and the geometry file for
//
//     mbirk recon scan.h5 --geometry scan.json --out recon.h5
//
// A defect makes the data inconsistent with the geometry file, or poor: few (a sixteenth of the views), noisy (a tenth
// of the photons), axis (3 channels beside the middle), rings (three channels with excessive gain), narrow and low (the
// object is wider, or taller, than the detector's field of view), metal (two rods), all (axis and rings, and a detector
// that is turned by a degree, views that drift by up to a pixel, a source that flickers, a beam that hardens, dead
// pixels and zingers).
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
#include "mbirk/util/corrections.hpp"
#include "mbirk/util/phantom.hpp"

namespace {

using namespace mbirk;

constexpr double dark_level = 100;

struct defect {
  double photons = 20000, axis = 0, gain = 1;
  index_t views_over = 1;
  bool narrow = false, low = false, metal = false, all = false;
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
  if (name == "all") return {.axis = 3, .gain = 1.1, .all = true};
  throw parameter_error("defect is " + name + ", expected none, few, noisy, axis, rings, metal, narrow, low or all",
                        source_location::current());
}

/// Turns the views by a degree, moves them by up to a pixel, and hardens the beam: it measures q, p = q + 0.1 q^2.
void plant(view<float, 3> y) {
  host_context const ctx;
  std::vector<std::array<double, 2>> drift;
  for (index_t v = 0; v < y.extent(0); ++v) {
    double const t = 2 * std::numbers::pi * static_cast<double>(v) / static_cast<double>(y.extent(0));
    drift.push_back({0.7 * std::sin(7 * t), 0.9 * std::cos(11 * t)});
  }
  correct_drift(ctx, y, drift);
  correct_detector_rotation(ctx, y, -std::numbers::pi / 180);
  for (index_t k = 0; k < y.size(); ++k)
    y.data()[k] = static_cast<float>((std::sqrt(1 + 0.4 * static_cast<double>(y.data()[k])) - 1) / 0.2);
}

/// Detector counts of line integrals (views, rows, channels): Poisson noise around beam exp(-y), on top of the dark
/// current. Three channels count `gain` times too much. With all defects, one pixel in 300 is dead, and in views the
/// beam flickers and one sample in 5000 is a zinger.
std::vector<std::uint16_t> counts(std::vector<float> const& y, std::array<index_t, 3> const& shape, double beam,
                                  defect const& how, bool views, std::mt19937& random) {
  index_t const channels = shape[2], pixels = shape[1] * shape[2];
  std::vector<std::uint16_t> n;
  for (std::size_t k = 0; k < y.size(); ++k) {
    index_t const at = static_cast<index_t>(k) % pixels, v = static_cast<index_t>(k) / pixels, c = at % channels;
    double mean = beam * std::exp(-static_cast<double>(y[k]));
    if (views && (c == channels / 4 || c == channels / 3 || c == channels * 3 / 5)) mean *= how.gain;
    if (views && how.all) mean *= 1 + 0.03 * std::sin(static_cast<double>(v));
    std::poisson_distribution<int> noise(mean + dark_level);
    int count = noise(random);
    if (views && how.all && random() % 5000 == 0) count += static_cast<int>(2 * beam);
    if (how.all && (at * 7919 + 13) % 300 == 0) count = 0;
    n.push_back(static_cast<std::uint16_t>(std::min(count, 65535)));
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
  forward_project(host_context{}, scan, volume,
                  view<float, 3>(y.data(), scan.sinogram_shape()));
  y = middle_of(view<float const, 3>(y.data(), scan.sinogram_shape()), shape);
  if (how.all) plant(view<float, 3>(y.data(), shape));

  std::mt19937 random(1);
  index_t const white_frames = 10, dark_frames = 5, pixels = rows * channels;
  std::vector<float> const white(static_cast<std::size_t>(white_frames * pixels)),
      dark(static_cast<std::size_t>(dark_frames * pixels));
  std::vector<double> degrees;
  for (auto const angle : scan.angles()) degrees.push_back(static_cast<double>(angle) * 180 / std::numbers::pi);
  hdf5_output file(folder / "scan.h5");
  file.write("/exchange/data", {views, rows, channels}, counts(y, shape, how.photons, how, true, random).data());
  file.write("/exchange/data_white", {white_frames, rows, channels},
             counts(white, shape, how.photons, how, false, random).data());
  file.write("/exchange/data_dark", {dark_frames, rows, channels}, counts(dark, shape, 0, how, false, random).data());
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
