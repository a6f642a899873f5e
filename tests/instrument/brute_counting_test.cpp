// instrument::counting against brute force, for every operation: each operation of each lane, each word of each array,
// and the misses of caches that are simulated line by line.
#include "instrument/brute_force.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "instrument/every_operation.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::number;
using instrument::operation;

void expect_same_operations(instrument::op_counts const& c, number type, brute::tally const& t) {
  SCOPED_TRACE(instrument::number_names[static_cast<std::size_t>(type)]);
  EXPECT_EQ(c.of(type, operation::add), t.add);
  EXPECT_EQ(c.of(type, operation::mul), t.mul);
  EXPECT_EQ(c.of(type, operation::fma), t.fma);
  EXPECT_EQ(c.of(type, operation::div), t.div);
  EXPECT_EQ(c.of(type, operation::sqrt), t.sqrt);
  EXPECT_EQ(c.of(type, operation::min_max), t.min_max);
  EXPECT_EQ(c.of(type, operation::compare), t.compare);
  EXPECT_EQ(c.of(type, operation::select), t.select);
  EXPECT_EQ(c.of(type, operation::round), t.round);
  EXPECT_EQ(c.of(type, operation::convert), t.convert);
  EXPECT_EQ(c.of(type, operation::permute), t.permute);
  EXPECT_EQ(c.of(type, operation::broadcast), t.broadcast);
  EXPECT_EQ(c.of(type, operation::integer), t.integer);
  EXPECT_EQ(c.of(type, operation::absolute), t.absolute);
  EXPECT_EQ(c.of(type, operation::exp), t.exp);
  EXPECT_EQ(c.of(type, operation::log), t.log);
}

/// Index of the least size in a miss curve that a cache of `lines` lines behaves like; all larger ones hold the whole
/// array.
std::size_t at_size(instrument::reuse_result const& r, std::size_t lines) {
  std::size_t k = 0;
  while (k + 1 < r.capacity_lines.size() && r.capacity_lines[k] < lines) ++k;
  return k;
}
void expect_same_curve(instrument::reuse_result const& r, std::vector<lru_memory> const& caches) {
  for (std::size_t c = 0; c < caches.size(); ++c) {
    auto const k = at_size(r, brute::cache_sizes[c]);
    EXPECT_EQ(r.read_misses[k], caches[c].misses) << brute::cache_sizes[c] << " lines";
    EXPECT_EQ(r.write_backs[k], caches[c].write_backs) << brute::cache_sizes[c] << " lines";
  }
}
/// Counts by stage; repeated stages are summed.
std::map<std::string, instrument::reuse_result> by_stage(instrument::operation_record const& r) {
  std::map<std::string, instrument::reuse_result> all;
  for (auto const& s : r.stages) all[s.name] += s.reuse;
  return all;
}

/// Equal calculations, but not equal bits: a compiler may fuse products and sums of either.
void expect_near(std::vector<float> const& found, std::vector<float> const& expected) {
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0, off = 0;
  for (std::size_t k = 0; k < found.size(); ++k)
    largest = std::max(largest, std::abs(expected[k])), off = std::max(off, std::abs(found[k] - expected[k]));
  EXPECT_LE(off, 1e-4f * largest);
}

template <class Scan> void compare_with_brute_force(Scan const& s) {
  for (auto const& name : every_operation(s)) {
    SCOPED_TRACE(name);
    instrument::ledger records;
    auto const counted = run_named(
        context{exec::host{1}, instrument::counting<instrument::level::unique | instrument::level::reuse>{records}}, s,
        name);
    ASSERT_EQ(records.records().size(), 1u);
    auto const& r = records.last();
    brute::record by_force;
    expect_near(run_named(context{exec::host{1}, brute::policy{by_force}}, s, name), counted);
    EXPECT_TRUE(r.operations.flops() > 0 || name.starts_with("gen_pixel_partition") || name == "median_filter3d")
        << "nothing is compared";

    auto const &f32 = brute::counter<float>, &f64 = brute::counter<double>;
    EXPECT_EQ(r.operations.flops(), f32.add + f32.mul + 2 * f32.fma + f64.add + f64.mul + 2 * f64.fma);
    expect_same_operations(r.operations, number::f32, f32);
    expect_same_operations(r.operations, number::f64, f64);
    expect_same_operations(r.operations, number::i32, brute::counter<std::int32_t>);

    ASSERT_EQ(r.arrays.size(), by_force.arrays.size());
    for (std::size_t k = 0; k < r.arrays.size(); ++k) {
      auto const& a = r.arrays[k];
      auto const& b = by_force.arrays[k];
      SCOPED_TRACE(a.name);
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.counts.loads, b.loads);
      EXPECT_EQ(a.counts.stores, b.stores);
      EXPECT_EQ(a.counts.bytes_loaded, b.bytes_loaded);
      EXPECT_EQ(a.counts.bytes_stored, b.bytes_stored);
      EXPECT_EQ(a.counts.unique_read, brute::array::bytes(b.read));
      EXPECT_EQ(a.counts.unique_written, brute::array::bytes(b.written));
      EXPECT_EQ(a.reuse.accesses, b.accesses);
      expect_same_curve(a.reuse, b.own);
    }
    if (!r.arrays.empty()) expect_same_curve(r.reuse, by_force.all);
    for (auto const& [stage, curve] : by_stage(r))
      for (int c = 0; c < brute::caches; ++c)
        EXPECT_EQ(curve.read_misses[at_size(curve, brute::cache_sizes[c])], by_force.stage_misses[c][stage])
            << stage << ", " << brute::cache_sizes[c];
  }
}

TEST(BruteForce, CountsEveryOperationAt16Parallel) { compare_with_brute_force(square_parallel(16)); }
TEST(BruteForce, CountsEveryOperationAt16Cone) { compare_with_brute_force(square_cone(16)); }
TEST(BruteForce, CountsEveryOperationOfAnOddParallelScan) { compare_with_brute_force(odd_parallel(0.8)); }
TEST(BruteForce, CountsEveryOperationOfAnOddConeScan) { compare_with_brute_force(odd_cone(1.1, true)); }

}  // namespace
