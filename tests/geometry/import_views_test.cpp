// Views from projection matrices, RTK's geometry files and TIGRE's geometry, against the scans that they describe.
#include "mbirk/geometry/import_views.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace import_views_test {

using namespace mbirk;

cone_parameters some_cone() {
  cone_parameters p{.sinogram_shape = {3, 6, 8}, .angles = {0.3f, 2.5f, -1.1f}, .source_detector_dist = 50,
                    .source_iso_dist = 30};
  p.delta_det_channel = 1.2, p.delta_det_row = 0.7, p.det_channel_offset = 0.4, p.det_row_offset = -0.3;
  p.delta_voxel = 0.5, p.recon_shape = {{7, 9, 5}};
  return p;
}
/// Cell (n, m) of every corner voxel and of the middle one, in each view.
std::vector<double> cells_of(general_parameters const& p) {
  general_scan const s(p);
  std::vector<double> cells;
  for (auto const& at : s.positions())
    mbirk::detail::each_corner(s.geometry(), 0, [&](double j, double i, double k) {
      double const depth = mbirk::detail::value_at(at.depth, j, i, k);
      cells.push_back(mbirk::detail::value_at(at.channel, j, i, k) / depth);
      cells.push_back(mbirk::detail::value_at(at.row, j, i, k) / depth);
    });
  return cells;
}
void expect_same_cells(general_parameters expected, imported_views const& views) {
  auto const cells = cells_of(expected);
  expected.view_vectors = views.view_vectors;
  expected.parallel_rays = views.parallel_rays;
  auto const found = cells_of(expected);
  ASSERT_EQ(found.size(), cells.size());
  for (std::size_t k = 0; k < cells.size(); ++k) EXPECT_NEAR(found[k], cells[k], 1e-9) << k;
}
/// The matrix that projects to lengths on the detector from its first cell, from a view's vectors.
std::array<double, 12> matrix_of(general_parameters const& p, index_t view, double scale) {
  auto const s = mbirk::detail::general_view::of(p.view_vectors, view);
  auto const w = cross(s.u, s.v);
  auto const dual_u = cross(s.v, w) / dot(w, w) * length(s.u), dual_v = cross(w, s.u) / dot(w, w) * length(s.v);
  double const n = 0.5 * static_cast<double>(p.sinogram_shape[2] - 1) * length(s.u),
               m = 0.5 * static_cast<double>(p.sinogram_shape[1] - 1) * length(s.v);
  vector3 a, b, c;
  double at_a, at_b, at_c;
  if (p.parallel_rays) {
    auto const sheared = [&](vector3 const& dual) { return dual - w * (dot(s.source, dual) / dot(s.source, w)); };
    a = sheared(dual_u), b = sheared(dual_v);
    at_a = n - dot(s.detector, a), at_b = m - dot(s.detector, b), at_c = 1;
  } else {
    c = w / dot(s.detector - s.source, w);
    at_c = -dot(s.source, c);
    auto const row = [&](vector3 const& dual, double middle) {
      return dual + c * (dot(s.source - s.detector, dual) + middle);
    };
    a = row(dual_u, n), b = row(dual_v, m);
    at_a = -dot(s.source, a), at_b = -dot(s.source, b);
  }
  return {a.x * scale, a.y * scale, a.z * scale, at_a * scale, b.x * scale, b.y * scale,
          b.z * scale, at_b * scale, c.x * scale, c.y * scale, c.z * scale, at_c * scale};
}
general_parameters disturbed(general_parameters p) {
  for (std::size_t k = 0; k < p.view_vectors.size(); ++k)
    p.view_vectors[k] += 0.05 * std::sin(1.7 * static_cast<double>(k));
  return p;
}
matrix_detector detector_of(general_parameters const& p) {
  // All views have the pitches of the first one, or the matrices of its lengths.
  return {p.sinogram_shape[1], p.sinogram_shape[2], 0, 1, 0, 1};
}
/// The matrix to pixels.
std::array<double, 12> pixels_of(std::array<double, 12> m, general_parameters const& p, index_t view) {
  auto const s = mbirk::detail::general_view::of(p.view_vectors, view);
  for (std::size_t k = 0; k < 4; ++k) m[k] /= length(s.u), m[k + 4] /= length(s.v);
  return m;
}

