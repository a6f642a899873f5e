// Discrete Fourier transforms of any length, in double, for corrections of sinograms. The filter of direct
// reconstruction has its own (kernel/shared/ramp_fourier.hpp).
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "mbirk/core/index.hpp"

namespace mbirk {

/// Plan of forward and inverse transforms of one length: X[k] = sum over n of x[n] exp(-2 pi i k n / N). Lengths that
/// are no power of two go through a convolution (Bluestein 1970: exp(-2 pi i kn/N) = w(k) w(n) / w(k - n),
/// w(n) = exp(-pi i n^2/N)).
class fourier_plan {
 public:
  using complex = std::complex<double>;

  explicit fourier_plan(index_t length) : length_(length), padded_(padded(length)) {
    auto const half = static_cast<std::size_t>(padded_ / 2);
    for (std::size_t k = 0; k < half; ++k) {
      double const turn = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(padded_);
      roots_.emplace_back(std::cos(turn), std::sin(turn));
    }
    if (padded_ == length_) return;
    // n^2 modulo 2N keeps the argument exact.
    for (index_t n = 0; n < length_; ++n) {
      double const turn =
          -std::numbers::pi * static_cast<double>(n * n % (2 * length_)) / static_cast<double>(length_);
      chirp_.emplace_back(std::cos(turn), std::sin(turn));
    }
    kernel_.assign(static_cast<std::size_t>(padded_), {});
    for (index_t n = 0; n < length_; ++n) {
      auto const w = std::conj(chirp_[static_cast<std::size_t>(n)]);
      kernel_[static_cast<std::size_t>(n)] = w;
      kernel_[static_cast<std::size_t>((padded_ - n) % padded_)] = w;
    }
    radix_two(kernel_.data());
  }

  index_t length() const noexcept { return length_; }
  /// Complex numbers of scratch that a transform needs.
  std::size_t scratch() const noexcept { return padded_ == length_ ? 0 : static_cast<std::size_t>(padded_); }

  /// Transforms in place. @param scratch  scratch() numbers; contents do not matter.
  void forward(complex* x, complex* scratch) const noexcept {
    if (padded_ == length_) return radix_two(x);
    auto const n = static_cast<std::size_t>(length_), m = static_cast<std::size_t>(padded_);
    for (std::size_t k = 0; k < n; ++k) scratch[k] = x[k] * chirp_[k];
    for (std::size_t k = n; k < m; ++k) scratch[k] = 0;
    radix_two(scratch);
    for (std::size_t k = 0; k < m; ++k) scratch[k] = std::conj(scratch[k] * kernel_[k]);
    radix_two(scratch);  // of the conjugate: the inverse transform, conjugated and M times too large
    double const scale = 1 / static_cast<double>(padded_);
    for (std::size_t k = 0; k < n; ++k) x[k] = std::conj(scratch[k]) * scale * chirp_[k];
  }
  /// Inverse transform in place, with the factor 1/N.
  void inverse(complex* x, complex* scratch) const noexcept {
    auto const n = static_cast<std::size_t>(length_);
    for (std::size_t k = 0; k < n; ++k) x[k] = std::conj(x[k]);
    forward(x, scratch);
    double const scale = 1 / static_cast<double>(length_);
    for (std::size_t k = 0; k < n; ++k) x[k] = std::conj(x[k]) * scale;
  }

 private:
  static index_t padded(index_t n) noexcept {
    auto const u = static_cast<std::uint64_t>(n < 1 ? 1 : n);
    return static_cast<index_t>(std::has_single_bit(u) ? u : std::bit_ceil(2 * u - 1));
  }
  void radix_two(complex* x) const noexcept {
    auto const n = static_cast<std::size_t>(padded_);
    for (std::size_t i = 1, j = 0; i < n; ++i) {
      std::size_t bit = n >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (std::size_t size = 2; size <= n; size *= 2) {
      std::size_t const half = size / 2, step = n / size;
      for (std::size_t first = 0; first < n; first += size)
        for (std::size_t k = 0; k < half; ++k) {
          complex const w = roots_[k * step], a = x[first + k], b = x[first + k + half];
          // Without complex multiplication of the standard library, which checks for infinities.
          complex const t{b.real() * w.real() - b.imag() * w.imag(), b.real() * w.imag() + b.imag() * w.real()};
          x[first + k] = a + t;
          x[first + k + half] = a - t;
        }
    }
  }

  index_t length_, padded_;
  std::vector<complex> roots_, chirp_, kernel_;
};

}  // namespace mbirk
