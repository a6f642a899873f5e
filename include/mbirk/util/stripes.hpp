// Removal of stripes from sinograms, which are rings in the image: a channel whose response is wrong adds an almost
// constant value to its line integrals.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/util/fourier.hpp"

namespace mbirk {

/// Stripes by sorting (Vo 2018, algorithm 3): small and partial ones. Each channel is sorted along the views, sorted
/// rows are smoothed by a median across the channels, and values return to their views.
struct sorted_stripes {
  index_t size = 21;  ///< channels of the median: wider than the stripes
};
/// Large stripes (Vo 2018, algorithm 5), found where the mean of the sorted channel differs from its smoothed one.
struct large_stripes {
  index_t size = 51;
  double snr = 3;  ///< how many times the noise a channel has to differ
};
/// Dead and fluctuating channels (Vo 2018, algorithm 6), found by their deviation from the mean of ten views and
/// interpolated from their neighbours.
struct dead_stripes {
  index_t size = 51;
  double snr = 3;
};
/// Stripes by wavelets and Fourier damping (Muench 2009): in the details across channels of each level of a db5 wavelet
/// transform, low frequencies along the views are damped by 1 - exp(-m^2/(2 sigma^2)).
struct wavelet_stripes {
  int levels = 5;
  double sigma = 2;
};

namespace detail {

/// A detector row as (views, channels), contiguous.
struct sinogram_row {
  float* values;
  index_t views, channels;
  float& at(index_t v, index_t n) const noexcept { return values[v * channels + n]; }
};

inline index_t mirrored_index(index_t n, index_t size) noexcept {
  while (n < 0 || n >= size) n = n < 0 ? -1 - n : 2 * size - 1 - n;
  return n;
}

/// Median of a window of odd size around each element; the ends are mirrored.
inline void running_median(float const* from, index_t count, index_t size, float* to, float* window) noexcept {
  index_t const half = size / 2;
  for (index_t n = 0; n < count; ++n) {
    for (index_t k = -half; k <= half; ++k) window[k + half] = from[mirrored_index(n + k, count)];
    std::nth_element(window, window + half, window + 2 * half + 1);
    to[n] = window[half];
  }
}

/// Marks channels whose value is far above or below a line through the middle half of the sorted values.
/// Source: Vo, Atwood, Drakopoulos, Superior techniques for eliminating ring artifacts in X-ray micro-tomography, 2018,
/// algorithm 4.
inline std::vector<char> find_stripes(std::vector<float> const& values, double snr) {
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  auto const count = std::ssize(sorted);
  index_t const drop = count / 4;
  double sx = 0, sy = 0, sxx = 0, sxy = 0, n = 0;
  for (index_t k = drop; k < count - drop; ++k) {
    double const x = static_cast<double>(k), y = static_cast<double>(sorted[static_cast<std::size_t>(k)]);
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
    n += 1;
  }
  std::vector<char> marked(values.size(), 0);
  double const bend = n * sxx - sx * sx;
  if (!(bend > 0)) return marked;
  double const slope = (n * sxy - sx * sy) / bend, first = (sy - slope * sx) / n;
  double const last = first + slope * static_cast<double>(count - 1), noise = std::abs(first - last);
  // Without noise, rounding decides; nothing is marked within a millionth of the values.
  double const least = std::max(noise, 1e-6 * (std::abs(first) + std::abs(last)));
  for (std::size_t k = 0; k < values.size(); ++k) {
    double const x = static_cast<double>(values[k]);
    marked[k] = x > first + least * snr * 0.5 || x < last - least * snr * 0.5;
  }
  auto wide = marked;
  for (std::size_t k = 0; k < marked.size(); ++k)
    if (marked[k]) {
      if (k > 0) wide[k - 1] = 1;
      if (k + 1 < wide.size()) wide[k + 1] = 1;
    }
  return wide;
}

/// Sorted values of each channel, their order, and the smoothed sorted values.
struct sorted_sinogram {
  std::vector<float> sorted, smooth;
  std::vector<std::int32_t> order;

