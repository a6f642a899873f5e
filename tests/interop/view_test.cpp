#include "mbirk/interop/view.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

#include "core/messages.hpp"
#include "interop/mini_mdspan.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/parallel.hpp"

namespace mbirk {
namespace {

using test::expect_error;
using test::mini_extents;
using test::mini_left;
using test::mini_mdspan;
using test::mini_right;
using test::mini_stride;

template <class T, std::size_t Rank, class Layout = mini_right, class Index = std::size_t>
using span_of = mini_mdspan<T, mini_extents<Index, Rank>, Layout>;
template <class M> using numbers_of = decltype(M::extents_type::sizes);
template <class M> M made(typename M::element_type* data, numbers_of<M> const& sizes) {
  return M(data, typename M::mapping_type(std::make_from_tuple<typename M::extents_type>(sizes)));
}
template <class M> M made(typename M::element_type* data, numbers_of<M> const& sizes, numbers_of<M> const& strides) {
  return M(data, typename M::mapping_type(std::make_from_tuple<typename M::extents_type>(sizes), strides));
}

struct Interop : testing::Test {
  std::vector<float> data = std::vector<float>(200);
  void SetUp() override { std::iota(data.begin(), data.end(), 0.0f); }
};

static_assert(mdspan_like<span_of<float, 3>> && mdspan_like<span_of<int const, 1, mini_stride>>);
static_assert(!mdspan_like<std::span<float>> && !mdspan_like<view<float, 2>>);
static_assert(std::is_same_v<decltype(to_view(std::declval<span_of<float const, 2>>())), view<float const, 2>>,
              "const stays");
static_assert(std::is_same_v<decltype(to_view(std::declval<std::span<int const, 4>>())), view<int const, 1>>);

TEST_F(Interop, AnMdspanIsAViewOfTheSameMemory) {
  auto const m = made<span_of<float, 3>>(data.data(), {2, 3, 5});
  auto const v = to_view(m);
  EXPECT_EQ(v.data(), data.data());
  EXPECT_EQ(v.extents(), (std::array<index_t, 3>{2, 3, 5}));
  EXPECT_EQ(v.strides(), (std::array<index_t, 3>{15, 5, 1}));
  v(1, 2, 4) = -1;
  EXPECT_EQ(data[29], -1);
}

TEST_F(Interop, GapsAndExchangedAxesStayStrides) {
  auto const v = to_view(made<span_of<float const, 3, mini_stride>>(data.data() + 3, {3, 2, 4}, {5, 60, 1}));
  EXPECT_EQ(v.data(), data.data() + 3);
  EXPECT_EQ(v.strides(), (std::array<index_t, 3>{5, 60, 1}));
  EXPECT_EQ(&v(2, 1, 3), &data[3 + 10 + 60 + 3]);
}

TEST_F(Interop, WhatAViewCannotTakeIsRefused) {
  using strided = span_of<float, 2, mini_stride, index_t>;
  expect_error<shape_error>(
      [&] {
        to_view(made<span_of<float, 2, mini_left>>(data.data(), {3, 4}));
      },
      {"mdspan: has strides (1, 3) for shape (3, 4), expected contiguous elements along the last axis"});
  expect_error<shape_error>([&] { to_view(made<strided>(data.data(), {3, 4}, {10, 2})); }, {"has strides (10, 2)"});
  expect_error<shape_error>(
      [&] {
        to_view(made<strided>(data.data() + 50, {3, 4}, {-10, 1}));
      },
      {"has strides (-10, 1)", "none below 0"});
  expect_error<shape_error>([&] { to_view(made<strided>(data.data(), {3, 4}, {0, 1})); }, {"elements overlap"});
  expect_error<shape_error>([&] { to_view(made<strided>(data.data(), {3, 4}, {3, 1})); }, {"elements overlap"});
  EXPECT_NO_THROW(to_view(made<strided>(data.data(), {3, 4}, {4, 1})));
  EXPECT_EQ(to_view(made<span_of<float const, 2, mini_stride>>(data.data(), {3, 4}, {0, 1})).stride(0), 0)
      << "a broadcast can be read";
  auto without = made<span_of<float, 2>>(data.data(), {3, 4});
  without.strided = false;
  expect_error<shape_error>([&] { to_view(without); }, {"no strides"});
}

TEST_F(Interop, AnAxisOfOneElementHasAnyStride) {
  auto const v = to_view(made<span_of<float, 3, mini_stride>>(data.data(), {4, 1, 1}, {1, 77, 99}));
  EXPECT_EQ(v.strides(), (std::array<index_t, 3>{1, 1, 1}));
  EXPECT_TRUE(is_dense(v));
  EXPECT_EQ(to_view(made<span_of<float, 2, mini_left>>(data.data(), {1, 6})).strides(), (std::array<index_t, 2>{6, 1}))
      << "a row is a row in any layout";
}

TEST_F(Interop, EmptyArraysHaveAnyStride) {
  auto const v = to_view(made<span_of<float, 2, mini_stride>>(nullptr, {0, 4}, {1, 9}));
  EXPECT_EQ(v.extents(), (std::array<index_t, 2>{0, 4}));
  EXPECT_EQ(v.size(), 0);
  EXPECT_EQ((to_mdspan<span_of<float, 2, mini_stride>>(view<float, 2>(nullptr, {3, 0})).stride(0)), 1u)
      << "no layout has strides of 0";
  EXPECT_EQ(to_span(view<float, 2>(nullptr, {3, 0})).size(), 0u);
}

TEST_F(Interop, PointersWithStridesAreChecked) {
  auto const v = checked_view(view<float, 2>(data.data(), {4, 5}, {8, 1}), "image");
  EXPECT_EQ(v.data(), data.data());
  EXPECT_EQ(v.stride(0), 8);
  expect_error<shape_error>(
      [&] {
        checked_view(view<float, 2>(data.data(), {4, 5}, {8, 2}), "image");
      },
      {"image: has strides (8, 2) for shape (4, 5)"});
  expect_error<shape_error>([&] { checked_view(view<float, 1>(data.data(), {-1})); }, {"array: has shape (-1)"});
  std::vector<char> bytes(64);
  float* odd = nullptr;
  void* const address = bytes.data() + 1;
  std::memcpy(&odd, &address, sizeof odd);
  expect_error<shape_error>([&] { checked_view(view<float, 1>(odd, {4})); }, {"no multiple of 4"});
}

TEST_F(Interop, SpansBothWays) {
  EXPECT_EQ(to_view(std::span(data)).data(), data.data());
  EXPECT_EQ(to_view(std::span(data)).extent(0), 200);
  auto const v = to_view(std::span<float const>(data), std::array<index_t, 3>{4, 5, 10});
  EXPECT_EQ(v.data(), data.data());
  EXPECT_EQ(v.strides(), (std::array<index_t, 3>{50, 10, 1}));
  expect_error<shape_error>(
      [&] {
        to_view(std::span(data), std::array<index_t, 2>{3, 5});
      },
      {"a span of 200 elements, expected shape (3, 5) = 15"});
  EXPECT_EQ(to_span(v).data(), data.data());
  EXPECT_EQ(to_span(v).size(), 200u);
  expect_error<shape_error>(
      [&] {
        to_span(view<float, 2>(data.data(), {3, 5}, {6, 1}));
      },
      {"strides (6, 1) for shape (3, 5), expected no gaps"});
}

TEST_F(Interop, AViewIsAnMdspanOfTheSameMemory) {
  view<float, 3> const dense(data.data(), {2, 3, 5}), padded(data.data(), {2, 3, 5}, {40, 8, 1});
  auto const right = to_mdspan<span_of<float, 3>>(dense);
  EXPECT_EQ(right.data_handle(), data.data());
  EXPECT_EQ(right.extent(2), 5u);
  EXPECT_EQ(right.stride(0), 15u);
  auto const strided = to_mdspan<span_of<float const, 3, mini_stride, int>>(padded);
  EXPECT_EQ(strided.data_handle(), data.data());
  EXPECT_EQ(strided.stride(0), 40);
  EXPECT_EQ(strided.stride(1), 8);
  EXPECT_EQ(to_view(strided).strides(), padded.strides()) << "and back";
}

TEST_F(Interop, AnMdspanThatCannotHoldTheViewIsRefused) {
  view<float, 2> const padded(data.data(), {3, 5}, {8, 1}), dense(data.data(), {3, 5});
  expect_error<shape_error>([&] { to_mdspan<span_of<float, 2>>(padded); },
                            {"strides (8, 1) for shape (3, 5), expected the strides of the mdspan's layout"});
  expect_error<shape_error>([&] { to_mdspan<span_of<float, 2, mini_left>>(dense); },
                            {"the strides of the mdspan's layout"});
  EXPECT_EQ((to_mdspan<span_of<float, 2, mini_left>>(view<float, 2>(data.data(), {1, 5}))).stride(1), 1u)
      << "a row is a row in any layout";
  using fixed = mini_mdspan<float, mini_extents<std::size_t, 2, 5>>;
  EXPECT_EQ(to_mdspan<fixed>(dense).data_handle(), data.data());
  expect_error<shape_error>([&] { to_mdspan<fixed>(view<float, 2>(data.data(), {5, 3})); }, {"the static extents"});
  using tiny = span_of<float, 2, mini_stride, std::int8_t>;
  expect_error<shape_error>(
      [&] {
        to_mdspan<tiny>(view<float, 2>(data.data(), {2, 90}, {100, 1}));
      },
      {"the index type"});
  expect_error<shape_error>(
      [&] {
        to_mdspan<span_of<float const, 2, mini_stride>>(view<float const, 2>(data.data(), {3, 5}, {0, 1}));
      },
      {"strides above 0"});
}

/// The purpose of views: an operation on a foreign array, gaps and all, gives bits equal to those on its own array.
TEST_F(Interop, OperationsRunOnMemoryOfOthers) {
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {5, 3, 7}, .angles = {0.1f, 0.6f, 1.1f, 1.6f, 2.1f}});
  auto const [rows, cols, slices] = scan.recon_shape();
  index_t const pitch = slices + 3;
  std::vector<float> dense, sinogram(5 * 3 * 7), expected(5 * 3 * 7),
      padded(static_cast<std::size_t>(rows * cols * pitch), -1.0f);
  for (index_t p = 0; p < rows * cols; ++p)
    for (index_t k = 0; k < slices; ++k)
      dense.push_back(padded[static_cast<std::size_t>(p * pitch + k)] = static_cast<float>((7 * p + 3 * k) % 11));
  context const ctx{exec::host{1}, instrument::none{}};
  using recon = span_of<float const, 3, mini_stride, index_t>;
  auto const in = made<recon>(padded.data(), {rows, cols, slices}, {cols * pitch, pitch, 1});
  forward_project(ctx, scan, to_view(in), to_view(std::span(sinogram), scan.sinogram_shape()));
  forward_project(ctx, scan, view<float const, 3>(dense.data(), scan.recon_shape()),
                  view<float, 3>(expected.data(), scan.sinogram_shape()));
  EXPECT_EQ(sinogram, expected);
  EXPECT_GT(expected[10], 0);
}

#if defined(__cpp_lib_mdspan)
TEST_F(Interop, TheStandardLibrarysMdspan) {
  using dense = std::mdspan<float, std::dextents<std::size_t, 2>>;
  using strided = std::mdspan<float const, std::dextents<int, 2>, std::layout_stride>;
  EXPECT_EQ(to_view(dense(data.data(), 3, 5)).strides(), (std::array<index_t, 2>{5, 1}));
  EXPECT_EQ(to_mdspan<dense>(view<float, 2>(data.data(), {3, 5})).data_handle(), data.data());
  EXPECT_EQ(to_view(to_mdspan<strided>(view<float, 2>(data.data(), {3, 5}, {8, 1}))).stride(0), 8);
  expect_error<shape_error>(
      [&] {
        to_mdspan<dense>(view<float, 2>(data.data(), {3, 5}, {8, 1}));
      },
      {"the strides of the mdspan's layout"});
}
#endif

}  // namespace
}  // namespace mbirk
