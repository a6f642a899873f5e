// Operations of ranks that have slices each, in parallel beam: the bits of one memory for every number of ranks, and
// the traffic that docs/distributed.md promises. Run by mpirun with 1 to 4 ranks; every rank runs
// all tests, and reports what it finds in its own slices.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/distributed/self.hpp"
#include "mbirk/distributed/slab_state.hpp"
#include "slices_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

TEST(slices, reconstructions_have_the_bits_of_one_memory_for_every_number_of_ranks) {
  for (auto const& c : cases()) {
    SCOPED_TRACE(c.name);
    auto const expected = run_in_one_memory(c);
    auto const mine = run(world(), c);
    parallel_slab const slab(data().parameters, world().rank(), world().size());
    EXPECT_TRUE(same_bits(mine.image, part(expected.image, data().scan.recon_shape(), 2, slab.range())));
    expect_same_log(mine.log, expected.log);
    if (world().size() > 1) continue;
    auto const alone = run(distributed::self{}, c);
    EXPECT_TRUE(same_bits(alone.image, expected.image));
    expect_same_log(alone.log, expected.log);
  }
}

/// The state after the first iteration is that of one memory, and is resumed by any number of ranks to the same bits.
TEST(slices, a_state_is_resumed_by_any_number_of_ranks) {
  auto const c = cases()[2];
  std::optional<recon_state> expected, saved;
  auto const save_to = [](std::optional<recon_state>& to) {
    return [&to](recon_options& o, parallel_slab const&) {
      o.checkpoint = [&to](recon_state const& state) {
        if (!to) to = state;
      };
    };
  };
  auto const whole = run_in_one_memory(c, save_to(expected));
  distributed::traffic_ledger ledger;
  run(distributed::counted(world(), ledger), c, exec::host{1}, save_to(saved));
  parallel_slab const slab(data().parameters, world().rank(), world().size());
  index_t const sends = world().rank() > 0 ? c.iterations : 0;
  EXPECT_EQ(ledger["checkpoint"].messages, 3 * sends);
  EXPECT_EQ(ledger["checkpoint"].bytes,
            4 * sends * (2 * size_of(slab.scan().recon_shape()) + size_of(slab.scan().sinogram_shape())));
  EXPECT_EQ(saved.has_value(), world().rank() == 0) << "rank 0 alone gets the state";
  if (saved) {
    EXPECT_TRUE(same_bits(saved->recon, expected->recon));
    EXPECT_TRUE(same_bits(saved->hessian, expected->hessian));
    EXPECT_TRUE(same_bits(saved->weighted_error, expected->weighted_error));
    expect_same_log(saved->record, expected->record);
    auto const alone = run_in_one_memory(c, [&](recon_options& o, parallel_slab const&) { o.resume = &*saved; });
    EXPECT_TRUE(same_bits(alone.image, whole.image));
  }
  recon_state mine;
  auto const resumed = run(world(), c, exec::host{1}, [&](recon_options& o, parallel_slab const&) {
    mine = distributed::state_of_slab(*expected, slab);
    o.resume = &mine;
  });
  EXPECT_TRUE(same_bits(resumed.image, part(whole.image, data().scan.recon_shape(), 2, slab.range())));
  expect_same_log(resumed.log, whole.log);
}

TEST(slices, the_number_of_threads_changes_no_bit) {
  auto const c = cases()[2];
  EXPECT_TRUE(same_bits(run(world(), c).image, run(world(), c, exec::host{2}).image));
}

/// Projections, filter, direct reconstruction and Hessian of a slab, by the ordinary operations.
TEST(slices, operations_of_a_slab_have_the_bits_of_the_whole) {
  auto const& d = data();
  parallel_slab const slab(d.parameters, world().rank(), world().size());
  auto const all_y = d.scan.sinogram_shape(), all_x = d.scan.recon_shape();
  auto const y_shape = slab.scan().sinogram_shape(), x_shape = slab.scan().recon_shape();
  auto const y = part(d.sinogram, all_y, 1, slab.range()), w = part(d.weights, all_y, 1, slab.range()),
             x = part(d.image, all_x, 2, slab.range());
  auto const compare = [&](char const* what, int axis, auto const& operation) {
    auto whole = array(axis == 1 ? all_y : all_x), mine = array(axis == 1 ? y_shape : x_shape);
    operation(d.scan, d.sinogram, d.weights, d.image, writing(whole, axis == 1 ? all_y : all_x));
    operation(slab.scan(), y, w, x, writing(mine, axis == 1 ? y_shape : x_shape));
    EXPECT_TRUE(same_bits(mine, part(whole, axis == 1 ? all_y : all_x, axis, slab.range()))) << what;
  };
  compare("forward projection", 1, [](auto const& s, auto const&, auto const&, auto const& image, auto to) {
    forward_project(ctx, s, reading(image, s.recon_shape()), to);
  });
  compare("back projection", 2, [](auto const& s, auto const& sinogram, auto const&, auto const&, auto to) {
    back_project(ctx, s, reading(sinogram, s.sinogram_shape()), to);
  });
  for (auto const method : {filter_method::direct, filter_method::fourier})
    compare("direct reconstruction", 2, [&](auto const& s, auto const& sinogram, auto const&, auto const&, auto to) {
      direct_recon(ctx, s, reading(sinogram, s.sinogram_shape()), to, {.method = method});
    });
  compare("Hessian", 2, [](auto const& s, auto const&, auto const&, auto const&, auto to) {
    hessian_diagonal(ctx, s, {}, to);
  });
  compare("weighted Hessian", 2, [](auto const& s, auto const&, auto const& weights, auto const&, auto to) {
    hessian_diagonal(ctx, s, reading(weights, s.sinogram_shape()), to);
  });
}

