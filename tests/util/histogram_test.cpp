// Range, histogram and middle values against their definitions, on one thread and several, and under counting.
#include "mbirk/util/histogram.hpp"

#include <bit>
#include <numeric>

#include "filter/support.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

/// An array in the form that find_range and related functions take.
template <class Context> struct prepared {
  prepared(Context const& ctx, view<float const, 3> v, index_t tasks)
      : in(kernel::make_strided_cursor(observe(ctx, v, "array", array_role::argument), v)),
        w(kernel::make_elementwise_range(tasks, v)) {}
  kernel::strided_cursor<typename Context::backend::template cursor<float const>> in;
  kernel::elementwise_range w;
};
detail::number_range range_of(view<float const, 3> v, int threads = 1) {
  auto const ctx = on_host(threads);
  prepared const p(ctx, v, 32);
  return detail::find_range(ctx, p.in, p.w);
}
std::pair<float, float> middle_of(view<float const, 3> v, float limit, int threads = 1) {
  auto const ctx = on_host(threads);
  prepared const p(ctx, v, 32);
  return detail::find_middle(ctx, p.in, p.w, limit);
}
detail::histogram histogram_of(view<float const, 3> v, int bins, int threads = 1) {
  auto const ctx = on_host(threads);
  prepared const p(ctx, v, 32);
  return detail::find_histogram(ctx, p.in, p.w, detail::find_range(ctx, p.in, p.w), bins);
}

/// Numbers of every size and sign.
array<3> wild_array(shape_3 shape, unsigned seed) {
  array<3> a(shape);
  std::mt19937 engine(seed);
  for (auto& x : a.data) {
    do x = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    while (!std::isfinite(x));
  }
  return a;
}

shape_3 const shapes[] = {{1, 1, 1},     {1, 1, 2},   {2, 3, 5},    {1, 1, 16},   {3, 4, 17},
                          {1, 1, 40000}, {7, 90, 41}, {700, 30, 3}, {2, 2, 20011}};

TEST(ElementwiseRange, VisitsEveryElementOnce) {
  for (auto const shape : shapes)
    for (index_t const tasks : {index_t{1}, index_t{5}, kernel::any_tasks})
      for (int const gaps : {0, 1, 2}) {  // none, between rows, between rows and views
        SCOPED_TRACE(mbirk::detail::shape_text(shape));
        index_t const row = shape[2] + (gaps == 2 ? 3 : 0), outer = shape[1] * row + (gaps ? 5 : 0);
        std::vector<int> seen(static_cast<std::size_t>(shape[0] * outer + 64));
        view<int, 3> const v(seen.data(), shape, {outer, row, 1});
        auto const w = kernel::make_elementwise_range(tasks, v);
        auto const at = kernel::make_strided_cursor(seen.data(), v);
        for (index_t task = 0; task < w.tasks(); ++task)
          kernel::for_each_pack<simd::native_backend>(w, task, [&](kernel::pack_position p, int n) {
            for (int k = 0; k < n; ++k) ++at(p)[k];
          });
        for (index_t i = 0; i < shape[0]; ++i)
          for (index_t j = 0; j < shape[1]; ++j)
            for (index_t k = 0; k < shape[2]; ++k) ASSERT_EQ(v(i, j, k), 1);
        EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), index_t{0}), v.size());
        if (tasks == 5) { EXPECT_LE(w.tasks(), 10); }  // about: lines are not cut to make tasks of one size
        if (gaps == 0) { EXPECT_EQ(w.lines(), 1); }
      }
  EXPECT_EQ(kernel::make_elementwise_range(8, view<float, 3>(nullptr, {3, 0, 4})).tasks(), 0);
  EXPECT_EQ(kernel::make_elementwise_range(8, view<float, 3>(nullptr, {0, 2, 4})).tasks(), 0);
  EXPECT_EQ(kernel::make_elementwise_range(8, view<float, 3>(nullptr, {3, 2, 0})).tasks(), 0);
}

TEST(Range, IsTheLeastAndTheGreatest) {
  for (auto const shape : shapes) {
    auto a = wild_array(shape, 1);
    auto const check = [&] {
      auto const r = range_of(a.all(), 3);
      EXPECT_EQ(r.minimum, *std::min_element(a.data.begin(), a.data.end()));
      EXPECT_EQ(r.maximum, *std::max_element(a.data.begin(), a.data.end()));
      EXPECT_FALSE(r.has_nan);
      EXPECT_TRUE(r.finite());
    };
    check();
    for (auto& x : a.data) x = -std::abs(x);  // lanes beyond the last element are not zeros
    check();
    for (auto& x : a.data) x = std::abs(x);
    check();
  }
}
TEST(Range, FindsWhatIsNotFiniteAnywhere) {
  for (auto const shape : shapes)
    for (float const bad : {nan, -nan, inf, -inf}) {
      array<3> const good(shape, 1.5f);
      for (std::size_t const at : {std::size_t{0}, good.data.size() / 2, good.data.size() - 1}) {
        auto a = good;
        a.data[at] = bad;
        auto const r = range_of(a.all());
        EXPECT_FALSE(r.finite());
        EXPECT_EQ(r.has_nan, std::isnan(bad));
      }
    }
}
TEST(Range, OfNothing) {
  auto const r = range_of(view<float const, 3>(nullptr, {0, 2, 3}));
  EXPECT_EQ(r.minimum, inf);
  EXPECT_EQ(r.maximum, -inf);
}

