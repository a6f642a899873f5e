// General views: other geometries as special cases, by the kernels of theirs and by those of general views, and rays
// through the voxels as an oracle.
#include "mbirk/geometry/upright.hpp"
#include "mbirk/kernel/shared/multiaxis_taps.hpp"
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// All operators of two scans of the same grid and detector.
void expect_same(any_scan const& found, any_scan const& expected, double allowed) {
  ASSERT_EQ(recon_shape(found), recon_shape(expected));
  ASSERT_EQ(sinogram_shape(found), sinogram_shape(expected));
  auto const x = random_array<3>(recon_shape(found), 41), y = random_array<3>(sinogram_shape(found), 42);
  auto const ax = forward(expected, x);
  EXPECT_GT(*std::max_element(ax.data.begin(), ax.data.end()), 0);
  EXPECT_LE(relative_error(forward(found, x).data, ax.data), allowed);
  EXPECT_LE(relative_error(back(found, y).data, back(expected, y).data), allowed);
  EXPECT_LE(relative_error(hessian(found).data, hessian(expected).data), allowed);
  EXPECT_LE(relative_error(hessian(found, y).data, hessian(expected, y).data), allowed);
}
bool is_upright(general_parameters const& p) { return mbirk::detail::find_upright(general_scan(p)).has_value(); }
bool is_separable(general_parameters const& p) { return !kernel::make_multiaxis_taps(general_scan(p)).empty(); }

