// Shared by the tests of recon and prox_map: both behind plain functions on the host, compiled once for all files (in
// recon_errors_test.cpp), small problems, and comparisons of records.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "filter/support.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::test {

recon_log run_recon(any_scan const& s, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                    view<float, 3> recon, recon_options const& o, int threads = 1);
recon_log run_prox_map(any_scan const& s, view<float const, 3> prox_input, view<float const, 3> sinogram,
                       std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& o,
                       int threads = 1);
/// Error of an approximate square root in these operations, in roundings (2^-24, relative); 0 if it is rounded.
double error_of_roots();

/// Everything that a run needs; start is the initial image unless the options name another.
struct vcd_problem {
  any_scan scan;
  array<3> sinogram;
  std::optional<array<3>> weights = {}, prox_input = {};
  array<3> start;
  recon_options options;

  std::optional<view<float const, 3>> weights_view() const {
    return weights ? std::optional(weights->all()) : std::nullopt;
  }
};

struct vcd_outcome {
  array<3> image;
  recon_log record;
};
/// Runs the problem with these options; without an initial image in them, the problem's own is used.
inline vcd_outcome solve(vcd_problem const& p, recon_options o, int threads = 1) {
  if (std::holds_alternative<std::monostate>(o.init_recon)) o.init_recon = p.start.all();
  vcd_outcome out{array<3>(recon_shape(p.scan), NAN), {}};
  out.record = p.prox_input ? run_prox_map(p.scan, p.prox_input->all(), p.sinogram.all(), p.weights_view(),
                                           out.image.all(), o, threads)
                            : run_recon(p.scan, p.sinogram.all(), p.weights_view(), out.image.all(), o, threads);
  return out;
}
inline vcd_outcome solve(vcd_problem const& p, int threads = 1) { return solve(p, p.options, threads); }

/// The projection of an object that is bright in the middle, with 2 % of noise.
inline array<3> noisy_sinogram(any_scan const& s, unsigned seed) {
  auto const shape = recon_shape(s);
  array<3> object(shape);
  std::mt19937 engine(seed);
  auto const uniform = [&] { return static_cast<double>(engine() >> 8) * 0x1p-24; };
  for (index_t i = 0; i < shape[0]; ++i)
    for (index_t j = 0; j < shape[1]; ++j)
      for (index_t k = 0; k < shape[2]; ++k) {
        double const u = 2 * static_cast<double>(i) / static_cast<double>(shape[0]) - 1,
                     v = 2 * static_cast<double>(j) / static_cast<double>(shape[1]) - 1;
        object.all()(i, j, k) = static_cast<float>((u * u + v * v < 0.5 ? 1 : 0.2) + 0.2 * uniform());
      }
  auto const exact = std::visit(
      [&](auto const& scan) { return define_forward(scan, cylinders_of(object, masked_in(s)).data, masked_in(s)); }, s);
  array<3> y(sinogram_shape(s));
  for (std::size_t n = 0; n < exact.size(); ++n)
    y.data[n] = static_cast<float>(exact[n] * (1 + 0.04 * (uniform() - 0.5)) + 0.01);
  return y;
}
/// Weights between 0 and 1, every seventh of them 0.
inline array<3> patchy_weights(any_scan const& s, unsigned seed) {
  auto w = random_array<3>(sinogram_shape(s), seed);
  for (std::size_t n = 0; n < w.data.size(); n += 7) w.data[n] = 0;
  return w;
}

/// Three iterations over different partitions, with sigmas that are given.
inline recon_options small_options() {
  recon_options o;
  o.max_iterations = 3, o.stop_threshold_change_pct = 0, o.seed = 5;
  o.granularity = {1, 2, 4, 7}, o.partition_sequence = {2, 1, 3};
  o.sigma_y = 0.3, o.sigma_x = 0.2, o.sigma_prox = 0.3;
  return o;
}
inline vcd_problem make_problem(any_parameters const& p, unsigned seed, recon_options const& o = small_options()) {
  auto const s = make_scan(p);
  return {
      .scan = s, .sinogram = noisy_sinogram(s, seed), .start = random_array<3>(recon_shape(s), seed + 1), .options = o};
}

