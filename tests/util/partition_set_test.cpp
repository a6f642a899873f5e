// All three partitions: the reference cases, the slow oracle, properties, bad input, counting; sets and sequences.
#include "mbirk/util/partition_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/io/npy.hpp"
#include "util/partition_reference.hpp"
#include "util/partition_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using mbirk::test::expect_same_counts;
using rows = std::vector<std::vector<std::int32_t>>;

TEST(Partitions, ReferenceCases) {
  auto const folder = std::filesystem::path(MBIRK_GOLDEN_DIR) / "utilities";
  int cases = 0;
  for (auto const k : all_kinds)
    for (index_t const subsets : {1, 4, 16}) {
      SCOPED_TRACE(std::string(name_of(k)) + ", " + std::to_string(subsets));
      auto const file = "out_" + std::string(name_of(k)) + "_num_subsets" + std::to_string(subsets) + "_seed42.npy";
      auto const expected = read_npy<std::int32_t>(folder / file);
      auto const p = partition(k, disc(24, 20), subsets, 42);
      EXPECT_EQ((std::vector{p.subsets, p.length}), expected.shape);
      EXPECT_EQ(p.indices, expected.data);
      ++cases;
    }
  std::stringstream text;
  text << std::ifstream(folder / "case.json").rdbuf();
  int listed = 0;
  for (auto at = text.str().find("\"out_gen_pixel"); at != std::string::npos;
       at = text.str().find("\"out_gen_pixel", at + 1))
    ++listed;
  EXPECT_EQ(cases, listed) << "the case has other entries than those compared";
}

TEST(Partitions, ReferenceValues) {
  EXPECT_EQ(rows_of(partition(kind::grid, square(4, 4), 4, 0)),
            (rows{{5, 7, 13, 15}, {4, 6, 12, 14}, {0, 2, 8, 10}, {1, 3, 9, 11}}));
  EXPECT_EQ(rows_of(partition(kind::grid, disc(5, 5), 4, 0)),
            (rows{{6, 8, 16, 18, 17}, {7, 17, 10, 13, 8}, {2, 10, 12, 14, 22}, {11, 13, 8, 17, 10}}));
  EXPECT_EQ(rows_of(partition(kind::blue_noise, disc(5, 5), 2, 0)),
            (rows{{6, 10, 12, 13, 14, 18, 22}, {2, 7, 8, 11, 14, 16, 17}}));
}

/// Shapes below, at and above the 256 of the table.
grid_mask const masks_of_many_shapes[] = {disc(5, 5),   square(6, 3),   disc(33, 31),  square(1, 40),
                            disc(24, 20), disc(300, 270), square(257, 9)};

TEST(Partitions, EqualTheSlowOnesAndLeaveTheGeneratorThere) {
  for (auto const& m : masks_of_many_shapes) {
    auto const pixels = m.pixels();
    auto const count = static_cast<index_t>(pixels.size());
    for (index_t const subsets :
         {index_t{1}, index_t{2}, index_t{3}, index_t{7}, index_t{16}, index_t{64}, count / 2, count, count + 1})
      for (std::uint32_t const seed : {0u, 12345u})
        for (auto const k : {kind::blue_noise, kind::grid}) {
          SCOPED_TRACE(std::string(name_of(k)) + ", " + std::to_string(m.rows) + " x " + std::to_string(m.cols) + ", " +
                       std::to_string(subsets));
          numpy_random_state random(seed);
          reference_random reference{std::mt19937(seed)};
          auto const wanted = static_cast<std::size_t>(subsets);
          auto const cols = static_cast<std::int32_t>(m.cols);
          auto const oracle = k == kind::grid ? reference_grid : reference_blue_noise;
          auto const expected = oracle(pixels, cols, wanted, reference);
          ASSERT_EQ(rows_of(partition(k, m, subsets, random)), expected);
          EXPECT_EQ(random.below(1000000), reference.below(1000000));
        }
  }
}

