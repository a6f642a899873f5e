// Single voxels with known columns, arrays without elements, and changes of a geometry whose effect is known exactly.
#include <numbers>
#include <numeric>

#include "definition/reference_values.hpp"
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// A weight is a product of two overlaps, a chord and a secant, each within 4 roundings or so of numbers of size 1
/// (positions: 3 roundings of the fixed point): 24 roundings of 1.4, the largest entry, and the half unit of the
/// table's last decimal.
double const entry_tolerance = 24 * 1.4 * 0x1p-24 + 5e-8;

void expect_column(any_parameters const& p, index_t slice, std::vector<matrix_entry> const& entries, bool complete) {
  auto const s = make_scan(p);
  array<2> x({1, slices_of(s)});
  x.data[static_cast<std::size_t>(slice)] = 1;
  auto const y = sparse_forward(s, x, {reference_pixel});
  auto const at = y.all();
  double total = 0;
  for (auto const& e : entries) {
    EXPECT_NEAR(at(e.view, e.row, e.channel), e.value, entry_tolerance) << e.view << ", " << e.row << ", " << e.channel;
    total += e.value;
  }
  double const sum = std::accumulate(y.data.begin(), y.data.end(), 0.0);
  EXPECT_TRUE(!complete || std::abs(sum - total) <= 10 * entry_tolerance)
      << "something elsewhere: " << sum << ", expected " << total;

  for (auto const& e : entries) {  // the transposed entry, and its square
    array<3> unit(sinogram_shape(s));
    unit.all()(e.view, e.row, e.channel) = 1;
    EXPECT_NEAR(sparse_back(s, unit, {reference_pixel}, 1).data[static_cast<std::size_t>(slice)], e.value,
                entry_tolerance);
    EXPECT_NEAR(sparse_back(s, unit, {reference_pixel}, 2).data[static_cast<std::size_t>(slice)], e.value * e.value,
                2 * 1.4 * entry_tolerance);
  }
}
TEST(SingleVoxel, Parallel) { expect_column(reference_parallel(), 0, parallel_entries, true); }
TEST(SingleVoxel, ConeFlat) { expect_column(reference_cone(false), reference_slice, flat_entries, true); }
TEST(SingleVoxel, ConeCurved) { expect_column(reference_cone(true), reference_slice, curved_entries, false); }

parallel_parameters base_parallel() {
  return {.sinogram_shape = {5, 4, 20},
          .angles = some_angles(5),
          .delta_det_channel = 0.5,
          .det_channel_offset = 0.15,
          .delta_voxel = 0.45,
          .recon_shape = shape_3{10, 11, 4}};
}
cone_parameters base_cone() {
  return {.sinogram_shape = {5, 12, 24},
          .angles = some_angles(5),
          .source_detector_dist = 30,
          .source_iso_dist = 18,
          .delta_det_channel = 0.5,
          .delta_det_row = 0.5,
          .det_channel_offset = 0.1,
          .det_row_offset = -0.2,
          .delta_voxel = 0.3,
          .recon_shape = shape_3{10, 11, 9}};
}
template <class Parameters> any_parameters with(Parameters p, auto const& change) {
  change(p);
  return p;
}

/// b(v, m + rows, n + channels) == a(v, m, n), as far as both exist. A coordinate that is larger by `channels` is
/// rounded in double, so the two differ by less than a rounding of float32 in the fraction: the tolerance of the
/// operator.
void expect_shifted(any_scan const& from, any_scan const& to, index_t rows, index_t channels) {
  auto const x = random_array<3>(recon_shape(from), 61);
  auto const a = forward(from, x), b = forward(to, x);
  std::vector<float> expected, found;
  for (index_t v = 0; v < a.shape[0]; ++v)
    for (index_t m = 0; m + rows < a.shape[1]; ++m)
      for (index_t n = 0; n + channels < a.shape[2]; ++n)
        expected.push_back(a.all()(v, m, n)), found.push_back(b.all()(v, m + rows, n + channels));
  EXPECT_GT(*std::max_element(found.begin(), found.end()), 0);
  EXPECT_LE(relative_error(found, expected), 2 * tolerance(from, true, 1));
}
TEST(Offsets, ChannelsByWholePitches) {
  expect_shifted(make_scan(base_parallel()),
                 make_scan(with(base_parallel(), [](auto& p) { p.det_channel_offset += 3 * 0.5; })), 0, 3);
  expect_shifted(make_scan(base_cone()), make_scan(with(base_cone(), [](auto& p) { p.det_channel_offset += 3 * 0.5; })),
                 0, 3);
  auto const bend = [](auto& p) { p.use_curved_detector = true; };
  auto const bend_and_move = [](auto& p) { p.use_curved_detector = true, p.det_channel_offset += 2 * 0.5; };
  expect_shifted(make_scan(with(base_cone(), bend)), make_scan(with(base_cone(), bend_and_move)), 0, 2);
}
TEST(Offsets, RowsByWholePitches) {
  expect_shifted(make_scan(base_cone()), make_scan(with(base_cone(), [](auto& p) { p.det_row_offset += 2 * 0.5; })), 2,
                 0);
}
TEST(Offsets, RowsHaveNoEffectInParallelBeam) {
  auto const s = make_scan(base_parallel()),
             moved = make_scan(with(base_parallel(), [](auto&p) { p.det_row_offset = 7; }));
  auto const x = random_array<3>(recon_shape(s), 62);
  EXPECT_TRUE(same_bits(forward(s, x).data, forward(moved, x).data));
}
TEST(Offsets, HelixMovesTheObjectDown) {
  // Lowering z by zeta is raising the recon's offset by -zeta; both are exact in binary.
  auto const shifted =
      make_scan(with(base_cone(), [](auto& p) { p.helical_z_shifts.assign(5, 0.75f), p.recon_slice_offset = 1.0; }));
  auto const plain = make_scan(with(base_cone(), [](auto& p) { p.recon_slice_offset = 0.25; }));
  auto const x = random_array<3>(recon_shape(plain), 63);
  EXPECT_TRUE(same_bits(forward(shifted, x).data, forward(plain, x).data));
}

