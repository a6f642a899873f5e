// Every operation of the native backend, lane by lane against plain arithmetic, for every pack width. If this machine
// lacks an instruction, the test covers the loop that replaces it.
#include "mbirk/simd/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kernel/lane_backends.hpp"
#include "mbirk/simd/lanes.hpp"

namespace {

using namespace mbirk;

// For packs of any width: those wider than the instruction are halved.
#if defined(__FMA__) || defined(__aarch64__)
constexpr bool has_fused_multiply_add = true;
#else
constexpr bool has_fused_multiply_add = false;
#endif

template <class B> struct Pack : ::testing::Test {
  static constexpr int lanes = B::lanes;
  std::mt19937 engine{7};

  std::vector<float> floats(int n = lanes) {
    std::vector<float> v;
    for (int k = 0; k < n; ++k) v.push_back(static_cast<float>(engine()) * 0x1p-30f - 2.0f);
    return v;
  }
  std::vector<double> doubles() {
    std::vector<double> v;
    for (int k = 0; k < lanes; ++k) v.push_back(static_cast<double>(engine()) * 0x1p-29 - 4.0);
    return v;
  }
  std::vector<std::int32_t> words() {
    std::vector<std::int32_t> v;
    for (int k = 0; k < lanes; ++k) v.push_back(static_cast<std::int32_t>(engine()));
    return v;
  }
  static std::vector<float> values(typename B::pack a) {
    std::vector<float> v(lanes);
    B::store(v.data(), a);
    return v;
  }
  static std::vector<double> values(typename B::wide a) {
    std::vector<double> v(lanes);
    B::store(v.data(), a);
    return v;
  }
  static std::vector<std::int32_t> values(typename B::ints a) {
    std::vector<std::int32_t> v(lanes);
    B::store(v.data(), a);
    return v;
  }
  /// found[k] == f(k) in every lane.
  template <class V, class F> static void expect_lanes(V const& found, F const& f, char const* what) {
    for (int k = 0; k < lanes; ++k)
      EXPECT_EQ(found[static_cast<std::size_t>(k)], f(static_cast<std::size_t>(k))) << what << ", lane " << k;
  }
};

TYPED_TEST_SUITE(Pack, test::lane_backends, test::lane_names);

TYPED_TEST(Pack, Arithmetic) {
  using B = TypeParam;
  auto const a = this->floats(), b = this->floats();
  auto const x = B::load(a.data()), y = B::load(b.data());
  this->expect_lanes(this->values(x + y), [&](auto k) { return a[k] + b[k]; }, "+");
  this->expect_lanes(this->values(x - y), [&](auto k) { return a[k] - b[k]; }, "-");
  this->expect_lanes(this->values(x * y), [&](auto k) { return a[k] * b[k]; }, "*");
  this->expect_lanes(this->values(x / y), [&](auto k) { return a[k] / b[k]; }, "/");
  this->expect_lanes(this->values(max(x, y)), [&](auto k) { return std::max(a[k], b[k]); }, "max");
  this->expect_lanes(this->values(min(x, y)), [&](auto k) { return std::min(a[k], b[k]); }, "min");
  this->expect_lanes(this->values(sqrt(x * x)), [&](auto k) { return std::sqrt(a[k] * a[k]); }, "sqrt");
  this->expect_lanes(
      this->values(select(x < y, x, y * y)), [&](auto k) { return a[k] < b[k] ? a[k] : b[k] * b[k]; }, "select");
  this->expect_lanes(this->values(select(x < x, y, x)), [&](auto k) { return a[k]; }, "nothing is below itself");
}

// One rounding where the machine has the instruction, else two: of the product, at most 4, and of the sum, at most 6.
TYPED_TEST(Pack, FusedMultiplyAdd) {
  using B = TypeParam;
  for (int round = 0; round < 50; ++round) {
    auto const a = this->floats(), b = this->floats(), c = this->floats();
    auto const plus = this->values(fma(B::load(a.data()), B::load(b.data()), B::load(c.data())));
    auto const minus = this->values(fnma(B::load(a.data()), B::load(b.data()), B::load(c.data())));
    for (std::size_t k = 0; k < a.size(); ++k) {
      double const product = static_cast<double>(a[k]) * static_cast<double>(b[k]);
      EXPECT_NEAR(plus[k], static_cast<double>(c[k]) + product, 10 * 0x1p-24) << k;
      EXPECT_NEAR(minus[k], static_cast<double>(c[k]) - product, 10 * 0x1p-24) << k;
      if (!has_fused_multiply_add) continue;
      EXPECT_EQ(plus[k], std::fma(a[k], b[k], c[k])) << k;
      EXPECT_EQ(minus[k], std::fma(-a[k], b[k], c[k])) << k;
    }
  }
}

TYPED_TEST(Pack, WideArithmetic) {
  using B = TypeParam;
  auto const a = this->doubles(), b = this->doubles(), c = this->doubles();
  auto const x = B::load_wide(a.data()), y = B::load_wide(b.data()), z = B::load_wide(c.data());
  this->expect_lanes(this->values(x + y), [&](auto k) { return a[k] + b[k]; }, "+");
  this->expect_lanes(this->values(x - y), [&](auto k) { return a[k] - b[k]; }, "-");
  this->expect_lanes(this->values(x * y), [&](auto k) { return a[k] * b[k]; }, "*");
  this->expect_lanes(this->values(x / y), [&](auto k) { return a[k] / b[k]; }, "/");
  this->expect_lanes(this->values(max(x, y)), [&](auto k) { return std::max(a[k], b[k]); }, "max");
  this->expect_lanes(this->values(min(x, y)), [&](auto k) { return std::min(a[k], b[k]); }, "min");
  this->expect_lanes(this->values(abs(x)), [&](auto k) { return std::abs(a[k]); }, "abs");
  this->expect_lanes(this->values(sqrt(abs(x))), [&](auto k) { return std::sqrt(std::abs(a[k])); }, "sqrt");
  this->expect_lanes(this->values(select(x < y, x, z)), [&](auto k) { return a[k] < b[k] ? a[k] : c[k]; }, "select");
  auto const fused = this->values(fma(x, y, z));
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_NEAR(fused[k], a[k] * b[k] + c[k], 40 * 0x1p-53) << k;  // a product of up to 16, a sum of 20
    if (has_fused_multiply_add) {
      EXPECT_EQ(fused[k], std::fma(a[k], b[k], c[k])) << k;
    }
  }
}

