// The median filter: a proof of its network, the tuned kernel against sorting, and MBIRJAX's result.
#include "mbirk/util/median.hpp"

#include <bit>
#include <functional>

#include "core/messages.hpp"
#include "filter/support.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/definition/median.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/io/npy.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

float const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

/// 64 inputs of zeros and ones at once.
struct bits {
  std::uint64_t v;
  friend bits min(bits a, bits b) { return {a.v & b.v}; }
  friend bits max(bits a, bits b) { return {a.v | b.v}; }
};

// Min and max commute with every monotone map of the values, so a network that selects the 14th of all 2^27 patterns of
// zeros and ones selects the 14th of any values (zero-one principle).
TEST(MedianNetwork, SelectsTheMiddleOfEveryPattern) {
  bits const lane_bit[6] = {{0xaaaaaaaaaaaaaaaa}, {0xcccccccccccccccc}, {0xf0f0f0f0f0f0f0f0},
                            {0xff00ff00ff00ff00}, {0xffff0000ffff0000}, {0xffffffff00000000}};
  std::uint64_t at_least[16] = {};  // [n]: the lanes whose own number has at least n ones
  for (int n = 0; n < 16; ++n)
    for (unsigned lane = 0; lane < 64; ++lane)
      if (std::popcount(lane) >= n) at_least[n] |= std::uint64_t{1} << lane;

  std::uint64_t wrong = 0;
  for (std::uint32_t high = 0; high < 1u << 21; ++high) {
    bits w[27];  // 9 x + 3 y + z
    for (int k = 0; k < 27; ++k) w[k] = k < 6 ? lane_bit[k] : bits{(high >> (k - 6) & 1) ? ~std::uint64_t{0} : 0};
    for (int k = 0; k < 9; ++k) kernel::sort_triple(w[k], w[k + 9], w[k + 18]);
    for (int x = 0; x < 27; x += 9)
      for (int z = x; z < x + 3; ++z) kernel::sort_triple(w[z], w[z + 3], w[z + 6]);
    auto const found = kernel::median_network::median<bits>([&](auto place) { return w[place]; });
    wrong |= found.v ^ at_least[std::max(0, 14 - std::popcount(high))];
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(MedianNetwork, AsksForEveryPlaceOnce) {
  int asked[27] = {};
  kernel::median_network::median<bits>([&](auto place) { return ++asked[place], bits{0}; });
  for (int const n : asked) EXPECT_EQ(n, 1);
}

TEST(MedianNetwork, ExchangeLosesNothing) {
  using pack = simd::native_backend::pack;
  float const values[] = {0.0f, -0.0f, 1.0f, nan, inf, -inf};
  auto const first = [](pack p) { return std::bit_cast<std::uint32_t>(static_cast<float>(p.v[0])); };
  for (float const x : values)
    for (float const y : values) {
      pack a(static_cast<double>(x)), b(static_cast<double>(y));
      auto const before = std::minmax({first(a), first(b)});
      kernel::exchange(a, b);
      EXPECT_EQ(std::minmax({first(a), first(b)}), before) << x << " " << y;
    }
}

struct outcome { array<3> median, minimum, maximum; };

outcome filter(array<3> const& image, int threads = 1) {
  outcome o{array<3>(image.shape, -7), array<3>(image.shape, -7), array<3>(image.shape, -7)};
  median_filter3d(on_host(threads), image.all(), o.median.all(), o.minimum.all(), o.maximum.all());
  return o;
}

/// Reference: the middle of the sorted window.
outcome oracle(array<3> const& image) {
  outcome o{array<3>(image.shape), array<3>(image.shape), array<3>(image.shape)};
  auto const [rows, cols, slices] = image.shape;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j)
      for (index_t k = 0; k < slices; ++k) {
        std::vector<float> window;
        bool has_nan = false;
        for (index_t a = i - 1; a <= i + 1; ++a)
          for (index_t b = j - 1; b <= j + 1; ++b)
            for (index_t c = k - 1; c <= k + 1; ++c) {
              window.push_back(image.all()(std::clamp<index_t>(a, 0, rows - 1), std::clamp<index_t>(b, 0, cols - 1),
                                           std::clamp<index_t>(c, 0, slices - 1)));
              has_nan |= std::isnan(window.back());
            }
        if (!has_nan) std::sort(window.begin(), window.end());
        o.median.all()(i, j, k) = has_nan ? nan : window[13];
        o.minimum.all()(i, j, k) = has_nan ? nan : window.front();
        o.maximum.all()(i, j, k) = has_nan ? nan : window.back();
      }
  return o;
}

/// Equal numbers, or both NaN.
std::size_t differences(std::vector<float> const& a, std::vector<float> const& b) {
  std::size_t n = a.size() == b.size() ? 0 : 1000000;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
    n += !(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])));
  return n;
}
void expect_equal(outcome const& found, outcome const& expected) {
  EXPECT_EQ(differences(found.median.data, expected.median.data), 0u);
  EXPECT_EQ(differences(found.minimum.data, expected.minimum.data), 0u);
  EXPECT_EQ(differences(found.maximum.data, expected.maximum.data), 0u);
}

