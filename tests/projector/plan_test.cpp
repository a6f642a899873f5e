// Projections with a plan: the bits and the counts of those without, any number of calls, clear errors.
#include "mbirk/projector/plan.hpp"

#include <utility>

#include "instrument/same_counts.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "projector/cases.hpp"
#include "projector/spread_array.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

context const host{exec::host{2}, instrument::none{}};

struct Plan : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  array<3> const recon = random_array<3>(recon_shape(s), 1), sinogram = random_array<3>(sinogram_shape(s), 2);
  pixel_list const pixels = some_pixels(s, 29, 3);
  array<2> const values = cylinders_of(recon, pixels);
};

TEST_P(Plan, ChangesNoBit) {
  for (int const threads : {1, 2}) {
    auto const r = run_planned(s, recon, sinogram, pixels, threads);
    for (int const call : {0, 1}) {
      EXPECT_TRUE(same_bits(r.forward[call].data, forward(s, recon).data)) << threads;
      EXPECT_TRUE(same_bits(r.back[call].data, back(s, sinogram).data)) << threads;
      EXPECT_TRUE(same_bits(r.sparse_forward[call].data, sparse_forward(s, values, pixels).data)) << threads;
      EXPECT_TRUE(same_bits(r.sparse_back[call].data, sparse_back(s, sinogram, pixels, 2).data)) << threads;
    }
  }
}

TEST_P(Plan, OfStridedArrays) {
  spread_array<3> x(recon), y(sinogram_shape(s)), in(sinogram), out(recon_shape(s)), sparse_y(sinogram_shape(s));
  spread_array<2> v(values), to_v(values.shape);
  std::visit(
      [&](auto const& scan) {
        projection_plan const masked(host, scan, x.all().strides()),
            listed(host, scan, as_view(pixels), v.all().strides());
        forward_project(host, masked, x.all(), y.all());
        back_project(host, masked, in.all(), out.all());
        sparse_forward_project(host, listed, v.all(), sparse_y.all());
        sparse_back_project(host, listed, in.all(), to_v.all());
      },
      s);
  EXPECT_TRUE(same_bits(y.dense(), forward(s, recon).data) && y.gaps_untouched());
  EXPECT_TRUE(same_bits(out.dense(), back(s, sinogram).data) && out.gaps_untouched());
  EXPECT_TRUE(same_bits(sparse_y.dense(), sparse_forward(s, values, pixels).data) && sparse_y.gaps_untouched());
  EXPECT_TRUE(same_bits(to_v.dense(), sparse_back(s, sinogram, pixels, 1).data) && to_v.gaps_untouched());
}

INSTANTIATE_TEST_SUITE_P(Projector, Plan, ::testing::ValuesIn(all_cases()), case_name);

parallel_parameters parallel() {
  return {.sinogram_shape = {3, 4, 5}, .angles = {0, 1, 2}, .recon_shape = shape_3{6, 7, 4}};
}
cone_parameters cone() {
  return {.sinogram_shape = {3, 4, 5},
          .angles = {0, 1, 2},
          .source_detector_dist = 40,
          .source_iso_dist = 20,
          .recon_shape = shape_3{6, 7, 4}};
}

// Without and with a plan; the plan is a record of its own.
TEST(ProjectionPlan, ChangesNoCountAndSuitsTheCostModel) {
  auto const check = [](auto const& scan) {
    array<3> x(scan.recon_shape(), 1.0f), y(scan.sinogram_shape());
    instrument::ledger counted, modelled;
    context const counting{exec::host{1}, instrument::counting<>{counted}};
    context const cost_model{exec::host{1}, instrument::cost_model<>{modelled}};
    forward_project(counting, scan, x.all(), y.all());
    back_project(counting, scan, y.all(), x.all());
    projection_plan const plan(counting, scan);
    forward_project(counting, plan, x.all(), y.all());
    back_project(counting, plan, y.all(), x.all());
    projection_plan const model_plan(cost_model, scan);
    view<float, 3> const no_x(nullptr, scan.recon_shape()), no_y(nullptr, scan.sinogram_shape());
    forward_project(cost_model, model_plan, no_x, no_y);
    back_project(cost_model, model_plan, no_y, no_x);
    auto const &a = counted.records(), &b = modelled.records();
    ASSERT_EQ(a.size(), 5u);
    ASSERT_EQ(b.size(), 3u);
    EXPECT_EQ(a[2].name, "projection_plan");
    EXPECT_EQ(a[2].items, plan.pixels());
    for (std::size_t k = 0; k < 2; ++k) {
      expect_same_counts(a[k], a[3 + k]);
      expect_same_counts(a[k], b[1 + k]);
    }
  };
  check(parallel_scan(parallel()));
  check(cone_scan(cone()));
}

