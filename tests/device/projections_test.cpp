// Kernels of projections on a device that depend on the size of a scan, against the host's.
#include "device/operations.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "mbirk/definition/cone.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/kernel/device/block_sort.hpp"
#include "mbirk/kernel/device/staged_resample.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/multiaxis.hpp"
#include "mbirk/projector/parallel.hpp"
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

context const one_thread{exec::host{1}, instrument::none{}};
constexpr double rounding = 0x1p-24;

TEST(OnDevice, AlignedColumnsAreReadInFours) {
  alignas(16) float x[8] = {};
  float const* const constant = x;
  EXPECT_TRUE(mbirk::detail::starts_at_four(x + 0));
  EXPECT_TRUE(mbirk::detail::starts_at_four(x + 4));
  EXPECT_TRUE(mbirk::detail::starts_at_four(constant));
  EXPECT_FALSE(mbirk::detail::starts_at_four(x + 1));
  EXPECT_FALSE(mbirk::detail::starts_at_four(constant + 2));
}
// The two ways above are both taken.
TEST(OnDevice, SomeProjectionsSortTheirPixels) {
  auto const sorted = [](shape_3 const& shape) {
    auto const s = parallel_scan(parallel_geometry::typical_scan(shape));
    auto const pixels = some_pixels(s, 23, 3);
    return device_measure(s, cylinders_of(random_array<3>(s.recon_shape(), 1), pixels), pixels, true).sorted;
  };
  EXPECT_TRUE(sorted({2, 8, 24}));
  EXPECT_FALSE(sorted({2, 7, 24}));
}

// Six groups of four channels, of which the last has three, and seven turns: some blocks have fewer groups than turns.
TEST(OnDevice, ProjectionOfAListInTurns) {
  // A lane has one slice, four neighbouring ones, or one of each of four packs.
  for (index_t const rows : {8, 128, 126}) {
    auto const s = parallel_scan(parallel_geometry::typical_scan({9, rows, 23}));
    auto const pixels = some_pixels(s, 190, 3);  // more than a warp visits at once
    auto const results = device_list_turns(s, cylinders_of(random_array<3>(s.recon_shape(), 1), pixels), pixels, 7);
    for (auto const& result : results) EXPECT_TRUE(same_bits(result, results[0])) << rows;
  }
}
TEST(OnDevice, PiecesOfListsLeaveManyBlocks) {
  using kernel_type = kernel::cone_block_back<decltype(one_thread)::backend, 1, false>;
  auto const pieces = [](index_t packs, index_t listed) { return kernel_type::pieces_of(packs, listed).each; };
  EXPECT_EQ(pieces(7, 0), 7);  // a grid
  EXPECT_EQ(pieces(8, 0), 4);
  EXPECT_EQ(pieces(8, 1), 1);
  EXPECT_EQ(pieces(8, 31), 1);  // two blocks for each group and piece, 256 in all with pieces of two packs
  EXPECT_EQ(pieces(8, 32), 2);
  EXPECT_EQ(pieces(8, 63), 3);  // three pieces
  EXPECT_EQ(pieces(8, 64), 4);
  EXPECT_EQ(pieces(1, 1), 1);
}
TEST(OnDevice, TurnsLeaveManyBlocks) {
  auto const turns = [](index_t views, index_t channels, index_t chunks) {
    return kernel::turns_of_a_warp({views, channels, 128 * chunks, 4, chunks, 128}, 8);
  };
  EXPECT_EQ(turns(200, 160, 2), 1);
  EXPECT_EQ(turns(1, 1, 1), 1);
  EXPECT_EQ(turns(512, 256, 2), 2);
  EXPECT_EQ(turns(1024, 992, 8), 4);
}

