// Split reconstructions: halves are parts of the whole scan, contain every sample that sees them, and are joined by the
// rules of stitch_arrays.
#include "mbirk/recon/split.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/messages.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace {

using namespace mbirk;
using values = std::vector<float>;
using shape = std::array<index_t, 3>;

using host_context = context<exec::host, instrument::none>;
host_context const ctx{exec::host{1}};

std::size_t count(shape const& s) { return static_cast<std::size_t>(s[0] * s[1] * s[2]); }
view<float const, 3> see(values const& v, shape const& s) { return {v.data(), s}; }
view<float, 3> see(values& v, shape const& s) { return {v.data(), s}; }

/// Odd sizes, every offset and pitch different from its default.
cone_parameters tall() {
  cone_parameters p{.sinogram_shape = {9, 41, 13}, .angles = {}, .source_detector_dist = 90, .source_iso_dist = 45};
  for (int v = 0; v < 9; ++v) p.angles.push_back(static_cast<float>(6.2831853 * v / 9));
  p.delta_det_channel = 1.1, p.delta_det_row = 0.9, p.det_channel_offset = 0.3, p.det_row_offset = 0.7;
  p.delta_voxel = 0.5, p.recon_shape = shape{13, 14, 39}, p.recon_slice_offset = 0.2;
  return p;
}
cone_parameters with(auto const& change) {
  auto p = tall();
  change(p);
  return p;
}
std::vector<cone_parameters> cases() {
  return {tall(),
          with([](auto& p) {
            p.voxel_slice_aspect = 1.7, p.recon_shape = shape{13, 14, 27};
          }),  // slices thicker than rows
          with([](auto& p) {
            p.voxel_slice_aspect = 0.6, p.recon_shape = shape{13, 14, 61};
          }),
          with([](auto& p) { p.use_ror_mask = false, p.use_curved_detector = true; }),
          with([](auto& p) {
            p.source_detector_dist = INFINITY, p.delta_voxel = 1.0, p.recon_shape = shape{11, 11, 39};
          }),
          with([](auto& p) {
            p.delta_voxel.reset(), p.recon_shape.reset(), p.recon_slice_offset.reset(),
                p.helical_z_shifts.assign(9, 0.0f);
          })};
}
cone_parameters of_half(cone_parameters p, split_half const& h) {
  cone_scan const whole(p);
  auto const& g = whole.geometry();
  p.sinogram_shape[1] = h.rows, p.det_row_offset = h.det_row_offset;
  p.delta_voxel = g.delta_x, p.recon_shape = shape{g.recon_rows, g.recon_cols, h.slices},
  p.recon_slice_offset = h.recon_slice_offset;
  return p;
}

values noise(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  values v;
  for (std::size_t k = 0; k < n; ++k) v.push_back(static_cast<float>(engine() >> 8) * 0x1p-24f);
  return v;
}
/// The projection of a cylinder with structure along the axis, in units where the noise is small.
values sinogram_of(cone_scan const& s) {
  auto const r = s.recon_shape();
  values x(count(r)), y(count(s.sinogram_shape()));
  for (index_t i = 0; i < r[0]; ++i)
    for (index_t j = 0; j < r[1]; ++j)
      for (index_t k = 0; k < r[2]; ++k) {
        double const u = 2.0 * static_cast<double>(i) / static_cast<double>(r[0] - 1) - 1,
                     v = 2.0 * static_cast<double>(j) / static_cast<double>(r[1] - 1) - 1;
        see(x, r)(i, j, k) = u * u + v * v < 0.6 ? 1 + 0.3f * std::sin(0.4f * static_cast<float>(k)) : 0.0f;
      }
  forward_project(ctx, s, see(std::as_const(x), r), see(y, s.sinogram_shape()));
  return y;
}
template <class Error = parameter_error, class F> std::string refusal(F const& f) { return test::message_of<Error>(f); }