TYPED_TEST(Pack, Floor) {
  using B = TypeParam;
  std::vector<double> const edges{0.0,         -0.0,         0.5,       -0.5,       1.0,  -1.0,  1.5,     -1.5,
                                  2.999999999, -2.000000001, 1e9 + 0.5, -1e9 - 0.5, 4e15, -4e15, 0x1p-60, -0x1p-60};
  for (std::size_t from = 0; from < edges.size(); from += static_cast<std::size_t>(B::lanes)) {
    auto const found = this->values(floor(B::load_wide(edges.data() + from)));
    this->expect_lanes(found, [&](auto k) { return std::floor(edges[from + k]); }, "floor");
  }
  auto const a = this->doubles();
  this->expect_lanes(this->values(floor(B::load_wide(a.data()))), [&](auto k) { return std::floor(a[k]); }, "floor");
}

TYPED_TEST(Pack, Constants) {
  using B = TypeParam;
  this->expect_lanes(this->values(B::constant(0.1)), [](auto) { return 0.1f; }, "constant");
  this->expect_lanes(this->values(B::broadcast(1.5f)), [](auto) { return 1.5f; }, "float");
  this->expect_lanes(this->values(B::broadcast(0.1)), [](auto) { return 0.1; }, "double");
  this->expect_lanes(this->values(B::broadcast(std::int32_t{-7})), [](auto) { return -7; }, "int");
  this->expect_lanes(this->values(B::iota()), [](auto k) { return static_cast<std::int32_t>(k); }, "iota");
  for (float const x : this->values(B::constant(-0.0))) EXPECT_TRUE(x == 0 && std::signbit(x)) << "minus zero survives";
  for (index_t n = -2; n <= B::lanes + 2; ++n)
    this->expect_lanes(
        this->values(B::first_lanes(n)), [&](auto k) { return static_cast<index_t>(k) < n ? 1.0f : 0.0f; },
        "first lanes");
}

TYPED_TEST(Pack, LoadsAndStoresOfUnalignedMemory) {
  using B = TypeParam;
  auto const memory = this->floats(3 * B::lanes);
  for (int at = 0; at < B::lanes; ++at) {
    auto const x = B::load(memory.data() + at);
    this->expect_lanes(this->values(x), [&](auto k) { return memory[static_cast<std::size_t>(at) + k]; }, "load");
    if constexpr (B::lanes <= simd::native_lanes)  // wider packs do not fit into one register
      this->expect_lanes(
          this->values(B::load_once(memory.data() + at)),
          [&](auto k) { return memory[static_cast<std::size_t>(at) + k]; }, "held");
    std::vector<float> out(memory.size(), -1.0f);
    B::store(out.data() + at, x);
    for (int k = 0; k < 3 * B::lanes; ++k)
      EXPECT_EQ(out[static_cast<std::size_t>(k)],
                k >= at && k < at + B::lanes ? memory[static_cast<std::size_t>(k)] : -1.0f)
          << at << ", " << k;
  }
  this->expect_lanes(this->values(B::load_broadcast(memory.data() + 5)), [&](auto) { return memory[5]; }, "broadcast");
  auto const words = this->words();
  this->expect_lanes(this->values(B::load_ints(words.data())), [&](auto k) { return words[k]; }, "ints");
}

