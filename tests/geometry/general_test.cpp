// General views: every rule with its message, and the views of other geometries.
#include "mbirk/geometry/general.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <string>

namespace general_views_test {

using namespace mbirk;

/// Two views of a cone beam: the source at y = 40, the detector at y = -20.
general_parameters two_views() {
  general_parameters p;
  p.sinogram_shape = {2, 5, 7};
  p.view_vectors = {0, 40, 0, 0, -20, 0, 1, 0, 0, 0, 0, 1.5, 40, 0, 0, -20, 0, 0, 0, -1, 0, 0, 0, 1.5};
  p.delta_voxel = 0.5;
  p.recon_shape = {{6, 8, 4}};
  return p;
}
std::string refusal(general_parameters const& p) {
  try {
    make_geometry(p);
  } catch (parameter_error const& e) {
    return e.what();
  }
  return "";
}
void set(general_parameters& p, std::size_t first, std::vector<double> const& to) {
  for (std::size_t k = 0; k < to.size(); ++k) p.view_vectors[first + k] = to[k];
}
void expect_refused(general_parameters const& p, std::string const& part) {
  EXPECT_NE(refusal(p).find(part), std::string::npos) << refusal(p);
}

TEST(General, PlacesItsViews) {
  general_scan const s(two_views());
  auto const& at = s.positions()[0];
  // The middle of the grid is 40 of 60 before the detector, in its middle; a column there is 1.5 times 0.5 wide.
  auto const middle = [](voxel_affine const& a) { return mbirk::detail::value_at(a, 3.5, 2.5, 1.5); };
  EXPECT_NEAR(middle(at.depth), 40.0 / 60, 1e-15);
  EXPECT_NEAR(middle(at.channel) / middle(at.depth), 3, 1e-14);
  EXPECT_NEAR(middle(at.row) / middle(at.depth), 2, 1e-14);
  EXPECT_NEAR(at.channel.col / middle(at.depth), 0.75, 1e-15);
  EXPECT_NEAR(at.row.slice / middle(at.depth), 0.5, 1e-15);
  EXPECT_NEAR(1 / s.geometry().inverse_magnification, 1.5, 1e-14);
  EXPECT_NEAR(general_geometry::magnification(two_views()), 1.5, 1e-14);
  EXPECT_EQ(s.recon_shape(), (std::array<index_t, 3>{6, 8, 4}));
  EXPECT_TRUE(s.warnings().empty());
}

TEST(General, RefusesWrongViews) {
  EXPECT_EQ(refusal(two_views()), "");
  auto p = two_views();
  p.view_vectors.pop_back();
  EXPECT_EQ(refusal(p), "view_vectors has 23 values, expected twelve per view, of 2 views");
  for (double const bad : {std::numeric_limits<double>::infinity(), std::nan(""), 1e25}) {
    p = two_views();
    p.view_vectors[13] = bad;
    expect_refused(p, "view_vectors: number 1 of view 1 is ");
    expect_refused(p, ", expected finite numbers of at most 1e+24");
  }
  p = two_views();
  set(p, 18, {0, 0, 0});
  EXPECT_EQ(refusal(p), "view_vectors: the step between the channels of view 1 has length 0, expected 1e-12 to 1e+12");
  p = two_views();
  set(p, 21, {0, 0, 1e13});
  expect_refused(p, "view_vectors: the step between the rows of view 1 has length 1e+13");
  p = two_views();
  set(p, 21, {0, 3, 0});
  EXPECT_EQ(refusal(p), "view_vectors: the steps between channels and rows of view 1 are parallel, expected two "
                        "directions");
  p = two_views();
  set(p, 12, {-20, 30, 7});
  EXPECT_EQ(refusal(p), "view_vectors: the source of view 1 lies in the plane of its detector, expected one before it");
  p = two_views();
  set(p, 12, {1.9, 0, 0});  // inside the grid, whose corner is at x = 2
  expect_refused(p, "view_vectors: a corner of the reconstruction is ");
  expect_refused(p, " of the distance from the source to the detector behind the source of view 1, expected more than 1e-09");
  p = two_views();
  set(p, 12, {-10, 0, 0});  // between the grid and the detector
  expect_refused(p, "the whole grid on the detector's side of the source");
}
TEST(General, RefusesWrongRays) {
  auto p = two_views();
  p.parallel_rays = true;
  EXPECT_EQ(refusal(p), "");
  set(p, 0, {3, 0, 5});
  EXPECT_EQ(refusal(p), "view_vectors: the rays of view 0 are 0 or parallel to its detector, expected rays that cross "
                        "it");
  set(p, 0, {0, 0, 0});
  expect_refused(p, "the rays of view 0 are 0 or parallel");
}
TEST(General, RefusesExtremePitchesAndPositions) {
  auto p = two_views();
  p.delta_voxel = 1e12;
  expect_refused(p, "expected at most 2^28 times more or less than a pitch of the voxels = 1e+12");
  p = two_views();
  for (std::size_t k = 3; k < 6; ++k) p.view_vectors[k] += 1e9 * p.view_vectors[k + 3];
  expect_refused(p, "view_vectors: view 0 projects a corner of the reconstruction to channel ");
  p = two_views();
  p.view_vectors[17] = std::nan("");
  expect_refused(p, "view_vectors: number 5 of view 1 is nan, expected finite numbers");
}
TEST(General, RefusesWhatOtherGeometriesHave) {
  for (double general_parameters::*const member : {&general_parameters::det_channel_offset,
                                                   &general_parameters::det_row_offset}) {
    auto p = two_views();
    p.*member = 0.25;
    expect_refused(p, "_offset is 0.25, expected 0 in general views, whose vectors place the detector");
  }
  for (double general_parameters::*const member : {&general_parameters::delta_det_channel,
                                                   &general_parameters::delta_det_row}) {
    auto p = two_views();
    p.*member = 0.25;
    expect_refused(p, "is 0.25, expected 1 in general views, whose vectors place the detector");
  }
}
TEST(General, RefusesMissingAndWrongSizes) {
  auto p = two_views();
  p.delta_voxel.reset();
  EXPECT_EQ(refusal(p), "delta_voxel is not given, expected a length: general views have no automatic size");
  p = two_views();
  p.recon_shape.reset();
  EXPECT_EQ(refusal(p), "recon_shape is not given, expected three sizes: general views have no automatic size");
  p = two_views();
  p.recon_slice_offset = std::nan("");
  expect_refused(p, "recon_slice_offset is nan, expected a finite number");
  p = two_views();
  p.voxel_row_aspect = 0;
  expect_refused(p, "voxel_row_aspect is 0, expected a positive number");
  p = two_views();
  p.sinogram_shape = {0, 1 << 20, 1 << 20};
  p.view_vectors.clear();
  expect_refused(p, "expected (rows + 32) (channels + 8) < 2^31 in general views");
  p.sinogram_shape = {0, 1, 1 << 27};  // with whole packs of rows
  expect_refused(p, "expected (rows + 32) (channels + 8) < 2^31 in general views");
}
TEST(General, ReplacesViews) {
  general_scan s(two_views());
  auto vectors = two_views().view_vectors;
  vectors[1] = 44;
  s.set_views(vectors);
  EXPECT_EQ(s.views().view_vectors, vectors);
  EXPECT_NEAR(mbirk::detail::value_at(s.positions()[0].depth, 3.5, 2.5, 1.5), 44.0 / 64, 1e-15);
  vectors[13] = std::nan("");
  EXPECT_THROW(s.set_views(vectors), parameter_error);
  EXPECT_THROW(s.set_views(std::vector<double>(12)), parameter_error);
  EXPECT_EQ(s.views().view_vectors[1], 44) << "a refused list changes nothing";
}

/// The table of views in the documentation: n and m of every voxel, in double.
template <class Parameters, class Expected>
void expect_places(Parameters const& p, std::array<index_t, 3> const& shape, Expected const& expected) {
  general_scan const s(to_general(p));
  ASSERT_EQ(s.recon_shape(), shape);
  for (index_t v = 0; v < s.geometry().views; ++v)
    for (index_t i = 0; i < shape[0]; ++i)
      for (index_t j = 0; j < shape[1]; ++j)
        for (index_t k = 0; k < shape[2]; ++k) {
          auto const& at = s.positions()[static_cast<std::size_t>(v)];
          auto const of = [&](voxel_affine const& a) {
            return mbirk::detail::value_at(a, static_cast<double>(j), static_cast<double>(i), static_cast<double>(k));
          };
          auto const [n, m] = expected(static_cast<std::size_t>(v), i, j, k);
          ASSERT_NEAR(of(at.channel) / of(at.depth), n, 1e-12);
          ASSERT_NEAR(of(at.row) / of(at.depth), m, 1e-12);
        }
}
struct cell { double n, m; };
double middle(index_t cells) { return 0.5 * static_cast<double>(cells - 1); }

TEST(GeneralTable, Cone) {
  cone_parameters p{.sinogram_shape = {2, 5, 9}, .angles = {0.3f, 2.5f}, .source_detector_dist = 40,
                    .source_iso_dist = 25, .helical_z_shifts = {-0.5f, 1.25f}, .delta_det_channel = 1.1,
                    .delta_det_row = 0.9, .det_channel_offset = 0.4, .det_row_offset = -0.3, .delta_voxel = 0.7,
                    .recon_shape = std::array<index_t, 3>{3, 4, 5}, .recon_slice_offset = 0.2};
  expect_places(p, *p.recon_shape, [&](std::size_t v, index_t i, index_t j, index_t k) -> cell {
    double const x = 0.7 * (static_cast<double>(j) - 1.5), y = 0.7 * (static_cast<double>(i) - 1),
                 z = 0.7 * (static_cast<double>(k) - 2) + 0.2 - static_cast<double>(p.helical_z_shifts[v]),
                 c = std::cos(static_cast<double>(p.angles[v])), s = std::sin(static_cast<double>(p.angles[v]));
    double const g = 1 / (25.0 / 40 - (s * x + c * y) / 40);
    return {(g * (c * x - s * y) + 0.4) / 1.1 + middle(9), (g * z - 0.3) / 0.9 + middle(5)};
  });
  p.use_curved_detector = true;
  EXPECT_THROW(to_general(p), parameter_error);
  p.use_curved_detector = false;
  p.source_detector_dist = std::numeric_limits<double>::infinity();
  EXPECT_THROW(to_general(p), parameter_error);
}
TEST(GeneralTable, Multiaxis) {
  multiaxis_parameters p;
  p.sinogram_shape = {2, 5, 9};
  p.angles = {0.3f, 0.4f, 2.5f, -1.1f};
  p.delta_det_channel = 1.1, p.delta_det_row = 0.9, p.det_channel_offset = 0.4, p.det_row_offset = -0.3;
  p.delta_voxel = 0.7, p.recon_shape = {{3, 4, 5}}, p.recon_slice_offset = 0.2;
  expect_places(p, *p.recon_shape, [&](std::size_t v, index_t i, index_t j, index_t k) -> cell {
    double const x = 0.7 * (static_cast<double>(j) - 1.5), y = 0.7 * (static_cast<double>(i) - 1),
                 z = 0.7 * (static_cast<double>(k) - 2) + 0.2;
    double const theta = p.angles[2 * v], phi = p.angles[2 * v + 1];
    double const depth = std::sin(theta) * x + std::cos(theta) * y;
    return {(std::cos(theta) * x - std::sin(theta) * y + 0.4) / 1.1 + middle(9),
            (z * std::cos(phi) + depth * std::sin(phi) - 0.3) / 0.9 + middle(5)};
  });
}
TEST(GeneralTable, Parallel) {
  parallel_parameters const p{.sinogram_shape = {2, 5, 9}, .angles = {0.3f, 2.5f}, .delta_det_channel = 1.1,
                              .det_channel_offset = 0.4, .delta_voxel = 0.7,
                              .recon_shape = std::array<index_t, 3>{3, 4, 5}};
  expect_places(p, *p.recon_shape, [&](std::size_t v, index_t i, index_t j, index_t k) -> cell {
    double const theta = p.angles[v];
    return {(std::cos(theta) * 0.7 * (static_cast<double>(j) - 1.5) -
             std::sin(theta) * 0.7 * (static_cast<double>(i) - 1) + 0.4) / 1.1 + middle(9),
            static_cast<double>(k)};
  });
}
TEST(GeneralTable, Translation) {
  translation_parameters p{.sinogram_shape = {2, 5, 9}, .translation_vectors = {1, 2, -0.5f, -1, 0.5f, 1}};
  p.source_detector_dist = 40, p.source_iso_dist = 25, p.delta_det_channel = 1.1, p.delta_det_row = 0.9;
  p.det_channel_offset = 0.4, p.det_row_offset = -0.3, p.delta_voxel = 0.7, p.voxel_row_aspect = 2;
  p.recon_shape = {{3, 4, 5}};
  expect_places(p, *p.recon_shape, [&](std::size_t v, index_t i, index_t j, index_t k) -> cell {
    auto const t = [&](std::size_t axis) { return static_cast<double>(p.translation_vectors[3 * v + axis]); };
    double const g = 40 / (25 - (1.4 * (static_cast<double>(i) - 1) - t(1)));
    return {(g * (0.7 * (static_cast<double>(j) - 1.5) - t(0)) + 0.4) / 1.1 + middle(9),
            (g * (0.7 * (static_cast<double>(k) - 2) - t(2)) - 0.3) / 0.9 + middle(5)};
  });
}

}  // namespace general_views_test