/// The formulas published with MBIRJAX, in their original form.
TEST(SplitPlan, FollowsTheFormulas) {
  for (auto const& p : cases())
    for (index_t const half_overlap : {2, 5}) {
      cone_scan const s(p);
      auto const& g = s.geometry();
      auto const plan = plan_split(p, {.half_overlap = half_overlap});
      double const magnification = std::isinf(p.source_detector_dist) ? 1 : p.source_detector_dist / p.source_iso_dist;
      double const rho = p.delta_det_row / magnification / g.delta_z;
      double const height = static_cast<double>(g.recon_rows) * g.delta_y,
                   width = static_cast<double>(g.recon_cols) * g.delta_x;
      double const radius =
          std::get<bool>(p.use_ror_mask) ? std::max(height, width) / 2 : std::hypot(height, width) / 2;
      double const reach = std::isinf(p.source_detector_dist) ? 0 : radius / p.source_iso_dist;
      double const rows =
          rho < 1 ? std::nearbyint(static_cast<double>(half_overlap) / rho) : static_cast<double>(half_overlap);
      auto const o_x = static_cast<index_t>(std::ceil(rows * (1 + reach) * rho)) + 2, o_s = static_cast<index_t>(rows);
      EXPECT_EQ(plan.row_overlap, o_s);
      EXPECT_EQ(plan.slice_overlap, o_x);

      auto const cut = static_cast<index_t>(
          std::nearbyint(static_cast<double>(g.rows - 1) / 2 + p.det_row_offset / p.delta_det_row));
      double const f = static_cast<double>(g.slices - 1) / 2 - g.recon_slice_offset / g.delta_z;
      auto const split = static_cast<index_t>(std::nearbyint(f)), top = split + 1;
      double const eta = static_cast<double>(split) - f;
      ASSERT_TRUE(plan.possible);
      EXPECT_EQ(plan.top.first_row, 0);
      EXPECT_EQ(plan.top.rows, cut + o_s);
      EXPECT_EQ(plan.top.first_slice, 0);
      EXPECT_EQ(plan.top.slices, top + o_x);
      EXPECT_EQ(plan.bottom.first_row, cut - o_s);
      EXPECT_EQ(plan.bottom.rows, g.rows - cut + o_s);
      EXPECT_EQ(plan.bottom.first_slice, top - o_x);
      EXPECT_EQ(plan.bottom.slices, g.slices - top + o_x);
      double const overlap = static_cast<double>(o_x),
                   tolerance = 1e-12 * static_cast<double>(g.slices);  // a few roundings of numbers of this size
      EXPECT_NEAR(plan.top.recon_slice_offset,
                  (overlap - static_cast<double>(plan.top.slices - 1) / 2 + eta) * g.delta_z, tolerance);
      EXPECT_NEAR(plan.bottom.recon_slice_offset,
                  (-overlap + static_cast<double>(plan.bottom.slices - 1) / 2 + 1 + eta) * g.delta_z, tolerance);
      for (auto const& h : {plan.top, plan.bottom})
        EXPECT_NEAR(h.det_row_offset,
                    p.det_row_offset + (static_cast<double>(g.rows - 1) / 2 -
                                        (static_cast<double>(h.rows - 1) / 2 + static_cast<double>(h.first_row))) *
                                           p.delta_det_row,
                    tolerance);
      EXPECT_LE(std::abs(plan.mismatch), 0.5);
      EXPECT_EQ(plan.grid_shift, 0);
    }
}

/// The matrix of a half is the part of the whole matrix that belongs to its rows and slices, and the rows of a half see
/// only its slices: so the sinogram of the whole object and that of the slices of a half agree there. Tolerance: equal
/// weights from coordinates in double, which differ by their rounding only, and sums in float32 of at most 14 x 14
/// pixels: 400 roundings of 6e-8.
TEST(SplitPlan, HalvesArePartsOfTheScanAndSeeAllTheyShould) {
  for (auto const& p : cases()) {
    cone_scan const whole(p);
    auto const r = whole.recon_shape(), y_shape = whole.sinogram_shape();
    auto const x = noise(count(r), 1);
    values y(count(y_shape));
    forward_project(ctx, whole, see(x, r), see(y, y_shape));
    auto const plan = plan_split(p, {.half_overlap = 3});
    ASSERT_TRUE(plan.possible);
    for (auto const& h : {plan.top, plan.bottom}) {
      cone_scan const half(of_half(p, h));
      auto const hr = half.recon_shape(), hy = half.sinogram_shape();
      values part(count(hr)), z(count(hy));
      for (index_t i = 0; i < hr[0]; ++i)
        for (index_t j = 0; j < hr[1]; ++j)
          for (index_t k = 0; k < hr[2]; ++k) see(part, hr)(i, j, k) = see(x, r)(i, j, k + h.first_slice);
      forward_project(ctx, half, see(std::as_const(part), hr), see(z, hy));
      float const peak = *std::max_element(y.begin(), y.end());
      for (index_t v = 0; v < hy[0]; ++v)
        for (index_t m = 0; m < hy[1]; ++m)
          for (index_t n = 0; n < hy[2]; ++n)
            ASSERT_NEAR(see(z, hy)(v, m, n), see(y, y_shape)(v, m + h.first_row, n), 2.4e-5 * peak)
                << v << ' ' << m << ' ' << n;
    }
  }
}