// One voxel, one line along each axis, packs that are full, short by one and over by one, several blocks of columns,
// several chunks of slices.
shape_3 const volume_shapes[] = {{1, 1, 1},   {1, 1, 5},   {1, 6, 1},   {7, 1, 1},   {2, 3, 1},   {3, 1, 17},
                          {5, 4, 16},  {4, 5, 15},  {2, 67, 3},  {4, 35, 33}, {2, 3, 300}, {1, 40, 260},
                          {2, 2, 257}, {1, 2, 512}, {3, 2, 513}, {6, 33, 2},  {9, 8, 7}};

struct Median : ::testing::TestWithParam<shape_3> {
  shape_3 const shape = GetParam();
  /// Values from `make`, which gets uniform numbers in [0, 1).
  array<3> image(std::function<float(float)> const& make, unsigned seed) const {
    auto a = random_array<3>(shape, seed);
    for (auto& x : a.data) x = make(x);
    return a;
  }
};

TEST_P(Median, OfAnyValues) {
  auto const a = image([](float u) { return (u - 0.5f) * 1e3f; }, 1);
  auto const found = filter(a), expected = oracle(a);
  EXPECT_TRUE(same_bits(found.median.data, expected.median.data));
  EXPECT_TRUE(same_bits(found.minimum.data, expected.minimum.data));
  EXPECT_TRUE(same_bits(found.maximum.data, expected.maximum.data));
}
TEST_P(Median, OfManyEqualValues) {
  auto const a = image([](float u) { return std::floor(u * 3) - 1; }, 2);
  expect_equal(filter(a), oracle(a));
}
TEST_P(Median, OfInfinitiesAndZerosOfBothSigns) {
  auto const a = image([](float u) { return u < 0.3f ? inf : u < 0.6f ? -inf : u < 0.8f ? 0.0f : -0.0f; }, 3);
  expect_equal(filter(a), oracle(a));
}
TEST_P(Median, KeepsTheSignOfZero) {
  auto const found = filter(array<3>(shape, -0.0f));
  for (auto const* v : {&found.median, &found.minimum, &found.maximum})
    for (float const x : v->data) EXPECT_TRUE(x == 0 && std::signbit(x));
}
TEST_P(Median, OfNaNs) {
  auto const a = image([](float u) { return u < 0.02f ? nan : u < 0.04f ? -nan : u < 0.1f ? inf : u; }, 4);
  expect_equal(filter(a), oracle(a));
  for (std::size_t const only :
       {std::size_t{0}, a.data.size() / 2, a.data.size() - 1}) {  // a single one, on each border too
    auto b = image([](float u) { return u; }, 5);
    b.data[only] = nan;
    expect_equal(filter(b), oracle(b));
  }
}
TEST_P(Median, EqualsItsDefinition) {
  auto const a = image([](float u) { return u < 0.01f ? nan : u; }, 6);
  definition::plain_interpreter<double> m;
  std::vector<double> out[3];
  for (auto& x : out) x.resize(a.data.size());
  auto const as_output = [&](int n) { return view<double, 3>(out[n].data(), shape); };
  definition::median_filter3d(m, m.input(a.all()), shape, as_output(0), as_output(1), as_output(2));
  auto const found = filter(a);
  auto const single = [](std::vector<double> const& x) { return std::vector<float>(x.begin(), x.end()); };
  EXPECT_EQ(differences(found.median.data, single(out[0])), 0u);
  EXPECT_EQ(differences(found.minimum.data, single(out[1])), 0u);
  EXPECT_EQ(differences(found.maximum.data, single(out[2])), 0u);
}
TEST_P(Median, DoesNotDependOnThreadsOrOnWhatElseIsAsked) {
  auto const a = image([](float u) { return u < 0.02f ? nan : u; }, 7);
  auto const one = filter(a), three = filter(a, 3);
  EXPECT_TRUE(same_bits(one.median.data, three.median.data));
  EXPECT_TRUE(same_bits(one.maximum.data, three.maximum.data));
  array<3> alone(shape), with_maximum(shape), maximum(shape);
  median_filter3d(on_host(2), a.all(), alone.all());
  median_filter3d(on_host(2), a.all(), with_maximum.all(), std::nullopt, maximum.all());
  EXPECT_TRUE(same_bits(alone.data, one.median.data));
  EXPECT_TRUE(same_bits(with_maximum.data, one.median.data));
  EXPECT_TRUE(same_bits(maximum.data, one.maximum.data));
}
TEST_P(Median, OfArraysWithGaps) {
  auto const a = image([](float u) { return u; }, 8);
  spread in(a), out(array<3>(shape, 3)), least(array<3>(shape, 4));
  median_filter3d(on_host(), in.all(), out.all(), least.all());
  auto const expected = oracle(a);
  EXPECT_TRUE(same_bits(out.dense(), expected.median.data));
  EXPECT_TRUE(same_bits(least.dense(), expected.minimum.data));
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(least.gaps_untouched());
}
TEST_P(Median, CountsEqualTheModel) {
  auto const a = image([](float u) { return u; }, 9);
  array<3> out(shape), least(shape);
  constexpr auto all = instrument::level::unique | instrument::level::reuse;
  instrument::ledger counted, modelled;
  median_filter3d(context{exec::host{}, instrument::counting<all>{counted}}, a.all(), out.all(), least.all());
  median_filter3d(context{exec::host{}, instrument::cost_model<all>{modelled}}, view<float const, 3>(nullptr, shape),
                  view<float, 3>(nullptr, shape), view<float, 3>(nullptr, shape));
  expect_same_counts(counted.last(), modelled.last());
  EXPECT_EQ(counted.last().reuse.accesses, modelled.last().reuse.accesses);
  EXPECT_EQ(counted.last().reuse.read_misses, modelled.last().reuse.read_misses);
  EXPECT_TRUE(same_bits(out.data, oracle(a).median.data)) << "counting must not change a bit";
}
std::string shape_name(::testing::TestParamInfo<shape_3> const& info) {
  return std::to_string(info.param[0]) + "x" + std::to_string(info.param[1]) + "x" + std::to_string(info.param[2]);
}
INSTANTIATE_TEST_SUITE_P(Shapes, Median, ::testing::ValuesIn(volume_shapes), shape_name);

