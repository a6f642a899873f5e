// A scan in parallel beam, shared out in slices, and reconstructions of it by ranks and in one memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/util/phantom.hpp"
#include "world.hpp"

namespace testing_ranks {

using namespace mbirk;
using distributed::parallel_slab;
using floats = std::vector<float>;

inline context const ctx{exec::host{1}, instrument::none{}};

/// The last unit of slices is not full, and the last pack of it neither.
inline parallel_parameters scan_parameters() {
  parallel_parameters p;
  p.sinogram_shape = {24, 116, 20};
  for (int v = 0; v < 24; ++v) p.angles.push_back(static_cast<float>(v * std::numbers::pi / 24));
  p.recon_shape = {20, 20, 116};
  return p;
}

inline index_t size_of(std::array<index_t, 3> const& shape) { return static_cast<index_t>(element_count(shape)); }
inline floats array(std::array<index_t, 3> const& shape) { return floats(element_count(shape)); }
inline view<float const, 3> reading(floats const& v, std::array<index_t, 3> const& shape) { return {v.data(), shape}; }
inline view<float, 3> writing(floats& v, std::array<index_t, 3> const& shape) { return {v.data(), shape}; }

inline void expect_same_log(recon_log const& found, recon_log const& expected) {
  EXPECT_EQ(found.alpha_values, expected.alpha_values);
  EXPECT_EQ(found.fm_rmse, expected.fm_rmse);
  EXPECT_EQ(found.stop_threshold_change_pct, expected.stop_threshold_change_pct);
  EXPECT_EQ(found.delta_norm_per_slice, expected.delta_norm_per_slice);
  EXPECT_EQ(found.sigma_y, expected.sigma_y);
  EXPECT_EQ(found.sigma_x, expected.sigma_x);
  EXPECT_EQ(found.sigma_prox, expected.sigma_prox);
}

/// A phantom whose slices all differ, its sinogram with noise, and weights.
struct problem {
  parallel_parameters parameters = scan_parameters();
  parallel_scan scan{parameters};
  floats image = array(scan.recon_shape()), sinogram = array(scan.sinogram_shape()),
         weights = array(scan.sinogram_shape());