  sorted_sinogram(sinogram_row const& row, index_t size) {
    auto const pixels = static_cast<std::size_t>(row.views * row.channels);
    sorted.resize(pixels);
    smooth.resize(pixels);
    order.resize(pixels);
    std::vector<std::int32_t> index(static_cast<std::size_t>(row.views));
    for (index_t n = 0; n < row.channels; ++n) {
      std::iota(index.begin(), index.end(), 0);
      std::sort(index.begin(), index.end(),
                [&](std::int32_t a, std::int32_t b) { return row.at(a, n) < row.at(b, n); });
      for (index_t v = 0; v < row.views; ++v) {
        auto const from = index[static_cast<std::size_t>(v)];
        order[static_cast<std::size_t>(v * row.channels + n)] = from;
        sorted[static_cast<std::size_t>(v * row.channels + n)] = row.at(from, n);
      }
    }
    std::vector<float> window(static_cast<std::size_t>(size | 1));
    for (index_t v = 0; v < row.views; ++v)
      running_median(sorted.data() + v * row.channels, row.channels, size | 1, smooth.data() + v * row.channels,
                     window.data());
  }
  /// Writes the smoothed values of a channel back in the order of its views.
  void restore(sinogram_row const& row, index_t n) const noexcept {
    for (index_t v = 0; v < row.views; ++v) {
      auto const at = static_cast<std::size_t>(v * row.channels + n);
      row.at(order[at], n) = smooth[at];
    }
  }
};

inline void remove_from_row(sinogram_row const& row, sorted_stripes const& o) {
  sorted_sinogram const s(row, o.size);
  for (index_t n = 0; n < row.channels; ++n) s.restore(row, n);
}

/// Line integrals of a channel with another gain are off by a constant, so differences replace the ratios that Vo takes
/// of intensities.
inline void remove_from_row(sinogram_row const& row, large_stripes const& o) {
  sorted_sinogram const s(row, o.size);
  index_t const drop = row.views / 10;
  std::vector<float> difference(static_cast<std::size_t>(row.channels));
  for (index_t n = 0; n < row.channels; ++n) {
    double sum = 0;
    for (index_t v = drop; v < row.views - drop; ++v) {
      auto const at = static_cast<std::size_t>(v * row.channels + n);
      sum += static_cast<double>(s.sorted[at]) - static_cast<double>(s.smooth[at]);
    }
    difference[static_cast<std::size_t>(n)] = static_cast<float>(sum / static_cast<double>(row.views - 2 * drop));
  }
  auto const marked = find_stripes(difference, o.snr);
  for (index_t n = 0; n < row.channels; ++n)
    if (marked[static_cast<std::size_t>(n)]) s.restore(row, n);
}

inline void remove_from_row(sinogram_row const& row, dead_stripes const& o) {
  constexpr index_t span = 10;
  std::vector<float> deviation(static_cast<std::size_t>(row.channels), 0), smooth(deviation.size());
  for (index_t n = 0; n < row.channels; ++n) {
    double sum = 0;
    for (index_t v = 0; v < row.views; ++v) {
      double mean = 0;
      for (index_t k = 0; k < span; ++k)
        mean += static_cast<double>(row.at(mirrored_index(v + k - span / 2, row.views), n)) / span;
      sum += std::abs(static_cast<double>(row.at(v, n)) - mean);
    }
    deviation[static_cast<std::size_t>(n)] = static_cast<float>(sum);
  }
  std::vector<float> window(static_cast<std::size_t>(o.size | 1));
  running_median(deviation.data(), row.channels, o.size | 1, smooth.data(), window.data());
  for (std::size_t k = 0; k < deviation.size(); ++k) deviation[k] /= smooth[k] > 0 ? smooth[k] : 1;
  auto marked = find_stripes(deviation, o.snr);
  for (index_t n = 0; n < row.channels;) {
    if (!marked[static_cast<std::size_t>(n)]) {
      ++n;
      continue;
    }
    index_t end = n;
    while (end < row.channels && marked[static_cast<std::size_t>(end)]) ++end;
    index_t const left = n - 1, right = end;
    for (index_t v = 0; v < row.views && (left >= 0 || right < row.channels); ++v)
      for (index_t k = n; k < end; ++k) {
        float const t = static_cast<float>(k - left) / static_cast<float>(right - left);
        row.at(v, k) = left < 0                ? row.at(v, right)
                       : right >= row.channels ? row.at(v, left)
                                               : (1 - t) * row.at(v, left) + t * row.at(v, right);
      }
    n = end;
  }
}

/// Low-pass filter of the db5 wavelet; the high-pass one is its alternating mirror image (Daubechies 1988).
constexpr std::array<double, 10> db5{0.160102397974125,  0.603829269797473,  0.724308528438574,  0.138428145901103,
                                     -0.242294887066190, -0.032244869585030, 0.077571493840065,  -0.006241490212783,
                                     -0.012580751999016, 0.003335725285002};
constexpr double db5_high(std::size_t k) { return k % 2 == 0 ? db5[9 - k] : -db5[9 - k]; }

/// One level of the transform of `count` (even) values at a stride, periodic: lows, then highs. @param work  count
/// values
inline void wavelet_step(double* x, index_t count, index_t stride, bool inverse, double* work) noexcept {
  index_t const half = count / 2;
  std::fill(work, work + count, 0.0);
  for (index_t k = 0; k < half; ++k)
    for (std::size_t t = 0; t < db5.size(); ++t) {
      index_t const at = (2 * k + static_cast<index_t>(t)) % count;
      if (inverse) {
        work[at] += db5[t] * x[k * stride] + db5_high(t) * x[(half + k) * stride];
      } else {
        work[k] += db5[t] * x[at * stride];
        work[half + k] += db5_high(t) * x[at * stride];
      }
    }
  for (index_t k = 0; k < count; ++k) x[k * stride] = work[k];
}

inline void remove_from_row(sinogram_row const& row, wavelet_stripes const& o) {
  auto const power = [](index_t n) { return static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(n))); };
  index_t const views = power(row.views), channels = power(row.channels);
  std::vector<double> x(static_cast<std::size_t>(views * channels));
  for (index_t v = 0; v < views; ++v)
    for (index_t n = 0; n < channels; ++n)
      x[static_cast<std::size_t>(v * channels + n)] =
          static_cast<double>(row.at(mirrored_index(v, row.views), mirrored_index(n, row.channels)));
  std::vector<double> work(static_cast<std::size_t>(std::max(views, channels)));
  int levels = 0;
  for (index_t v = views, n = channels; levels < o.levels && v >= 16 && n >= 16; ++levels, v /= 2, n /= 2) {
    for (index_t i = 0; i < v; ++i) wavelet_step(x.data() + i * channels, n, 1, false, work.data());
    for (index_t i = 0; i < n; ++i) wavelet_step(x.data() + i, v, channels, false, work.data());
    // Low along the views, high across the channels: where constant stripes are.
    index_t const half_views = v / 2;
    fourier_plan const plan(half_views);
    std::vector<std::complex<double>> column(static_cast<std::size_t>(half_views)), scratch(plan.scratch());
    for (index_t i = n / 2; i < n; ++i) {
      for (index_t k = 0; k < half_views; ++k)
        column[static_cast<std::size_t>(k)] = x[static_cast<std::size_t>(k * channels + i)];
      plan.forward(column.data(), scratch.data());
      for (index_t k = 0; k < half_views; ++k) {
        double const m = static_cast<double>(std::min(k, half_views - k));
        column[static_cast<std::size_t>(k)] *= 1 - std::exp(-m * m / (2 * o.sigma * o.sigma));
      }
      plan.inverse(column.data(), scratch.data());
      for (index_t k = 0; k < half_views; ++k)
        x[static_cast<std::size_t>(k * channels + i)] = column[static_cast<std::size_t>(k)].real();
    }
  }
  for (int level = levels; level-- > 0;) {
    index_t const v = views >> level, n = channels >> level;
    for (index_t i = 0; i < n; ++i) wavelet_step(x.data() + i, v, channels, true, work.data());
    for (index_t i = 0; i < v; ++i) wavelet_step(x.data() + i * channels, n, 1, true, work.data());
  }
  for (index_t v = 0; v < row.views; ++v)
    for (index_t n = 0; n < row.channels; ++n)
      row.at(v, n) = static_cast<float>(x[static_cast<std::size_t>(v * channels + n)]);
}