// Five columns of two rows, whole packs: six operations to sort along rows, three times six along columns, and the
// network.
TEST(MedianFilter, CountsByHand) {
  index_t const lanes = simd::native_lanes;
  array<3> const a({2, 5, 3 * lanes}, 1);
  array<3> out(a.shape);
  instrument::ledger l;
  median_filter3d(context{exec::host{}, instrument::counting<>{l}}, a.all(), out.all());
  auto const packs = static_cast<std::uint64_t>(2 * 5 * 3), each = static_cast<std::uint64_t>(lanes);
  EXPECT_EQ(l.last().operations.of(instrument::operation::min_max),
            packs * each * (6 + 18 + kernel::median_network::operations));
  EXPECT_EQ(l.last().operations.lanes_useful, packs * each);
  EXPECT_EQ(l.last().items, a.all().size());
  for (auto const& array : l.last().arrays) {
    EXPECT_EQ(array.counts.unique_read, array.name == "image" ? 4 * packs * each : 0)
        << array.name << ": scratch is written before it is read";
    if (array.name == "median") { EXPECT_EQ(array.counts.bytes_stored, 4 * packs * each); }
  }
}

TEST(MedianFilter, OfNothing) {
  for (shape_3 const shape : {shape_3{0, 3, 4}, shape_3{3, 0, 4}, shape_3{3, 4, 0}, shape_3{0, 0, 0}}) {
    array<3> const a(shape);
    array<3> out(shape);
    EXPECT_NO_THROW(median_filter3d(on_host(), a.all(), out.all(), out.all(), out.all()));
  }
}

TEST(MedianFilter, RefusesOtherShapes) {
  array<3> const a({3, 4, 5});
  array<3> good({3, 4, 5}), bad({3, 5, 4});
  auto const expect_names = [](std::string const& text, char const* name) {
    for (std::string const part : {"median_filter3d", name, "(3, 5, 4)", "(3, 4, 5)"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_names(message_of<shape_error>([&] { median_filter3d(on_host(), a.all(), bad.all()); }), "median");
  expect_names(message_of<shape_error>([&] { median_filter3d(on_host(), a.all(), good.all(), bad.all()); }), "minimum");
  expect_names(message_of<shape_error>([&] { median_filter3d(on_host(), a.all(), good.all(), good.all(), bad.all()); }),
               "maximum");
  view<float const, 3> const strided(a.data.data(), {3, 4, 2}, {20, 5, 2});
  EXPECT_THROW(median_filter3d(on_host(), strided, view<float, 3>(good.data.data(), {3, 4, 2})), shape_error);
}

TEST(MedianFilter, EqualsMbirjax) {
  std::string const folder = std::string(MBIRK_GOLDEN_DIR) + "/utilities/";
  auto const in = read_npy<float>(folder + "image.npy"), expected = read_npy<float>(folder + "out_median_filter3d.npy");
  array<3> a({in.shape.at(0), in.shape.at(1), in.shape.at(2)});
  a.data = in.data;
  EXPECT_TRUE(same_bits(filter(a, 2).median.data, expected.data));
}

}  // namespace
