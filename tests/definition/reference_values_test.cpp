// Tolerances: the tables are printed to 7 or 8 decimals, so they are off by half a unit of the last.
#include "definition/reference_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "definition/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// Every entry is there; all other elements are 0 when the table is complete.
void expect_entries(std::vector<double> const& y, std::array<index_t, 3> const& shape,
                    std::vector<matrix_entry> const& entries, double tolerance, bool complete = true) {
  view<double const, 3> const sinogram(y.data(), shape);
  for (auto const& e : entries)
    EXPECT_NEAR(sinogram(e.view, e.row, e.channel), e.value, tolerance) << e.view << ", " << e.row << ", " << e.channel;
  auto const nonzero = std::count_if(y.begin(), y.end(), [](double v) { return v != 0; });
  if (complete) EXPECT_EQ(nonzero, static_cast<std::ptrdiff_t>(entries.size()));
  else EXPECT_GE(nonzero, static_cast<std::ptrdiff_t>(entries.size()));
}

std::vector<double> voxel(index_t slices, index_t slice) {
  std::vector<double> x(static_cast<std::size_t>(slices));
  x[static_cast<std::size_t>(slice)] = 1;
  return x;
}

TEST(ReferenceValues, Parallel) {
  parallel_scan const s(reference_parallel());
  expect_entries(define_forward(s, voxel(1, 0), {reference_pixel}), s.sinogram_shape(), parallel_entries, 1e-8);
}

TEST(ReferenceValues, ConeFlat) {
  cone_scan const s(reference_cone(false));
  expect_entries(define_forward(s, voxel(4, reference_slice), {reference_pixel}), s.sinogram_shape(), flat_entries,
                 1e-7);
}

TEST(ReferenceValues, ConeCurved) {
  cone_scan const s(reference_cone(true));
  expect_entries(define_forward(s, voxel(4, reference_slice), {reference_pixel}), s.sinogram_shape(), curved_entries,
                 1e-7, false);
}

TEST(ReferenceValues, ConeIntermediateNumbers) {
  struct {
    double magnification, flat_centre, curved_centre, flat_width, curved_width, extent, row_width, row;
  } const expected[] = {{1.6701446, 5.8294753, 5.8239587, 1.0312545, 1.0269784, 0.6763943, 1.3340280, 3.8772167},
                        {1.8927366, 3.2456239, 3.2457682, 0.9985335, 0.9981677, 0.5801042, 1.5118234, 5.2687180}};
  cone_scan const flat(reference_cone(false)), curved(reference_cone(true));
  for (std::size_t v = 0; v < 2; ++v) {
    auto const& e = expected[v];
    auto const at = definition::cone_footprint_at<double>(flat, static_cast<index_t>(v), index_t{reference_pixel});
    auto const bent = definition::cone_footprint_at<double>(curved, static_cast<index_t>(v), index_t{reference_pixel});
    auto const& g = flat.geometry();
    EXPECT_NEAR(at.magnification, e.magnification, 1e-7);
    EXPECT_NEAR(at.channel.centre, e.flat_centre, 1e-7);
    EXPECT_NEAR(bent.channel.centre, e.curved_centre, 1e-7);
    EXPECT_NEAR(at.channel.width, e.flat_width, 1e-7);
    EXPECT_NEAR(bent.channel.width, e.curved_width, 1e-7);
    EXPECT_NEAR(g.delta_x * g.delta_y / at.channel.chord, e.extent, 1e-7);
    EXPECT_NEAR(at.row_width, e.row_width, 1e-7);
    double const z = definition::slice_z(g, static_cast<double>(reference_slice), flat.positions()[v].z_shift);
    EXPECT_NEAR(definition::detector_row(g, at.magnification, z), e.row, 2e-7)
        << "a sum of four numbers with that error";
  }
}

TEST(ReferenceValues, BackIsTheTransposeAndPowerTwoItsSquares) {
  cone_scan const s(reference_cone(false));
  for (auto const& e : flat_entries) {
    std::vector<double> y(count_of(s.sinogram_shape()));
    view<double, 3>(y.data(), s.sinogram_shape())(e.view, e.row, e.channel) = 1;
    EXPECT_NEAR(define_back(s, y, {reference_pixel}, 1)[reference_slice], e.value, 1e-7);
    EXPECT_NEAR(define_back(s, y, {reference_pixel}, 2)[reference_slice], e.value * e.value, 2e-7);
  }
  parallel_scan const p(reference_parallel());
  for (auto const& e : parallel_entries) {
    std::vector<double> y(count_of(p.sinogram_shape()));
    view<double, 3>(y.data(), p.sinogram_shape())(e.view, e.row, e.channel) = 1;
    EXPECT_NEAR(define_back(p, y, {reference_pixel}, 1)[0], e.value, 1e-8);
    EXPECT_NEAR(define_back(p, y, {reference_pixel}, 2)[0], e.value * e.value, 3e-8);
  }
}

}  // namespace
