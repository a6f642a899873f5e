// Evaluation of a graph in other arithmetics: by hand, against the plain interpreter, and word lengths that keep a
// bound.
#include "mbirk/record/evaluate.hpp"

#include <gtest/gtest.h>

#include "core/messages.hpp"
#include "definition/support.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"

namespace {

using namespace mbirk;
using mbirk::test::expect_error;
using record::recorder;

/// y = x * 0.75 + 0.5
record::graph scale() {
  record::graph g("scale");
  recorder m(g);
  auto const x = m.reals("x", {1, 4});
  auto const y = m.output("y", {4});
  m.each("s", {"i", 4},
         [&](record::index i) { m.store(y, x.at(record::index(0), i) * record::real(0.75) + record::real(0.5), i); });
  return g;
}

TEST(Evaluate, FixedPointDropsAndWraps) {
  // Two bits after the point, four before: -8 ... 7.75.
  auto const r = record::evaluate(scale(), {{"x", {1, 1.5, -1.5, 7.75}}}, {6, 4}, {6, 4}).outputs.at("y");
  EXPECT_EQ(r[0], 1.25) << "0.75 + 0.5";
  EXPECT_EQ(r[1], 1.5) << "1.125 is 1";
  EXPECT_EQ(r[2], -0.75) << "-1.125 is -1.25: towards minus infinity";
  EXPECT_EQ(r[3], 6.25) << "5.8125 is 5.75";
  EXPECT_EQ(record::evaluate(scale(), {{"x", {10.75, 0, 0, 0}}}, {6, 4}, {6, 4}).outputs.at("y")[0], -3.5)
      << "10.75 wraps to -5.25, times 0.75 is -3.9375, so -4";
}

/// A graph of multi-axis parallel beam, whose projection adds slices to a temporary.
TEST(Evaluate, MatchesThePlainInterpreterWithElevations) {
  multiaxis_parameters p;
  p.sinogram_shape = {3, 7, 9};
  p.angles = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, -0.25f};
  p.recon_shape = std::array<index_t, 3>{8, 7, 5};
  multiaxis_scan const s(p);
  std::vector<std::int32_t> const pixels{3, 17, 30, 44};
  std::vector<double> x(4 * 5);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 1 + std::sin(0.37 * static_cast<double>(k));
  auto const expected = test::define_forward(s, x, pixels);
  auto const g = record::sparse_forward_project(s, 4);
  record::named_arrays const in{{"voxel_values", x},
                                {"pixel_indices", {3, 17, 30, 44}},
                                {"angles", {0, 1, 2}},
                                {"elevations", {0.5, 1.5, -0.25}}};
  for (auto const& form : {g, record::cut_all(g)}) {
    auto const result = record::evaluate<double>(form, in).outputs.at("sinogram");
    ASSERT_EQ(result.size(), expected.size());
    // Literals of a graph are float32: positions up to 9 cells are off by a few times 2^-24 of that.
    for (std::size_t k = 0; k < result.size(); ++k) EXPECT_NEAR(result[k], expected[k], 4e-5) << k;
  }
}

TEST(Evaluate, MatchesThePlainInterpreter) {
  cone_parameters p;
  p.sinogram_shape = {6, 7, 9}, p.angles = {0.f, 1.f, 2.f, 3.f, 4.f, 5.f};
  p.source_detector_dist = 40, p.source_iso_dist = 20, p.recon_shape = std::array<index_t, 3>{8, 7, 5};
  cone_scan const s(p);
  std::vector<std::int32_t> const pixels{3, 17, 30, 44};
  std::vector<double> sinogram(6 * 7 * 9);
  for (std::size_t k = 0; k < sinogram.size(); ++k) sinogram[k] = std::sin(0.37 * static_cast<double>(k));
  auto const expected = test::define_back(s, sinogram, pixels, 1);
  auto const g = record::sparse_back_project(s, 4);
  record::named_arrays const in{{"sinogram", sinogram},
                                {"pixel_indices", {3, 17, 30, 44}},
                                {"angles", {0, 1, 2, 3, 4, 5}},
                                {"z_shifts", std::vector<double>(6)}};
  double largest = 0;
  for (double const x : expected) largest = std::max(largest, std::abs(x));
  for (auto const& form : {g, record::cut_all(g), record::fuse_all(g)}) {
    auto const result = record::evaluate<double>(form, in).outputs.at("voxel_values");
    ASSERT_EQ(result.size(), expected.size());
    // literals of a graph are float32, so the geometry is that of rounded numbers: 2^-24 of coordinates up to 40, for 6
    // views and up to 9 taps
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_NEAR(result[k], expected[k], 40 * 0x1p-24 * 6 * largest) << form.name << " at " << k;
  }
}

TEST(WordLengths, KeepTheBoundAndAreNotLongerThanNeeded) {
  record::named_arrays const in{{"x", {0.1, -0.7, 0.33, 0.95}}};
  auto const coarse = record::find_word_lengths(scale(), in, 1e-2), fine = record::find_word_lengths(scale(), in, 1e-5);
  EXPECT_TRUE(coarse.found && fine.found);
  EXPECT_LE(coarse.error, 1e-2);
  EXPECT_LE(fine.error, 1e-5);
  EXPECT_EQ(fine.arithmetic.width - coarse.arithmetic.width, 10) << "1000 times the precision is ten bits";
  auto const reference = record::evaluate<double>(scale(), in);
  auto shorter = fine.data;
  --shorter.width;
  EXPECT_GT(record::relative_error(record::evaluate(scale(), in, fine.arithmetic, shorter), reference), 1e-5);
}

TEST(WordLengths, HoldAPowerOfTwo) {
  auto const w = record::find_word_lengths(scale(), {{"x", {1, 1, 1, 0.5}}}, 1e-4);
  EXPECT_TRUE(w.found) << "1 needs two bits before the point: with one it wraps to -1";
  EXPECT_EQ(w.data.whole, 2);
}

TEST(WordLengths, SayWhenNoneIsLongEnough) {
  EXPECT_FALSE(record::find_word_lengths(scale(), {{"x", {0.1, -0.7, 0.33, 0.95}}}, 1e-30).found);
}

TEST(Evaluate, SaysWhichInputIsMissing) {
  expect_error<error>([] { record::evaluate<float>(scale(), {}); }, {"the input x needs 4 elements, none are given"});
  expect_error<error>(
      [] {
        record::evaluate<float>(scale(), {{"x", {1, 2}}});
      },
      {"the input x needs 4 elements, 2 are given"});
}

}  // namespace