TEST(SplitPlan, AlignmentRemovesTheMismatch) {
  for (auto const& p : cases()) {
    cone_scan const s(p);
    auto const plain = plan_split(p, {.half_overlap = 2}),
               aligned = plan_split(p, {.half_overlap = 2, .align_split_grid = true});
    EXPECT_NEAR(aligned.mismatch, 0, 1e-12);
    EXPECT_LE(std::abs(aligned.grid_shift), std::abs(plain.mismatch) * s.geometry().delta_z + 1e-12)
        << "the best of several rows";
    auto shifted = p;
    shifted.delta_voxel = s.geometry().delta_x, shifted.recon_shape = s.recon_shape();
    shifted.recon_slice_offset = s.geometry().recon_slice_offset + aligned.grid_shift;
    auto const moved = plan_split(shifted, {.half_overlap = 2, .align_split_grid = true});
    EXPECT_NEAR(moved.grid_shift, 0, 1e-12);
    EXPECT_NEAR(moved.top.recon_slice_offset, aligned.top.recon_slice_offset, 1e-12);
    EXPECT_EQ(moved.top.slices, aligned.top.slices);
  }
}

TEST(SplitPlan, RefusesWhatItCannotCut) {
  auto p = tall();
  EXPECT_EQ(refusal([&] { plan_split(p, {.half_overlap = 1}); }),
            "split_sino_recon: half_overlap is 1, expected at least 2");
  p.helical_z_shifts.assign(9, 0.0f), p.helical_z_shifts[3] = 1;
  EXPECT_TRUE(refusal([&] { plan_split(p); }).ends_with("expected a circular scan"));
  p = tall();
  p.det_row_offset = 21 * 0.9;  // the middle of 41 rows is 20
  EXPECT_TRUE(
      refusal([&] {
        plan_split(p);
      }).starts_with("split_sino_recon: the plane of the source meets detector row 41, expected one from 1 to 40"));
  p.det_row_offset = -20 * 0.9;
  EXPECT_TRUE(
      refusal([&] { plan_split(p); }).starts_with("split_sino_recon: the plane of the source meets detector row 0,"));
}

struct Split : testing::Test {
  cone_parameters const p = tall();
  cone_scan const scan{p};
  shape const y_shape = scan.sinogram_shape(), r = scan.recon_shape();
  values const y = sinogram_of(scan), w = noise(count(y_shape), 2);
  recon_options options{{.max_iterations = 3, .stop_threshold_change_pct = 0, .seed = 1},
                        {.granularity = {1, 4}, .partition_sequence = {1}}};

  values run(recon_options const& o, split_options const& split = {}, bool weighted = false,
             host_context const& on = ctx) {
    values x(count(r), NAN);
    record = split_sino_recon(on, p, see(y, y_shape), weighted ? std::optional(see(w, y_shape)) : std::nullopt,
                              see(x, r), o, split);
    return x;
  }
  split_record record;
};

/// By hand: the sigmas of the whole without weights, recon of each half, stitch_arrays.
TEST_F(Split, IsTwoReconstructionsStitched) {
  for (bool const weighted : {false, true}) {
    auto const plan = plan_split(p);
    auto const sigmas = auto_regularization(ctx, scan, see(y, y_shape), std::nullopt, 30, 1);
    auto o = options;
    o.sigma_y = sigmas.sigma_y, o.sigma_x = sigmas.sigma_x;
    auto const take = [&](values const& from, split_half const& h) {
      values part;
      for (index_t v = 0; v < y_shape[0]; ++v) {
        auto const* first = &see(from, y_shape)(v, h.first_row, 0);
        part.insert(part.end(), first, first + h.rows * y_shape[2]);
      }
      return part;
    };
    std::vector<values> halves;
    std::vector<view<float const, 3>> views;
    for (auto const& h : {plan.top, plan.bottom}) {
      cone_scan const half(of_half(p, h));
      auto const rows = take(y, h), weights = take(w, h);
      auto const hy = half.sinogram_shape();
      auto& x = halves.emplace_back(count(half.recon_shape()), NAN);
      recon(ctx, half, see(rows, hy), weighted ? std::optional(see(weights, hy)) : std::nullopt,
            see(x, half.recon_shape()), o);
    }
    views.push_back(see(std::as_const(halves[0]), {r[0], r[1], plan.top.slices})),
        views.push_back(see(std::as_const(halves[1]), {r[0], r[1], plan.bottom.slices}));
    values expected(count(r));
    stitch_arrays(views, see(expected, r), 2 * plan.slice_overlap, 2, 4);
    EXPECT_EQ(run(options, {}, weighted), expected);
    EXPECT_TRUE(record.split);
    EXPECT_EQ(record.top.sigma_y, sigmas.sigma_y);
    EXPECT_EQ(record.bottom.sigma_x, sigmas.sigma_x);
    EXPECT_EQ(record.top.num_iterations, 3);
    EXPECT_EQ(record.bottom.num_iterations, 3);
  }
}