TEST(GeneralViews, OfACircularScanAreThatScan) {
  auto const p = some_circular_cone();
  auto const general = to_general(p);
  EXPECT_TRUE(is_upright(general));
  expect_same(general_scan(general), cone_scan(p), 1e-6);
  EXPECT_FALSE(is_upright(tilted(general)));
  EXPECT_FALSE(is_separable(tilted(general)));
  expect_same(general_scan(tilted(general)), cone_scan(p), 1e-6);
}
// A source so far that terms of the size of its distance would leave no correct digit of a position.
TEST(GeneralViews, OfAFarSourceAreThatScan) {
  auto p = some_circular_cone();
  p.source_detector_dist = 1e14;
  p.source_iso_dist = 1e14 - 32;
  EXPECT_FALSE(is_upright(tilted(to_general(p))));
  expect_same(general_scan(tilted(to_general(p))), cone_scan(p), 1e-6);
}
TEST(GeneralViews, OfAHelicalScanAreThatScan) {
  auto p = some_circular_cone();
  p.helical_z_shifts = {-1, 0.5f, 2, 0.25f, -0.125f};
  EXPECT_TRUE(is_upright(to_general(p)));
  expect_same(general_scan(to_general(p)), cone_scan(p), 1e-6);
  expect_same(general_scan(tilted(to_general(p))), cone_scan(p), 1e-6);
}
// The amplitude is that of the cone beam times the same factor everywhere, which differs from 1 by (o_c o_r/D^2)^2/2.
TEST(GeneralViews, WithBothOffsetsDifferByAKnownFactor) {
  auto p = some_circular_cone();
  p.det_channel_offset = 18, p.det_row_offset = 12;
  double const a = 18.0 / 60, b = 12.0 / 60,
               factor = std::sqrt((1 + a * a + b * b) / ((1 + a * a) * (1 + b * b)));
  EXPECT_NEAR(factor, 1 - std::pow(a * b, 2) / 2, 5e-4);
  EXPECT_FALSE(is_upright(to_general(p)));
  p.recon_shape = {{41, 42, 30}}, p.recon_slice_offset = 0;
  p.source_iso_dist = 40;
  any_scan const cone = cone_scan(p), general = general_scan(to_general(p));
  auto const x = random_array<3>(recon_shape(cone), 43);
  auto expected = forward(cone, x);
  for (auto& value : expected.data) value *= static_cast<float>(factor);
  EXPECT_LE(relative_error(forward(general, x).data, expected.data), 1e-6);
}
TEST(GeneralViews, OfTranslationsAreThatScan) {
  translation_parameters p{.sinogram_shape = {4, 7, 13},
                           .translation_vectors = {0, 0, 0, 1.3f, -2.5f, 0.4f, -2, 1.5f, -1.1f, 4, 1, -2}};
  p.source_detector_dist = 60, p.source_iso_dist = 33, p.delta_voxel = 0.71, p.voxel_row_aspect = 1.5;
  p.recon_shape = {{5, 11, 9}}, p.det_channel_offset = 0.3;
  EXPECT_TRUE(is_upright(to_general(p)));
  expect_same(general_scan(to_general(p)), translation_scan(p), 1e-6);
  expect_same(general_scan(tilted(to_general(p))), translation_scan(p), 1e-6);
}
TEST(GeneralViews, OfAParallelBeamAreThatScan) {
  parallel_parameters p{.sinogram_shape = {6, 9, 14}, .angles = {0.1f, 1, 2, 3.5f, 5, 0}};
  p.delta_voxel = 0.77, p.recon_shape = {{11, 12, 9}}, p.det_channel_offset = 0.25;
  EXPECT_TRUE(is_separable(to_general(p)));
  expect_same(general_scan(to_general(p)), parallel_scan(p), 1e-6);
  // A row's footprint ends where the next one begins: the tilt puts up to 1e-8 of it there.
  EXPECT_FALSE(is_separable(tilted(to_general(p))));
  expect_same(general_scan(tilted(to_general(p))), parallel_scan(p), 1e-6);
}
TEST(GeneralViews, OfMultiaxisBeamsAreThatScan) {
  multiaxis_parameters p;
  p.sinogram_shape = {5, 9, 13};
  p.angles = {0.1f, 0.3f, 1, -0.5f, 2, 1.2f, 3.5f, 1.57f, 5, 2.5f};
  p.delta_voxel = 0.77, p.recon_shape = {{11, 12, 9}}, p.delta_det_row = 1.1, p.det_row_offset = 0.3;
  p.recon_slice_offset = 0.4;
  EXPECT_TRUE(is_separable(to_general(p)));
  expect_same(general_scan(to_general(p)), multiaxis_scan(p), 1e-6);
  expect_same(general_scan(tilted(to_general(p))), multiaxis_scan(p), 1e-6);
}
// The same rays of any length, and detectors whose steps and centre are scaled about the source, see the same.
TEST(GeneralViews, DependOnRaysAndNotOnLengths) {
  auto p = to_general(some_circular_cone());
  disturb(p, 0.05);
  auto q = p;
  for (std::size_t v = 0; v < q.view_vectors.size(); v += 12)
    for (std::size_t k = v + 3; k < v + 6; ++k) {
      double const source = q.view_vectors[k - 3];
      q.view_vectors[k] = source + 0.75 * (q.view_vectors[k] - source);
      q.view_vectors[k + 3] *= 0.75;
      q.view_vectors[k + 6] *= 0.75;
    }
  expect_same(general_scan(q), general_scan(p), 2e-6);
  multiaxis_parameters m;
  m.sinogram_shape = {2, 9, 13};
  m.angles = {0.1f, 0.3f, 1, -0.5f};
  m.recon_shape = {{7, 8, 6}};
  auto rays = to_general(m);
  disturb(rays, 0.1);
  auto longer = rays;
  for (std::size_t v = 0; v < longer.view_vectors.size(); v += 12)
    for (std::size_t k = v; k < v + 3; ++k) longer.view_vectors[k] *= 1e6;
  expect_same(general_scan(longer), general_scan(rays), 2e-6);
}

vector3 const middle_of_blob{0.5, -0.3, 0.2};

