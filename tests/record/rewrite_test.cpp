// Fusion and its inverse: the expected changes of stages, arrays and costs. The generated programs (tests/graphs) show
// that values stay equal.
#include "mbirk/record/rewrite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/messages.hpp"
#include "mbirk/record/cost.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/text.hpp"

namespace {

using namespace mbirk;
using mbirk::test::expect_error;
using record::recorder;

/// t = 2 x, y[i] = t[i - 1] + t[i + 1], with the nearest element at the borders.
record::graph two_stages() {
  record::graph g("two");
  recorder m(g);
  auto const x = m.reals("x", {8});
  auto const t = m.temporary("t", {8}), y = m.output("y", {8});
  m.each("double", {"i", 8}, [&](record::index i) { m.store(t, m.let("twice", x.at(i) * record::real(2.0)), i); });
  auto const read = m.input(t);
  m.each("neighbours", {"i", 8}, [&](record::index i) {
    m.store(y, read.clamped(i - record::index(1)) + read.clamped(i + record::index(1)), i);
  });
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
  EXPECT_EQ(record::why_not_fused(g, 0), "x is not a temporary");
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

cone_scan cone() {
  cone_parameters p;
  p.sinogram_shape = {5, 4, 9}, p.angles = {0.f, 0.5f, 1.f, 1.5f, 2.f};
  p.source_detector_dist = 40, p.source_iso_dist = 20;
  return cone_scan(p);
}
std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}
/// Number of lines of one text that are not in the other.
long lines_only_in(std::string const& text, std::string const& other) {
  auto const theirs = lines_of(other);
  auto const mine = lines_of(text);
  return std::count_if(mine.begin(), mine.end(),
                       [&](auto const& line) { return std::find(theirs.begin(), theirs.end(), line) == theirs.end(); });
}

TEST(LoweringSteps, FuseAnArrayAtATime) {
  auto const g = record::sparse_forward_project(cone(), 20);
  auto const steps = record::lowering_steps(g);
  std::vector<std::string> names;
  for (auto const& s : steps) names.push_back(s.name);
  EXPECT_EQ(names, (std::vector<std::string>{"unfused", "fuse_channel_weight", "fuse_row_weight", "fuse_columns"}));
  for (std::size_t k = 1; k < steps.size(); ++k) {
    EXPECT_EQ(steps[k].g.arrays.size() + 1, steps[k - 1].g.arrays.size());
    EXPECT_EQ(steps[k].g.stages.size() + 1, steps[k - 1].g.stages.size());
  }
  auto const last = record::cost_of(steps.back().g), fused = record::cost_of(record::fuse_all(g));
  EXPECT_EQ(last.operations, fused.operations);
  EXPECT_EQ(last.bytes_between, 0u);
}

TEST(LoweringSteps, TextsDifferWhereTheStepsDo) {
  auto const g = record::sparse_forward_project(cone(), 20);
  std::map<std::string, int> names;
  std::vector<std::string> texts;
  auto steps = record::lowering_steps(g);
  for (auto& s : steps) texts.push_back(record::to_text(s.g, &names));
  auto const written = record::to_text(g, &names);
  EXPECT_EQ(lines_only_in(texts[2], written), 0) << "what was cut out is back where it was";
  EXPECT_EQ(lines_only_in(written, texts[2]), 0);
  auto const stage = [](std::string const& text, std::string const& name) {
    auto const at = text.find("stage " + name);
    return text.substr(at, text.find("\nstage ", at) - at);
  };
  EXPECT_EQ(stage(texts[0], "row weight"), stage(texts[1], "row weight")) << "the weight of channels was fused";
  EXPECT_EQ(stage(texts[0], "rows "), stage(texts[1], "rows "));
  auto const kept = lines_only_in(texts[1], texts[0]),
             counted = lines_only_in(record::to_text(steps[1].g), record::to_text(steps[0].g));
  EXPECT_EQ(kept, 18)
      << "16 operations of the weight that the second stage did not have, the product with it, the statement";
  EXPECT_LT(2 * kept, counted) << "nodes that are counted anew in each text differ everywhere";
}

TEST(Forms, ThatAreAsWrittenAreLeftOut) {
  std::vector<std::string> names;
  for (auto const& form : record::fusion_forms(record::gen_weights_transmission({2, 3, 4}))) names.push_back(form.name);
  for (auto const& form : record::fusion_forms(record::sparse_forward_project(cone(), 20))) names.push_back(form.name);
  EXPECT_EQ(names, (std::vector<std::string>{"as written", "unfused", "as written", "fused"}));
}

TEST(Dot, IdsAreNamesThatStay) {
  auto const steps = record::lowering_steps(record::sparse_forward_project(cone(), 20));
  auto const before = record::to_dot(steps[0].g), after = record::to_dot(steps[1].g);
  EXPECT_EQ(lines_only_in(after, before), 0) << after;
  EXPECT_EQ(lines_only_in(before, after), 6) << "the array, the stage, the two that it read, its result, who read that";
  EXPECT_NE(before.find("\"array columns\" -> \"stage channels\""), before.npos);
}

}  // namespace
