// Counting on the emulated policy: it counts the device kernels without changing any result.
#include <gtest/gtest.h>

#include "emulated_instances.hpp"
#include "instrument/operations.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;

instrument::array_record const& array_of(instrument::operation_record const& r, std::string const& name) {
  for (auto const& a : r.arrays)
    if (a.name == name) return a;
  throw std::runtime_error("no array " + name);
}
// counting always runs on one worker
exec::emulation_options shuffled(std::uint64_t seed) { return {.seed = seed, .workers = 2}; }

template <class Scan>
instrument::operation_record counted(Scan const& s, op what, std::uint64_t seed, std::vector<float>& result) {
  instrument::ledger records;
  result = run(context{exec::emulated(shuffled(seed)), instrument::counting<>{records}}, s, what);
  return records.last();
}

TEST(CountingOnADevice, ChangesNoBitAndDoesNotDependOnTheOrderOfBlocks) {
  auto const check = [](auto const& s) {
    for (auto const what : all_ops) {
      std::vector<float> one, two;
      auto const a = counted(s, what, 1, one), b = counted(s, what, 2, two);
      EXPECT_EQ(one, run(context{exec::emulated(), instrument::none{}}, s, what));
      EXPECT_EQ(one, two);
      EXPECT_EQ(a.operations, b.operations);
      ASSERT_EQ(a.arrays.size(), b.arrays.size());
      for (std::size_t k = 0; k < a.arrays.size(); ++k) {
        EXPECT_EQ(a.arrays[k].counts, b.arrays[k].counts) << a.arrays[k].name;
        EXPECT_EQ(a.arrays[k].outside, 0u) << a.arrays[k].name;
      }
    }
  };
  check(odd_parallel(1.0));
  check(odd_cone(1.1, false));
}

// Memory that every kernel must touch: the arguments inside the mask once, the result once. 17 x 21 pixels, 5 x 19 x 23
// samples.
TEST(CountingOnADevice, TouchesArgumentsAndResultsAsTheHostDoes) {
  auto const s = odd_parallel(1.0);
  for (auto const what : {op::forward, op::back}) {
    instrument::ledger on_host;
    run(context{exec::host{1}, instrument::counting<>{on_host}}, s, what);
    std::vector<float> result;
    auto const record = counted(s, what, 1, result);
    for (char const* name : {"recon", "sinogram"}) {
      EXPECT_EQ(array_of(record, name).counts.unique_written, array_of(on_host.last(), name).counts.unique_written)
          << name;
      EXPECT_EQ(array_of(record, name).counts.unique_read, array_of(on_host.last(), name).counts.unique_read) << name;
    }
    // projection and layout change; plus zeros outside the mask
    EXPECT_EQ(record.launches, what == op::forward ? 2u : 3u);
  }
}

// By hand: 4 lines of 70 samples, dense, are one line of 280: nine packs, the last of 24. Weights exp(-y): one product
// and one exp a lane. A pack is four sectors of 32 bytes, the last three.
TEST(CountingOnADevice, WeightsByHand) {
  auto const y = positive(280, 1);
  std::vector<float> w(280);
  instrument::ledger records;
  std::array<index_t, 3> const shape{2, 2, 70};
  gen_weights(context{exec::emulated(), instrument::counting<>{records}}, view<float const, 3>(y.data(), shape),
              weight_type::transmission, view<float, 3>(w.data(), shape));
  auto const& r = records.last();
  EXPECT_EQ(r.operations.of(instrument::number::f32, instrument::operation::exp), 9u * 32);
  EXPECT_EQ(r.operations.of(instrument::number::f32, instrument::operation::mul), 9u * 32);
  auto const in = array_of(r, "sinogram").counts, out = array_of(r, "weights").counts;
  EXPECT_EQ(in.loads, 9u);
  EXPECT_EQ(in.bytes_loaded, 4u * 280);
  EXPECT_EQ(in.requests, 9u);
  EXPECT_EQ(in.sectors, 8u * 4 + 3);
  EXPECT_EQ(out.stores, 9u);
  EXPECT_EQ(out.bytes_stored, 4u * 280);
  EXPECT_EQ(out.requests, 9u);
  EXPECT_EQ(out.sectors, 8u * 4 + 3);
}

}  // namespace
