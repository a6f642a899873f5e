// From the counts of a scanner to a picture: a scan with all defects that make_scan plants is normalised, corrected step
// by step and reconstructed. Prints the error after each step, which the phantom in the file tells.
//
//     make_scan parallel 64 FOLDER all && 22_from_counts FOLDER
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "mbirk/io/hdf5.hpp"
#include "mbirk/io/png.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/util/corrections.hpp"
#include "mbirk/util/preprocess.hpp"
#include "mbirk/util/rotation_axis.hpp"
#include "mbirk/util/stripes.hpp"

namespace {

using namespace mbirk;

context const ctx{exec::host{}, instrument::none{}};

struct volume {
  std::array<index_t, 3> shape;
  std::vector<float> values;
  view<float, 3> all() { return {values.data(), shape}; }
};

volume read(hdf5_file const& file, char const* name) {
  auto array = file.read<float>(name);
  return {{array.shape[0], array.shape[1], array.shape[2]}, std::move(array.data)};
}

std::vector<float> mean(volume frames) {
  frame_mean sum(frames.shape[1], frames.shape[2]);
  sum.add(frames.all());
  return sum.values();
}

/// Filtered back projection with the axis `offset` channels beside the middle. @return its difference from the phantom
/// over the phantom, in the 2-norm
double reconstruct(volume& y, std::vector<float> const& angles, double offset, volume const& phantom, volume& x) {
  fbp_recon(ctx, parallel_scan({.sinogram_shape = y.shape, .angles = angles, .det_channel_offset = offset}), y.all(),
            x.all());
  double difference = 0, whole = 0;
  for (std::size_t k = 0; k < x.values.size(); ++k) {
    auto const p = static_cast<double>(phantom.values[k]);
    difference += std::pow(static_cast<double>(x.values[k]) - p, 2);
    whole += p * p;
  }
  return std::sqrt(difference / whole);
}

}  // namespace

int main(int argc, char** argv) try {
  std::filesystem::path const folder = argc > 1 ? argv[1] : ".";
  hdf5_file const file(folder / "scan.h5");
  auto y = read(file, "/exchange/data");
  auto const white = mean(read(file, "/exchange/data_white")), dark = mean(read(file, "/exchange/data_dark"));
  auto const phantom = read(file, "/phantom");
  std::vector<float> angles;
  for (float const degrees : file.read<float>("/exchange/theta").data)
    angles.push_back(degrees * std::numbers::pi_v<float> / 180);
  auto const [views, rows, channels] = y.shape;
  std::array const frame{rows, channels};
  volume x{phantom.shape, std::vector<float>(phantom.values.size())};
  double offset = 0, error = 0;
  auto const report = [&](char const* step) {
    error = reconstruct(y, angles, offset, phantom, x);
    std::printf("%-40s error %5.1f %%\n", step, 100 * error);
  };

  auto const dead = counts_to_line_integrals(ctx, y.all(), view<float const, 2>(white.data(), frame),
                                             view<float const, 2>(dark.data(), frame), y.all());
  std::printf("%lld dead samples repaired\n", static_cast<long long>(dead.repaired));
  report("counts, fields, dead pixels");
  double const first = error;
  for (index_t v = 0; v < views; ++v) {
    view<float, 3> const one(&y.all()(v, 0, 0), {1, rows, channels});
    auto const background = static_cast<float>(background_offset(one, 2));
    for (index_t k = 0; k < one.size(); ++k) one.data()[k] -= background;
  }
  report("background");
  std::printf("%lld zingers replaced\n", static_cast<long long>(remove_zingers(ctx, y.all(), 0.5)));
  report("zingers");
  correct_detector_rotation(ctx, y.all(), std::numbers::pi / 180);
  report("detector upright");
  correct_drift(ctx, y.all(), estimate_drift(y.all(), angles));
  report("drift");
  remove_stripes(ctx, y.all(), sorted_stripes{});
  report("stripes");
  correct_beam_hardening(ctx, y.all(), std::array{1.0, 0.1});
  report("beam hardening");
  std::vector<float> middle;
  for (index_t v = 0; v < views; ++v)
    for (index_t n = 0; n < channels; ++n) middle.push_back(y.all()(v, rows / 2, n));
  auto const axis = find_rotation_axis(view<float const, 2>(middle.data(), {views, channels}), angles);
  offset = axis.offset;
  std::printf("axis at channel %.2f\n", axis.centre);
  report("axis");
  write_png(folder / "picture.png", three_slices(x.all()));
  return error < 0.5 * first ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "22_from_counts: %s\n", e.what());
  return 1;
}
