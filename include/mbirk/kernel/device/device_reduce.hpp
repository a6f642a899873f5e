// Sums of partial sums on a device, in an order that depends only on how many there are.
#pragma once

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/shared/step.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// The part of one warp, of `warps` that share the work, of the sum of every `step`-th number from `first` on, below
/// `count`.
template <class B>
MBIRK_INLINE double sum_numbers(typename B::template cursor<double const> values, index_t count, index_t first,
                                index_t step, int warp = 0, int warps = 1) noexcept {
  auto const mine = B::iota() * B::broadcast(static_cast<std::int32_t>(step));
  auto sum = B::no_sum();
  for (index_t k = first + warp * step * B::lanes; k < count; k += warps * step * B::lanes)
    sum = sum + B::gather_sums(values + k, mine,
                               static_cast<int>(min<index_t>(B::lanes, (count - k + step - 1) / step)));
  return B::total(B::element(sum));
}

/// out[t] = the sum of the `each` numbers from t * each on. A task is an output.
template <class B> struct sum_runs {
  typename B::template cursor<double const> values;
  index_t each;
  typename B::template cursor<double> out;

  MBIRK_HD void operator()(index_t task) const noexcept {
    B::store_value(out + task, sum_numbers<B>(values + task * each, each, 0, 1));
  }
};

/// out[k] = result(sums)[k], by one block. sums: the totals of the `numbers` (at most 2) values per task in `partial`,
/// then the total of the entries of `more`.
/// Result: a struct with constant `size` and operator()(double const (&sums)[3], double (&out)[size]).
template <class B, class Result> struct device_reduce {
  using numbers_left = typename B::template cursor<double const>;
  static constexpr int warps = 8;
  static constexpr launch_bounds bounds{warps * warp_lanes, 1};
  template <class Block> struct shared { typename Block::template tile<double, 3, warps> of_warps; };

  numbers_left partial;
  index_t tasks, numbers;
  numbers_left more;
  index_t more_tasks;
  Result result;
  typename B::template cursor<double> out;

  index3 grid() const noexcept { return {1, 1, 1}; }

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    int const warp = block.warp_rank();
    double const own[3] = {sum_numbers<B>(partial, tasks * numbers, 0, numbers, warp, warps),
                           numbers > 1 ? sum_numbers<B>(partial, tasks * numbers, 1, numbers, warp, warps) : 0.0,
                           sum_numbers<B>(more, more_tasks, 0, 1, warp, warps)};
    if (block.warp().lane() == 0)
      for (int k = 0; k < 3; ++k) sh.of_warps(k, warp) = own[k];
    block.sync();
    if (warp > 0) return;  // no barrier follows
    double sums[3] = {};
    for (int k = 0; k < 3; ++k)
      for (int w = 0; w < warps; ++w) sums[k] += static_cast<double>(sh.of_warps(k, w));
    double values[Result::size];
    result(sums, values);
    for (int k = 0; k < Result::size; ++k) B::store_value(out + k, values[k]);
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
