// Fan beam: a disc reconstructed from exact line integrals has its value from centre to rim, over a full turn, with a
// short scan, and with a detector that is not centred.
#include "mbirk/recon/fan_recon.hpp"

#include <gtest/gtest.h>

#include "mbirk/mbirk.hpp"

namespace mbirk {
namespace {

context const ctx{exec::host{2}, instrument::none{}};
constexpr double radius = 50, value = 0.02;

cone_parameters scan_of(index_t views, index_t channels, double range, double offset = 0, double pitch = 2) {
  cone_parameters p{.sinogram_shape = {views, 1, channels}, .angles = {}, .source_detector_dist = 600,
                    .source_iso_dist = 300};
  p.delta_det_channel = p.delta_det_row = pitch;
  p.det_channel_offset = offset;
  p.delta_voxel = 1;
  p.recon_shape = {116, 116, 1};
  for (index_t v = 0; v < views; ++v)
    p.angles.push_back(static_cast<float>(range * static_cast<double>(v) / static_cast<double>(views)));
  return p;
}

/// A disc whose middle is at (x, y), in mbirk's coordinates: rotated, x' = x cos - y sin is across the beam and
/// y' = x sin + y cos points to the source.
std::vector<float> disc(cone_parameters const& p, double x, double y) {
  auto const [views, rows, channels] = p.sinogram_shape;
  std::vector<float> all;
  for (auto const angle : p.angles)
    for (index_t n = 0; n < channels; ++n) {
      double const c = std::cos(static_cast<double>(angle)), s = std::sin(static_cast<double>(angle));
      double const u = (static_cast<double>(n) - static_cast<double>(channels - 1) / 2) * p.delta_det_channel -
                       p.det_channel_offset;
      double const across = x * c - y * s, depth = p.source_iso_dist - (x * s + y * c);
      double const d = (across * p.source_detector_dist - depth * u) / std::hypot(u, p.source_detector_dist);
      double const rest = radius * radius - d * d;
      all.push_back(rest > 0 ? static_cast<float>(2 * value * std::sqrt(rest)) : 0.0f);
    }
  return all;
}

/// Largest relative error of the mean over rings of a tenth of the radius, up to nine tenths.
double ring_error(std::vector<float> const& image, cone_parameters const& p, double x, double y) {
  std::array<double, 9> sum{}, count{};
  auto const shape = *p.recon_shape;
  for (index_t i = 0; i < shape[0]; ++i)
    for (index_t j = 0; j < shape[1]; ++j) {
      double const px = static_cast<double>(j) - static_cast<double>(shape[1] - 1) / 2 - x;
      double const py = static_cast<double>(i) - static_cast<double>(shape[0] - 1) / 2 - y;
      auto const ring = static_cast<std::size_t>(std::hypot(px, py) / radius * 10);
      if (ring >= sum.size()) continue;
      sum[ring] += static_cast<double>(image[static_cast<std::size_t>(i * shape[1] + j)]);
      count[ring] += 1;
    }
  double most = 0;
  for (std::size_t k = 0; k < sum.size(); ++k) most = std::max(most, std::abs(sum[k] / count[k] / value - 1));
  return most;
}

std::vector<float> direct(cone_parameters const& p, std::vector<float> const& y) {
  auto const shape = *p.recon_shape;
  std::vector<float> image(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  fan_recon(ctx, p, view<float const, 3>(y.data(), p.sinogram_shape), view<float, 3>(image.data(), shape));
  return image;
}

TEST(Fan, DirectOverAFullTurn) {
  auto const p = scan_of(720, 512, 2 * std::numbers::pi, 0, 0.5);
  EXPECT_LT(ring_error(direct(p, disc(p, 3, -2)), p, 3, -2), 0.003);
}

TEST(Fan, DirectOverAShortScan) {
  for (double const sign : {1.0, -1.0}) {
    auto p = scan_of(300, 128, 1);
    double const range = sign * (std::numbers::pi + 2 * half_fan_angle(p) + 0.15);
    p = scan_of(300, 128, range);
    auto y = disc(p, 3, -2);
    auto const weights = short_scan_weights(p);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weights[i];
    EXPECT_LT(ring_error(direct(p, y), p, 3, -2), 0.01) << sign;
  }
  EXPECT_THROW(short_scan_weights(scan_of(100, 128, 3)), parameter_error);
  EXPECT_THROW(short_scan_weights(scan_of(100, 128, 7)), parameter_error);
}

TEST(Fan, DirectWithAnOffsetDetector) {
  for (double const offset : {40.0, -40.0}) {
    auto const p = scan_of(360, 100, 2 * std::numbers::pi, offset);
    auto y = disc(p, 0, 0);
    auto const weights = offset_detector_weights(p);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weights[i % 100];
    auto const padded = padded_parameters(p);
    auto const wide = pad_channels({y.data(), p.sinogram_shape}, offset_padding(p), offset);
    EXPECT_NEAR(padded.det_channel_offset, 0, 1e-9);
    EXPECT_LT(ring_error(direct(padded, wide), padded, 0, 0), 0.01) << offset;
  }
}

TEST(Fan, Iterative) {
  auto const p = scan_of(90, 128, 2 * std::numbers::pi);
  auto const y = disc(p, 3, -2);
  cone_scan const scan(fan_parameters(p));
  ASSERT_EQ(scan.recon_shape(), *p.recon_shape);
  std::vector<float> image(116 * 116);
  recon_options options;
  options.max_iterations = 20;
  options.stop_threshold_change_pct = 0;
  recon(ctx, scan, view<float const, 3>(y.data(), p.sinogram_shape), std::nullopt,
        view<float, 3>(image.data(), scan.recon_shape()), options);
  EXPECT_LT(ring_error(image, p, 3, -2), 0.003);
}

}  // namespace
}  // namespace mbirk