TEST(Partitions, CoverThePixelsInEqualRows) {
  for (auto const& m : masks_of_many_shapes)
    for (auto const k : all_kinds)
      for (index_t const subsets : {1, 2, 3, 10, 13}) {
        SCOPED_TRACE(std::string(name_of(k)) + ", " + std::to_string(m.rows) + " x " + std::to_string(m.cols) + ", " +
                     std::to_string(subsets));
        auto const pixels = m.pixels();
        auto const p = partition(k, m, subsets);
        ASSERT_EQ(static_cast<index_t>(p.indices.size()), p.subsets * p.length);
        EXPECT_EQ(std::set<std::int32_t>(p.indices.begin(), p.indices.end()),
                  std::set<std::int32_t>(pixels.begin(), pixels.end()));
        if (k == kind::grid) continue;
        EXPECT_EQ(p.subsets, std::min(subsets, static_cast<index_t>(pixels.size())));
        for (auto const& row : rows_of(p)) EXPECT_TRUE(std::is_sorted(row.begin(), row.end()));
      }
}

/// Only even columns are inside: two of the four labels of a 2 x 2 tile have no pixel.
TEST(Partitions, GridDropsEmptySubsets) {
  grid_mask m{6, 8, std::vector<std::uint8_t>(48)};
  for (std::size_t p = 0; p < 48; p += 2) m.values[p] = 1;
  auto const p = partition(kind::grid, m, 4);
  EXPECT_EQ(p.subsets, 2);
  EXPECT_EQ(p.length, 12);
  EXPECT_TRUE(p.warnings.empty());
}

TEST(Partitions, GridTakesTheNextSquare) {
  EXPECT_EQ(partition(kind::grid, square(12, 12), 5).subsets, 9);
  EXPECT_EQ(partition(kind::grid, square(12, 12), 9).subsets, 9);
  EXPECT_EQ(partition(kind::grid, square(12, 12), 10).subsets, 16);
}

TEST(Partitions, GridOfMoreSubsetsThanPixelsIsOnePixelEach) {
  auto const m = disc(5, 5);
  auto const p = partition(kind::grid, m, 10);  // 16 labels, 13 pixels
  EXPECT_EQ(p.subsets, 13);
  EXPECT_EQ(p.length, 1);
  EXPECT_EQ(p.indices, m.pixels());
  ASSERT_EQ(p.warnings.size(), 1u);
  EXPECT_EQ(p.warnings[0], "gen_pixel_partition_grid: 16 subsets of 13 pixels were asked for, made 13");
}

TEST(Partitions, BlueNoiseFallsBackToTheRandomOne) {
  auto const m = disc(5, 5);
  auto const many = partition(kind::blue_noise, m, 20);
  EXPECT_EQ(many.indices, partition(kind::random, m, 20).indices);
  ASSERT_EQ(many.warnings.size(), 1u);
  EXPECT_EQ(many.warnings[0].substr(0, 31), "gen_pixel_partition_blue_noise:");

  // Two pixels whose ranks, 21981 and 25828, both lie in the lower half: the second subset is empty.
  grid_mask const low{1, 2, {1, 1}};
  auto const p = partition(kind::blue_noise, low, 2);
  EXPECT_EQ(p.indices, partition(kind::random, low, 2).indices);
  EXPECT_TRUE(p.warnings.empty());
}

/// Adjacent pixels in one subset, of 64: in a random partition of n pixels 2 n / 64 pairs, in blue noise hardly any.
TEST(Partitions, BlueNoiseSpreadsEverySubset) {
  auto const pairs = [](kind k) {
    auto const p = partition(k, square(256, 256), 64);
    std::vector<index_t> subset_of(65536);
    for (index_t s = 0; s < 64; ++s)
      for (auto const q : p.subset(s)) subset_of[static_cast<std::size_t>(q)] = s;
    int found = 0;
    for (std::size_t q = 0; q + 256 < 65536; ++q)
      found += (q % 256 != 255 && subset_of[q] == subset_of[q + 1]) + (subset_of[q] == subset_of[q + 256]);
    return found;
  };
  EXPECT_NEAR(pairs(kind::random), 2048, 5 * 46);  // five standard deviations
  EXPECT_LT(pairs(kind::blue_noise), 20);
}

