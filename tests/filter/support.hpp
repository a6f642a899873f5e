// Shared by the tests of the filter and of direct reconstruction: the filter's definition in double and its error
// bound, contexts, arrays with gaps.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/definition/ramp.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "projector/cases.hpp"

namespace mbirk::test {

using host_context = context<exec::host, instrument::none>;
inline host_context on_host(int threads = 1) { return {exec::host{threads}, {}}; }

inline filter_options direct_sum(ramp_taps taps = ramp_taps::closed) {
  return {.taps = taps, .method = filter_method::direct};
}
inline filter_options by_transforms(ramp_taps taps = ramp_taps::closed) {
  return {.taps = taps, .method = filter_method::fourier};
}
inline filter_options const either[] = {direct_sum(), direct_sum(ramp_taps::float32), by_transforms(),
                                        by_transforms(ramp_taps::float32)};

inline array<3> filtered(any_scan const& s, array<3> const& y, filter_options const& options = {}, int threads = 1) {
  array<3> q(y.shape, -1.0f);
  visit_direct([&](auto const& scan) { direct_filter(on_host(threads), scan, y.all(), q.all(), options); }, s);
  return q;
}

/// The recorded name of the operation that run(context) calls.
template <class F> std::string operation_name(F const& run) {
  instrument::trace_buffer buffer(1000);
  run(context{exec::host{}, instrument::tracing{buffer}});
  for (auto const& e : buffer.events())
    if (e.kind == instrument::event_kind::operation) return e.name;
  return {};
}

/// The filtered sinogram in double.
template <class Scan> std::vector<double> define_filter(Scan const& s, std::vector<float> const& y) {
  definition::plain_interpreter<double> m;
  std::vector<double> q(count_of(s.sinogram_shape()));
  auto const input = m.input(view<float const, 3>(y.data(), s.sinogram_shape()));
  definition::direct_filter(m, s.geometry(), input, view<double, 3>(q.data(), s.sinogram_shape()));
  return q;
}

/// Sum over n' of |Gamma h W y|, for every sample: rounding errors of the filter are relative to it.
template <class Scan> std::vector<double> filter_magnitude(Scan const& s, std::vector<float> const& y) {
  auto const& g = s.geometry();
  auto const C = static_cast<std::size_t>(g.channels);
  std::vector<double> sums(y.size()), taps(C), weighted(C);
  for (std::size_t d = 0; d < C; ++d)
    taps[d] = definition::ramp_scale(g) * std::abs(definition::ramp_tap(static_cast<double>(d)));
  for (std::size_t row = 0; row * C < y.size(); ++row) {
    auto const m = static_cast<double>(row % static_cast<std::size_t>(g.rows));
    for (std::size_t n = 0; n < C; ++n)
      weighted[n] =
          definition::ramp_weight(g, m, static_cast<double>(n)) * std::abs(static_cast<double>(y[row * C + n]));
    for (std::size_t n = 0; n < C; ++n) {
      double sum = 0;
      for (std::size_t other = 0; other < C; ++other) sum += taps[n < other ? other - n : n - other] * weighted[other];
      sums[row * C + n] = sum;
    }
  }
  return sums;
}

/// Bound on the kernel's error in roundings of 2^-24, relative to filter_magnitude.
///
/// - sum: a partial sum of at most 128 terms, one rounding each, then one for every partial sum and the centre (float32
///   taps: twice as many sums).
/// - terms: the scaled tap, and its product with the sample's weight.
/// - weight: let A be the squared tangent of the worst ray, with |u|/D and |v|/D taken without cancellation of the
///   offset. u and v are off by two roundings each (pitch, offset, one fused operation), so the argument is off by at
///   most 4 A + 3 A. The root halves that, and root and quotient add one rounding each.
template <class Geometry> double filter_roundings(Geometry const& g) {
  double const half = std::ceil(static_cast<double>(g.channels) / 2);
  double roundings = std::min(half, 128.0) + 2 * std::ceil(half / 128) + 1 + 2;
  if constexpr (std::is_base_of_v<cone_geometry, Geometry>) {
    double const u = (static_cast<double>(g.channels) / 2 * g.delta_det_channel + std::abs(g.det_channel_offset)) *
                     g.inverse_detector_dist;
    double const v =
        (static_cast<double>(g.rows) / 2 * g.delta_det_row + std::abs(g.det_row_offset)) * g.inverse_detector_dist;
    roundings += 3.5 * (u * u + v * v) + 3;
  }
  return roundings;
}

/// A dense copy of an array in memory with gaps, which are filled with a mark.
class spread {
 public:
  static constexpr float mark = -12345.5f;
  explicit spread(array<3> const& a)
      : extents_(a.shape), strides_{a.shape[1] * (a.shape[2] + 3) + 5, a.shape[2] + 3, 1} {
    data_.assign(static_cast<std::size_t>(extents_[0] * strides_[0] + 64), mark);
    std::size_t k = 0;
    each([&](float& x) { x = a.data[k++]; });
  }
  view<float, 3> all() { return {data_.data(), extents_, strides_}; }
  std::vector<float> dense() {
    std::vector<float> values;
    each([&](float& x) { values.push_back(x); });
    return values;
  }
  bool gaps_untouched() {
    auto const kept = data_;
    each([](float& x) { x = mark; });
    bool const ok = std::all_of(data_.begin(), data_.end(), [](float x) { return x == mark; });
    data_ = kept;
    return ok;
  }

 private:
  template <class F> void each(F const& f) {
    auto const v = all();
    for (index_t i = 0; i < extents_[0]; ++i)
      for (index_t j = 0; j < extents_[1]; ++j)
        for (index_t k = 0; k < extents_[2]; ++k) f(v(i, j, k));
  }
  shape_3 extents_, strides_;
  std::vector<float> data_;
};

/// The test sinogram whose results are known: V = 6, R = 2, C = 7, y = max(0, 7 - 1.5 |n - 3 + sin(v)/2|) (1 + 0.1 m).
inline array<3> known_sinogram() {
  array<3> y({6, 2, 7});
  for (index_t v = 0; v < 6; ++v)
    for (index_t m = 0; m < 2; ++m)
      for (index_t n = 0; n < 7; ++n)
        y.all()(v, m, n) = static_cast<float>(
            std::max(0.0, 7 - 1.5 * std::abs(static_cast<double>(n) - 3 + 0.5 * std::sin(static_cast<double>(v)))) *
            (1 + 0.1 * static_cast<double>(m)));
  return y;
}
inline std::vector<float> equal_angles(index_t views, double range) {
  std::vector<float> a;
  for (index_t v = 0; v < views; ++v)
    a.push_back(static_cast<float>(range * static_cast<double>(v) / static_cast<double>(views)));
  return a;
}
inline parallel_scan known_parallel() {
  return parallel_scan(parallel_parameters{.sinogram_shape = {6, 2, 7}, .angles = equal_angles(6, definition::pi)});
}
inline cone_scan known_cone() {
  return cone_scan(cone_parameters{.sinogram_shape = {6, 2, 7},
                                   .angles = equal_angles(6, 2 * definition::pi),
                                   .source_detector_dist = 28,
                                   .source_iso_dist = 14});
}

}  // namespace mbirk::test