inline parallel_parameters odd_parallel() {
  return {.sinogram_shape = {7, 3, 11},
          .angles = some_angles(7),
          .det_channel_offset = 0.25,
          .delta_voxel = 1,
          .recon_shape = shape_3{9, 11, 3}};
}
inline cone_parameters odd_cone() {
  return {.sinogram_shape = {6, 5, 9},
          .angles = some_angles(6),
          .source_detector_dist = 36,
          .source_iso_dist = 18,
          .det_channel_offset = 0.2,
          .det_row_offset = -0.3,
          .delta_voxel = 0.55,
          .recon_shape = shape_3{7, 8, 5},
          .recon_slice_offset = 0.15};
}
inline cone_parameters helical_cone() {
  auto p = odd_cone();
  p.sinogram_shape = {7, 5, 9}, p.angles = some_angles(7),
  p.helical_z_shifts = {-1.5f, -1.0f, -0.4f, 0.1f, 0.7f, 1.2f, 1.8f};
  p.recon_shape = shape_3{7, 8, 9}, p.recon_slice_offset = 0.1;
  return p;
}
/// Subsets of so few pixels that they back-project view by view, two views per task. Mirrored: whole packs on either
/// side of the source plane.
enum class small_subset_case { parallel, cone, mirrored };
inline char const* name_of(small_subset_case kind) {
  return kind == small_subset_case::parallel ? "parallel" : kind == small_subset_case::cone ? "cone" : "cone_mirrored";
}
inline any_parameters small_subset_parameters(small_subset_case kind) {
  if (kind == small_subset_case::parallel)
    return parallel_parameters{.sinogram_shape = {33, 13, 20},
                               .angles = some_angles(33),
                               .det_channel_offset = 0.3,
                               .delta_voxel = 0.9,
                               .recon_shape = shape_3{10, 11, 13}};
  index_t const rows = kind == small_subset_case::mirrored ? 32 : 13,
                slices = kind == small_subset_case::mirrored ? 32 : 12;
  return cone_parameters{.sinogram_shape = {16, rows, 20},
                         .angles = some_angles(16),
                         .source_detector_dist = 60,
                         .source_iso_dist = 33,
                         .det_row_offset = kind == small_subset_case::mirrored ? 0 : 0.4,
                         .delta_voxel = 0.8,
                         .recon_shape = shape_3{10, 11, slices}};
}
inline vcd_problem small_subset_problem(unsigned seed, small_subset_case kind) {
  auto o = small_options();
  o.granularity = {20, 24, 16}, o.partition_sequence = {0, 1, 2};
  return make_problem(small_subset_parameters(kind), seed, o);
}
constexpr small_subset_case all_small_subset_cases[] = {small_subset_case::parallel, small_subset_case::cone,
                                                        small_subset_case::mirrored};

/// Every number of two records, to the bit.
inline void expect_same_record(recon_log const& a, recon_log const& b) {
  auto const same = [](std::vector<double> const& u, std::vector<double> const& v) {
    return u.size() == v.size() && (u.empty() || std::memcmp(u.data(), v.data(), u.size() * sizeof(double)) == 0);
  };
  EXPECT_EQ(a.num_iterations, b.num_iterations);
  EXPECT_EQ(a.granularity, b.granularity);
  EXPECT_EQ(a.partition_sequence, b.partition_sequence);
  EXPECT_TRUE(same(a.fm_rmse, b.fm_rmse));
  EXPECT_TRUE(same(a.prior_loss, b.prior_loss));
  EXPECT_TRUE(same({a.sigma_y, a.sigma_x, a.sigma_prox}, {b.sigma_y, b.sigma_x, b.sigma_prox}));
  EXPECT_TRUE(same(a.stop_threshold_change_pct, b.stop_threshold_change_pct));
  EXPECT_TRUE(same(a.alpha_values, b.alpha_values));
  ASSERT_EQ(a.delta_norm_per_slice.size(), b.delta_norm_per_slice.size());
  for (std::size_t k = 0; k < a.delta_norm_per_slice.size(); ++k)
    EXPECT_TRUE(same(a.delta_norm_per_slice[k], b.delta_norm_per_slice[k])) << k;
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.cancelled, b.cancelled);
}

}  // namespace mbirk::test