TEST(Partitions, BadInput) {
  for (auto const k : all_kinds) {
    SCOPED_TRACE(name_of(k));
    auto const fails = [&](grid_mask const& m, index_t subsets, std::string const& expected) {
      try {
        partition(k, m, subsets);
        ADD_FAILURE() << "nothing was thrown, expected: " << expected;
      } catch (error const& e) {
        EXPECT_EQ(e.what(), name_of(k) + (": " + expected));
      }
    };
    fails(disc(5, 5), 0, "num_subsets is 0, expected 1 to 2147483647");
    fails(disc(5, 5), -3, "num_subsets is -3, expected 1 to 2147483647");
    fails(disc(5, 5), index_t{1} << 31, "num_subsets is 2147483648, expected 1 to 2147483647");
    fails(disc(1, 9), 2, "no pixel is inside the mask, expected at least one");
    fails({0, 0, {}}, 2, "no pixel is inside the mask, expected at least one");
    fails({3, 4, std::vector<std::uint8_t>(9, 1)}, 2, "the mask has 9 pixels, expected rows * cols = 3 * 4");
    EXPECT_THROW(partition(k, {3, 4, std::vector<std::uint8_t>(9, 1)}, 2), shape_error);
  }
}

TEST(Partitions, DoNotDependOnPolicies) {
  for (auto const k : all_kinds)
    for (index_t const subsets : {1, 3, 40}) {
      auto const expected = partition(k, disc(33, 31), subsets).indices;
      for (int const threads : {1, 7})
        EXPECT_EQ(partition(context{exec::host{threads}, instrument::none{}}, k, disc(33, 31), subsets).indices,
                  expected);
    }
}

TEST(PartitionCounts, EqualTheModelsAndLeaveEveryIndexAlone) {
  for (auto const& m : {disc(5, 5), disc(33, 31), disc(300, 270)})
    for (auto const k : all_kinds)
      for (index_t const subsets : {1, 4, 16, 500}) {
        SCOPED_TRACE(std::string(name_of(k)) + ", " + std::to_string(m.rows) + " rows, " + std::to_string(subsets));
        instrument::ledger counted, modelled;
        auto const p = partition(context{exec::host{}, instrument::counting<>{counted}}, k, m, subsets);
        EXPECT_EQ(partition(context{exec::host{}, instrument::cost_model<>{modelled}}, k, m, subsets).indices,
                  p.indices);
        EXPECT_EQ(p.indices, partition(k, m, subsets).indices);
        ASSERT_EQ(counted.records().size(), 1u);
        expect_same_counts(counted.last(), modelled.last());
        EXPECT_EQ(counted.last().name, name_of(k));
        EXPECT_EQ(counted.last().items, static_cast<index_t>(m.pixels().size()));
      }
}

TEST(PartitionCounts, ReuseEqualsTheModels) {
  constexpr auto all = instrument::level::unique | instrument::level::reuse | instrument::level::ranges;
  for (auto const k : all_kinds) {
    instrument::ledger counted, modelled;
    partition(context{exec::host{}, instrument::counting<all>{counted}}, k, disc(33, 31), 4);
    partition(context{exec::host{}, instrument::cost_model<all>{modelled}}, k, disc(33, 31), 4);
    EXPECT_GT(counted.last().reuse.accesses, 0u);
    EXPECT_EQ(counted.last().reuse.accesses, modelled.last().reuse.accesses);
    EXPECT_EQ(counted.last().reuse.read_misses, modelled.last().reuse.read_misses);
    EXPECT_EQ(counted.last().reuse.write_backs, modelled.last().reuse.write_backs);
  }
}

instrument::access_counts accesses(instrument::operation_record const& r, std::string_view name) {
  for (auto const& a : r.arrays)
    if (a.name == name) return a.counts;
  ADD_FAILURE() << "no array " << name;
  return {};
}

/// 8 x 8 pixels, all inside, in 4 subsets of 16: no repeats, so every number is known.
TEST(PartitionCounts, RandomByHand) {
  instrument::ledger l;
  partition(context{exec::host{}, instrument::counting<>{l}}, kind::random, square(8, 8), 4);
  auto const& r = l.last();
  std::uint64_t constexpr n = 64, swaps = n - 1;
  EXPECT_EQ(accesses(r, "mask").loads, n);
  EXPECT_EQ(accesses(r, "mask").bytes_loaded, n);
  EXPECT_EQ(accesses(r, "pixel list").stores, n);
  EXPECT_EQ(accesses(r, "pixel list").loads, n);
  EXPECT_EQ(accesses(r, "random order").stores, n + 2 * swaps);
  EXPECT_EQ(accesses(r, "random order").loads, n + 2 * swaps);
  EXPECT_EQ(accesses(r, "subset of a pixel").stores, n);
  EXPECT_EQ(accesses(r, "subset of a pixel").loads, n);
  EXPECT_EQ(accesses(r, "next of a subset").stores, 4 + n);
  EXPECT_EQ(accesses(r, "next of a subset").loads, n);
  EXPECT_EQ(accesses(r, "pixel_indices").stores, n);
  EXPECT_EQ(accesses(r, "pixel_indices").bytes_stored, 4 * n);
  EXPECT_EQ(accesses(r, "pixel_indices").unique_written, 4 * n);
  EXPECT_EQ(accesses(r, "pixel_indices").loads, 0u);
}

