// Checks of the arguments of operations. Not for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mbirk/context.hpp"
#include "mbirk/core/view.hpp"

namespace mbirk::detail {

/// Checks the shape and, unless the policy runs without data, that there is data with a contiguous last axis.
template <class Exec, class Instr, class T, int Rank>
void check(context<Exec, Instr> const&, view<T, Rank> const& v, typename view<T, Rank>::shape_type const& shape,
           char const* operation, char const* name, char const* axes, source_location w = source_location::current()) {
  if constexpr (!Instr::traits.has_data) require_extents(v, shape, operation, name, axes, w);
  else require_shape(v, shape, operation, name, axes, w);
}

/// Returns a list of pixels as a span after checking it: contiguous, with data under every policy (it steers
/// addresses), every index inside the grid.
inline std::span<std::int32_t const> check_pixels(view<std::int32_t const, 1> list, index_t count,
                                                  char const* operation) {
  require_shape(list, list.extents(), operation, "pixel_indices", "(pixels)");
  std::span<std::int32_t const> const pixels{list.data(), static_cast<std::size_t>(list.size())};
  for (std::size_t k = 0; k < pixels.size(); ++k)
    require<index_error>(pixels[k] >= 0 && pixels[k] < count, [&] {
      return detail::message(operation, ": pixel_indices[", k, "] is ", pixels[k], ", expected 0 to ", count - 1);
    });
  return pixels;
}

}  // namespace mbirk::detail
