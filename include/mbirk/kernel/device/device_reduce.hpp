// Single-warp reduction of per-task partial sums, in an order that depends only on the number of tasks.
#pragma once

#include "mbirk/kernel/shared/step.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// out[k] = result(sums)[k]. sums: the totals of the `numbers` (at most 2) values per task in `partial`, then the total
/// of the entries of `more`.
/// Result: a struct with constant `size` and operator()(double const (&sums)[3], double (&out)[size]).
template <class B, class Result> struct device_reduce {
  using numbers_left = typename B::template cursor<double const>;
  numbers_left partial;
  index_t tasks, numbers;
  numbers_left more;
  index_t more_tasks;
  Result result;
  typename B::template cursor<double> out;

  MBIRK_HD void operator()(index_t) const noexcept {
    double const sums[3] = {total(partial, tasks * numbers, 0, numbers),
                            numbers > 1 ? total(partial, tasks * numbers, 1, numbers) : 0.0,
                            total(more, more_tasks, 0, 1)};
    double values[Result::size];
    result(sums, values);
    for (int k = 0; k < Result::size; ++k) B::store_value(out + k, values[k]);
  }

 private:
  static MBIRK_INLINE double total(numbers_left values, index_t count, index_t first, index_t step) noexcept {
    auto const mine = B::iota() * B::broadcast(static_cast<std::int32_t>(step));
    auto sum = B::no_sum();
    for (index_t k = first; k < count; k += step * B::lanes)
      sum = sum + B::gather_sums(values + k, mine,
                                 static_cast<int>(min<index_t>(B::lanes, (count - k + step - 1) / step)));
    return B::total(B::element(sum));
  }
};

/// Result functor that returns the sums themselves.
template <int Size> struct plain_sums {
  static constexpr int size = Size;
  MBIRK_HD void operator()(double const (&sums)[3], double (&out)[Size]) const noexcept {
    for (int k = 0; k < Size; ++k) out[k] = sums[k];
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
