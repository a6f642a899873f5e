// Iteration for kernels that treat all elements alike: rows of contiguous elements, divided into tasks of a fixed size.
#pragma once

#include <algorithm>

#include "mbirk/core/view.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Position of a pack: row (i, j), element k.
struct pack_position { index_t i = 0, j = 0, k = 0; };

/// (outer, inner) rows of `length` elements. A row longer than a segment is divided among several tasks; shorter rows
/// are batched into one task. The number of tasks depends on the shape alone.
struct elementwise_range {
  index_t outer = 0, inner = 0, length = 0;
  index_t segment = 1, segments = 0;        ///< elements of a row per task; tasks per row
  index_t lines_of_a_task = 1;

  MBIRK_HD index_t lines() const noexcept { return outer * inner; }
  MBIRK_HD index_t tasks() const noexcept { return ceil_div(lines(), lines_of_a_task) * segments; }
};

/// Base pointer and strides of an array in an elementwise_range.
template <class Cursor> struct strided_cursor {
  Cursor data{};
  index_t outer = 0, inner = 0;  // strides
  MBIRK_INLINE Cursor operator()(pack_position p) const noexcept { return data + (p.i * outer + p.j * inner + p.k); }
};
template <class Cursor, class T>
strided_cursor<Cursor> make_strided_cursor(Cursor data, view<T, 3> const& v) {
  return {data, v.stride(0), v.stride(1)};
}

/// Range over arrays of one shape: axes that are contiguous in all of them are merged. Makes at most about `most_tasks`
/// tasks.
template <class First, class... Rest>
elementwise_range make_elementwise_range(index_t most_tasks, First const& first, Rest const&... rest) {
  elementwise_range w{first.extent(0), first.extent(1), first.extent(2)};
  auto const all = [&](auto const& holds) { return holds(first) && (holds(rest) && ...); };
  if (all([](auto const& v) { return v.stride(1) == v.extent(2) || v.extent(1) <= 1; })) {
    w.length *= w.inner;
    w.inner = std::min<index_t>(w.inner, 1);
    if (all([](auto const& v) { return v.stride(0) == v.extent(1) * v.extent(2) || v.extent(0) <= 1; })) {
      w.length *= w.outer;
      w.outer = std::min<index_t>(w.outer, 1);
    }
  }
  index_t const size = w.lines() * w.length;
  constexpr index_t min_segment = index_t{1} << 14;  // elements: smaller tasks cost more to dispatch than they gain
  w.segment = round_up(std::max(min_segment, ceil_div(size, most_tasks)), 64);
  w.segments = ceil_div(w.length, w.segment);
  w.lines_of_a_task = w.length > 0 ? std::max<index_t>(1, w.segment / w.length) : 1;
  return w;
}
inline constexpr index_t any_tasks = index_t{1} << 40;

/// Calls f(position, n) for every pack of the task; n is the number of valid lanes.
template <class B, class F> MBIRK_INLINE void for_each_pack(elementwise_range const& w, index_t task, F const& f) {
  index_t const first_line = task / w.segments * w.lines_of_a_task,
      last_line = min(w.lines(), first_line + w.lines_of_a_task);
  index_t const from = task % w.segments * w.segment, to = min(w.length, from + w.segment);
  for (index_t line = first_line; line < last_line; ++line) {
    pack_position p{line / w.inner, line % w.inner, from};
    for (; p.k + B::lanes <= to; p.k += B::lanes) f(p, B::lanes);
    if (p.k < to) f(p, static_cast<int>(to - p.k));
    B::note_lanes(to - from, round_up(to - from, B::lanes));
  }
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