// The angle of a full turn more is rounded to float32 (half a unit of 2^-21 below 8), so is the turn itself (2e-7): the
// pixels, 8 voxels from the axis at most, move by that part of 8 * 0.45 / 0.5 channels (cone: 8 * 0.3 * 30 / (18 - 2.4)
// / 0.5).
template <class Parameters> void expect_full_turn(Parameters const& p, double reach) {
  auto const s = make_scan(p), turned = make_scan(with(p, [](auto& q) {
    for (auto& a : q.angles) a += 2 * std::numbers::pi_v<float>;
  }));
  auto const x = random_array<3>(recon_shape(s), 64);
  double const moved = reach * (0x1p-22 + 2e-7);
  EXPECT_LE(relative_error(forward(turned, x).data, forward(s, x).data), 2 * tolerance(s, true, 1) + 2 * moved);
}
TEST(Angles, OneTurnMoreIsTheSame) {
  expect_full_turn(base_parallel(), 8 * 0.45 / 0.5);
  expect_full_turn(base_cone(), 8 * 0.3 * 30 / (18 - 2.4) / 0.5);
}

// Half a turn mirrors the channels of a parallel beam whose detector is centred.
TEST(Angles, HalfATurnMirrorsTheChannels) {
  auto p = base_parallel();
  p.det_channel_offset = 0;
  p.angles = {0.0f, 0.4f, 1.0f, 1.3f, 1.5f};
  auto q = p;
  for (auto& a : q.angles) a += std::numbers::pi_v<float>;
  auto const s = make_scan(p), turned = make_scan(q);
  auto const x = random_array<3>(recon_shape(s), 65);
  auto const a = forward(s, x), b = forward(turned, x);
  array<3> mirrored(b.shape);
  for (index_t v = 0; v < 5; ++v)
    for (index_t m = 0; m < 4; ++m)
      for (index_t n = 0; n < 20; ++n) mirrored.all()(v, m, n) = b.all()(v, m, 19 - n);
  EXPECT_LE(relative_error(mirrored.data, a.data), 2 * tolerance(s, true, 1) + 2 * 8 * 0.45 / 0.5 * (0x1p-22 + 1e-7));
}

TEST(Equivalence, InfiniteDistanceIsParallelBeam) {
  auto const p = base_parallel();
  cone_parameters c{.sinogram_shape = p.sinogram_shape,
                    .angles = p.angles,
                    .source_detector_dist = std::numeric_limits<double>::infinity(),
                    .delta_det_channel = p.delta_det_channel,
                    .delta_det_row = *p.delta_voxel,
                    .det_channel_offset = p.det_channel_offset,
                    .delta_voxel = p.delta_voxel,
                    .recon_shape = p.recon_shape};
  auto const parallel = make_scan(p), cone = make_scan(c);
  auto const x = random_array<3>(recon_shape(parallel), 66), y = random_array<3>(sinogram_shape(parallel), 67);
  EXPECT_LE(relative_error(forward(cone, x).data, forward(parallel, x).data),
            tolerance(cone, true, 1) + tolerance(parallel, true, 1));
  EXPECT_LE(relative_error(back(cone, y).data, back(parallel, y).data),
            tolerance(cone, false, 1) + tolerance(parallel, false, 1));
  EXPECT_LE(relative_error(hessian(cone).data, hessian(parallel).data),
            tolerance(cone, false, 2) + tolerance(parallel, false, 2));
}

