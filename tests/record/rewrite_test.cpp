// Fusion and its opposite: stages, arrays and costs change as they must. That the values stay is shown by the generated programs (tests/graphs).
#include "mbirk/record/rewrite.hpp"

#include <gtest/gtest.h>

#include "core/messages.hpp"
#include "mbirk/record/cost.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/text.hpp"

namespace {

using namespace mbirk;
using mbirk::test::expect_error;
using record::recorder;

/// t = 2 x, y[i] = t[i - 1] + t[i + 1], at the borders the nearest.
record::graph two_stages() {
  record::graph g("two");
  recorder m(g);
  auto const x = m.reals("x", {8});
  auto const t = m.temporary("t", {8}), y = m.output("y", {8});
  m.each("double", {"i", 8}, [&](record::index i) { m.store(t, m.let("twice", x.at(i) * record::real(2.0)), i); });
  auto const read = m.input(t);
  m.each("neighbours", {"i", 8}, [&](record::index i) { m.store(y, read.clamped(i - record::index(1)) + read.clamped(i + record::index(1)), i); });
  return g;
}

TEST(Fuse, TakesTheArrayAwayAndComputesAgain) {
  auto const g = two_stages();
  auto const f = record::fuse(g, 1);
  ASSERT_EQ(f.stages.size(), 1u);
  ASSERT_EQ(f.arrays.size(), 2u);
  EXPECT_EQ(f.arrays[1].name, "y");
  auto const before = record::cost_of(g), after = record::cost_of(f);
  EXPECT_EQ(before.bytes_between, 2u * 32);
  EXPECT_EQ(after.bytes_between, 0u);
  EXPECT_EQ(before.bytes_compulsory, after.bytes_compulsory);
  EXPECT_EQ(before.of(record::op::mul), 8u);
  EXPECT_EQ(after.of(record::op::mul), 16u) << "both neighbours are doubled for each i";
  EXPECT_EQ(after.of(record::op::min, record::type::i32), 16u) << "clamped places are computed";
  EXPECT_EQ(record::to_text(f).find("load t"), std::string::npos);
}

TEST(Fuse, RefusesWhatIsAddedUp) {
  record::graph g("g");
  recorder m(g);
  auto const x = m.reals("x", {4});
  auto const t = m.temporary("t", {2}), y = m.output("y", {2});
  m.each("histogram", {"i", 4}, [&](record::index i) { m.add(t, x.at(i), i % record::index(2)); });
  m.each("copy", {"i", 2}, [&](record::index i) { m.store(y, m.input(t).at(i), i); });
  EXPECT_EQ(record::why_not_fused(g, 1), "t is added to, not stored");
  EXPECT_EQ(record::why_not_fused(g, 0), "x is no temporary");
  expect_error<error>([&] { record::fuse(g, 1); }, {"fuse: t is added to, not stored"});
  EXPECT_EQ(record::fuse_all(g).stages.size(), 2u);
}

TEST(Cut, MakesANamedValueAnArray) {
  auto const g = two_stages();
  EXPECT_EQ(record::labels(g), std::vector<std::string>{"twice"});
  auto const c = record::cut(g, "twice");
  ASSERT_EQ(c.stages.size(), 3u);
  EXPECT_EQ(c.stages[0].name, "twice");
  EXPECT_EQ(c.arrays.back().name, "twice");
  EXPECT_EQ(c.arrays.back().shape, std::vector<index_t>{8});
  EXPECT_EQ(record::cost_of(c).bytes_between, 4u * 32);
  EXPECT_EQ(record::cost_of(c).of(record::op::mul), 8u);
  auto const again = record::fuse_all(c);
  EXPECT_EQ(again.stages.size(), 1u) << "fusing everything undoes it";
  EXPECT_EQ(record::cost_of(again).flops(), record::cost_of(record::fuse_all(g)).flops());
}

TEST(Cut, TheWeightsOfAProjectionBecomeAnArray) {
  parallel_parameters p;
  p.sinogram_shape = {5, 4, 9}, p.angles = {0.f, 0.5f, 1.f, 1.5f, 2.f};
  p.recon_shape = std::array<index_t, 3>{7, 6, 4};
  auto const g = record::sparse_back_project(parallel_scan(p), 10);
  auto const c = record::cut_all(g);
  auto const& weights = c.arrays.back();
  EXPECT_EQ(weights.name, "weight");
  EXPECT_EQ(weights.size(), 5 * 10 * 2) << "views, pixels, taps: W <= 1 hits two channels";
  EXPECT_EQ(record::cost_of(c).arrays.back().loads, 100u);
  auto const more = record::cost_of(c).flops() - record::cost_of(g).flops();
  EXPECT_GT(more, 0u) << "the first channel of a footprint has no name, so both stages compute it";
  EXPECT_LT(more, record::cost_of(g).flops() / 2);
}

}  // namespace
