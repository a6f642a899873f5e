// Multi-axis parallel beam: the parallel beam and reversed rows as special cases, and the mass of a slice. The tests of
// all geometries have its cases too.
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// Every slice spreads over rows with a total of delta_z / delta_r, whatever the elevation.
TEST(MultiaxisRows, KeepTheMassOfASlice) {
  for (auto const& c : multiaxis_cases()) {
    SCOPED_TRACE(c.name);
    multiaxis_scan const s(c.parameters);
    auto const& g = s.geometry();
    for (auto const& at : s.positions()) {
      auto const f = definition::multiaxis_rows(g, at.cosine, at.sine, at.cos_elevation, at.sin_elevation, 0.3, -0.2);
      EXPECT_GE(f.width, std::abs(f.step));
      double total = 0;
      auto const reach = static_cast<index_t>(std::ceil(f.width)) + 2, middle = static_cast<index_t>(f.centre);
      for (index_t m = middle - reach; m <= middle + reach; ++m)
        total += f.height * definition::overlap(f.centre - static_cast<double>(m), f.width);
      EXPECT_NEAR(total, g.delta_z / g.delta_det_row, 1e-12 * total);
    }
  }
}

TEST(MultiaxisSpecialCase, WithoutElevationItIsParallelBeam) {
  parallel_parameters parallel{.sinogram_shape = {7, 9, 13}, .angles = {}, .delta_voxel = 0.77,
                               .recon_shape = {{11, 12, 9}}};
  multiaxis_parameters p;
  p.sinogram_shape = parallel.sinogram_shape;
  p.angles = some_axes(7, {0.0f});
  for (std::size_t v = 0; v < 7; ++v) parallel.angles.push_back(p.angles[2 * v]);
  p.delta_det_row = p.delta_voxel.emplace(0.77);
  p.recon_shape = parallel.recon_shape;
  multiaxis_scan const s(p);
  auto const x = random_array<3>(s.recon_shape(), 5), y = random_array<3>(s.sinogram_shape(), 6);
  any_scan const other = parallel_scan(parallel);
  auto const close = [](std::vector<float> const& a, std::vector<float> const& b) {
    EXPECT_LE(relative_error(a, b), 1e-6);  // sums of fewer than 32 products, in two orders
    EXPECT_GT(*std::max_element(b.begin(), b.end()), 0);
  };
  close(forward(s, x).data, forward(other, x).data);
  close(back(s, y).data, back(other, y).data);
  close(hessian(s).data, hessian(other).data);
}

/// An elevation of phi = pi views the object from the other side, upside down: y(R - 1 - m) at azimuth theta.
TEST(MultiaxisSpecialCase, HalfATurnOfElevationReversesTheRows) {
  multiaxis_parameters p;
  p.sinogram_shape = {5, 9, 13};
  p.angles = some_axes(5, {0.0f});
  p.recon_shape = {{11, 12, 7}};
  multiaxis_scan const upright(p);
  p.angles = some_axes(5, {3.1415927f});
  multiaxis_scan const reversed(p);
  auto const x = random_array<3>(upright.recon_shape(), 5);
  auto const a = forward(upright, x), b = forward(reversed, x);
  double worst = 0;
  for (index_t v = 0; v < 5; ++v)
    for (index_t m = 0; m < 9; ++m)
      for (index_t n = 0; n < 13; ++n)
        worst = std::max(worst, std::abs(static_cast<double>(a.all()(v, m, n) - b.all()(v, 8 - m, n))));
  // The float32 of pi is 8.7e-8 less, which moves rows by that times the radius of the object, 8.
  EXPECT_LE(worst, 4e-6 * static_cast<double>(*std::max_element(a.data.begin(), a.data.end())));
}

}  // namespace
