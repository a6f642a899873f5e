// view: a pointer with extents and strides. Non-owning; passed by value.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "mbirk/core/config.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk {

/// Non-owning Rank-dimensional array, last index fastest. `view<float const, 3>` is read-only.
///
/// Strides count elements. A view constructed from a pointer and extents is dense (C order).
template <class T, int Rank> class view {
  static_assert(Rank >= 1);

 public:
  using element_type = T;
  using shape_type = std::array<index_t, Rank>;
  static constexpr int rank = Rank;

  constexpr view() = default;

  // Constructed on the host and used on both sides: the operators of std::array cannot be called in device code, so
  // extents are stored in plain arrays.
  constexpr view(T* data, shape_type extents) noexcept : data_(data) {
    index_t step = 1;
    for (int d = Rank - 1; d >= 0; --d) {
      extents_[d] = extents[static_cast<std::size_t>(d)];
      strides_[d] = step;
      step *= extents_[d];
    }
  }
  constexpr view(T* data, shape_type extents, shape_type strides) noexcept : data_(data) {
    for (int d = 0; d < Rank; ++d) {
      extents_[d] = extents[static_cast<std::size_t>(d)];
      strides_[d] = strides[static_cast<std::size_t>(d)];
    }
  }

  /// Converts a view of mutable elements to one of constant elements.
  template <class U>
    requires(std::is_same_v<U const, T>)
  MBIRK_HD constexpr view(view<U, Rank> const& other) noexcept : data_(other.data()) {
    for (int d = 0; d < Rank; ++d) {
      extents_[d] = other.extent(d);
      strides_[d] = other.stride(d);
    }
  }

  template <class... I> MBIRK_HD constexpr T& operator()(I... i) const noexcept {
    static_assert(sizeof...(I) == Rank, "one index per dimension");
    index_t offset = 0;
    int d = 0;
    ((offset += static_cast<index_t>(i) * strides_[d++]), ...);
    return data_[offset];
  }

  MBIRK_HD constexpr T* data() const noexcept { return data_; }
  MBIRK_HD constexpr index_t extent(int d) const noexcept { return extents_[d]; }
  MBIRK_HD constexpr index_t stride(int d) const noexcept { return strides_[d]; }
  constexpr shape_type extents() const noexcept { return as_array(extents_); }
  constexpr shape_type strides() const noexcept { return as_array(strides_); }
  MBIRK_HD constexpr index_t size() const noexcept {
    index_t n = 1;
    for (auto const e : extents_) n *= e;
    return n;
  }
  /// One past the largest element offset: size() if dense, larger if there are gaps.
  MBIRK_HD constexpr index_t span() const noexcept {
    index_t last = 0;
    for (int d = 0; d < Rank; ++d) {
      if (extents_[d] == 0) return 0;
      last += (extents_[d] - 1) * strides_[d];
    }
    return last + 1;
  }

 private:
  static constexpr shape_type as_array(index_t const (&values)[Rank]) noexcept {
    shape_type a{};
    for (int d = 0; d < Rank; ++d) a[static_cast<std::size_t>(d)] = values[d];
    return a;
  }

  T* data_ = nullptr;
  index_t extents_[Rank] = {};
  index_t strides_[Rank] = {};
};

template <class T> view(T*, std::array<index_t, 1>) -> view<T, 1>;
template <class T> view(T*, std::array<index_t, 2>) -> view<T, 2>;
template <class T> view(T*, std::array<index_t, 3>) -> view<T, 3>;

/// Throws shape_error unless v has the given shape.
template <class T, int Rank>
void require_extents(view<T, Rank> const& v, typename view<T, Rank>::shape_type const& shape, char const* operation,
                     char const* name, char const* axes, source_location w = source_location::current()) {
  require<shape_error>(v.extents() == shape, [&] {
    return detail::message(operation, ": ", name, " has shape ", detail::shape_text(v.extents()), ", expected ", axes,
                           " = ", detail::shape_text(shape));
  }, w);
}

/// Throws shape_error unless v has the given shape, a data pointer and a contiguous last axis, the requirements that
/// every operation has for its arrays.
template <class T, int Rank>
void require_shape(view<T, Rank> const& v, typename view<T, Rank>::shape_type const& shape, char const* operation,
                   char const* name, char const* axes, source_location w = source_location::current()) {
  require_extents(v, shape, operation, name, axes, w);
  require<shape_error>(v.size() == 0 || v.data() != nullptr, [&] {
    return detail::message(operation, ": ", name, " has no data");
  }, w);
  require<shape_error>(v.stride(Rank - 1) == 1 || v.extent(Rank - 1) <= 1, [&] {
    return detail::message(operation, ": ", name, " has stride ", v.stride(Rank - 1),
                           " along its last axis, expected contiguous elements");
  }, w);
}

}  // namespace mbirk