/// The purpose of splitting: the image nearly equals that of the whole scan. Measured: 1.3 % apart after 8 iterations
/// along different paths; a half that is misplaced by half a detector row is 18 % off.
TEST_F(Split, IsNearTheWholeReconstruction) {
  auto o = options;
  o.max_iterations = 8;
  auto const x = run(o, {.half_overlap = 4});
  values whole(count(r));
  recon(ctx, scan, see(y, y_shape), std::nullopt, see(whole, r), o);
  double difference = 0, norm = 0;
  for (std::size_t k = 0; k < x.size(); ++k) difference += std::pow(x[k] - whole[k], 2), norm += std::pow(whole[k], 2);
  EXPECT_LT(std::sqrt(difference / norm), 0.04);
  EXPECT_GT(difference, 0);
}

TEST_F(Split, SameBitsForAnyNumberOfThreads) { EXPECT_EQ(run(options), run(options, {}, false, {exec::host{3}})); }

TEST_F(Split, InitialImages) {
  auto o = options;
  o.max_iterations = 0;  // the initial image itself: it survives being cut and joined
  auto const image = noise(count(r), 3);
  o.init_recon = see(image, r);
  auto const x = run(o);
  for (std::size_t k = 0; k < x.size(); ++k)
    ASSERT_NEAR(x[k], image[k], 1.2e-7);  // (1 - w) a + w a: two roundings below 1
  o.init_recon = 0.25;
  EXPECT_EQ(run(o), values(count(r), 0.25f));
  o.max_iterations = 2, o.init_recon = see(image, r);
  EXPECT_NE(run(o), run(options));
}

TEST_F(Split, GivenSigmasAreUsed) {
  auto o = options;
  o.sigma_y = 0.5, o.sigma_x = 0.25;
  run(o);
  EXPECT_EQ(record.top.sigma_y, 0.5);
  EXPECT_EQ(record.bottom.sigma_x, 0.25);
}

TEST_F(Split, ThinHalvesAreReconstructedAsAWhole) {
  auto const x = run(options, {.half_overlap = 18});
  EXPECT_FALSE(record.split);
  EXPECT_FALSE(record.plan.possible);
  ASSERT_EQ(record.warnings.size(), 1u);
  EXPECT_NE(record.warnings[0].find("reconstructed as a whole"), std::string::npos);
  values whole(count(r));
  recon(ctx, scan, see(y, y_shape), std::nullopt, see(whole, r), options);
  EXPECT_EQ(x, whole);
}

TEST_F(Split, CancellingTheFirstHalfLeavesTheSecondAtItsInitialImage) {
  auto o = options;
  o.init_recon = 0.5;
  int calls = 0;
  o.progress = [&](iteration_report const&) { return ++calls < 1; };
  auto const x = run(o);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(record.top.cancelled);
  EXPECT_EQ(record.bottom.num_iterations, 0);
  EXPECT_EQ(see(x, r)(6, 6, r[2] - 1), 0.5f);
  EXPECT_NE(see(x, r)(6, 6, 0), 0.5f);
}

TEST_F(Split, RefusesBadInput) {
  values x(count(r));
  auto const call = [&](shape const& sinogram, shape const& weights, shape const& image, recon_options const& o = {}) {
    split_sino_recon(ctx, p, see(y, sinogram), std::optional(see(w, weights)), see(x, image), o);
  };
  shape const wrong{2, 3, 4};
  EXPECT_TRUE(refusal<shape_error>([&] {
                call(wrong, y_shape, r);
              }).starts_with("split_sino_recon: sinogram has shape (2, 3, 4)"));
  EXPECT_TRUE(
      refusal<shape_error>([&] { call(y_shape, wrong, r); }).starts_with("split_sino_recon: weights has shape"));
  EXPECT_TRUE(
      refusal<shape_error>([&] { call(y_shape, y_shape, wrong); }).starts_with("split_sino_recon: recon has shape"));
  EXPECT_TRUE(refusal<shape_error>([&] {
                call(y_shape, y_shape, r, {{.init_recon = see(std::as_const(x), wrong)}});
              }).starts_with("split_sino_recon: init_recon has"));
  recon_state const state;
  EXPECT_NE(refusal([&] { call(y_shape, y_shape, r, {{.resume = &state}}); }).find("checkpoint or resume"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              call(y_shape, y_shape, r, {{.checkpoint = [](recon_state const&) {}}});
            }).find("checkpoint or resume"),
            std::string::npos);
}

}  // namespace