/// The formulas of docs/distributed.md.
TEST(slices, traffic_is_what_the_formulas_say) {
  auto const c = cases()[2];  // weights; 4 and 64 subsets
  distributed::traffic_ledger ledger;
  run(distributed::counted(world(), ledger), c);
  parallel_slab const slab(data().parameters, world().rank(), world().size());
  auto const shape = slab.scan().sinogram_shape();
  index_t const units = kernel::units_of<exec::host::backend>(slab.range().count),
                pixels = std::ssize(slab.scan().full_indices()),
                neighbours = (world().rank() > 0 ? 1 : 0) + (distributed::is_last(world()) ? 0 : 1),
                iterations = c.iterations;
  index_t subsets = 0, listed = 0;
  for (auto const k : c.sequence) {
    index_t const many = index_t{1} << k;
    subsets += many;
    listed += many * ceil_div(pixels, many);
  }
  using distributed::traffic;
  auto const expect = [&](char const* what, traffic const& expected) {
    auto const found = ledger.contains(what) ? ledger.at(what) : traffic{};
    EXPECT_EQ(found.messages, expected.messages) << what << ", rank " << world().rank();
    EXPECT_EQ(found.bytes, expected.bytes) << what << ", rank " << world().rank();
  };
  expect("line search", {subsets, subsets * 24 * units});
  expect("boundaries of a subset", {subsets * neighbours, 4 * listed * neighbours});
  expect("boundary slices", {neighbours, 4 * neighbours * 20 * 20});
  expect("change and norm", {iterations, iterations * 16 * units});
  expect("rmse", {iterations, iterations * 8 * units});
  expect("slice norms", {iterations, iterations * 8 * slab.range().count});
  expect("whether to go on", {iterations, iterations * 8});
  expect("fit", {1, 16 * units});
  expect("mean weight", {1, 8 * units});
  index_t const sends = world().rank() > 0 ? 2 : 0;  // sinogram and weights, of all 24 views
  expect("sampled views", {sends, sends * 4 * shape[0] * shape[1] * shape[2]});
}

TEST(slices, the_proximal_map_exchanges_no_slices) {
  distributed::traffic_ledger ledger;
  run(distributed::counted(world(), ledger), cases()[4]);
  EXPECT_FALSE(ledger.contains("boundaries of a subset"));
  EXPECT_FALSE(ledger.contains("boundary slices"));
}

TEST(slices, are_shared_out_in_whole_units) {
  for (index_t const slices : {1, 31, 32, 33, 100, 128, 1000})
    for (int ranks = 1; ranks <= ceil_div(slices, index_t{32}); ++ranks) {
      index_t next = 0, least = slices, most = 0, largest = 0;
      for (int r = 0; r < ranks; ++r) {
        auto const range = distributed::slices_of(slices, r, ranks);
        EXPECT_EQ(range.first, next);
        EXPECT_EQ(range.first % 32, 0);
        EXPECT_GT(range.count, 0);
        next += range.count;
        largest = std::max(largest, range.count);
        least = std::min(least, ceil_div(range.count, index_t{32}));
        most = std::max(most, ceil_div(range.count, index_t{32}));
      }
      EXPECT_EQ(next, slices);
      EXPECT_EQ(distributed::most_slices(slices, ranks), largest);
      EXPECT_LE(most, least + 1);
    }
  EXPECT_EQ(message_of<parameter_error>([] { distributed::slices_of(100, 0, 5); }),
            "5 ranks for 100 slices, expected at most 4: one for each 32 slices");
}

}  // namespace