// The memory ends where the lanes do, so that a sanitizer sees a read or a write beyond it.
TYPED_TEST(Pack, PartialLoadsAndStoresStayInside) {
  using B = TypeParam;
  for (int n = 1; n <= B::lanes; ++n) {  // kernels never request zero lanes
    auto const memory = this->floats(n);
    auto const x = B::load_partial(memory.data(), n);
    this->expect_lanes(
        this->values(x), [&](auto k) { return static_cast<int>(k) < n ? memory[k] : 0.0f; }, "partial load");
    std::vector<float> out(static_cast<std::size_t>(n));
    B::store_partial(out.data(), x, n);
    EXPECT_EQ(out, memory);
    std::vector<float> guarded(static_cast<std::size_t>(B::lanes), -1.0f);
    B::store_partial(guarded.data(), x, n);
    this->expect_lanes(guarded, [&](auto k) { return static_cast<int>(k) < n ? memory[k] : -1.0f; }, "partial store");
  }
}

TYPED_TEST(Pack, Gather) {
  using B = TypeParam;
  auto const memory = this->floats(100);
  std::vector<std::int32_t> index;
  for (int k = 0; k < B::lanes; ++k) index.push_back(static_cast<std::int32_t>(this->engine() % 100) - 50);
  index[0] = -50, index[1] = 49, index[2] = index[3];
  auto const found = this->values(B::gather(memory.data() + 50, B::load_ints(index.data())));
  this->expect_lanes(found, [&](auto k) { return memory[static_cast<std::size_t>(index[k] + 50)]; }, "gather");
}

TYPED_TEST(Pack, LookupUsesTheLowBitsOfTheIndex) {
  using B = TypeParam;
  auto const table = this->floats(B::lanes);
  for (int round = 0; round < 30; ++round) {
    auto const index = this->words();
    auto const found = this->values(lookup(B::load(table.data()), B::load_ints(index.data())));
    this->expect_lanes(
        found, [&](auto k) { return table[static_cast<std::size_t>(index[k] & (B::lanes - 1))]; }, "lookup");
  }
}

TYPED_TEST(Pack, Lookup2UsesTheLowBitsOfTheIndex) {
  using B = TypeParam;
  auto const table = this->floats(2 * B::lanes);
  for (int round = 0; round < 30; ++round) {
    auto const index = this->words();  // noise above the low bits, negative ones too
    auto const found =
        this->values(lookup2(B::load(table.data()), B::load(table.data() + B::lanes), B::load_ints(index.data())));
    this->expect_lanes(
        found, [&](auto k) { return table[static_cast<std::size_t>(index[k] & (2 * B::lanes - 1))]; }, "lookup2");
  }
}

TYPED_TEST(Pack, IntegersWrapAndRotate) {
  using B = TypeParam;
  auto const a = this->words(), b = this->words();
  auto const x = B::load_ints(a.data()), y = B::load_ints(b.data());
  auto const u = [](std::int32_t w) { return static_cast<std::uint32_t>(w); };
  this->expect_lanes(this->values(x + y), [&](auto k) { return static_cast<std::int32_t>(u(a[k]) + u(b[k])); }, "+");
  this->expect_lanes(this->values(x * y), [&](auto k) { return static_cast<std::int32_t>(u(a[k]) * u(b[k])); }, "*");
  for (int bits : {1, 3, 4, 5, 31})
    this->expect_lanes(
        this->values(rotate_left(x, bits)), [&](auto k) { return static_cast<std::int32_t>(std::rotl(u(a[k]), bits)); },
        "rotate");
}

// Rounded to the nearest float or, without the instruction, from a number whose last bit was dropped: half a unit and 1
// more.
TYPED_TEST(Pack, UnsignedToFloat) {
  using B = TypeParam;
  for (int round = 0; round < 30; ++round) {
    auto words = this->words();
    words[0] = 0, words[1] = -1, words[2] = std::numeric_limits<std::int32_t>::min(), words[3] = 2;
    auto const found = this->values(B::to_pack_unsigned(B::load_ints(words.data())));
    for (std::size_t k = 0; k < words.size(); ++k) {
      double const exact = static_cast<std::uint32_t>(words[k]);
      EXPECT_NEAR(found[k], exact, exact * 0x1p-24 + 1) << words[k];
    }
    EXPECT_EQ(found[0], 0.0f);
    EXPECT_EQ(found[2], 0x1p31f);
  }
}