  problem() {
    auto const [rows, cols, slices] = scan.recon_shape();
    for (index_t i = 0, n = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j)
        for (index_t k = 0; k < slices; ++k, ++n) {
          double const y = (static_cast<double>(i) - 9.5) / 8, x = (static_cast<double>(j) - 9.5) / 8;
          double const reach = 0.6 + 0.3 * std::sin(0.15 * static_cast<double>(k));
          if (x * x + y * y < reach) image[static_cast<std::size_t>(n)] = 0.02f + 0.01f * static_cast<float>(k % 3);
        }
    forward_project(ctx, scan, reading(image, scan.recon_shape()), writing(sinogram, scan.sinogram_shape()));
    std::uint32_t state = 1;
    for (std::size_t n = 0; n < sinogram.size(); ++n) {
      state = state * 1664525u + 1013904223u;
      sinogram[n] += 0.002f * (static_cast<float>(state >> 8) / 0x1p24f - 0.5f);
      weights[n] = std::exp(-sinogram[n]);
    }
  }
};
inline problem const& data() {
  static problem const p;
  return p;
}

/// Rows or slices [first, first + count) along axis `axis` of an array.
inline floats part(floats const& all, std::array<index_t, 3> shape, int axis, distributed::index_range r) {
  floats out;
  auto const n = static_cast<std::size_t>(axis);
  index_t inner = 1;
  for (auto d = n + 1; d < 3; ++d) inner *= shape[d];
  index_t const outer = size_of(shape) / (shape[n] * inner);
  for (index_t o = 0; o < outer; ++o) {
    auto const begin = all.begin() + (o * shape[n] + r.first) * inner;
    out.insert(out.end(), begin, begin + r.count * inner);
  }
  return out;
}

inline bool same_bits(floats const& a, floats const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
/// @param of_peak  the largest difference, as a share of the largest value
inline void expect_close(floats const& found, floats const& expected, float of_peak) {
  ASSERT_EQ(found.size(), expected.size());
  float peak = 0, most = 0;
  for (std::size_t n = 0; n < found.size(); ++n) {
    peak = std::max(peak, std::abs(expected[n]));
    float const difference = std::abs(found[n] - expected[n]);
    if (!(difference <= most)) most = difference;  // also NaN, which stays
    if (std::isnan(most)) break;
  }
  EXPECT_LE(most, of_peak * peak);
}

inline void expect_same_traffic(distributed::traffic_ledger& found, distributed::traffic_ledger const& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (auto const& [what, sent] : expected) {
    EXPECT_EQ(found[what].messages, sent.messages) << what;
    EXPECT_EQ(found[what].bytes, sent.bytes) << what;
  }
}

/// The arguments of recon or prox_map, on one rank or on all.
struct run_case {
  char const* name;
  bool weighted, positivity, proximal;
  int iterations;
  std::vector<index_t> sequence;  // subsets: 1 << entry
  enum { direct, constant, given } first = direct;
};
inline std::vector<run_case> cases() {
  return {{"few subsets, whose projections are kept", false, false, false, 2, {1, 2}},
          {"many subsets, projected twice", false, false, false, 2, {4, 6}},
          {"weights", true, false, false, 2, {2, 6}},
          {"positivity", true, true, false, 2, {1, 6}},
          {"proximal map", true, false, true, 2, {2, 5}},
          {"a constant as first image", false, true, false, 1, {6}, run_case::constant},
          {"a given first image", false, false, false, 1, {6}, run_case::given}};
}
inline recon_options options_of(run_case const& c) {
  recon_options o{{.max_iterations = c.iterations, .stop_threshold_change_pct = 0, .seed = 3}};
  o.granularity = {1, 2, 4, 8, 16, 32, 64};
  o.partition_sequence = c.sequence;
  o.positivity_flag = c.positivity;
  if (c.first == run_case::constant) o.init_recon = 0.01;
  return o;
}

struct outcome { floats image; recon_log log; };

struct nothing_more {
  void operator()(recon_options&, parallel_slab const&) const {}
};
/// @param more  changes the options of this rank
template <class Comm, class More = nothing_more>
outcome run(Comm const& ranks, run_case const& c, exec::host const& host = exec::host{1}, More const& more = {}) {
  context const here{host, instrument::none{}};
  auto const& d = data();
  parallel_slab const slab(d.parameters, ranks.rank(), ranks.size());
  auto const shape = slab.scan().sinogram_shape(), recon_shape = slab.scan().recon_shape();
  auto const y = part(d.sinogram, d.scan.sinogram_shape(), 1, slab.range()),
             w = part(d.weights, d.scan.sinogram_shape(), 1, slab.range()),
             v = part(d.image, d.scan.recon_shape(), 2, slab.range());
  std::optional<view<float const, 3>> weights;
  if (c.weighted) weights = reading(w, shape);
  outcome out{array(recon_shape), {}};
  auto const x = writing(out.image, recon_shape);
  auto o = options_of(c);
  if (c.first == run_case::given) o.init_recon = reading(v, recon_shape);
  more(o, slab);
  out.log = c.proximal
                ? distributed::prox_map(here, ranks, slab, reading(v, recon_shape), reading(y, shape), weights, x, o)
                : distributed::recon(here, ranks, slab, reading(y, shape), weights, x, o);
  return out;
}
template <class More = nothing_more> outcome run_in_one_memory(run_case const& c, More const& more = {}) {
  auto const& d = data();
  auto const shape = d.scan.sinogram_shape(), recon_shape = d.scan.recon_shape();
  std::optional<view<float const, 3>> weights;
  if (c.weighted) weights = reading(d.weights, shape);
  outcome out{array(recon_shape), {}};
  auto const x = writing(out.image, recon_shape);
  auto o = options_of(c);
  if (c.first == run_case::given) o.init_recon = reading(d.image, recon_shape);
  more(o, parallel_slab(d.parameters, 0, 1));
  out.log = c.proximal
                ? prox_map(ctx, d.scan, reading(d.image, recon_shape), reading(d.sinogram, shape), weights, x, o)
                : recon(ctx, d.scan, reading(d.sinogram, shape), weights, x, o);
  return out;
}

/// What this rank's call throws; empty if nothing.
template <class Error, class F> std::string message_of(F const& f) {
  try {
    f();
    return "nothing";
  } catch (Error const& e) {
    return e.what();
  }
}

}  // namespace testing_ranks
