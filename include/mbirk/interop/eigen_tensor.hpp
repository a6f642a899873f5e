// Eigen's tensors (from its unsupported modules) as views, and views as Eigen::TensorMap, without copying. Requires
// Eigen 3.4.
#pragma once

#include <Eigen/Core>
#include <array>
#include <string>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>

#include "mbirk/interop/view.hpp"

namespace mbirk {
namespace detail {

template <int Options> inline constexpr bool tensor_in_rows = (Options & Eigen::RowMajor) != 0;

template <class T, class Tensor> auto view_of_tensor(T* data, Tensor const& t) {
  std::array<index_t, Tensor::NumDimensions> extents;
  for (std::size_t d = 0; d < extents.size(); ++d) extents[d] = t.dimension(d);
  return view<T, Tensor::NumDimensions>(data, extents);
}

}  // namespace detail

/// View of a row-major tensor, or of a map of one. Column-major tensors have no view (their last index varies slowest),
/// and neither have temporary owners.
template <class S, int Rank, int Options, class I>
  requires detail::tensor_in_rows<Options>
view<S, Rank> to_view(Eigen::Tensor<S, Rank, Options, I>& t) {
  return detail::view_of_tensor(t.data(), t);
}
template <class S, int Rank, int Options, class I>
  requires detail::tensor_in_rows<Options>
view<S const, Rank> to_view(Eigen::Tensor<S, Rank, Options, I> const& t) {
  return detail::view_of_tensor(t.data(), t);
}
template <class S, int Rank, int Options, class I> void to_view(Eigen::Tensor<S, Rank, Options, I> const&&) = delete;
template <class S, int Rank, int Options, class I, int MapOptions, template <class> class Pointer>
  requires detail::tensor_in_rows<Options>
view<S const, Rank> to_view(Eigen::TensorMap<Eigen::Tensor<S, Rank, Options, I> const, MapOptions, Pointer> t) {
  return detail::view_of_tensor<S const>(t.data(), t);
}
template <class S, int Rank, int Options, class I, int MapOptions, template <class> class Pointer>
  requires detail::tensor_in_rows<Options>
view<S, Rank> to_view(Eigen::TensorMap<Eigen::Tensor<S, Rank, Options, I>, MapOptions, Pointer> t) {
  return detail::view_of_tensor<S>(t.data(), t);
}

/// Eigen tensor map of a dense view. @throws shape_error when there are gaps.
template <class T, int Rank>
auto to_eigen_tensor(view<T, Rank> const& v, source_location w = source_location::current()) {
  require<shape_error>(
      is_dense(v),
      [&] {
        return "to_eigen_tensor: the view has strides " + detail::shape_text(v.strides()) + " for shape " +
               detail::shape_text(v.extents()) + ", expected no gaps";
      },
      w);
  std::array<index_t, Rank> extents;
  for (int d = 0; d < Rank; ++d) extents[static_cast<std::size_t>(d)] = v.extent(d);
  return Eigen::TensorMap<Eigen::Tensor<T, Rank, Eigen::RowMajor, index_t>>(v.data(), extents);
}

}  // namespace mbirk
