// The channel-major sinogram: the round trip is exact, guards and padding are zeros, nothing outside is touched.
#include "mbirk/kernel/shared/layout.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "kernel/lane_backends.hpp"

namespace {

using namespace mbirk;

template <class B> struct Layout : ::testing::Test {};
TYPED_TEST_SUITE(Layout, test::lane_backends, test::lane_names);

struct sizes { index_t views, rows, channels; };
sizes const shapes[] = {{1, 1, 1},   {2, 4, 4},  {2, 16, 16}, {3, 17, 5}, {2, 33, 19},
                        {1, 130, 3}, {2, 3, 40}, {2, 0, 7},   {2, 7, 0},  {0, 3, 3}};

TYPED_TEST(Layout, ThereAndBack) {
  using B = TypeParam;
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (auto const& [views, rows, channels] : shapes)
    for (index_t const gap : {0, 3})
      for (index_t const most : {1, 2, 100}) {
        auto const shape = kernel::make_chunks(views, channels, rows, B::lanes, most);
        index_t const row_stride = channels + gap, view_stride = rows * row_stride + 2 * gap;
        std::vector<float> in(static_cast<std::size_t>(views * view_stride), nan),
            channel_major(static_cast<std::size_t>(shape.size()), nan);
        auto const at = [&](index_t v, index_t m, index_t n) {
          return static_cast<std::size_t>(v * view_stride + m * row_stride + n);
        };
        float count = 0;
        for (index_t v = 0; v < views; ++v)
          for (index_t m = 0; m < rows; ++m)
            for (index_t n = 0; n < channels; ++n) in[at(v, m, n)] = ++count;

        kernel::to_channel_major<B> const load{in.data(), channel_major.data(), view_stride, row_stride, shape};
        for (index_t v = 0; v < views; ++v) load(v);
        for (index_t v = 0; v < views; ++v)
          for (index_t c = 0; c < shape.chunks; ++c)
            for (index_t n = -kernel::guard_channels; n < channels + kernel::guard_channels; ++n)
              for (index_t k = 0; k < shape.width; ++k) {
                index_t const m = c * shape.width + k;
                bool const exists = n >= 0 && n < channels && m < rows;
                ASSERT_EQ(channel_major[static_cast<std::size_t>(shape.offset(c, v) +
                                                                 (n + kernel::guard_channels) * shape.width + k)],
                          exists ? in[at(v, m, n)] : 0.0f)
                    << v << ", " << m << ", " << n;
              }

        std::vector<float> out(in.size(), -1.0f);
        kernel::from_channel_major<B> const store{channel_major.data(), out.data(), view_stride, row_stride, shape};
        for (index_t v = 0; v < views; ++v) store(v);
        for (index_t v = 0; v < views; ++v)
          for (index_t m = 0; m < rows; ++m)
            for (index_t n = 0; n < channels; ++n) {
              ASSERT_EQ(out[at(v, m, n)], in[at(v, m, n)]) << v << ", " << m << ", " << n;
              out[at(v, m, n)] = -1;
            }
        for (float const x : out) ASSERT_EQ(x, -1.0f) << "written outside";
      }
}

TYPED_TEST(Layout, ZeroCylinders) {
  using B = TypeParam;
  std::vector<index_t> const offsets{0, 50, 121};
  static_assert(kernel::zero_columns<B>::batch >= 3);
  for (index_t length = 0; length <= 40; ++length) {
    std::vector<float> data(static_cast<std::size_t>(121 + length), 7.0f);  // ends with the last cylinder
    kernel::zero_columns<B> const zero{data.data(), offsets.data(), 3, length};
    zero(0);
    for (index_t k = 0; k < static_cast<index_t>(data.size()); ++k) {
      bool const inside = k < length || (k >= 50 && k < 50 + length) || k >= 121;
      ASSERT_EQ(data[static_cast<std::size_t>(k)], inside ? 0.0f : 7.0f) << length << ", " << k;
    }
  }
}

TYPED_TEST(Layout, ZeroCylindersInBatches) {
  using B = TypeParam;
  constexpr index_t batch = kernel::zero_columns<B>::batch;
  for (index_t const count : {batch - 1, batch, batch + 1, 2 * batch + 7}) {
    std::vector<index_t> offsets;
    for (index_t p = 0; p < count; ++p) offsets.push_back(2 * p);
    std::vector<float> data(static_cast<std::size_t>(2 * count), 7.0f);
    kernel::zero_columns<B> const zero{data.data(), offsets.data(), count, 1};
    for (index_t task = 0; task < ceil_div(count, batch); ++task) zero(task);
    for (std::size_t k = 0; k < data.size(); ++k) ASSERT_EQ(data[k], k % 2 ? 7.0f : 0.0f) << count << ", " << k;
  }
}

}  // namespace
