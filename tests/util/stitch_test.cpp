// Stitching against an oracle that joins lists along one axis in double.
#include "mbirk/util/stitch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "core/messages.hpp"

namespace {

using namespace mbirk;
using shape = std::array<index_t, 3>;

struct volume {
  shape extents;
  std::vector<float> data;
  volume(shape const& s, unsigned seed) : extents(s), data(static_cast<std::size_t>(s[0] * s[1] * s[2])) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (auto& x : data) x = uniform(random);
  }
  operator view<float const, 3>() const { return {data.data(), extents}; }
};

/// The weights of the later array, from the rules one after the other.
std::vector<double> weights_by_rule(index_t overlap, index_t ramp) {
  if (ramp > overlap) ramp = overlap;
  if ((overlap - ramp) % 2 == 1) --ramp;
  if (ramp < overlap % 2) ramp = overlap % 2;
  std::vector<double> w(static_cast<std::size_t>((overlap - ramp) / 2), 0.0);
  for (index_t t = 0; t < ramp; ++t) w.push_back(static_cast<double>(t + 1) / static_cast<double>(ramp + 1));
  while (static_cast<index_t>(w.size()) < overlap) w.push_back(1.0);
  return w;
}

/// All lines along the axis, joined one array after the other.
std::vector<double> oracle(std::vector<volume> const& arrays, index_t overlap, int axis, index_t ramp,
                           shape const& out_shape) {
  auto const w = weights_by_rule(overlap, ramp);
  auto const d = static_cast<std::size_t>(axis);
  std::vector<double> out(static_cast<std::size_t>(out_shape[0] * out_shape[1] * out_shape[2]));
  shape cross = out_shape;
  cross[d] = 1;
  for (index_t i = 0; i < cross[0]; ++i)
    for (index_t j = 0; j < cross[1]; ++j)
      for (index_t k = 0; k < cross[2]; ++k) {
        std::vector<double> line;
        for (auto const& a : arrays) {
          std::size_t const before = line.size();
          for (index_t t = 0; t < a.extents[d]; ++t) {
            shape at{i, j, k};
            at[d] = t;
            double const x = a.data[static_cast<std::size_t>((at[0] * a.extents[1] + at[1]) * a.extents[2] + at[2])];
            if (before == 0 || t >= overlap) {
              line.push_back(x);
            } else {
              auto& old = line[before - static_cast<std::size_t>(overlap - t)];
              old = (1 - w[static_cast<std::size_t>(t)]) * old + w[static_cast<std::size_t>(t)] * x;
            }
          }
        }
        EXPECT_EQ(static_cast<index_t>(line.size()), out_shape[d]);
        for (std::size_t t = 0; t < line.size(); ++t) {
          shape at{i, j, k};
          at[d] = static_cast<index_t>(t);
          out[static_cast<std::size_t>((at[0] * out_shape[1] + at[1]) * out_shape[2] + at[2])] = line[t];
        }
      }
  return out;
}