/// A blob exp(-r^2/2) sampled by n x n x n voxels of a cube with sides of 8.
std::vector<float> blob(index_t n) {
  std::vector<float> x;
  auto const at = [&](index_t k) { return (static_cast<double>(k) + 0.5) * 8 / static_cast<double>(n) - 4; };
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      for (index_t k = 0; k < n; ++k) {
        auto const r = vector3{at(j), at(i), at(k)} - middle_of_blob;
        x.push_back(static_cast<float>(std::exp(-dot(r, r) / 2)));
      }
  return x;
}
/// Mean of the blob's integrals along `rays` x `rays` lines to each cell.
std::vector<double> ray_driven(general_parameters const& p, int rays) {
  auto const [views, rows, channels] = p.sinogram_shape;
  std::vector<double> y;
  for (index_t v = 0; v < views; ++v) {
    auto const view = mbirk::detail::general_view::of(p.view_vectors, v);
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n) {
        double sum = 0;
        for (int a = 0; a < rays * rays; ++a) {
          auto const inside = [&](int k) { return (static_cast<double>(k) + 0.5) / rays - 0.5; };
          double const across = static_cast<double>(n) + inside(a % rays) - 0.5 * static_cast<double>(channels - 1),
                       down = static_cast<double>(m) + inside(a / rays) - 0.5 * static_cast<double>(rows - 1);
          auto const at = view.detector + view.u * across + view.v * down;
          auto const direction = p.parallel_rays ? view.source : at - view.source;
          auto const from = at - middle_of_blob;
          double const along = dot(from, direction) / length(direction);
          sum += std::sqrt(2 * std::acos(-1.0)) * std::exp(-(dot(from, from) - along * along) / 2);
        }
        y.push_back(sum / (rays * rays));
      }
  }
  return y;
}
/// Errors with voxels of 1, 1/2 and 1/4, relative to the largest value.
std::array<double, 3> errors_against_rays(general_parameters p) {
  std::array<double, 3> errors{};
  p.use_ror_mask = false;
  p.voxel_row_aspect = p.voxel_slice_aspect = 1, p.recon_slice_offset = 0;
  for (std::size_t step = 0; step < 3; ++step) {
    index_t const n = index_t{8} << step;
    p.delta_voxel = 8 / static_cast<double>(n);
    p.recon_shape = {{n, n, n}};
    any_scan const s = general_scan(p);
    array<3> image(recon_shape(s));
    image.data = blob(n);
    errors[step] = relative_error(forward(s, image).data, ray_driven(p, 6));
  }
  return errors;
}

// The footprint is a box of the right mass and extents, which differs from the image of a voxel by a part of it. Beside
// each other the differences cancel, so that the error falls with the voxels. (With voxels as large as the radius of
// the blob, 1, it is a tenth.)
TEST(GeneralViews, ConvergeToRaysThroughFinerVoxels) {
  auto cone = some_circular_cone();
  cone.sinogram_shape = {2, 7, 9}, cone.angles = {0.4f, 2.2f};
  cone.delta_det_channel = cone.delta_det_row = 1.3;
  auto p = to_general(cone);
  disturb(p, 0.15);
  parallel_parameters parallel{.sinogram_shape = {2, 9, 11}, .angles = {0.4f, 2.2f}};
  parallel.delta_voxel = 1, parallel.recon_shape = {{8, 8, 9}};
  auto rays = to_general(parallel);
  disturb(rays, 0.15);
  for (auto const& views : {p, rays}) {
    auto const e = errors_against_rays(views);
    SCOPED_TRACE(::testing::Message() << e[0] << ' ' << e[1] << ' ' << e[2]);
    EXPECT_LT(e[1], e[0] / 2);
    EXPECT_LT(e[2], e[1] / 2);
    EXPECT_LT(e[2], 0.012);
  }
}

