#include "profile_problem.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "mbirk/util/partition.hpp"
#include "mbirk/util/phantom.hpp"

namespace mbirk::program {
namespace {

template <class Scan> Scan profile_scan(index_t n) {
  bool constexpr cone = std::is_same_v<Scan, cone_scan>;
  index_t const views = std::max<index_t>(1, n / 2);
  typename Scan::parameters p{};
  p.sinogram_shape = {views, n, n};
  for (index_t v = 0; v < views; ++v)
    p.angles.push_back(static_cast<float>((cone ? 2 : 1) * std::numbers::pi * static_cast<double>(v) / static_cast<double>(views)));
  if constexpr (cone) p.source_detector_dist = 4.0 * static_cast<double>(n), p.source_iso_dist = 2.0 * static_cast<double>(n);
  return Scan(p);
}

template <class Scan> problem<Scan> fill_problem(index_t n, int threads, bool with_data) {
  problem<Scan> p{profile_scan<Scan>(n), {}, {}, {}, {}, {}, {}, {}};
  if (!p.scan.full_indices().empty()) {
    legacy_random random(0);
    auto const partition = gen_pixel_partition(p.scan.full_indices(), 4, random);
    auto const subset = partition.subset(0);
    p.subset.assign(subset.begin(), subset.end());
  }
  if (!with_data) return p;
  auto const elements = [](std::array<index_t, 3> s) { return static_cast<std::size_t>(s[0] * s[1] * s[2]); };
  auto const recon_shape = p.scan.recon_shape(), sinogram_shape = p.scan.sinogram_shape();
  p.recon.resize(elements(recon_shape)), p.recon_out.resize(p.recon.size());
  p.sinogram.resize(elements(sinogram_shape)), p.sinogram_out.resize(p.sinogram.size());
  nested_ellipsoids({p.recon.data(), recon_shape});
  forward_project(context{exec::host{threads}, instrument::none{}}, p.scan, view<float, 3>(p.recon.data(), recon_shape),
                  view<float, 3>(p.sinogram.data(), sinogram_shape));
  std::mt19937 noise(0);
  std::normal_distribution<float> gauss;
  float peak = 0;
  for (auto const y : p.sinogram) peak = std::max(peak, y);
  for (auto& y : p.sinogram) y += 0.01f * peak * gauss(noise);
  for (auto const q : p.subset) {
    auto const* const cylinder = p.recon.data() + q * recon_shape[2];
    p.values.insert(p.values.end(), cylinder, cylinder + recon_shape[2]);
  }
  p.values_out.resize(p.values.size());
  return p;
}

}  // namespace

any_problem make_problem(bool cone, index_t n, int threads, bool with_data) {
  if (cone) return fill_problem<cone_scan>(n, threads, with_data);
  return fill_problem<parallel_scan>(n, threads, with_data);
}

}  // namespace mbirk::program
