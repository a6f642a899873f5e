// Counting: results equal those without it to the bit, and counts equal those of the model and of formulas by hand.
#include "mbirk/instrument/counting.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "instrument/operations.hpp"
#include "instrument/same_counts.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using mbirk::test::expect_same_counts;
using instrument::number;
using instrument::operation;

template <class Scan> void compare(Scan const& s) {
  for (auto const what : all_ops) {
    SCOPED_TRACE(static_cast<int>(what));
    instrument::ledger counted, modelled;
    auto const result = run(context{exec::host{}, instrument::counting<>{counted}}, s, what);
    run(context{exec::host{}, instrument::cost_model<>{modelled}}, s, what);
    ASSERT_EQ(counted.records().size(), 1u);
    ASSERT_EQ(modelled.records().size(), 1u);
    expect_same_counts(counted.last(), modelled.last());
    EXPECT_EQ(result, run(context{exec::host{}, instrument::none{}}, s, what)) << "counting must not change a bit";
    EXPECT_GT(counted.last().operations.flops(), 0u);
  }
}

class EqualsModel : public ::testing::TestWithParam<int> {};
TEST_P(EqualsModel, Parallel) { compare(square_parallel(GetParam())); }
TEST_P(EqualsModel, Cone) { compare(square_cone(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Sizes, EqualsModel, ::testing::Values(8, 16, 17, 32, 33, 64));

TEST(Counting, EqualsModelForOddParallel) {
  for (double const voxel : {0.5, 0.8, 3.0}) compare(odd_parallel(voxel));
}
TEST(Counting, EqualsModelForOddCone) {
  for (double const pitch : {1.1, 3.3, 0.2}) compare(odd_cone(pitch, false));
  compare(odd_cone(1.1, true));
}

TEST(Counting, ReuseAndTrafficEqualTheModels) {
  constexpr auto all = instrument::level::unique | instrument::level::reuse;
  auto const s = odd_cone(1.1, false);
  instrument::ledger counted, modelled;
  run<op::back>(context{exec::host{}, instrument::counting<all>{counted}}, s);
  run<op::back>(context{exec::host{}, instrument::cost_model<all>{modelled}}, s);
  EXPECT_GT(counted.last().reuse.accesses, 0u);
  EXPECT_EQ(counted.last().reuse.accesses, modelled.last().reuse.accesses);
  EXPECT_EQ(counted.last().reuse.read_misses, modelled.last().reuse.read_misses);
  EXPECT_EQ(counted.last().reuse.write_backs, modelled.last().reuse.write_backs);
}

TEST(Counting, DoesNotDependOnThreads) {
  auto const s = odd_cone(1.1, false);
  instrument::ledger one, two, seven;
  run<op::forward>(context{exec::host{1}, instrument::counting<>{one}}, s);
  run<op::forward>(context{exec::host{2}, instrument::counting<>{two}}, s);
  run<op::forward>(context{exec::host{7}, instrument::counting<>{seven}}, s);
  expect_same_counts(one.last(), two.last());
  expect_same_counts(one.last(), seven.last());
}

TEST(Counting, KernelsAddUpToTheOperation) {
  for (auto const what : all_ops) {
    instrument::ledger l;
    run(context{exec::host{}, instrument::counting<>{l}}, square_cone(16), what);
    auto const& r = l.last();
    instrument::op_counts operations;
    std::uint64_t bytes = 0, launches = 0;
    for (auto const& k : r.kernels) {
      operations += k.operations, bytes += k.bytes_loaded + k.bytes_stored, launches += k.launches;
      EXPECT_GT(k.tasks, 0u) << k.name;
      EXPECT_TRUE(std::ranges::any_of(r.stages, [&](auto const& s) { return k.stage.ends_with(s.name); })) << k.stage;
    }
    EXPECT_EQ(operations, r.operations);
    EXPECT_EQ(bytes, instrument::bytes_accessed(r.arrays));
    EXPECT_EQ(launches, r.launches);
  }
}

TEST(Counting, StagesAddUpToTheOperation) {
  instrument::ledger l;
  run<op::back>(context{exec::host{}, instrument::counting<>{l}}, square_cone(16));
  auto const& r = l.last();
  ASSERT_EQ(r.stages.size(), 3u);
  EXPECT_EQ(r.stages[0].name, "zero");
  EXPECT_EQ(r.stages[1].name, "layout");
  EXPECT_EQ(r.stages[2].name, "project");
  instrument::op_counts sum;
  std::uint64_t bytes = 0;
  for (auto const& s : r.stages) sum += s.operations, bytes += bytes_accessed(s.arrays);
  EXPECT_EQ(sum, r.operations);
  EXPECT_EQ(bytes, bytes_accessed(r.arrays));
}

/// Parallel back projection of n^3, every number by hand: P pixels in G groups of c_g, V views of two taps, S slices in
/// packs of L.
TEST(Counting, ParallelBackEqualsTheFormulaByHand) {
  constexpr std::uint64_t L = simd::native_lanes;
  for (std::uint64_t const n : {16u, 32u, 48u}) {
    auto const s = square_parallel(static_cast<index_t>(n));
    instrument::ledger l;
    run<op::back>(context{exec::host{}, instrument::counting<>{l}}, s);
    auto const& c = l.last().operations;
    std::uint64_t const v = n / 2, p = s.full_indices().size(), slices = (n + L - 1) / L * L;
    std::uint64_t padded = 0, tiled = 0;  // pixels in whole packs; tiled: pairs of pixels and fixed-point views
    auto const plan = kernel::plan_grid(s.recon_shape()[0], s.recon_shape()[1], s.mask().data(), 1, 1);
    for (auto const& g : plan.groups) {
      auto const lanes = (static_cast<std::uint64_t>(g.count) + L - 1) / L * L;
      auto const first = static_cast<std::size_t>(g.first);
      padded += lanes;
      for (auto const& pass : kernel::make_view_taps(s))
        if (kernel::fixed_point_edges(pass, static_cast<index_t>(n), plan.rows[first], plan.cols[first]).fits)
          tiled += lanes;
    }
    std::uint64_t const rest = padded * v - tiled;
    EXPECT_GT(tiled, rest);
    // Views at exactly 0 and 90 degrees have W = 1 to rounding, which still takes two taps or, a hair above, three.
    std::uint64_t taps = 0, three = 0;
    for (auto const& pass : kernel::make_view_taps(s))
      taps += static_cast<std::uint64_t>(pass.taps), three += pass.taps == 3;
    ASSERT_EQ(three, 0u);
    EXPECT_EQ(c.of(number::f32, operation::fma), p * taps * slices);
    EXPECT_EQ(c.of(number::f32, operation::add), padded * v * 3);      // overlap_two
    EXPECT_EQ(c.of(number::f32, operation::mul), padded * v * 2 + tiled);  // chord; fraction
    EXPECT_EQ(c.of(number::i32, operation::integer), tiled * 8);
    EXPECT_EQ(c.of(number::f32, operation::min_max), padded * v);
    EXPECT_EQ(c.of(number::f64, operation::fma), rest * 2);      // left edge
    EXPECT_EQ(c.of(number::f64, operation::add), rest * 3);      // fraction, first tap, guard
    EXPECT_EQ(c.of(number::f64, operation::min_max), rest * 2);  // clamp to the guards
    EXPECT_EQ(c.of(number::f64, operation::round), rest);
    EXPECT_EQ(c.of(operation::div), 0u);
    std::uint64_t const rounds = L == 16 ? 4 : L == 8 ? 3 : 2;
    std::uint64_t const blocks = v * (slices / L) * ((n + L - 1) / L);  // transposed in the layout change
    EXPECT_EQ(c.of(operation::permute), blocks * L * L * rounds);

    auto const& arrays = l.last().arrays;
    auto const array = [&](char const* name) {
      for (auto const& a : arrays)
        if (a.name == name) return a.counts;
      ADD_FAILURE() << "no array " << name;
      return instrument::access_counts{};
    };
    EXPECT_EQ(array("sinogram").bytes_loaded, 4 * v * n * n);
    EXPECT_EQ(array("sinogram").unique_read, 4 * v * n * n);
    EXPECT_EQ(array("recon").bytes_stored, 4 * n * n * n);
    EXPECT_EQ(array("recon").unique_written, 4 * n * n * n);
    auto const inside = array("channel-major sinogram");
    EXPECT_EQ(inside.bytes_stored, 4 * v * (n + 6) * slices);
    EXPECT_EQ(inside.bytes_loaded, 4 * p * taps * slices);
    EXPECT_EQ(inside.unique_read, 0u) << "a temporary is written before it is read";
    EXPECT_EQ(bytes_compulsory(arrays, false), 4 * (v * n * n + n * n * n));
  }
}

TEST(Counting, UsefulLanesAreTheSlicesThatExist) {
  auto const s = odd_parallel(0.5);
  instrument::ledger l;
  run<op::back>(context{exec::host{}, instrument::counting<>{l}}, s);
  auto const& c = l.last().operations;
  // 19 slices in packs of L, in equal chunks of at most `most` packs.
  std::uint64_t constexpr L = simd::native_lanes, most = kernel::parallel_back<simd::native_backend>::most_packs;
  std::uint64_t const packs = (19 + L - 1) / L, chunks = (packs + most - 1) / most,
                      padded = (packs + chunks - 1) / chunks * chunks * L;
  EXPECT_EQ(c.lanes_useful * padded, c.lanes_executed * 19);
}

TEST(Counting, RangesOfArgumentsAndOutputs) {
  constexpr auto ranges = instrument::level::ranges;
  instrument::ledger l;
  run<op::forward>(context{exec::host{}, instrument::counting<ranges>{l}}, square_parallel(8));
  int seen = 0;
  for (auto const& a : l.last().arrays) {
    if (a.role != array_role::argument && a.role != array_role::output) continue;
    ++seen;
    ASSERT_TRUE(a.values.valid) << a.name;
    std::uint64_t n = a.values.zeros + a.values.not_finite;
    for (auto const& [e, count] : a.values.exponents) n += count;
    EXPECT_EQ(n, static_cast<std::uint64_t>(a.elements)) << a.name;
    EXPECT_LE(a.values.min, a.values.max);
  }
  EXPECT_EQ(seen, 2);
}

TEST(Counting, ScanOfKnownValues) {
  float const x[] = {0.0f, -0.0f, 1.0f, 1.5f, -4.0f, 0.25f, INFINITY, NAN};
  auto const r = instrument::scan_values(x, 8);
  EXPECT_EQ(r.min, -4);
  EXPECT_EQ(r.max, 1.5);
  EXPECT_EQ(r.min_nonzero_magnitude, 0.25);
  EXPECT_EQ(r.zeros, 2u);
  EXPECT_EQ(r.not_finite, 2u);
  EXPECT_EQ(r.exponents, (std::map<int, std::uint64_t>{{-2, 1}, {0, 2}, {2, 1}}));
}

TEST(Counting, ObservingOutsideAnOperationIsAnError) {
  instrument::ledger l;
  instrument::counting<> const policy{l};
  float x = 0;
  EXPECT_THROW((void)policy.observe(&x, {"x", array_role::argument, 1}), error);
}

}  // namespace