/// These pixels in a 2 x 2 tile: 16 each, one drawn number that nothing uses.
TEST(PartitionCounts, GridByHand) {
  instrument::ledger l;
  partition(context{exec::host{}, instrument::counting<>{l}}, kind::grid, square(8, 8), 4);
  auto const& r = l.last();
  EXPECT_EQ(accesses(r, "mask").loads, 2u * 64);
  EXPECT_EQ(accesses(r, "labels").stores, 4u + 2 * 3);
  EXPECT_EQ(accesses(r, "labels").loads, 2u * 3 + 2 * 64);
  EXPECT_EQ(accesses(r, "random repeats").stores, 1u);
  EXPECT_EQ(accesses(r, "random repeats").loads, 0u);
  EXPECT_EQ(accesses(r, "pixel_indices").stores, 64u);
  EXPECT_EQ(accesses(r, "pixel_indices").loads, 0u);
}

TEST(PartitionCounts, BlueNoiseReadsThreeCharactersAnEntry) {
  instrument::ledger l;
  partition(context{exec::host{}, instrument::counting<>{l}}, kind::blue_noise, square(8, 300), 1);
  auto const& r = l.last();
  EXPECT_EQ(accesses(r, "blue noise").bytes_loaded, 3u * 8 * 256);
  EXPECT_EQ(accesses(r, "labels").stores, 8u * 256);
  EXPECT_EQ(accesses(r, "labels").loads, 2u * 8 * 300);
  EXPECT_EQ(accesses(r, "mask").loads, 2u * 8 * 300);
  EXPECT_EQ(accesses(r, "pixel_indices").bytes_stored, 4u * 8 * 300);
}

TEST(PartitionSets, DrawEveryEntryInOrder) {
  auto const pixels = disc(33, 31).pixels();
  std::vector<index_t> const granularity{1, 2, 4, 128, 128, 4};
  numpy_random_state a(9), b(9);
  auto const set = gen_set_of_pixel_partitions(pixels, granularity, a);
  ASSERT_EQ(set.size(), granularity.size());
  for (std::size_t k = 0; k < set.size(); ++k)
    EXPECT_EQ(set[k].indices, gen_pixel_partition(pixels, granularity[k], b).indices);
  EXPECT_NE(set[3].indices, set[4].indices);
  EXPECT_EQ(a.below(1000000), b.below(1000000));
  EXPECT_TRUE(gen_set_of_pixel_partitions(pixels, {}, a).empty());
}

TEST(PartitionSets, AreOneOperation) {
  auto const pixels = disc(9, 9).pixels();
  std::vector<index_t> const granularity{1, 4};
  instrument::ledger l;
  numpy_random_state random(9);
  gen_set_of_pixel_partitions(context{exec::host{}, instrument::counting<>{l}}, pixels, granularity, random);
  ASSERT_EQ(l.records().size(), 1u);
  EXPECT_EQ(l.last().name, "gen_set_of_pixel_partitions");
}

TEST(PartitionSequence, RepeatsItsLastEntry) {
  std::vector<index_t> const sequence{2, 4, 6};
  EXPECT_EQ(gen_partition_sequence(sequence, 0), std::vector<index_t>{});
  EXPECT_EQ(gen_partition_sequence(sequence, 2), (std::vector<index_t>{2, 4}));
  EXPECT_EQ(gen_partition_sequence(sequence, 3), sequence);
  EXPECT_EQ(gen_partition_sequence(sequence, 6), (std::vector<index_t>{2, 4, 6, 6, 6, 6}));
  EXPECT_THROW(gen_partition_sequence({}, 2), parameter_error);
  EXPECT_THROW(gen_partition_sequence(sequence, -1), parameter_error);
}

}  // namespace
