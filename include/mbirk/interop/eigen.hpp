// Eigen's dense matrices, arrays and vectors as views, and views as Eigen::Map, without copying. Requires Eigen 3.4.
// The last index of a view varies fastest, so matrices are row-major; for a column-major matrix take the view of its
// transpose: to_view(m.transpose()).
#pragma once

#include <Eigen/Core>
#include <array>
#include <type_traits>
#include <utility>

#include "mbirk/interop/view.hpp"

namespace mbirk {
namespace detail {

/// Dense Eigen object stored in memory: a matrix, a map, a block, or a transpose of these, but not a sum or product.
template <class E>
concept eigen_in_memory = requires(E& e) {
  []<class D>(Eigen::DenseBase<D> const&) {}(e);
  e.data();
  e.outerStride();
};
template <class E> inline constexpr bool eigen_may_copy = false;  // a Ref<M const> may own a copy of its expression
template <class M, int Options, class Stride>
inline constexpr bool eigen_may_copy<Eigen::Ref<M const, Options, Stride>> = true;
template <class E>
concept eigen_owner = eigen_may_copy<std::remove_cv_t<E>> || requires(E const& e) {
  []<class D>(Eigen::PlainObjectBase<D> const&) {}(e);
};
template <class E> constexpr bool eigen_in_rows() {
  using D = std::remove_cvref_t<E>;
  return D::IsVectorAtCompileTime || D::IsRowMajor;
}

}  // namespace detail

/// Eigen objects that have a view: row-major or a vector, and not a temporary that owns its elements.
template <class E>
concept eigen_viewable = detail::eigen_in_memory<std::remove_reference_t<E>> && detail::eigen_in_rows<E>() &&
                         (std::is_lvalue_reference_v<E> || !detail::eigen_owner<E>);

/// View of a matrix or an array as view<T, 2>, or of a vector as view<T, 1>; its elements are const where Eigen gives
/// only const access.
/// @throws shape_error when the elements of a row (or of the vector) are not contiguous.
template <eigen_viewable E> auto to_view(E&& e, source_location w = source_location::current()) {
  using D = std::remove_cvref_t<E>;
  using T = std::remove_pointer_t<decltype(e.data())>;
  if constexpr (D::IsVectorAtCompileTime)
    return checked_view(view<T, 1>(e.data(), {e.size()}, {e.innerStride()}), "Eigen vector", w);
  else
    return checked_view(view<T, 2>(e.data(), {e.rows(), e.cols()}, {e.outerStride(), e.innerStride()}), "Eigen matrix",
                        w);
}

/// View of a vector as a dense array: `to_view(x, scan.recon_shape())`. @throws shape_error also when the number of
/// elements differs.
template <eigen_viewable E, std::size_t Rank>
  requires(std::remove_cvref_t<E>::IsVectorAtCompileTime == 1)
auto to_view(E&& e, std::array<index_t, Rank> const& shape, source_location w = source_location::current()) {
  return to_view(to_span(to_view(std::forward<E>(e), w)), shape, w);
}

/// Eigen vector map of a view. @throws shape_error when its elements are not contiguous.
template <class T> auto to_eigen(view<T, 1> const& v, source_location w = source_location::current()) {
  using vector = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, 1>;
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, vector const, vector>>(
      v.data(), checked_view(v, "to_eigen: the view", w).size());
}
/// Row-major Eigen matrix map of a view, including gaps between its rows; use `.array()` for elementwise operations.
/// @throws shape_error when the elements of a row are not contiguous.
template <class T> auto to_eigen(view<T, 2> const& v, source_location w = source_location::current()) {
  using matrix = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  auto const c = checked_view(v, "to_eigen: the view", w);
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, matrix const, matrix>, 0, Eigen::OuterStride<>>(
      c.data(), c.extent(0), c.extent(1), Eigen::OuterStride<>(c.stride(0)));
}

}  // namespace mbirk
