// Loops of the evaluation of graphs: axes in any order, sums, statements that depend on each other, loops around
// stages.
#include "mbirk/record/evaluator.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "mbirk/record/evaluate.hpp"
#include "mbirk/record/recorder.hpp"

namespace {

using namespace mbirk;
using record::recorder;
using I = record::index;
using T = record::real;

std::vector<double> counted(std::size_t size, double first = 1) {
  std::vector<double> x(size);
  for (std::size_t k = 0; k < size; ++k) x[k] = first + static_cast<double>(k);
  return x;
}
std::vector<double> evaluated(record::graph const& g, record::named_arrays const& inputs) {
  return record::evaluate<double>(g, inputs).outputs.at("y");
}

TEST(PointLoop, JoinsAxesThatFollowEachOtherInAllOperands) {
  record::graph g("axes");
  for (index_t const extent : {3, 4, 5}) g.add_axis("a", extent, record::axis_kind::space);
  std::vector<int> const all{0, 1, 2}, outer{0, 1}, last{2}, first{0};
  using loop = record::detail::point_loop;
  EXPECT_EQ(loop(g, all, {&all, &all}).extents, (std::vector<index_t>{60}));
  EXPECT_EQ(loop(g, all, {&all, &last}).extents, (std::vector<index_t>{12, 5}));
  EXPECT_EQ(loop(g, all, {&first, &first}).extents, (std::vector<index_t>{3, 20}));
  EXPECT_EQ(loop(g, {}, {}).points, 1);
  std::vector<std::ptrdiff_t> seen;
  loop const one(g, all, {&last, &outer});
  one.each_row([&](index_t p, std::ptrdiff_t const* offset) {
    EXPECT_EQ(p, 5 * static_cast<index_t>(seen.size()));
    EXPECT_EQ(offset[0], 0);
    seen.push_back(offset[1]);
  });
  EXPECT_EQ(seen, (std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Evaluator, OperandsMayLackAxes) {
  record::graph g("product");
  recorder m(g);
  auto const a = m.reals("a", {3}), b = m.reals("b", {5}), c = m.reals("c", {3, 4, 5});
  auto const y = m.output("y", {3, 4, 5});
  m.each("s", {"i", 3}, {"j", 4}, {"k", 5},
         [&](I i, I j, I k) { m.store(y, a.at(i) * b.at(k) + c.at(i, j, k), i, j, k); });
  auto const found = evaluated(g, {{"a", counted(3)}, {"b", counted(5, 10)}, {"c", counted(60, 100)}});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 5; ++k) {
        int const n = (i * 4 + j) * 5 + k;
        EXPECT_EQ(found[static_cast<std::size_t>(n)], (1 + i) * (10 + k) + 100 + n) << n;
      }
}

TEST(Evaluator, SumsOverTheFirstTheMiddleAndNoAxis) {
  for (int const axis : {0, 1, 2, 3}) {
    record::graph g("sum");
    recorder m(g);
    auto const x = m.reals("x", {3, 4, 5});
    auto const y = m.output("y", {5, 4, 3});
    m.each("s", {"k", 5}, {"j", 4}, {"i", 3}, [&](I k, I j, I i) {
      T const total = axis == 0   ? m.sum("n", 3, [&](I n) { return x.at(n, j, k); })
                      : axis == 1 ? m.sum("n", 4, [&](I n) { return x.at(i, n, k); })
                      : axis == 2 ? m.sum("n", 5, [&](I n) { return x.at(i, j, n); })
                                  : m.sum("n", 7, [&](I) { return x.at(i, j, k); });
      m.store(y, total, k, j, i);
    });
    auto const values = counted(60);
    auto const found = evaluated(g, {{"x", values}});
    auto const at = [&](int i, int j, int k) { return values[static_cast<std::size_t>((i * 4 + j) * 5 + k)]; };
    for (int k = 0; k < 5; ++k)
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 3; ++i) {
          double expected = axis == 3 ? 7 * at(i, j, k) : 0;
          for (int n = 0; axis == 0 && n < 3; ++n) expected += at(n, j, k);
          for (int n = 0; axis == 1 && n < 4; ++n) expected += at(i, n, k);
          for (int n = 0; axis == 2 && n < 5; ++n) expected += at(i, j, n);
          EXPECT_EQ(found[static_cast<std::size_t>((k * 4 + j) * 3 + i)], expected) << axis;
        }
  }
}

TEST(Evaluator, StatementsReadWhatEarlierOnesWrote) {
  record::graph g("statements");
  recorder m(g);
  auto const x = m.reals("x", {6});
  auto const t = m.temporary("t", {6}), y = m.output("y", {6});
  m.each("s", {"i", 6}, [&](I i) {
    m.store(t, x.at(i) + T(1.0), i);
    m.store(y, m.input(t).at(I(5) - i) * T(2.0), i);
  });
  EXPECT_EQ(evaluated(g, {{"x", counted(6)}}), (std::vector<double>{14, 12, 10, 8, 6, 4}));
}

TEST(Evaluator, LoopsAroundStagesGoOn) {
  record::graph g("loop");
  recorder m(g);
  auto const x = m.reals("x", {3});
  auto const y = m.output("y", {3});
  m.loop("n", 4, [&](I n) {
    m.each("s", {"i", 3}, [&](I i) { m.add(y, x.at(i) * record::as<T>(n), i); });
  });
  EXPECT_EQ(evaluated(g, {{"x", counted(3)}}), (std::vector<double>{6, 12, 18}));
}

TEST(Evaluator, DropsWhatIsWrittenOutside) {
  record::graph g("shift");
  recorder m(g);
  auto const x = m.reals("x", {2, 4});
  auto const y = m.output("y", {2, 4});
  m.each("s", {"i", 2}, {"j", 4}, [&](I i, I j) {
    m.store(y, x.at(i, j), i, j - I(1));
    m.add(y, x.at(i, j), i + I(2000000000), j);
  });
  EXPECT_EQ(evaluated(g, {{"x", counted(8)}}), (std::vector<double>{2, 3, 4, 0, 6, 7, 8, 0}));
}

TEST(Evaluator, EmptyAxesHaveNoPoints) {
  record::graph g("empty");
  recorder m(g);
  auto const x = m.reals("x", {0, 3});
  auto const y = m.output("y", {0, 3});
  m.each("s", {"i", 0}, {"j", 3}, [&](I i, I j) { m.store(y, x.at(i, j) + T(1.0), i, j); });
  EXPECT_TRUE(evaluated(g, {{"x", {}}}).empty());
}

}  // namespace
