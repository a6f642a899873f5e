#include "mbirk/interop/eigen.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/messages.hpp"
#include "mbirk/interop/eigen_tensor.hpp"

namespace mbirk {
namespace {

using test::expect_error;
using rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using columns = Eigen::MatrixXf;

template <class E> concept has_view = requires(E&& e) { to_view(std::forward<E>(e)); };
static_assert(has_view<rows&> && has_view<rows const&> && has_view<Eigen::VectorXf&> && has_view<Eigen::Map<rows>> &&
              has_view<Eigen::Block<rows>>);
static_assert(!has_view<columns&> && !has_view<Eigen::Map<columns>> && !has_view<Eigen::ArrayXXf&>, "column-major");
static_assert(has_view<Eigen::Transpose<columns>> && !has_view<Eigen::Transpose<rows>>);
static_assert(!has_view<rows> && !has_view<Eigen::VectorXf>, "a temporary would be gone");
static_assert(has_view<Eigen::Ref<rows>> && has_view<Eigen::Ref<rows const>&> && !has_view<Eigen::Ref<rows const>>,
              "it may hold a copy");
static_assert(!has_view<decltype(std::declval<rows&>() + std::declval<rows&>())>, "a sum lies nowhere");
static_assert(has_view<Eigen::Tensor<float, 3, Eigen::RowMajor>&> &&
              has_view<Eigen::TensorMap<Eigen::Tensor<float, 3, Eigen::RowMajor>>>);
static_assert(
    std::is_same_v<decltype(to_view(std::declval<Eigen::TensorMap<Eigen::Tensor<float, 2, Eigen::RowMajor> const>>())),
                   view<float const, 2>>);
static_assert(!has_view<Eigen::Tensor<float, 3>&> && !has_view<Eigen::TensorMap<Eigen::Tensor<float, 3>>>);
static_assert(!has_view<Eigen::Tensor<float, 3, Eigen::RowMajor>>);
static_assert(std::is_same_v<decltype(to_view(std::declval<rows const&>())), view<float const, 2>>, "const stays");
static_assert(std::is_same_v<decltype(to_view(std::declval<Eigen::Map<rows const>>())), view<float const, 2>>);
static_assert(std::is_same_v<decltype(to_view(std::declval<Eigen::Tensor<float, 2, Eigen::RowMajor> const&>())),
                             view<float const, 2>>);

TEST(Eigen, MatricesAndArraysAreViewsOfTheSameMemory) {
  rows m = rows::Zero(3, 5);
  auto const v = to_view(m);
  EXPECT_EQ(v.data(), m.data());
  EXPECT_EQ(v.extents(), (std::array<index_t, 2>{3, 5}));
  v(2, 1) = 7;
  EXPECT_EQ(m(2, 1), 7);
  Eigen::Array<double, 2, 4, Eigen::RowMajor> a;
  EXPECT_EQ(to_view(a).data(), a.data());
  EXPECT_EQ(to_view(a).strides(), (std::array<index_t, 2>{4, 1}));
}

TEST(Eigen, PartsKeepTheirGaps) {
  rows m = rows::Zero(6, 8);
  auto const v = to_view(m.block(1, 2, 4, 3));
  EXPECT_EQ(v.data(), &m(1, 2));
  EXPECT_EQ(v.strides(), (std::array<index_t, 2>{8, 1}));
  v(3, 2) = 5;
  EXPECT_EQ(m(4, 4), 5);
}

TEST(Eigen, TheViewOfAColumnMajorMatrixIsThatOfItsTranspose) {
  columns m = columns::Zero(3, 5);
  auto const v = to_view(m.transpose());
  EXPECT_EQ(v.data(), m.data());
  EXPECT_EQ(v.extents(), (std::array<index_t, 2>{5, 3}));
  v(4, 1) = 7;
  EXPECT_EQ(m(1, 4), 7);
}

TEST(Eigen, VectorsAreViewsWhereTheyAreContiguous) {
  Eigen::VectorXf x = Eigen::VectorXf::Zero(6);
  EXPECT_EQ(to_view(x).data(), x.data());
  EXPECT_EQ(to_view(x.segment(2, 3)).data(), x.data() + 2);
  auto const v = to_view(x, std::array<index_t, 3>{1, 2, 3});
  EXPECT_EQ(v.data(), x.data());
  EXPECT_EQ(v.stride(1), 3);
  expect_error<shape_error>(
      [&] {
        to_view(x, std::array<index_t, 2>{2, 2});
      },
      {"a span of 6 elements, expected shape (2, 2) = 4"});
  rows m = rows::Zero(3, 5);
  EXPECT_EQ(to_view(m.row(1)).data(), &m(1, 0));
  expect_error<shape_error>([&] { to_view(m.col(1)); },
                            {"Eigen vector: has strides (5) for shape (3)", "copy it first"});
  using every_other = Eigen::Map<rows, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
  expect_error<shape_error>(
      [&] {
        to_view(every_other(m.data(), 3, 2, {5, 2}));
      },
      {"Eigen matrix: has strides (5, 2) for shape (3, 2)"});
}

TEST(Eigen, ViewsAreMapsOfTheSameMemory) {
  std::vector<float> data(60);
  auto m = to_eigen(view<float, 2>(data.data(), {3, 4}, {20, 1}));
  EXPECT_EQ(m.data(), data.data());
  m(2, 3) = 4;
  EXPECT_EQ(data[43], 4);
  m.array() += 1;
  EXPECT_EQ(data[43], 5);
  EXPECT_EQ(data[4], 0) << "what lies between the rows is not the view's";
  EXPECT_EQ(to_view(m).strides(), (std::array<index_t, 2>{20, 1})) << "and back";
  auto x = to_eigen(view<float, 1>(data.data() + 1, {5}));
  EXPECT_EQ(x.data(), data.data() + 1);
  auto const c = to_eigen(view<float const, 2>(data.data(), {3, 4}));
  static_assert(std::is_same_v<decltype(to_view(c)), view<float const, 2>>);
  EXPECT_EQ(c.data(), data.data());
  expect_error<shape_error>(
      [&] {
        to_eigen(view<float, 2>(data.data(), {3, 4}, {20, 2}));
      },
      {"to_eigen: the view: has strides (20, 2)"});
}

TEST(Eigen, TensorsBothWays) {
  Eigen::Tensor<float, 3, Eigen::RowMajor> t(2, 3, 5);
  t.setZero();
  auto const v = to_view(t);
  EXPECT_EQ(v.data(), t.data());
  EXPECT_EQ(v.extents(), (std::array<index_t, 3>{2, 3, 5}));
  v(1, 2, 3) = 6;
  EXPECT_EQ(t(1, 2, 3), 6);
  auto const map = to_eigen_tensor(v);
  EXPECT_EQ(map.data(), t.data());
  EXPECT_EQ(map.dimension(2), 5);
  EXPECT_EQ(map(1, 2, 3), 6);
  EXPECT_EQ(to_view(map).data(), t.data());
  auto const fixed = to_eigen_tensor(view<float const, 3>(v));
  static_assert(std::is_same_v<decltype(to_view(fixed)), view<float const, 3>>);
  EXPECT_EQ(fixed.data(), t.data());
  expect_error<shape_error>(
      [&] {
        to_eigen_tensor(view<float, 2>(t.data(), {3, 4}, {5, 1}));
      },
      {"strides (5, 1) for shape (3, 4), expected no gaps"});
}

}  // namespace
}  // namespace mbirk
