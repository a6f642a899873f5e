// 3 x 3 x 3 median filter as a template over an interpreter. Simple and slow; the tuned kernel is tested against it.
#pragma once

#include <array>

#include "mbirk/definition/interpreter.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

/// Median (14th smallest) of 27 values by forgetful selection: the minimum and maximum of the first 15 cannot be the
/// median, so both are dropped and the next value is added; 153 compare-exchanges. Destroys the order of the values.
template <class T> MBIRK_HD T middle_of_27(T (&x)[27]) {
  auto const exchange = [](T& low, T& high) {
    T const smaller = min(low, high), larger = max(low, high);
    low = smaller;
    high = larger;
  };
  int held = 15;
  for (int next = 15; held > 1; ++next) {
    for (int k = 1; k < held; ++k) exchange(x[0], x[k]);
    for (int k = 1; k < held - 1; ++k) exchange(x[k], x[held - 1]);
    held -= 2;
    x[0] = x[held];  // the value before the dropped maximum replaces the minimum
    if (next < 27) x[held++] = x[next];
  }
  return x[0];
}

/// Median, minimum and maximum of the voxels (i + a, j + b, k + c), a, b, c in {-1, 0, 1}. Border voxels are replicated
/// beyond the border. A NaN in the window makes all three NaN.
template <class M, class Image, class Output>
void median_filter3d(M& m, Image image, std::array<index_t, 3> shape, Output median, Output minimum, Output maximum) {
  using T = typename M::real;
  using I = typename M::index;
  m.each("median", {"row", shape[0]}, {"col", shape[1]}, {"slice", shape[2]}, [&](I i, I j, I k) {
    T window[27], low = image.at(i, j, k), high = low, sum = low;
    auto ordered = low >= low;
    for (int n = 0; n < 27; ++n) {
      T const x = image.clamped(i + I(n / 9 - 1), j + I(n / 3 % 3 - 1), k + I(n % 3 - 1));
      window[n] = x;
      low = min(low, x);
      high = max(high, x);
      sum = sum + x;
      ordered = ordered & (x >= x);
    }
    m.store(median, select(ordered, middle_of_27(window), sum), i, j, k);
    m.store(minimum, select(ordered, low, sum), i, j, k);
    m.store(maximum, select(ordered, high, sum), i, j, k);
  });
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