TYPED_TEST(Pack, Conversions) {
  using B = TypeParam;
  auto const a = this->floats();
  auto const d = this->doubles();
  auto const w = this->words();
  this->expect_lanes(
      this->values(B::to_wide(B::load(a.data()))), [&](auto k) { return static_cast<double>(a[k]); },
      "float to double");
  this->expect_lanes(
      this->values(B::to_wide(B::load_ints(w.data()))), [&](auto k) { return static_cast<double>(w[k]); },
      "int to double");
  this->expect_lanes(
      this->values(B::to_pack(B::load_wide(d.data()))), [&](auto k) { return static_cast<float>(d[k]); },
      "double to float");
  this->expect_lanes(
      this->values(B::to_ints(B::load_wide(d.data()))), [&](auto k) { return static_cast<std::int32_t>(d[k]); },
      "truncated");
  this->expect_lanes(
      this->values(B::to_ints(B::load(a.data()))), [&](auto k) { return static_cast<std::int32_t>(a[k]); },
      "float truncated");
  this->expect_lanes(this->values(B::lift(B::load(a.data()))), [&](auto k) { return a[k]; }, "lift");
}

TYPED_TEST(Pack, Reductions) {
  using B = TypeParam;
  for (int at = 0; at < B::lanes; ++at) {
    auto a = this->floats();
    a[static_cast<std::size_t>(at)] = 100;
    EXPECT_EQ(kernel::reduce_max<B>(B::load(a.data())), 100) << at;
    EXPECT_EQ(kernel::reduce_min<B>(B::load(a.data())), *std::min_element(a.begin(), a.end())) << at;
    a[static_cast<std::size_t>(at)] = -100;
    EXPECT_EQ(kernel::reduce_min<B>(B::load(a.data())), -100) << at;
    EXPECT_EQ(kernel::reduce_max<B>(B::load(a.data())), *std::max_element(a.begin(), a.end())) << at;
  }
}

TYPED_TEST(Pack, TransposeExchangesRowsAndColumns) {
  using B = TypeParam;
  constexpr int n = B::lanes;
  auto const matrix = this->floats(n * n);
  typename B::pack rows[n];
  for (int k = 0; k < n; ++k) rows[k] = B::load(matrix.data() + k * n);
  B::transpose(rows);
  for (int i = 0; i < n; ++i) {
    auto const row = this->values(rows[i]);
    this->expect_lanes(row, [&](auto j) { return matrix[j * n + static_cast<std::size_t>(i)]; }, "transpose");
  }
}

TYPED_TEST(Pack, ScalarsPassThrough) {
  using B = TypeParam;
  struct line { double a; int b; } one{2.5, 7};
  EXPECT_EQ(B::load_value(&one).a, 2.5);
  B::store_value(&one, line{1, 2});
  EXPECT_EQ(one.b, 2);
}

// Two halvings bring |x| below tan(pi/8) = 0.4142 for every t; the series ends at x^23, so the first term left out is 4
// * 0.4142^25 / 25 = 4e-11. Within a fan of 45 degrees |x| < 0.199: far below the 30 roundings that remain.
TYPED_TEST(Pack, Arctangent) {
  using B = TypeParam;
  double worst = 0, worst_in_fan = 0;
  auto const try_values = [&](auto const& of) {
    for (int step = 0; step < 4000; step += B::lanes) {
      std::vector<double> t;
      for (int k = 0; k < B::lanes; ++k) t.push_back(of(static_cast<double>(step + k) / 4000));
      auto const found = this->values(atan(B::load_wide(t.data())));
      for (std::size_t k = 0; k < t.size(); ++k) {
        double const error = std::abs(found[k] - std::atan(t[k]));
        worst = std::max(worst, error);
        if (std::abs(t[k]) <= 1) worst_in_fan = std::max(worst_in_fan, error);
        EXPECT_LE(error, 1e-10) << t[k];
      }
    }
  };
  try_values([](double u) { return 2 * u - 1; });
  try_values([](double u) { return std::exp(60 * (u - 0.5)); });
  try_values([](double u) { return -std::exp(60 * (u - 0.5)); });
  EXPECT_LE(worst_in_fan, 30 * 0x1p-53);
  this->RecordProperty("worst", std::to_string(worst * 1e15) + "e-15");
  this->RecordProperty("worst_in_fan", std::to_string(worst_in_fan * 1e15) + "e-15");
}

TEST(NativeBackend, HasThePackOfTheInstructionSet) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  EXPECT_EQ(simd::native_backend::lanes, 16);
#elif defined(__AVX__)
  EXPECT_EQ(simd::native_backend::lanes, 8);
#else
  EXPECT_EQ(simd::native_backend::lanes, 4);
#endif
  static_assert(std::is_trivially_copyable_v<simd::native_backend::pack>);
  static_assert(sizeof(simd::native_backend::pack) == sizeof(float) * simd::native_lanes, "a pack is its lanes");
  static_assert(sizeof(simd::native_backend::wide) == sizeof(double) * simd::native_lanes);
}

}  // namespace