TEST(Stitch, WeightsOfSmallOverlaps) {
  using list = std::vector<float>;
  EXPECT_EQ(detail::stitch_weights(0, 0), list{});
  EXPECT_EQ(detail::stitch_weights(1, 0), list{0.5f});
  EXPECT_EQ(detail::stitch_weights(2, 0), (list{0, 1}));
  EXPECT_EQ(detail::stitch_weights(3, 3), (list{0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(detail::stitch_weights(4, 2), (list{0, 1.0f / 3, 2.0f / 3, 1}));
  EXPECT_EQ(detail::stitch_weights(5, 2), (list{0, 0, 0.5f, 1, 1}));
  EXPECT_EQ(detail::stitch_weights(4, 99), (list{0.2f, 0.4f, 0.6f, 0.8f}));
}

TEST(Stitch, EqualsTheOracle) {
  for (int axis = 0; axis < 3; ++axis)
    for (index_t const overlap : {0, 1, 2, 3, 4, 5, 7})
      for (index_t const ramp : {-1, 0, 1, 2, 3, 50}) {  // -1: not given
        SCOPED_TRACE("axis " + std::to_string(axis) + ", overlap " + std::to_string(overlap) + ", ramp " +
                     std::to_string(ramp));
        std::vector<volume> arrays;  // the second is shorter than two overlaps of 5 and more
        for (index_t const length : {11, 8, 7, 13}) {
          shape s{3, 5, 4};
          s[static_cast<std::size_t>(axis)] = length;
          arrays.emplace_back(s, static_cast<unsigned>(length));
        }
        std::vector<view<float const, 3>> const views(arrays.begin(), arrays.end());
        auto const s = stitched_shape(views, overlap, axis);
        EXPECT_EQ(s[static_cast<std::size_t>(axis)], 39 - 3 * overlap);
        std::vector<float> out(static_cast<std::size_t>(s[0] * s[1] * s[2]), NAN);
        stitch_arrays(views, view<float, 3>(out.data(), s), overlap, axis,
                      ramp < 0 ? std::nullopt : std::optional(ramp));
        auto const expected = oracle(arrays, overlap, axis, ramp < 0 ? overlap / 2 : ramp, s);
        // A blend of values below 1 rounds the weight, 1 - weight, two products and a sum, up to three blends deep: 3 *
        // 5 * 2^-24.
        for (std::size_t p = 0; p < out.size(); ++p) ASSERT_NEAR(out[p], expected[p], 15 * std::ldexp(1, -24)) << p;
      }
}

TEST(Stitch, PlateausKeepTheirBitsAndReadNothingElse) {
  volume a({1, 1, 6}, 1), b({1, 1, 6}, 2);
  a.data[4] = a.data[5] = NAN, b.data[0] = b.data[1] = INFINITY;  // weigh nothing in an overlap of 4 without ramp
  std::vector<view<float const, 3>> const views{a, b};
  std::vector<float> out(8);
  stitch_arrays(views, view<float, 3>(out.data(), {1, 1, 8}), 4, 2, 0);
  EXPECT_EQ(out, (std::vector<float>{a.data[0], a.data[1], a.data[2], a.data[3], b.data[2], b.data[3], b.data[4],
                                     b.data[5]}));
}

TEST(Stitch, SplitAndStitchedAgainIsTheSame) {
  volume const whole({4, 3, 20}, 3);
  view<float const, 3> const v = whole;
  std::vector<view<float const, 3>> const halves{view<float const, 3>(v.data(), {4, 3, 13}, v.strides()),
                                                 view<float const, 3>(v.data() + 7, {4, 3, 13}, v.strides())};
  std::vector<float> out(whole.data.size());
  stitch_arrays(halves, view<float, 3>(out.data(), {4, 3, 20}), 6);
  for (std::size_t p = 0; p < out.size(); ++p) EXPECT_NEAR(out[p], whole.data[p], 4 * std::ldexp(1, -24));
}

template <class Error, class F> void expect_message(std::string const& expected, F const& f) {
  EXPECT_EQ(test::message_of<Error>(f), expected);
}

TEST(Stitch, BadInput) {
  volume const a({2, 3, 4}, 1), b({2, 3, 5}, 2), c({2, 2, 5}, 3);
  std::vector<view<float const, 3>> const one{a}, good{a, b}, bad{a, c};
  expect_message<shape_error>("stitch_arrays: found 1 arrays, expected at least 2", [&] { stitched_shape(one, 1); });
  expect_message<shape_error>(
      "stitch_arrays: array 1 has shape (2, 2, 5), expected that of array 0, (2, 3, 4), except along axis 2",
      [&] { stitched_shape(bad, 1); });
  expect_message<shape_error>(
      "stitch_arrays: array 1 has shape (2, 3, 5), expected that of array 0, (2, 3, 4), except along axis 0",
      [&] { stitched_shape(good, 1, 0); });
  expect_message<shape_error>(
      "stitch_arrays: array 0 has shape (2, 3, 4), expected at least the overlap of 5 along axis 2",
      [&] { stitched_shape(good, 5); });
  expect_message<parameter_error>("stitch_arrays: axis is 3, expected 0, 1 or 2", [&] { stitched_shape(good, 1, 3); });
  expect_message<parameter_error>("stitch_arrays: overlap is -1, expected at least 0",
                                  [&] { stitched_shape(good, -1); });
  std::vector<float> out(48);
  expect_message<parameter_error>("stitch_arrays: ramp is -2, expected at least 0",
                                  [&] { stitch_arrays(good, view<float, 3>(out.data(), {2, 3, 8}), 1, 2, -2); });
  expect_message<shape_error>("stitch_arrays: out has shape (2, 3, 7), expected (rows, cols, slices) = (2, 3, 8)",
                              [&] { stitch_arrays(good, view<float, 3>(out.data(), {2, 3, 7}), 1); });
  expect_message<shape_error>("stitch_arrays: out has no data", [&] {
    stitch_arrays(good, view<float, 3>(nullptr, {2, 3, 8}), 1);
  });
}

}  // namespace
