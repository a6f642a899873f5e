// General views against their matrix in double precision, computed serially from the vectors of the views. Every
// element is compared with a bound of its own, from the roundings of its terms.
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

constexpr double rounding = 0x1p-24;

struct footprint { double channel, channel_width, row, row_width, amplitude; };

/// docs/conventions.md, with a and b the tangents of a ray across the rows and along them.
footprint footprint_of(general_geometry const& g, mbirk::detail::general_view const& s, vector3 const& p) {
  auto const w = cross(s.u, s.v), dual_u = cross(s.v, w) / dot(w, w), dual_v = cross(w, s.u) / dot(w, w);
  auto const central = g.parallel_rays ? s.source : s.detector - s.source,
             ray = g.parallel_rays ? s.source : p - s.source;
  double const lambda = g.parallel_rays ? 1 : dot(central, w) / dot(ray, w);
  auto const seen = p - s.detector - (g.parallel_rays ? ray * (dot(p - s.detector, w) / dot(ray, w)) : vector3{});
  auto const h = g.parallel_rays ? seen : s.source + ray * lambda - s.detector;
  auto const extent = [&](vector3 const& dual) {
    auto const gradient = (dual - w * (dot(ray, dual) / dot(ray, w))) * lambda;
    return std::max({std::abs(gradient.x) * g.delta_x, std::abs(gradient.y) * g.delta_y,
                     std::abs(gradient.z) * g.delta_z});
  };
  auto const across = s.u / length(s.u), normal = w / length(w), along = cross(normal, across);
  auto const secants = [&](vector3 const& of) {
    double const a = dot(of, across) / dot(of, normal), b = dot(of, along) / dot(of, normal);
    return std::sqrt((1 + a * a) * (1 + b * b));
  };
  auto const obliquity = length(central) / std::abs(dot(central, normal));
  double const area = g.delta_x * g.delta_y * g.delta_z * lambda * lambda / length(w) * obliquity *
      (g.parallel_rays ? 1 : secants(ray) / secants(central));
  double const wide = extent(dual_u), tall = extent(dual_v);
  return {dot(h, dual_u) + 0.5 * static_cast<double>(g.channels - 1), wide,
          dot(h, dual_v) + 0.5 * static_cast<double>(g.rows - 1), tall, area / (wide * tall)};
}

/// Overlap of a cell with a footprint, and a bound on its error. A kernel computes positions relative to a cell from
/// which a pack reaches at most half its lanes times the width of a footprint: six roundings of numbers of that size,
/// and four of the width.
struct overlap_with_error { double value, error; };
overlap_with_error overlap_of(double distance, double width, double cells) {
  double const value = std::max(0.0, std::min({1.0, width, 0.5 * (width + 1) - std::abs(distance)}));
  double const seen = std::min(width, cells);
  double const error = rounding * (6 * (1 + 0.5 * simd::native_lanes) * (1 + seen) + 4 * width);
  return {value, 0.5 * (width + 1) - std::abs(distance) > -error ? error : 0};
}