TEST(ProjectionPlan, OfNoPixels) {
  auto p = parallel();
  p.use_ror_mask = mask_array{{6, 7}, std::vector<std::uint8_t>(42)};
  parallel_scan const scan(p);
  array<3> recon({6, 7, 4}, 7), sinogram({3, 4, 5}, 7);
  projection_plan const masked(host, scan), listed(host, scan, view<std::int32_t const, 1>(nullptr, {0}));
  EXPECT_EQ(masked.pixels(), 0);
  EXPECT_EQ(listed.pixels(), 0);
  forward_project(host, masked, recon.all(), sinogram.all());
  EXPECT_EQ(sinogram.data, std::vector<float>(60, 0.0f));
  back_project(host, masked, sinogram.all(), recon.all());
  EXPECT_EQ(recon.data, std::vector<float>(168, 0.0f));
  sinogram.data.assign(60, 7);
  view<float, 2> const no_values(nullptr, {0, 4});
  sparse_forward_project(host, listed, no_values, sinogram.all());
  EXPECT_EQ(sinogram.data, std::vector<float>(60, 0.0f));
  EXPECT_NO_THROW(sparse_back_project(host, listed, sinogram.all(), no_values));
}

// It owns its scan, and its memory stays where it is.
TEST(ProjectionPlan, OutlivesItsScanAndMoves) {
  array<3> const recon = random_array<3>({6, 7, 4}, 1);
  array<3> found({3, 4, 5}), again = found;
  projection_plan plan(context{exec::host{1}, instrument::none{}}, cone_scan(cone()));
  EXPECT_EQ(plan.scan().recon_shape(), (shape_3{6, 7, 4}));
  forward_project(host, plan, recon.all(), found.all());
  auto const moved = std::move(plan);
  forward_project(host, moved, recon.all(), again.all());
  EXPECT_TRUE(same_bits(found.data, forward(cone_scan(cone()), recon).data));
  EXPECT_TRUE(same_bits(found.data, again.data));
  static_assert(!std::is_copy_constructible_v<decltype(plan)>);
}

/// f throws Error with the words.
template <class Error, class F> void expect_refused(F const& f, std::string const& words) {
  try {
    f();
    ADD_FAILURE() << "accepted, expected: " << words;
  } catch (Error const& e) {
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << "no '" << words << "' in: " << e.what();
  }
}

TEST(ProjectionPlan, RefusesWhatItIsNotMadeFor) {
  parallel_scan const scan(parallel());
  array<3> recon({6, 7, 4}), sinogram({3, 4, 5}), wide({6, 8, 4});
  pixel_list const pixels{0, 41, 20}, outside{0, 42};
  array<2> values({3, 4}), more({4, 4});
  projection_plan masked(host, scan);
  projection_plan const listed(host, scan, as_view(pixels));
  expect_refused<index_error>([&] { projection_plan(host, scan, as_view(outside)); },
                              "projection_plan: pixel_indices[1] is 42, expected 0 to 41");
  expect_refused<parameter_error>(
      [&] { forward_project(host, listed, recon.all(), sinogram.all()); },
      "forward_project: the plan is of a list of pixels, expected one of the pixels inside the mask");
  expect_refused<parameter_error>([&] { back_project(host, listed, sinogram.all(), recon.all()); },
                                  "back_project: the plan is of a list of pixels");
  expect_refused<parameter_error>(
      [&] { sparse_forward_project(host, masked, values.all(), sinogram.all()); },
      "sparse_forward_project: the plan is of the pixels inside the mask, expected one of a list of pixels");
  expect_refused<parameter_error>([&] { sparse_back_project(host, masked, sinogram.all(), values.all()); },
                                  "sparse_back_project: the plan is of");
  expect_refused<shape_error>([&] { forward_project(host, masked, wide.all(), sinogram.all()); },
                              "(rows, cols, slices) = (6, 7, 4)");
  expect_refused<shape_error>([&] { back_project(host, masked, recon.all(), recon.all()); },
                              "(views, rows, channels) = (3, 4, 5)");
  expect_refused<shape_error>([&] { sparse_back_project(host, listed, sinogram.all(), more.all()); },
                              "(pixels, slices) = (3, 4)");
  expect_refused<parameter_error>([&] { sparse_back_project(host, listed, sinogram.all(), values.all(), 3); },
                                  "coeff_power is 3, expected 1 or 2");
  view<float, 3> const part(wide.data.data(), {6, 7, 4}, wide.all().strides());
  expect_refused<shape_error>([&] { forward_project(host, masked, part, sinogram.all()); },
                              "forward_project: recon has strides (32, 4, 1), expected those of the plan = (28, 4, 1)");
  expect_refused<shape_error>([&] { back_project(host, masked, sinogram.all(), part); },
                              "back_project: recon has strides (32, 4, 1)");
  array<2> spaced({3, 9});
  view<float, 2> const columns(spaced.data.data(), {3, 4}, {9, 1});
  expect_refused<shape_error>(
      [&] { sparse_forward_project(host, listed, columns, sinogram.all()); },
      "sparse_forward_project: voxel_values has strides (9, 1), expected those of the plan = (4, 1)");
  auto const moved = std::move(masked);
  expect_refused<parameter_error>([&] { forward_project(host, masked, recon.all(), sinogram.all()); },
                                  "forward_project: the plan was moved from");
  EXPECT_NO_THROW(forward_project(host, moved, recon.all(), sinogram.all()));
}

}  // namespace