TEST(ImportViews, FromMatrices) {
  multiaxis_parameters rays;
  rays.sinogram_shape = {3, 6, 8};
  rays.angles = {0.3f, 0.4f, 2.5f, -0.7f, 1, 1.2f};
  rays.recon_shape = {{7, 9, 5}};
  for (auto const& p : {disturbed(to_general(some_cone())), disturbed(to_general(rays))})
    for (double const scale : {1.0, -3.5}) {
      std::vector<std::array<double, 12>> matrices;
      for (index_t v = 0; v < 3; ++v) matrices.push_back(pixels_of(matrix_of(p, v, scale), p, v));
      expect_same_cells(p, views_from_matrices(matrices, detector_of(p)));
    }
}
TEST(ImportViews, RefusesWrongMatrices) {
  auto const refusal = [](std::vector<std::array<double, 12>> const& matrices) -> std::string {
    try {
      views_from_matrices(matrices, {4, 4, 0, 1, 0, 1});
    } catch (parameter_error const& e) {
      return e.what();
    }
    return "";
  };
  std::array<double, 12> const good{1, 0, 0, 0, 0, 0, 1, 0, 0, 0.1, 0, 5}, rays{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  EXPECT_EQ(refusal({good, good}), "");
  EXPECT_EQ(refusal({rays}), "");
  EXPECT_EQ(refusal({good, rays}),
            "projection matrix 1 has parallel rays, expected parallel rays in all matrices or in none");
  std::array<double, 12> const flat{1, 0, 0, 0, 1, 0, 0, 0, 0, 0.1, 0, 5}, none{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_NE(refusal({flat}).find("projection matrix 0 is singular"), std::string::npos) << refusal({flat});
  EXPECT_NE(refusal({none}).find("projection matrix 0 is singular"), std::string::npos) << refusal({none});
  auto bad = good;
  bad[3] = std::nan("");
  EXPECT_EQ(refusal({bad}), "projection matrix 0 has the number nan, expected finite numbers");
}

TEST(ImportViews, FromRtk) {
  auto const p = to_general(some_cone());
  std::string text = "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"3\">\n";
  for (index_t v = 0; v < 3; ++v) {
    auto const m = matrix_of(p, v, -1);
    text += "  <Projection>\n    <GantryAngle>0</GantryAngle>\n    <Matrix>\n";
    for (std::size_t row = 0; row < 12; row += 4) {
      char line[200];
      // RTK's y is the axis of the slices, its z that of the rows.
      std::snprintf(line, sizeof line, "  %.17g %.17g %.17g %.17g\n", m[row], m[row + 2], m[row + 1], m[row + 3]);
      text += line;
    }
    text += "    </Matrix>\n  </Projection>\n";
  }
  text += "</RTKThreeDCircularGeometry>\n";
  matrix_detector const detector{6, 8, 0, 1.2, 0, 0.7};
  expect_same_cells(p, views_from_rtk(text, detector));

  auto const refusal = [&](std::string const& wrong) -> std::string {
    try {
      views_from_rtk(wrong, detector);
    } catch (parameter_error const& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("<a/>"), "the text is not a geometry file of RTK, expected RTKThreeDCircularGeometry");
  std::string const head = "<RTKThreeDCircularGeometry>";
  EXPECT_EQ(refusal(head), "the geometry file has no matrix, expected one per projection");
  EXPECT_EQ(refusal(head + "<RadiusCylindricalDetector>5"),
            "the geometry file has a RadiusCylindricalDetector, expected a flat detector");
  EXPECT_EQ(refusal(head + "<Matrix> 1 2"), "matrix 0 of the geometry file has no end, expected </Matrix>");
  EXPECT_EQ(refusal(head + "<Matrix> 1 2 </Matrix>"), "matrix 0 of the geometry file has 2 numbers, expected 3 x 4");
  EXPECT_EQ(refusal(head + "<Matrix> 1 two </Matrix>"), "matrix 0 of the geometry file has a word that is no number");
}

// A source at angle alpha from x is the cone beam at pi/2 - alpha, whose channels run the other way.
TEST(ImportViews, FromTigre) {
  auto const p = some_cone();
  tigre_geometry g{.DSD = 50, .DSO = 30, .dDetector_v = 0.7, .dDetector_u = 1.2,
                   .offDetector_v = {0.3}, .offDetector_u = {0.4}};
  std::vector<double> angles;
  for (double const a : p.angles) angles.push_back(std::acos(-1.0) / 2 - a);
  auto views = views_from_tigre(g, angles, 3);
  auto expected = to_general(p);
  for (std::size_t v = 0; v < 36; v += 12)
    for (std::size_t k = v + 6; k < v + 9; ++k) expected.view_vectors[k] *= -1;
  expect_same_cells(expected, views);

  g.offOrigin_x = {1, 2, 3}, g.offOrigin_z = {-0.5}, g.COR = {0.25};
  auto const moved = views_from_tigre(g, angles, 3);
  for (std::size_t v = 0; v < 3; ++v)
    for (std::size_t part = 0; part < 2; ++part) {
      auto const* was = &views.view_vectors[12 * v + 3 * part];
      auto const* is = &moved.view_vectors[12 * v + 3 * part];
      EXPECT_NEAR(is[0] - was[0], -static_cast<double>(v + 1) - 0.25 * std::sin(angles[v]), 1e-12);
      EXPECT_NEAR(is[1] - was[1], 0.25 * std::cos(angles[v]), 1e-12);
      EXPECT_NEAR(is[2] - was[2], 0.5, 1e-12);
    }
  // Three angles per view: the middle one, about y, lowers the source at angle 0.
  tigre_geometry const plain{.DSD = 50, .DSO = 30};
  auto const tilted = views_from_tigre(plain, {0, 0.5, 0}, 1);
  EXPECT_NEAR(tilted.view_vectors[0], 30 * std::cos(0.5), 1e-12);
  EXPECT_NEAR(tilted.view_vectors[2], -30 * std::sin(0.5), 1e-12);
  auto yawed = plain;
  yawed.dYaw = {0.3};  // about the rays
  auto const turned = views_from_tigre(yawed, {0}, 1);
  EXPECT_NEAR(turned.view_vectors[7], std::cos(0.3), 1e-12);
  EXPECT_NEAR(turned.view_vectors[8], std::sin(0.3), 1e-12);
  yawed.parallel = true;
  auto const rays = views_from_tigre(yawed, {0}, 1);
  EXPECT_TRUE(rays.parallel_rays);
  EXPECT_EQ(rays.view_vectors[0], -30);

  EXPECT_THROW(views_from_tigre(g, angles, 2), parameter_error);
  g.COR = {1, 2};
  EXPECT_THROW(views_from_tigre(g, angles, 3), parameter_error);
  g.COR = {}, g.DSO = 0;
  EXPECT_THROW(views_from_tigre(g, angles, 3), parameter_error);
}

}  // namespace import_views_test