/// Calls f(cell, voxel, weight, error) for every weight of a scan that may differ from 0.
template <class F> void each_weight(general_scan const& s, F const& f) {
  auto const& g = s.geometry();
  auto const first = mbirk::detail::first_voxel(g);
  for (index_t v = 0; v < g.views; ++v) {
    auto const view = mbirk::detail::general_view::of(s.views().view_vectors, v);
    for (index_t q = 0; q < g.recon_rows * g.recon_cols; ++q) {
      if (s.mask()[static_cast<std::size_t>(q)] == 0) continue;
      for (index_t k = 0; k < g.slices; ++k) {
        vector3 const step{static_cast<double>(q % g.recon_cols) * g.delta_x,
                           static_cast<double>(q / g.recon_cols) * g.delta_y, static_cast<double>(k) * g.delta_z};
        auto const at = footprint_of(g, view, first + step);
        auto const cells = [](double centre, double width, index_t all) {
          double const reach = 0.5 * (width + 1) + 0.001, last = static_cast<double>(all - 1);
          return std::pair{static_cast<index_t>(std::ceil(std::clamp(centre - reach, 0.0, last + 1))),
                           static_cast<index_t>(std::floor(std::clamp(centre + reach, -1.0, last)))};
        };
        auto const [n0, n1] = cells(at.channel, at.channel_width, g.channels);
        auto const [m0, m1] = cells(at.row, at.row_width, g.rows);
        for (index_t m = m0; m <= m1; ++m)
          for (index_t n = n0; n <= n1; ++n) {
            auto const a = overlap_of(at.channel - static_cast<double>(n), at.channel_width,
                                      static_cast<double>(g.channels)),
                       b = overlap_of(at.row - static_cast<double>(m), at.row_width, static_cast<double>(g.rows));
            // The amplitude: two extents, two secants, their root, products and a quotient.
            double const weight = at.amplitude * a.value * b.value,
                         error = at.amplitude * ((a.value + a.error) * (b.value + b.error) - a.value * b.value) +
                             24 * rounding * weight;
            if (weight + error > 0)
              f(static_cast<std::size_t>((v * g.rows + m) * g.channels + n),
                static_cast<std::size_t>(q * g.slices + k), weight, error);
          }
      }
    }
  }
}

/// Sums of terms in double, and bounds on the errors of their sums in float, in any order.
struct sums {
  std::vector<double> value, size, error, terms;
  explicit sums(std::size_t n) : value(n), size(n), error(n), terms(n) {}
  void add(std::size_t at, double weight, double weight_error, float x) {
    double const term = weight * static_cast<double>(x);
    value[at] += term;
    size[at] += std::abs(term);
    error[at] += weight_error * std::abs(static_cast<double>(x));
    terms[at] += 1;
  }
  /// Largest error of `found` in units of its bound.
  double worst(std::vector<float> const& found) const {
    double worst = 0;
    for (std::size_t k = 0; k < value.size(); ++k) {
      double const bound = error[k] + (terms[k] + 2) * rounding * (size[k] + error[k]),
                   off = std::abs(static_cast<double>(found[k]) - value[k]);
      if (off > 0) worst = std::max(worst, bound > 0 ? off / bound : 1e30);
    }
    return worst;
  }
  /// The largest bound, relative to the largest sum.
  double loosest() const {
    double bound = 0, largest = 0;
    for (std::size_t k = 0; k < value.size(); ++k) {
      bound = std::max(bound, error[k] + (terms[k] + 2) * rounding * (size[k] + error[k]));
      largest = std::max(largest, std::abs(value[k]));
    }
    return bound / largest;
  }
};

struct GeneralMatrix : ::testing::TestWithParam<general_case> {};

TEST_P(GeneralMatrix, BoundsTheErrorsOfBothProjections) {
  general_scan const s(GetParam().parameters);
  auto const y = random_array<3>(s.sinogram_shape(), 51);
  auto const x = back(s, y);            // so that the projection below is that of a back projection
  auto const projected = forward(s, x);
  sums forward_sums(projected.data.size()), back_sums(x.data.size());
  each_weight(s, [&](std::size_t cell, std::size_t voxel, double weight, double error) {
    forward_sums.add(cell, weight, error, x.data[voxel]);
    back_sums.add(voxel, weight, error, y.data[cell]);
  });
  EXPECT_LE(back_sums.worst(x.data), 1);
  EXPECT_LE(forward_sums.worst(projected.data), 1);
  EXPECT_LT(back_sums.loosest(), 1e-4) << "the bound says little";
  EXPECT_LT(forward_sums.loosest(), 1e-4) << "the bound says little";
}

std::string case_of(::testing::TestParamInfo<general_case> const& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, GeneralMatrix, ::testing::ValuesIn(general_cases()), case_of);

}  // namespace