/// Task m corrects detector row m. Memory that a row needs is allocated by its task; when there is none, the row stays
/// as it is and is counted.
template <class Method> struct stripes_of_row {
  view<float, 3> y;
  Method method;
  index_t* failed;

  void operator()(index_t m) const noexcept {
    failed[m] = 1;
    try {
      index_t const views = y.extent(0), channels = y.extent(2);
      std::vector<float> values(static_cast<std::size_t>(views * channels));
      sinogram_row const row{values.data(), views, channels};
      for (index_t v = 0; v < views; ++v)
        for (index_t n = 0; n < channels; ++n) row.at(v, n) = y(v, m, n);
      remove_from_row(row, method);
      for (index_t v = 0; v < views; ++v)
        for (index_t n = 0; n < channels; ++n) y(v, m, n) = row.at(v, n);
      failed[m] = 0;
    } catch (std::bad_alloc const&) {
    }
  }
};

}  // namespace detail

/// Removes stripes from each detector row of a sinogram, in place.
/// @param ctx     execution on the host and instrumentation; returns when done.
/// @param y       (views, rows, channels), line integrals.
/// @param method  sorted_stripes, large_stripes, dead_stripes or wavelet_stripes.
/// @throws parameter_error when a size is below 1 or above 4096, allocation_error.
/// Cost: a sort of each channel and a median of `size` values per sample; wavelets: about 100 flops per sample.
/// The result is bitwise independent of the number of threads.
/// Sources: Vo, Atwood, Drakopoulos 2018; Muench, Trtik, Marone, Stampanoni, Stripe and ring artifact removal with
/// combined wavelet-Fourier filtering, 2009.
template <task_policy Exec, class Instr, class Method>
void remove_stripes(context<Exec, Instr> const& ctx, view<float, 3> y, Method const& method) {
  if constexpr (requires { method.size; })
    require(method.size >= 1 && method.size <= 4096, [&] {
      return "remove_stripes: size is " + std::to_string(method.size) + ", expected 1 to 4096 channels";
    });
  index_t const views = y.extent(0), rows = y.extent(1), channels = y.extent(2);
  require_shape(y, {views, rows, channels}, "remove_stripes", "y", "(views, rows, channels)");
  if (views < 2 || channels < 2) return;
  [[maybe_unused]] auto const guard = ctx.instr.scope({"remove_stripes", y.size()});
  temporary<index_t, context<Exec, Instr>> const failed(ctx, "failed rows", rows);
  launch(ctx, rows, detail::stripes_of_row<Method>{y, method, failed.data()});
  for (index_t m = 0; m < rows; ++m)
    require<allocation_error>(failed.data()[m] == 0, [] { return "remove_stripes: out of memory"; });
}

}  // namespace mbirk
