// Counts of both forms of the ramp filter against the models, integer by integer, and against numbers by hand.
#include "filter/support.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

template <class Scan> void compare_counts(Scan const& s, filter_options const& options) {
  auto const y = random_array<3>(s.sinogram_shape(), 57);
  array<3> plain(y.shape), counted(y.shape);
  instrument::ledger a, b;
  direct_filter(on_host(), s, y.all(), plain.all(), options);
  direct_filter(context{exec::host{}, instrument::counting<>{a}}, s, y.all(), counted.all(), options);
  direct_filter(context{exec::host{}, instrument::cost_model<>{b}}, s, view<float const, 3>(nullptr, y.shape),
                view<float, 3>(nullptr, y.shape), options);
  EXPECT_TRUE(same_bits(plain.data, counted.data)) << "counting must not change a bit";
  ASSERT_EQ(a.records().size(), 1u);
  ASSERT_EQ(b.records().size(), 1u);
  expect_same_counts(a.last(), b.last());
}

TEST(DirectFilterCounts, EqualTheModels) {
  for (auto const& c : direct_cases())
    for (auto const& options : either) {
      SCOPED_TRACE(c.name);
      visit_direct([&](auto const& s) { compare_counts(s, options); }, make_scan(c.parameters));
    }
}

// 2 ceil(C/2) floor(C/2) products of taps and samples a row, and the centre; every sample is read and written once.
TEST(DirectFilterCounts, ByHand) {
  using instrument::number, instrument::operation;
  constexpr std::uint64_t lanes = simd::native_lanes;
  for (std::uint64_t const channels : {7u, 32u, 33u, 300u}) {
    std::uint64_t const views = 3, rows = 37, packs = (rows + lanes - 1) / lanes, samples = views * rows * channels;
    auto const shape = shape_3{3, 37, static_cast<index_t>(channels)};
    parallel_scan const s(parallel_parameters{.sinogram_shape = shape, .angles = std::vector<float>(3)});
    instrument::ledger l;
    direct_filter(context{exec::host{}, instrument::cost_model<>{l}}, s, view<float const, 3>(nullptr, shape),
                  view<float, 3>(nullptr, shape), direct_sum());
    auto const& c = l.last().operations;
    std::uint64_t const even = (channels + 1) / 2, odd = channels / 2, padded = views * packs * lanes;
    auto const partial_sums = [](std::uint64_t inputs) { return std::max<std::uint64_t>(1, (inputs + 127) / 128); };
    EXPECT_EQ(c.of(number::f32, operation::fma), padded * (2 * even * odd + channels));
    EXPECT_EQ(c.of(number::f32, operation::add),
              padded * (even * (partial_sums(odd) - 1) + odd * (partial_sums(even) - 1)));
    EXPECT_EQ(c.of(number::f32, operation::mul), 0u);
    EXPECT_EQ(c.lanes_useful, samples);
    EXPECT_EQ(c.lanes_executed, padded * channels);
    EXPECT_EQ(bytes_compulsory(l.last().arrays, false), 8 * samples);
    for (auto const& a : l.last().arrays)
      if (a.role == array_role::argument || a.role == array_role::output) {
        EXPECT_EQ(a.counts.bytes_loaded + a.counts.bytes_stored, 4 * samples);
      }
  }
}

TEST(FourierFilterCounts, EqualTheModels) {
  for (index_t const channels : {1, 64, 77, 130, 300})
    for (index_t const rows : {1, 40}) {
      SCOPED_TRACE(std::to_string(channels) + " channels, " + std::to_string(rows) + " rows");
      shape_3 const shape{3, rows, channels};
      parallel_scan const s(parallel_parameters{.sinogram_shape = shape, .angles = equal_angles(3, 1)});
      auto const y = random_array<3>(shape, 65);
      array<3> plain(shape), counted(shape);
      instrument::ledger a, b;
      direct_filter(on_host(), s, y.all(), plain.all(), by_transforms());
      direct_filter(context{exec::host{}, instrument::counting<>{a}}, s, y.all(), counted.all(), by_transforms());
      direct_filter(context{exec::host{}, instrument::cost_model<>{b}}, s, view<float const, 3>(nullptr, shape),
                    view<float, 3>(nullptr, shape), by_transforms());
      EXPECT_TRUE(same_bits(plain.data, counted.data)) << "counting must not change a bit";
      expect_same_counts(a.last(), b.last());
    }
}

// 256 channels, 512 = 8 (8 8): operations per number, summed over the stages. A product with a twiddle: 2 products and
// 2 FMAs.
TEST(FourierFilterCounts, ByHand) {
  using instrument::number, instrument::operation;
  constexpr std::uint64_t lanes = simd::native_lanes;
  std::uint64_t const views = 2, rows = 2 * lanes + 1, packs = 3, channels = 256,
                      length = 512;  // six packs: three transforms of a lane
  shape_3 const shape{2, static_cast<index_t>(rows), 256};
  parallel_scan const s(parallel_parameters{.sinogram_shape = shape, .angles = std::vector<float>(2)});
  instrument::ledger l;
  direct_filter(context{exec::host{}, instrument::cost_model<>{l}}, s, view<float const, 3>(nullptr, shape),
                view<float, 3>(nullptr, shape));
  auto const& c = l.last().operations;
  std::uint64_t const transforms = views * packs / 2 * lanes, eighths = length / 8;
  // A transform of 8 takes 44 sums and 8 FMAs, or 28 and 8 if the upper half of the input is 0, or 40 and 4 for half of
  // the result; all but the innermost ones have 7 twiddles, and the spectrum is multiplied in between.
  std::uint64_t const sums = eighths * (28 + 4 * 44 + 40), products = eighths * 4 * 7 * 2 + length * 2;
  std::uint64_t const fused = eighths * (8 + 4 * 8 + 4 + 4 * 7 * 2);
  EXPECT_EQ(c.of(number::f32, operation::add), transforms * sums);
  EXPECT_EQ(c.of(number::f32, operation::mul), transforms * products);
  EXPECT_EQ(c.of(number::f32, operation::fma), transforms * fused);
  EXPECT_EQ(c.lanes_useful, views * rows * channels);
  EXPECT_EQ(c.lanes_executed, views * packs * lanes * channels);
  EXPECT_EQ(bytes_compulsory(l.last().arrays, false), 8 * views * rows * channels);
}

}  // namespace
