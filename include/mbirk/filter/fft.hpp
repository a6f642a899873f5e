// The filter of direct reconstruction by fast Fourier transforms, for very wide detectors. The only header that includes Eigen (3.3 or later).
#pragma once

#include <algorithm>
#include <complex>
#include <concepts>
#include <deque>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "mbirk/filter/direct_filter.hpp"

namespace mbirk {
namespace detail {

/// The smallest 2^a 3^b 5^c that is >= n, and at least 2: Eigen has no transform of one sample.
inline index_t good_fft_size(index_t n) {
  for (index_t size = std::max<index_t>(n, 2);; ++size) {
    index_t rest = size;
    for (index_t const factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return size;
  }
}

/// The spectrum of the scaled taps, wrapped around a circle of `length`, over `length` (the transforms are unscaled). Real, because the taps are
/// symmetric. Computed in double.
template <class Geometry> std::vector<float> ramp_spectrum(Geometry const& g, ramp_taps taps, index_t length) {
  auto const table = ramp_table_of(g, taps);
  auto const tap = [&](index_t d) {
    index_t const x = d / 2;
    return static_cast<double>(table.taps[static_cast<std::size_t>(d == 0 ? 4 * table.half : d % 2 ? table.half + x : 3 * table.half + x)]);
  };
  std::vector<std::complex<double>> circle(static_cast<std::size_t>(length)), spectrum(circle.size());
  for (index_t d = 0; d < g.channels; ++d) {
    circle[static_cast<std::size_t>(d)] = tap(d);
    circle[static_cast<std::size_t>(d == 0 ? 0 : length - d)] = tap(d);
  }
  Eigen::FFT<double> transform;
  transform.fwd(spectrum.data(), circle.data(), length);
  std::vector<float> real;
  for (auto const& x : spectrum) real.push_back(static_cast<float>(x.real() / static_cast<double>(length)));
  return real;
}

}  // namespace detail

/// direct_filter by fast Fourier transforms: the same formula, arguments and errors; zero padded, so nothing wraps around.
///
/// Two rows are packed into one complex transform in float32, of the smallest length 2^a 3^b 5^c >= 2 C - 1. Hence a row that is not finite also
/// spoils the row that it is packed with, and errors are relative to the larger of both rows.
///
/// Not for counting policies and the cost model (does not compile with them): the arithmetic happens inside Eigen, where nothing can be counted.
/// `filtered` may be the sinogram itself.
/// Cost: about 5 L log2 L + L flops per row, L the length. The same bits for any number of threads.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
  requires(task_policy<Exec> && std::same_as<typename context<Exec, Instr>::backend, typename Exec::backend>)
void fft_filter(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram, view<float, 3> filtered,
                filter_options const& options = {}) {
  detail::check_filter(options, "fft_filter");
  detail::check(ctx, sinogram, s.sinogram_shape(), "fft_filter", "sinogram", "(views, rows, channels)");
  detail::check(ctx, filtered, s.sinogram_shape(), "fft_filter", "filtered", "(views, rows, channels)");
  auto const& g = s.geometry();
  [[maybe_unused]] auto const guard = ctx.instr.scope({"fft_filter", g.views * g.rows * g.channels});
  if (filtered.size() == 0) return;

  using complex = std::complex<float>;
  index_t const length = detail::good_fft_size(2 * g.channels - 1);
  auto const spectrum = detail::ramp_spectrum(g, options.taps, length);
  int const workers = ctx.exec.workers(g.views);
  temporary<float, context<Exec, Instr>> weights(ctx, "filter weights", definition::ramp_weighted(g) ? g.rows * g.channels : 0);
  if (weights.data())
    ctx.exec.for_each(g.rows, ctx.exec.workers(g.rows), [&](index_t m, int) {
      for (index_t n = 0; n < g.channels; ++n)
        weights.data()[m * g.channels + n] = static_cast<float>(definition::ramp_weight(g, static_cast<double>(m), static_cast<double>(n)));
    });

  // A transform of its own for every worker, because it keeps buffers; used once here, so that it makes its plan where it may throw.
  temporary<complex, context<Exec, Instr>> buffers(ctx, "fft buffers", 2 * length * workers);
  std::fill_n(buffers.data(), buffers.size(), complex{});
  std::deque<Eigen::FFT<float>> transforms(static_cast<std::size_t>(workers));
  for (auto& t : transforms) {
    t.SetFlag(Eigen::FFT<float>::Unscaled);
    t.fwd(buffers.data() + length, buffers.data(), length);
    t.inv(buffers.data(), buffers.data() + length, length);
  }

  ctx.exec.for_each(g.views, workers, [&](index_t v, int worker) {
    auto& transform = transforms[static_cast<std::size_t>(worker)];
    auto* const rows = buffers.data() + 2 * length * worker;
    auto* const waves = rows + length;
    for (index_t m = 0; m < g.rows; m += 2) {
      bool const two = m + 1 < g.rows;
      auto const sample = [&](index_t row, index_t n) {
        return weights.data() ? weights.data()[row * g.channels + n] * sinogram(v, row, n) : sinogram(v, row, n);
      };
      for (index_t n = 0; n < g.channels; ++n) rows[n] = {sample(m, n), two ? sample(m + 1, n) : 0.0f};
      std::fill(rows + g.channels, rows + length, complex{});
      transform.fwd(waves, rows, length);
      for (index_t k = 0; k < length; ++k) waves[k] *= spectrum[static_cast<std::size_t>(k)];
      transform.inv(rows, waves, length);
      for (index_t n = 0; n < g.channels; ++n) filtered(v, m, n) = rows[n].real();
      if (two)
        for (index_t n = 0; n < g.channels; ++n) filtered(v, m + 1, n) = rows[n].imag();
    }
  });
}

}  // namespace mbirk
