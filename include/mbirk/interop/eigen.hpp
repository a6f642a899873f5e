// Eigen's dense matrices, arrays and vectors as views, and views as Eigen::Map, without a copy. Needs Eigen 3.4.
// A view has its last index fastest, so matrices are row-major; the view of a column-major one is that of its transpose: to_view(m.transpose()).
#pragma once

#include <Eigen/Core>
#include <array>
#include <type_traits>
#include <utility>

#include "mbirk/interop/view.hpp"

namespace mbirk {
namespace detail {

/// Something dense of Eigen's that lies in memory: a matrix, a map, a block, a transpose of these; no sum or product.
template <class E>
concept eigen_in_memory = requires(E& e) {
  []<class D>(Eigen::DenseBase<D> const&) {}(e);
  e.data();
  e.outerStride();
};
template <class E> inline constexpr bool eigen_may_copy = false;  // a Ref of constants holds what its expression gave
template <class M, int Options, class Stride> inline constexpr bool eigen_may_copy<Eigen::Ref<M const, Options, Stride>> = true;
template <class E>
concept eigen_owner = eigen_may_copy<std::remove_cv_t<E>> || requires(E const& e) { []<class D>(Eigen::PlainObjectBase<D> const&) {}(e); };
template <class E> constexpr bool eigen_in_rows() {
  using D = std::remove_cvref_t<E>;
  return D::IsVectorAtCompileTime || D::IsRowMajor;
}

}  // namespace detail

/// What has a view: in rows or a vector, and no temporary that owns its elements.
template <class E>
concept eigen_viewable = detail::eigen_in_memory<std::remove_reference_t<E>> && detail::eigen_in_rows<E>() &&
                         (std::is_lvalue_reference_v<E> || !detail::eigen_owner<E>);

/// A matrix or an array as view<T, 2>, a vector as view<T, 1>; of constant elements where Eigen gives no others.
/// @throws shape_error when elements of a row (or of the vector) are not contiguous.
template <eigen_viewable E> auto to_view(E&& e, source_location w = source_location::current()) {
  using D = std::remove_cvref_t<E>;
  using T = std::remove_pointer_t<decltype(e.data())>;
  if constexpr (D::IsVectorAtCompileTime) return checked_view(view<T, 1>(e.data(), {e.size()}, {e.innerStride()}), "Eigen vector", w);
  else return checked_view(view<T, 2>(e.data(), {e.rows(), e.cols()}, {e.outerStride(), e.innerStride()}), "Eigen matrix", w);
}

/// A vector as a dense array: `to_view(x, scan.recon_shape())`. @throws shape_error also when the shape has another number of elements.
template <eigen_viewable E, std::size_t Rank>
  requires(std::remove_cvref_t<E>::IsVectorAtCompileTime == 1)
auto to_view(E&& e, std::array<index_t, Rank> const& shape, source_location w = source_location::current()) {
  return to_view(to_span(to_view(std::forward<E>(e), w)), shape, w);
}

/// A view as a vector of Eigen's. @throws shape_error when its elements are not contiguous.
template <class T> auto to_eigen(view<T, 1> const& v, source_location w = source_location::current()) {
  using vector = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, 1>;
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, vector const, vector>>(v.data(), checked_view(v, "to_eigen: the view", w).size());
}
/// A view as a matrix in rows, with gaps between them where the view has any; `.array()` makes its operations those of elements.
/// @throws shape_error when elements of a row are not contiguous.
template <class T> auto to_eigen(view<T, 2> const& v, source_location w = source_location::current()) {
  using matrix = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  auto const c = checked_view(v, "to_eigen: the view", w);
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, matrix const, matrix>, 0, Eigen::OuterStride<>>(c.data(), c.extent(0), c.extent(1),
                                                                                                           Eigen::OuterStride<>(c.stride(0)));
}

}  // namespace mbirk