TEST(Equivalence, SetViewsIsANewScan) {
  auto p = base_cone();
  cone_scan changed(p);
  p.angles = {0.3f, 0.6f, 0.7f, 2.0f, 3.0f}, p.helical_z_shifts = {0.0f, 0.1f, 0.2f, 0.3f, 0.4f};
  changed.set_views(p.angles, p.helical_z_shifts);
  p.recon_slice_offset = changed.geometry().recon_slice_offset;
  auto const x = random_array<3>(changed.recon_shape(), 68);
  EXPECT_TRUE(same_bits(forward(changed, x).data, forward(cone_scan(p), x).data));
}

/// Geometries in which an axis has no element.
std::vector<geometry_case> empty_cases() {
  std::vector<geometry_case> cases;
  auto const add = [&](std::string const& name, shape_3 const& sinogram, shape_3 const& recon) {
    cases.push_back(
        {"parallel_" + name,
         parallel_parameters{.sinogram_shape = sinogram, .angles = some_angles(sinogram[0]), .recon_shape = recon}});
    cases.push_back({"cone_" + name, cone_parameters{.sinogram_shape = sinogram,
                                                     .angles = some_angles(sinogram[0]),
                                                     .source_detector_dist = 60,
                                                     .source_iso_dist = 40,
                                                     .delta_voxel = 1,
                                                     .recon_shape = recon}});
  };
  add("no_views", {0, 4, 9}, {8, 7, 4});
  add("no_rows_nor_slices", {3, 0, 9}, {8, 7, 0});
  add("no_channels", {3, 4, 0}, {8, 7, 4});
  add("no_grid_rows", {3, 4, 9}, {0, 7, 4});
  add("no_grid_columns", {3, 4, 9}, {8, 0, 4});
  add("nothing", {0, 0, 0}, {0, 0, 0});
  add("nothing_inside", {3, 4, 9}, {2, 2, 4});
  cases.push_back({"cone_no_slices", cone_parameters{.sinogram_shape = {3, 4, 9},
                                                     .angles = some_angles(3),
                                                     .source_detector_dist = 60,
                                                     .source_iso_dist = 40,
                                                     .delta_voxel = 1,
                                                     .recon_shape = shape_3{8, 7, 0}}});
  cases.push_back({"cone_no_rows", cone_parameters{.sinogram_shape = {3, 0, 9},
                                                   .angles = some_angles(3),
                                                   .source_detector_dist = 60,
                                                   .source_iso_dist = 40,
                                                   .delta_voxel = 1,
                                                   .recon_shape = shape_3{8, 7, 4}}});
  return cases;
}
struct Empty : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
};
TEST_P(Empty, EveryOperationReturnsZeros) {
  bool const back_sees = GetParam().name.ends_with("nothing_inside");  // unlisted pixels exist and are visible there
  for (float const y : forward(s, random_array<3>(recon_shape(s), 71), 2).data) ASSERT_EQ(y, 0);
  for (float const x : back(s, random_array<3>(sinogram_shape(s), 72), 2).data) ASSERT_EQ(x, 0);
  for (float const y : sparse_forward(s, array<2>({0, slices_of(s)}), {}, 2).data) ASSERT_EQ(y, 0) << "an empty list";
  EXPECT_TRUE(sparse_back(s, random_array<3>(sinogram_shape(s), 73), {}, 1, 2).data.empty());
  for (float const h : hessian(s, random_array<3>(sinogram_shape(s), 74), 2).data)
    ASSERT_TRUE(back_sees ? h > 0 : h == 0);
  auto const unit = hessian(s, {}, 2);
  for (float const h : unit.data) ASSERT_TRUE(back_sees ? h > 0 : h == 0);
  if (unit.data.empty()) return;
  auto const everything = every_pixel(s);
  auto const x = random_array<2>({static_cast<index_t>(everything.size()), slices_of(s)}, 75);
  auto const y = sparse_forward(s, x, everything, 2);
  EXPECT_EQ(y.data.size(), count_of(sinogram_shape(s)));
}
INSTANTIATE_TEST_SUITE_P(Projector, Empty, ::testing::ValuesIn(empty_cases()), case_name);

TEST(Lists, AnEmptyOneProjectsToZero) {
  for (auto const& c : all_cases()) {
    auto const s = make_scan(c.parameters);
    for (float const y : sparse_forward(s, array<2>({0, slices_of(s)}), {}).data) ASSERT_EQ(y, 0) << c.name;
    EXPECT_TRUE(sparse_back(s, random_array<3>(sinogram_shape(s), 76), {}, 2).data.empty()) << c.name;
  }
}

}  // namespace