// Blocks of 384 or 32 pixels and groups of about 64, which are not full. All kernels add the same products of V views,
// up to two passes each, those that share views in another order: each has at most as many roundings as products, all
// of one sign.
TEST(OnDevice, BackProjectionOfAListByEveryKernel) {
  int with_all = 0;
  for (auto const& c : parallel_cases()) {
    SCOPED_TRACE(c.name);
    auto const s = std::get<parallel_scan>(make_scan(c.parameters));
    auto const y = random_array<3>(s.sinogram_shape(), 1);
    auto const results = device_list_backs(s, y, some_pixels(s, 75, 3));
    auto const &by_groups = results[0].data, &by_views = results[1].data;
    auto const products = static_cast<double>(3 * kernel::make_view_taps(s).size());
    for (std::size_t k = 0; k < by_views.size(); ++k)
      ASSERT_NEAR(by_views[k], by_groups[k], 2 * products * rounding * by_groups[k]) << k;
    if (results.size() < 3) continue;
    EXPECT_TRUE(same_bits(results[2].data, by_groups));
    ++with_all;
  }
  EXPECT_GT(with_all, 0);
}
// The kernels whose warps share pixels, for one pack of slices and for two: more than 32 groups.
TEST(OnDevice, BackProjectionOfManyListedPixels) {
  for (auto const& [rows, count] : {std::pair<index_t, std::size_t>{5, 2048}, {5, 2049}, {33, 2049}}) {
    auto const s = parallel_scan(parallel_geometry::typical_scan({3, rows, 40}));
    auto const y = random_array<3>(s.sinogram_shape(), 1);
    auto const pixels = some_pixels(s, count, 3);
    array<2> expected({std::ssize(pixels), slices_of(s)});
    sparse_back_project(one_thread, s, y.all(), as_view(pixels), expected.all(), 1);
    EXPECT_LE(relative_error(sparse_back(s, y, pixels, 1).data, expected.data), 2 * tolerance(s, false, 1))
        << rows << ' ' << count;
  }
}
// More channels than four warps have counters for, and more than one has.
TEST(OnDevice, ForwardProjectionToManyChannels) {
  for (index_t const channels : {index_t{2850}, kernel::most_sorted_channels + 1}) {
    auto p = parallel_geometry::typical_scan({2, 3, channels});
    p.recon_shape = {20, 20, 3};
    auto const s = parallel_scan(p);
    auto const pixels = some_pixels(s, 23, 3);
    auto const x = cylinders_of(random_array<3>(s.recon_shape(), 1), pixels);
    array<3> expected(s.sinogram_shape());
    sparse_forward_project(one_thread, s, x.all(), as_view(pixels), expected.all());
    EXPECT_LE(relative_error(sparse_forward(s, x, pixels).data, expected.data), 2 * tolerance(s, true, 1)) << channels;
  }
}
// 1056 tiles in 33 sets, more than the 32 that a warp looks at at once. The detector sees only those near the middle.
TEST(OnDevice, ForwardProjectionOfManyGroups) {
  auto const compare = [](auto const& s) {
    ASSERT_GT(kernel::plan_grid(264, 256, s.mask().data(), 512, 2).groups.size(), 1024u);
    auto const x = random_array<3>(s.recon_shape(), 1);
    array<3> expected(s.sinogram_shape());
    forward_project(one_thread, s, x.all(), expected.all());
    EXPECT_LE(relative_error(forward(s, x).data, expected.data), 2 * tolerance(s, true, 1));
  };
  auto const with_many_pixels = [](auto p) {
    p.recon_shape = {264, 256, 2};
    p.delta_voxel = 0.06;
    p.use_ror_mask = false;
    return p;
  };
  shape_3 const shape{2, 2, 9};
  compare(parallel_scan(with_many_pixels(parallel_geometry::typical_scan(shape))));
  compare(cone_scan(with_many_pixels(cone_geometry::typical_scan(shape))));
  compare(mbirk::scan<multiaxis_geometry>(with_many_pixels(multiaxis_geometry::typical_scan(shape))));
}
/// Whether a warp tests none of the cells that it loads for a pixel in the middle.
bool all_exist_for_middle(cone_scan const& s, bool forward) {
  auto const& g = s.geometry();
  auto const& at = s.positions()[0];
  auto const f = definition::make_cone_footprint(
      g, at.cosine, at.sine, definition::column_x(g, 0.5 * static_cast<double>(g.recon_cols), at.column_shift),
      definition::row_y(g, 0.5 * static_cast<double>(g.recon_rows), at.row_shift));
  double const edge = definition::first_row_edge(g, f, at.z_shift), width = f.row_width;
  auto const line = forward ? kernel::make_line(-edge / width, 1 / width, 1) : kernel::make_line(edge, width, 1);
  auto const packs = static_cast<int>(ceil_div(forward ? g.rows : g.slices, index_t{warp_lanes}));
  return kernel::all_cells_exist(line, packs, static_cast<std::int32_t>(forward ? g.slices : g.rows));
}
// Warps have the most packs of rows and of slices that they can have, or the rows and slices are in two pieces, the
// second of which is shorter. In the last ones, the rows of a warp only meet slices that exist, or the other way round,
// with steps below and above one.
TEST(OnDevice, ConeBeamInPieces) {
  using forward_kernel = kernel::cone_gather_sums<decltype(one_thread)::backend>;
  using back_kernel = kernel::cone_block_back<decltype(one_thread)::backend, 1, false>;
  constexpr index_t most_rows = forward_kernel::most_packs * warp_lanes,
                    most_slices = back_kernel::most_packs * warp_lanes;
  struct size { index_t rows, slices; double enlarged; };
  for (auto const& [rows, slices, enlarged] : {size{most_rows, most_slices, 1}, {most_rows + 3, most_slices + 35, 1},
                                               {70, 300, 0.6}, {70, 300, 1.6}, {300, 70, 0.6}, {300, 70, 1.6}}) {
    SCOPED_TRACE(std::to_string(rows) + ' ' + std::to_string(enlarged));
    auto p = cone_geometry::typical_scan({3, rows, 9});
    p.recon_shape = {5, 9, slices};
    p.delta_voxel = enlarged * cone_scan(p).geometry().delta_x;
    auto const s = cone_scan(p);
    if (enlarged != 1) {
      EXPECT_EQ(all_exist_for_middle(s, true), rows < slices);
      EXPECT_EQ(all_exist_for_middle(s, false), slices < rows);
    }
    auto const x = random_array<3>(s.recon_shape(), 1), y = random_array<3>(s.sinogram_shape(), 2);
    auto const pixels = some_pixels(s, 23, 3);
    array<3> sinogram(s.sinogram_shape()), recon(s.recon_shape());
    forward_project(one_thread, s, x.all(), sinogram.all());
    EXPECT_LE(relative_error(forward(s, x).data, sinogram.data), 2 * tolerance(s, true, 1));
    auto const listed = cylinders_of(x, pixels);
    sparse_forward_project(one_thread, s, listed.all(), as_view(pixels), sinogram.all());
    EXPECT_LE(relative_error(sparse_forward(s, listed, pixels).data, sinogram.data), 2 * tolerance(s, true, 1));
    back_project(one_thread, s, y.all(), recon.all());
    EXPECT_LE(relative_error(back(s, y).data, recon.data), 2 * tolerance(s, false, 1));
    hessian_diagonal(one_thread, s, std::nullopt, recon.all());
    EXPECT_LE(relative_error(hessian(s).data, recon.data), 2 * tolerance(s, false, 2));
  }
}

}  // namespace