/// Calls f(voxel, length) for the voxels that a line through `at` crosses, in the order of x = (rows, cols, slices).
template <class F>
void each_crossed_voxel(general_parameters const& p, vector3 const& at, vector3 const& ray, F const& f) {
  auto const& shape = *p.recon_shape;
  double const pitches[] = {p.voxel_row_aspect * *p.delta_voxel, *p.delta_voxel,
                            p.voxel_slice_aspect * *p.delta_voxel},
               starts[] = {at.y, at.x, at.z - p.recon_slice_offset}, slopes[] = {ray.y, ray.x, ray.z};
  auto const first_plane = [&](std::size_t axis) { return -0.5 * static_cast<double>(shape[axis]) * pitches[axis]; };
  std::vector<double> crossings;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (slopes[axis] != 0)
      for (index_t k = 0; k <= shape[axis]; ++k)
        crossings.push_back((first_plane(axis) + static_cast<double>(k) * pitches[axis] - starts[axis]) / slopes[axis]);
  std::sort(crossings.begin(), crossings.end());
  for (std::size_t k = 1; k < crossings.size(); ++k) {
    double const middle = (crossings[k - 1] + crossings[k]) / 2;
    index_t voxel = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double const cell = std::floor((starts[axis] + middle * slopes[axis] - first_plane(axis)) / pitches[axis]);
      inside = inside && cell >= 0 && cell < static_cast<double>(shape[axis]);
      voxel = voxel * shape[axis] + static_cast<index_t>(cell);
    }
    if (inside) f(static_cast<std::size_t>(voxel), (crossings[k] - crossings[k - 1]) * length(ray));
  }
}
/// Calls f(cell, voxel, weight) for the matrix of a ray-driven projector in double: the mean length in a voxel of
/// `rays` x `rays` lines to a cell.
template <class F> void each_ray_weight(general_parameters const& p, int rays, F const& f) {
  auto const [views, rows, channels] = p.sinogram_shape;
  for (index_t v = 0; v < views; ++v) {
    auto const view = mbirk::detail::general_view::of(p.view_vectors, v);
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n)
        for (int a = 0; a < rays * rays; ++a) {
          auto const inside = [&](int k) { return (static_cast<double>(k) + 0.5) / rays - 0.5; };
          double const across = static_cast<double>(n) + inside(a % rays) - 0.5 * static_cast<double>(channels - 1),
                       down = static_cast<double>(m) + inside(a / rays) - 0.5 * static_cast<double>(rows - 1);
          auto const at = view.detector + view.u * across + view.v * down;
          each_crossed_voxel(p, at, p.parallel_rays ? view.source : at - view.source,
                             [&](std::size_t voxel, double length) {
            f(static_cast<std::size_t>((v * rows + m) * channels + n), voxel, length / (rays * rays));
          });
        }
  }
}

/// Sums of n x n x n voxels over 4 x 4 x 4 cubes.
template <class Values> std::vector<double> cube_sums(Values const& x, index_t n) {
  std::vector<double> sums(64);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      for (index_t k = 0; k < n; ++k)
        sums[static_cast<std::size_t>((4 * i / n * 4 + 4 * j / n) * 4 + 4 * k / n)] +=
            static_cast<double>(x[static_cast<std::size_t>((i * n + j) * n + k)]);
  return sums;
}

/// Errors of both projections with voxels of 2, 1 and 1/2, relative to the largest value. Back projections are summed
/// over cubes of 2: the lines to a cell are too few for single voxels that are smaller than the cell.
struct projection_errors { std::array<double, 3> forward, back; };
/// @param scan_of  the scan of these views that is tested
template <class Scan> projection_errors errors_against_lines(general_parameters p, Scan const& scan_of) {
  projection_errors errors{};
  p.use_ror_mask = false;
  p.voxel_row_aspect = p.voxel_slice_aspect = 1;
  p.recon_slice_offset = 0;
  for (std::size_t step = 0; step < 3; ++step) {
    index_t const n = index_t{4} << step;
    p.delta_voxel = 8 / static_cast<double>(n);
    p.recon_shape = {{n, n, n}};
    any_scan const s = scan_of(p);
    array<3> image(recon_shape(s)), sinogram(sinogram_shape(s));
    image.data = blob(n);
    for (index_t v = 0; v < sinogram.shape[0]; ++v)
      for (index_t m = 0; m < sinogram.shape[1]; ++m)
        for (index_t c = 0; c < sinogram.shape[2]; ++c) {
          double const down = static_cast<double>(m) - 0.5 * static_cast<double>(sinogram.shape[1] - 1),
                       across = static_cast<double>(c) - 0.5 * static_cast<double>(sinogram.shape[2] - 1);
          sinogram.all()(v, m, c) = static_cast<float>(std::exp(-(down * down + across * across) / 18));
        }
    std::vector<double> projected(sinogram.data.size()), back_projected(image.data.size());
    each_ray_weight(p, 8, [&](std::size_t cell, std::size_t voxel, double weight) {
      projected[cell] += weight * static_cast<double>(image.data[voxel]);
    });
    each_ray_weight(p, 14, [&](std::size_t cell, std::size_t voxel, double weight) {
      back_projected[voxel] += weight * static_cast<double>(sinogram.data[cell]);
    });
    errors.forward[step] = relative_error(forward(s, image).data, projected);
    errors.back[step] = relative_error(cube_sums(back(s, sinogram).data, n), cube_sums(back_projected, n));
  }
  return errors;
}
void expect_convergence(projection_errors const& e) {
  SCOPED_TRACE(::testing::Message() << "forward " << e.forward[0] << ' ' << e.forward[1] << ' ' << e.forward[2]
                                    << ", back " << e.back[0] << ' ' << e.back[1] << ' ' << e.back[2]);
  EXPECT_LT(e.forward[1], e.forward[0] / 1.5);
  EXPECT_LT(e.forward[2], e.forward[1] / 1.5);
  EXPECT_LT(e.forward[2], 0.01);
  EXPECT_LT(e.back[2], e.back[0]);
  EXPECT_LT(e.back[2], 0.006);
}

