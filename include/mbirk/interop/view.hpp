// Views of memory that other libraries describe, and conversions back: spans, types like std::mdspan, pointers with
// strides. Nothing is copied, and no header of those libraries is included: any type with the required members works.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mbirk/core/view.hpp"

namespace mbirk {
namespace detail {

/// Normalises strides: an axis of one element may have any stride and gets the dense one here.
template <class T, int Rank> view<T, Rank> with_plain_strides(view<T, Rank> const& v) {
  auto const extents = v.extents();
  if (v.size() == 0) return {v.data(), extents};
  auto strides = v.strides();
  index_t dense = 1;
  for (auto d = static_cast<std::size_t>(Rank); d-- > 0;) {
    if (extents[d] == 1) strides[d] = dense;
    dense = strides[d] * extents[d];
  }
  return {v.data(), extents, strides};
}

/// Whether no two indices refer to the same element. Sufficient for arrays and their parts: the stride of each axis
/// exceeds the reach of the axes with shorter strides.
template <int Rank>
bool elements_are_apart(std::array<index_t, Rank> const& extents, std::array<index_t, Rank> const& strides) {
  std::array<std::pair<index_t, index_t>, Rank> axes;
  for (std::size_t d = 0; d < Rank; ++d) axes[d] = {strides[d], extents[d]};
  std::sort(axes.begin(), axes.end());
  index_t reached = 0;
  for (auto const& [stride, extent] : axes) {
    if (extent > 1 && stride <= reached) return false;
    reached += (extent - 1) * stride;
  }
  return true;
}

}  // namespace detail

/// Whether the view has no gaps, i.e. its elements are size() contiguous ones in C order.
template <class T, int Rank> bool is_dense(view<T, Rank> const& v) {
  return detail::with_plain_strides(v).strides() == view<T, Rank>(v.data(), v.extents()).strides();
}

/// Checks a view made from external data and returns one that operations accept:
///   checked_view(view<float, 2>(pointer, {4, 5}, {8, 1}), "image")
/// Leading axes may have gaps or be permuted. Axes of one element get the dense stride.
///
/// @throws shape_error for views that would need a copy: elements of the last axis that are not contiguous, negative
///         strides, and for writable views, overlapping elements (such as those of a broadcast); for a negative extent;
///         for a pointer that is not aligned for T.
template <class T, int Rank>
view<T, Rank> checked_view(view<T, Rank> const& given, char const* name = "array",
                           source_location w = source_location::current()) {
  auto const fail = [&](bool ok, auto const& what) {
    require<shape_error>(ok, [&] { return std::string(name) + ": " + what(); }, w);
  };
  for (int d = 0; d < Rank; ++d)
    fail(given.extent(d) >= 0,
         [&] { return "has shape " + detail::shape_text(given.extents()) + ", expected extents of at least 0"; });
  auto const v = detail::with_plain_strides(given);
  if (v.size() == 0) return v;
  auto const strides = [&] {
    return "has strides " + detail::shape_text(given.strides()) + " for shape " + detail::shape_text(given.extents());
  };
  fail(v.stride(Rank - 1) == 1,
       [&] { return strides() + ", expected contiguous elements along the last axis: copy it first"; });
  for (int d = 0; d < Rank; ++d)
    fail(v.stride(d) >= 0, [&] { return strides() + ", expected none below 0: copy it first"; });
  if constexpr (!std::is_const_v<T>)
    fail(detail::elements_are_apart<Rank>(v.extents(), v.strides()),
         [&] { return strides() + ": elements overlap, expected one place for each that is written"; });
  fail(reinterpret_cast<std::uintptr_t>(v.data()) % alignof(T) == 0,
       [&] { return "begins at an address that is no multiple of " + std::to_string(alignof(T)) + ": copy it first"; });
  return v;
}

/// View of a span.
template <class T, std::size_t N> view<T, 1> to_view(std::span<T, N> s) noexcept {
  return {s.data(), {static_cast<index_t>(s.size())}};
}
/// View of a span as a dense array. @throws shape_error when the number of elements differs, and the errors of
/// checked_view.
template <class T, std::size_t N, std::size_t Rank>
auto to_view(std::span<T, N> s, std::array<index_t, Rank> const& shape,
             source_location w = source_location::current()) {
  view<T, static_cast<int>(Rank)> const v(s.data(), shape);
  require<shape_error>(
      v.size() == static_cast<index_t>(s.size()),
      [&] {
        return "to_view: a span of " + std::to_string(s.size()) + " elements, expected shape " +
               detail::shape_text(shape) + " = " + std::to_string(v.size());
      },
      w);
  return checked_view(v, "to_view", w);
}
/// Span of the elements of a dense view. @throws shape_error when there are gaps.
template <class T, int Rank>
std::span<T> to_span(view<T, Rank> const& v, source_location w = source_location::current()) {
  require<shape_error>(
      is_dense(v),
      [&] {
        return "to_span: the view has strides " + detail::shape_text(v.strides()) + " for shape " +
               detail::shape_text(v.extents()) + ", expected no gaps";
      },
      w);
  return {v.data(), static_cast<std::size_t>(v.size())};
}

/// Common interface of std::mdspan, its reference implementation and cuda::std::mdspan, with plain pointers and
/// strides.
template <class M>
concept mdspan_like = requires(M const& m) {
  typename M::element_type;
  { m.data_handle() } -> std::convertible_to<typename M::element_type*>;
  { M::rank() } -> std::convertible_to<std::size_t>;
  { m.extent(0) } -> std::convertible_to<index_t>;
  { m.stride(0) } -> std::convertible_to<index_t>;
};

/// View of an mdspan. @throws shape_error as checked_view.
template <mdspan_like M> auto to_view(M const& m, source_location w = source_location::current()) {
  constexpr auto rank = static_cast<std::size_t>(M::rank());
  std::array<index_t, rank> extents, strides;
  if constexpr (requires { m.is_strided(); })
    require<shape_error>(
        m.is_strided(), [] { return std::string("to_view: the layout of the mdspan has no strides"); }, w);
  for (std::size_t d = 0; d < rank; ++d) {
    extents[d] = static_cast<index_t>(m.extent(d));
    strides[d] = static_cast<index_t>(m.stride(d));
  }
  return checked_view(view<typename M::element_type, static_cast<int>(rank)>(m.data_handle(), extents, strides),
                      "mdspan", w);
}

/// Converts a view to an mdspan: `to_mdspan<std::mdspan<float, std::dextents<std::size_t, 3>>>(v)`. Works for any
/// layout constructed from extents, or from extents and strides.
///
/// @throws shape_error when the layout has other strides (a view with gaps as layout_right), a static extent differs,
///         or a number does not fit.
template <mdspan_like M, class T, int Rank>
M to_mdspan(view<T, Rank> const& v, source_location w = source_location::current()) {
  using extents = typename M::extents_type;
  using mapping = typename M::mapping_type;
  using number = typename extents::index_type;
  static_assert(M::rank() == Rank, "the mdspan has another rank than the view");
  static_assert(std::is_convertible_v<T(*)[], typename M::element_type(*)[]>,
                "the mdspan has other elements than the view");
  auto const plain = detail::with_plain_strides(v);
  auto const fits = [](index_t n) { return std::cmp_less_equal(n, std::numeric_limits<number>::max()); };
  auto const fail = [&](bool ok, char const* expected) {
    require<shape_error>(
        ok,
        [&] {
          return "to_mdspan: the view has strides " + detail::shape_text(v.strides()) + " for shape " +
                 detail::shape_text(v.extents()) + ", expected " + expected;
        },
        w);
  };
  std::array<number, Rank> sizes{}, steps{};
  for (int d = 0; d < Rank; ++d) {
    fail(fits(v.extent(d)) && fits(plain.span()), "what the index type of the mdspan can hold");
    if constexpr (requires { extents::static_extent(0); })
      fail(extents::static_extent(static_cast<std::size_t>(d)) == std::dynamic_extent ||
               std::cmp_equal(extents::static_extent(static_cast<std::size_t>(d)), v.extent(d)),
           "the static extents of the mdspan");
    auto const at = static_cast<std::size_t>(d);
    sizes[at] = static_cast<number>(v.extent(d));
    steps[at] = static_cast<number>(plain.stride(d));
    if (v.size() == 0) steps[at] = 1;  // layouts do not allow strides of 0
    fail(steps[at] > 0, "strides above 0");
  }
  auto const shape = std::apply([](auto... n) { return extents(n...); }, sizes);  // each library has its own array type
  if constexpr (requires(mapping const& m) { mapping(shape, m.strides()); }) {
    std::remove_cvref_t<decltype(std::declval<mapping const&>().strides())> strides{};
    std::copy(steps.begin(), steps.end(), strides.begin());
    return M(v.data(), mapping(shape, strides));
  } else {
    M const m(v.data(), mapping(shape));
    for (int d = 0; d < Rank; ++d) {
      bool const same = std::cmp_equal(m.stride(static_cast<std::size_t>(d)), plain.stride(d));
      fail(same || v.size() == 0 || v.extent(d) == 1, "the strides of the mdspan's layout");
    }
    return m;
  }
}

}  // namespace mbirk
