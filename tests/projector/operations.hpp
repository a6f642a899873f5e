// The operations of either geometry on the host without instrumentation, behind plain functions: the kernels are
// compiled once for all the files of this folder (in operations_test.cpp). Also helpers for these files: arrays, random
// numbers, comparisons.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <variant>
#include <vector>

#include "definition/support.hpp"
#include "mbirk/geometry/list.hpp"

namespace mbirk::test {

using any_parameters = parameters_variant;
using any_scan = scan_variant;
using shape_3 = std::array<index_t, 3>;

void run_forward(any_scan const& s, view<float const, 3> recon, view<float, 3> sinogram, int threads = 1);
void run_back(any_scan const& s, view<float const, 3> sinogram, view<float, 3> recon, int threads = 1);
void run_sparse_forward(any_scan const& s, view<float const, 2> values, view<std::int32_t const, 1> pixels,
                        view<float, 3> sinogram, int threads = 1);
void run_sparse_back(any_scan const& s, view<float const, 3> sinogram, view<std::int32_t const, 1> pixels,
                     view<float, 2> values, int power, int threads = 1);
void run_hessian(any_scan const& s, std::optional<view<float const, 3>> weights, view<float, 3> hessian,
                 int threads = 1);

inline any_scan make_scan(any_parameters const& p) {
  std::optional<any_scan> made;
  geometries::each([&]<class Geometry>(std::type_identity<Geometry>) {
    if (auto const* own = std::get_if<typename Geometry::parameters>(&p)) made = scan<Geometry>(*own);
  });
  return *made;
}
/// f(scan) of a scan with a direct reconstruction.
template <class F> auto visit_direct(F const& f, any_scan const& s) {
  using result = decltype(f(std::declval<cone_scan const&>()));
  return std::visit([&]<class Geometry>(scan<Geometry> const& any) -> result {
    if constexpr (has_direct_recon<Geometry>) return f(any);
    else throw std::logic_error("the scan has no direct reconstruction");
  }, s);
}
inline shape_3 sinogram_shape(any_scan const& s) {
  return std::visit([](auto const& x) { return x.sinogram_shape(); }, s);
}
inline shape_3 recon_shape(any_scan const& s) { return std::visit([](auto const& x) { return x.recon_shape(); }, s); }
inline index_t slices_of(any_scan const& s) { return recon_shape(s)[2]; }
inline std::vector<std::uint8_t> const& mask_of(any_scan const& s) {
  return std::visit([](auto const& x) -> auto const& { return x.mask(); }, s);
}
inline pixel_list masked_in(any_scan const& s) { return full_indices(mask_of(s)); }
inline pixel_list every_pixel(any_scan const& s) {
  pixel_list p(mask_of(s).size());
  std::iota(p.begin(), p.end(), 0);
  return p;
}
/// Pixels inside and outside the mask, in no order, some of them more than once.
inline pixel_list some_pixels(any_scan const& s, std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<std::int32_t> any(0, static_cast<std::int32_t>(mask_of(s).size()) - 1);
  pixel_list p(count);
  for (auto& q : p) q = any(engine);
  return p;
}

/// A dense array that owns its elements.
template <int Rank> struct array {
  explicit array(std::array<index_t, Rank> const& s, float value = 0)
      : shape(s),
        data(static_cast<std::size_t>(std::accumulate(s.begin(), s.end(), index_t{1}, std::multiplies<>())), value) {}
  view<float, Rank> all() { return {data.data(), shape}; }
  view<float const, Rank> all() const { return {data.data(), shape}; }
  std::array<index_t, Rank> shape;
  std::vector<float> data;
};

/// Uniform in [0, 1): positive, because errors of sums that cancel measure the data and not the operator.
template <int Rank> array<Rank> random_array(std::array<index_t, Rank> const& shape, unsigned seed) {
  array<Rank> a(shape);
  std::mt19937 engine(seed);
  for (auto& x : a.data) x = static_cast<float>(engine() >> 8) * 0x1p-24f;
  return a;
}

inline view<std::int32_t const, 1> as_view(pixel_list const& p) { return {p.data(), {static_cast<index_t>(p.size())}}; }

inline array<3> forward(any_scan const& s, array<3> const& recon, int threads = 1) {
  array<3> y(sinogram_shape(s), -1.0f);
  run_forward(s, recon.all(), y.all(), threads);
  return y;
}
inline array<3> back(any_scan const& s, array<3> const& sinogram, int threads = 1) {
  array<3> x(recon_shape(s), -1.0f);
  run_back(s, sinogram.all(), x.all(), threads);
  return x;
}
inline array<3> sparse_forward(any_scan const& s, array<2> const& values, pixel_list const& pixels, int threads = 1) {
  array<3> y(sinogram_shape(s), -1.0f);
  run_sparse_forward(s, values.all(), as_view(pixels), y.all(), threads);
  return y;
}
inline array<2> sparse_back(any_scan const& s, array<3> const& sinogram, pixel_list const& pixels, int power,
                            int threads = 1) {
  array<2> x({static_cast<index_t>(pixels.size()), slices_of(s)}, -1.0f);
  run_sparse_back(s, sinogram.all(), as_view(pixels), x.all(), power, threads);
  return x;
}
inline array<3> hessian(any_scan const& s, std::optional<array<3>> const& weights = {}, int threads = 1) {
  array<3> h(recon_shape(s), -1.0f);
  run_hessian(s, weights ? std::optional<view<float const, 3>>(weights->all()) : std::nullopt, h.all(), threads);
  return h;
}

/// Voxel columns of the listed pixels, (pixels, slices).
inline array<2> cylinders_of(array<3> const& recon, pixel_list const& pixels) {
  auto const slices = static_cast<std::size_t>(recon.shape[2]);
  array<2> x({static_cast<index_t>(pixels.size()), recon.shape[2]});
  for (std::size_t p = 0; p < pixels.size(); ++p)
    std::copy_n(recon.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(pixels[p]) * slices), slices,
                x.data.begin() + static_cast<std::ptrdiff_t>(p * slices));
  return x;
}

/// Results of each projection with a plan, called twice, and the copies to the device that the second calls made.
struct planned_results {
  array<3> forward[2], back[2], sparse_forward[2];
  array<2> sparse_back[2];
  index_t uploads = 0;
};
planned_results run_planned(any_scan const& s, array<3> const& recon, array<3> const& sinogram,
                            pixel_list const& pixels, int threads = 1);

inline bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// max |a - b| / max |b|; infinite if a has a non-finite element. 0 for arrays that are both 0.
template <class A, class B> double relative_error(A const& a, B const& b) {
  double worst = 0, largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    double const difference = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    largest = std::max(largest, std::abs(static_cast<double>(b[k])));
  }
  return worst == 0 ? 0 : worst / largest;
}

template <class A, class B> double dot(A const& a, B const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

}  // namespace mbirk::test