// What ASTRA's FP3D and BP3D compute: line integrals through the voxels, and their transpose. The footprints of
// general views, of cone beam and of parallel beam come closer to them the finer the voxels are.
TEST(GeneralViews, ConvergeToLineIntegralsThroughTheVoxels) {
  auto cone = some_circular_cone();
  cone.sinogram_shape = {2, 7, 9}, cone.angles = {0.4f, 2.2f};
  cone.delta_det_channel = cone.delta_det_row = 1.9;
  auto moved = to_general(cone);
  disturb(moved, 0.15);
  auto const general = [](general_parameters const& p) { return any_scan(general_scan(p)); };
  expect_convergence(errors_against_lines(moved, general));
  expect_convergence(errors_against_lines(to_general(cone), [&](general_parameters const& p) {
    auto q = cone;
    q.delta_voxel = p.delta_voxel, q.recon_shape = p.recon_shape, q.use_ror_mask = false;
    q.voxel_row_aspect = q.voxel_slice_aspect = 1, q.recon_slice_offset = 0;
    return any_scan(cone_scan(q));
  }));
  // Parallel beam with rows of any height.
  multiaxis_parameters level;
  level.sinogram_shape = {2, 7, 9}, level.angles = {0.4f, 0, 2.2f, 0};
  level.recon_shape = {{4, 4, 4}};
  auto rays = to_general(level);
  expect_convergence(errors_against_lines(rays, general));
  disturb(rays, 0.15);
  expect_convergence(errors_against_lines(rays, general));
}
TEST(GeneralViews, ParallelBeamConvergesToLineIntegrals) {
  parallel_parameters p{.sinogram_shape = {2, 4, 13}, .angles = {0.4f, 2.2f}};
  std::array<double, 3> errors{};
  for (std::size_t step = 0; step < 3; ++step) {
    index_t const n = index_t{4} << step;
    p.sinogram_shape[1] = n, p.delta_voxel = 8 / static_cast<double>(n), p.recon_shape = {{n, n, n}};
    p.use_ror_mask = false;
    any_scan const s = parallel_scan(p);
    array<3> image(recon_shape(s));
    image.data = blob(n);
    std::vector<double> projected(count_of(sinogram_shape(s)));
    each_ray_weight(to_general(p), 8, [&](std::size_t cell, std::size_t voxel, double weight) {
      projected[cell] += weight * static_cast<double>(image.data[voxel]);
    });
    errors[step] = relative_error(forward(s, image).data, projected);
  }
  SCOPED_TRACE(::testing::Message() << errors[0] << ' ' << errors[1] << ' ' << errors[2]);
  EXPECT_LT(errors[1], errors[0] / 1.5);
  EXPECT_LT(errors[2], errors[1] / 1.5);
  EXPECT_LT(errors[2], 0.02);
}

}  // namespace