TEST(Histogram, CountsWhatLiesBetweenTheEdges) {
  for (auto const shape : shapes)
    for (int const bins : {2, 7, 400, 1024}) {
      auto a = random_array<3>(shape, 3);
      for (auto& x : a.data) x = x < 0.3f ? 0.25f : std::floor(x * 64) / 16 - 1;  // many on the edges
      auto const h = histogram_of(a.all(), bins, 2);
      auto const [least, greatest] = std::minmax_element(a.data.begin(), a.data.end());
      if (*least < *greatest) {
        EXPECT_EQ(h.edges.front(), *least);
        EXPECT_EQ(h.edges.back(), *greatest);
      } else {
        EXPECT_EQ(h.edges.front(), *least - 0.5f);
        EXPECT_EQ(h.edges.back(), *least + 0.5f);
      }
      std::vector<index_t> expected(static_cast<std::size_t>(bins));
      for (float const x : a.data) {
        auto const above = std::upper_bound(h.edges.begin(), h.edges.end(), x) - h.edges.begin();
        ++expected[static_cast<std::size_t>(std::clamp<index_t>(above - 1, 0, bins - 1))];
      }
      EXPECT_EQ(h.counts, expected) << mbirk::detail::shape_text(shape) << " " << bins;
      EXPECT_EQ(h.counts, histogram_of(a.all(), bins).counts);
    }
}
TEST(Histogram, EdgesAreRoundedFromDouble) {
  detail::number_range r{-0.3f, 1.7f};
  auto const edges = detail::equal_bins(r, 10);
  for (int b = 0; b <= 10; ++b)  // exact to double; the nearest float except for ties, which do not occur here
    EXPECT_EQ(edges[static_cast<std::size_t>(b)],
              static_cast<float>(static_cast<double>(-0.3f) +
                                 b * ((static_cast<double>(1.7f) - static_cast<double>(-0.3f)) / 10)));
  EXPECT_EQ(histogram_of(view<float const, 3>(nullptr, {0, 1, 1}), 4).edges,
            (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1}));
}
TEST(Histogram, SurvivesRangesThatFloat32CannotHold) {
  array<3> a({1, 1, 5});
  a.data = {-3e38f, 3e38f, 0, 1, -1};
  auto const h = histogram_of(a.all(), 8);
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), index_t{0}), 5);
}

TEST(Middle, IsThatOfTheSortedElements) {
  for (auto const shape : shapes)
    for (unsigned const seed : {4u, 5u}) {
      auto a = wild_array(shape, seed);
      if (seed == 5)
        for (auto& x : a.data)
          x = static_cast<float>(static_cast<int>(std::fmod(x, 3.0f)));  // ties, zeros of both signs
      auto sorted = a.data;
      std::sort(sorted.begin(), sorted.end());
      for (float const limit : {-inf, sorted[0], sorted[sorted.size() / 3], sorted.back()}) {
        auto const from = std::lower_bound(sorted.begin(), sorted.end(), limit);
        auto const n = sorted.end() - from;
        auto const [low, high] = middle_of(a.all(), limit, 2);
        EXPECT_EQ(low, from[(n - 1) / 2]);
        EXPECT_EQ(high, from[n / 2]);
      }
    }
}
TEST(Middle, KeysKeepTheOrder) {
  float const ascending[] = {-inf, -3e38f, -1, -1e-45f, 0, 1e-45f, 1e-38f, 1, 3e38f, inf};
  for (std::size_t k = 1; k < std::size(ascending); ++k)
    EXPECT_LT(kernel::order_key(ascending[k - 1]), kernel::order_key(ascending[k]));
  for (float const x : ascending) EXPECT_EQ(kernel::from_order_key(kernel::order_key(x)), x);
}

TEST(Histogram, CountsEqualTheModel) {
  for (auto const shape : shapes) {
    auto const a = wild_array(shape, 6);
    auto const run = [&](auto const& ctx, float const* data) {
      [[maybe_unused]] auto const guard = ctx.instr.scope({"statistics", 1});
      prepared const p(ctx, view<float const, 3>(data, shape), 32);
      detail::find_histogram(ctx, p.in, p.w, detail::find_range(ctx, p.in, p.w), 50);
      detail::find_middle(ctx, p.in, p.w, 0);
    };
    instrument::ledger counted, modelled;
    run(context{exec::host{}, instrument::counting<>{counted}}, a.data.data());
    run(context{exec::host{}, instrument::cost_model<>{modelled}}, nullptr);
    expect_same_counts(counted.last(), modelled.last());
    EXPECT_EQ(counted.last().operations.of(instrument::number::f32, instrument::operation::div),
              round_up(static_cast<index_t>(a.data.size()), simd::native_lanes));
    EXPECT_EQ(counted.last().operations.of(instrument::number::f64, instrument::operation::convert), a.data.size());
  }
}

}  // namespace
