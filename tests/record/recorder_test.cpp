// Recording: equal expressions become one node that runs once for each point of its axes, literals fold, mistakes are
// reported; and the text of a small graph.
#include "mbirk/record/recorder.hpp"

#include <gtest/gtest.h>

#include "core/messages.hpp"
#include "mbirk/record/cost.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/text.hpp"

namespace {

using namespace mbirk;
using mbirk::test::expect_error;
using record::op;
using record::recorder;
using record::type;

parallel_scan small_scan() {
  parallel_parameters p;
  p.sinogram_shape = {5, 4, 9}, p.angles = {0.f, 0.5f, 1.f, 1.5f, 2.f};
  p.recon_shape = std::array<index_t, 3>{7, 6, 4};
  return parallel_scan(p);
}

TEST(Recorder, EqualExpressionsAreOneNode) {
  record::graph g("g");
  recorder m(g);
  auto const x = m.reals("x", {3});
  auto const y = m.output("y", {3});
  m.each("s", {"i", 3}, [&](record::index i) { m.store(y, x.at(i) * x.at(i) + x.at(i) * x.at(i), i); });
  ASSERT_EQ(g.nodes.size(), 4u) << record::to_text(g);
  EXPECT_EQ(g.nodes[1].what, op::load);
  EXPECT_EQ(g.nodes[2].what, op::mul);
  EXPECT_EQ(g.nodes[3].what, op::add);
  EXPECT_EQ(g.nodes[3].in, (std::vector<int>{2, 2}));
}

TEST(Recorder, ANodeDependsOnTheAxesOfItsInputs) {
  auto const g = record::sparse_back_project(small_scan(), 10);
  for (auto const& n : g.nodes)
    if (n.what == op::cos || n.what == op::sin) {
      auto const axes = n.free.members();
      ASSERT_EQ(axes.size(), 1u) << "a cosine belongs to its view, whatever loops are around it";
      EXPECT_EQ(g.axis_at(axes[0]).name, "view");
    }
  auto const& value = g.at(g.stages.at(0).statements.at(0).value);
  EXPECT_EQ(value.what, op::sum);
  EXPECT_EQ(g.points(value.free), 10 * 4) << "what is summed over is not an axis of the sum";
}

TEST(Recorder, LiteralsFoldInFloat) {
  record::real const third = record::real(1.0) / record::real(3.0);
  EXPECT_EQ(third.literal, 1.f / 3.f);
  EXPECT_EQ((record::index(7) % record::index(4)).literal, 3);
  EXPECT_EQ(record::graph("g").nodes.size(), 0u);
}

TEST(Recorder, SaysWhatIsWrong) {
  record::graph g("g");
  recorder m(g);
  auto const x = m.reals("x", {3});
  auto const y = m.output("y", {3});
  expect_error<error>([&] { m.store(y, record::real(1.0), record::index(0)); }, {"y is written outside of a stage"});
  expect_error<error>(
      [&] {
        m.each("a", {"i", 3}, [&](record::index i) { x.at(i, i); });
      },
      {"x is read with a wrong number of indices"});
  record::graph h("h");
  recorder n(h);
  expect_error<error>(
      [&] {
        n.each("a", {"i", 3}, [&](record::index) { n.each("b", {"j", 3}, [](record::index) {}); });
      },
      {"stage b is inside another stage"});
}

TEST(Recorder, TheTextOfAGraph) {
  auto const text = record::to_text(record::gen_weights_transmission({2, 3, 4}));
  auto const expected = R"(graph gen_weights_transmission
input sinogram f32 [2, 3, 4] 96 bytes
output weights f32 [2, 3, 4] 96 bytes
axis view 2 space
axis row 3 space
axis channel 4 space
stage weights view row channel (weights.hpp:)";
  EXPECT_EQ(text.substr(0, std::string(expected).size()), expected);
  auto const rest = text.substr(text.find(")\n") + 2);
  EXPECT_EQ(rest, R"(  %0 = axis view : i32 [view]
  %1 = axis row : i32 [row]
  %2 = axis channel : i32 [channel]
  %3 = load sinogram[%0, %1, %2] : f32 [view, row, channel]
  %4 = -1 : f32 []
  %5 = mul %3 %4 : f32 [view, row, channel]
  %6 = exp %5 : f32 [view, row, channel]
  weights[%0, %1, %2] = %6
)");
}

TEST(GraphCost, IsThatOfLoopsWithWhatDoesNotChangeOutsideThem) {
  record::graph g("g");
  recorder m(g);
  auto const x = m.reals("x", {3}), w = m.reals("w", {5});
  auto const y = m.output("y", {3});
  m.each("s", {"i", 3}, [&](record::index i) {
    m.store(y, m.sum("j", 5, [&](record::index j) { return (w.at(j) * w.at(j)) * x.at(i); }), i);
  });
  auto const c = record::cost_of(g);
  EXPECT_EQ(c.of(op::mul), 5u + 15u) << "the square of w runs once for each j";
  EXPECT_EQ(c.of(op::add), 3u * 4u);
  EXPECT_EQ(c.flops(), 32u);
  EXPECT_EQ(c.arrays[0].loads, 3u);
  EXPECT_EQ(c.arrays[1].loads, 5u);
  EXPECT_EQ(c.arrays[2].stores, 3u);
  EXPECT_EQ(c.bytes_compulsory, 4u * (3 + 5 + 3));
  EXPECT_EQ(c.bytes_between, 0u);
}

}  // namespace
