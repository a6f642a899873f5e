// Iterative reconstructions in cone beam by ranks that have views each: the same bits for every number of ranks, close
// to those of one memory, and the traffic that docs/distributed.md promises. Run by mpirun with 1 to 4 ranks, and 7.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/distributed/self.hpp"
#include "views_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

TEST(views, reconstructions_have_the_same_bits_for_every_number_of_ranks) {
  for (auto const& c : cone_cases()) {
    if (!fits(c)) continue;
    SCOPED_TRACE(c.name);
    auto const alone = run_views(distributed::self{}, c);
    auto const mine = run_views(world(), c, exec::host{2});
    auto const rows = views_of_rank(c).rows();
    EXPECT_TRUE(same_bits(mine.image, first_axis_part(alone.image, c.problem().scan->recon_shape(), rows)));
    expect_same_log(mine.log, alone.log);
  }
}

TEST(views, reconstructions_agree_with_one_memory) {
  for (auto const& c : cone_cases()) {
    if (!fits(c)) continue;
    SCOPED_TRACE(c.name);
    auto const expected = run_whole(c);
    auto const found = run_views(world(), c);
    float peak = 0, largest = 0;
    for (auto const x : expected.image) peak = std::max(peak, std::abs(x));
    auto const here = first_axis_part(expected.image, c.problem().scan->recon_shape(), views_of_rank(c).rows());
    for (std::size_t k = 0; k < here.size(); ++k) largest = std::max(largest, std::abs(found.image[k] - here[k]));
    // The views are added in another order; iterations amplify that rounding, by which the first images are 6e-7 apart.
    EXPECT_LE(largest, 2e-6f * peak);
    EXPECT_EQ(found.log.num_iterations, expected.log.num_iterations);
    EXPECT_EQ(found.log.sigma_y, expected.log.sigma_y);
    EXPECT_EQ(found.log.sigma_x, expected.log.sigma_x);
    for (std::size_t k = 0; k < expected.log.alpha_values.size(); ++k) {
      EXPECT_NEAR(found.log.alpha_values[k], expected.log.alpha_values[k], 1e-5);
      EXPECT_NEAR(found.log.fm_rmse[k], expected.log.fm_rmse[k], 1e-5 * expected.log.fm_rmse[k]);
      auto const &a = found.log.delta_norm_per_slice[k], &b = expected.log.delta_norm_per_slice[k];
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t s = 0; s < a.size(); ++s) EXPECT_NEAR(a[s], b[s], 1e-4 * b[s] + 1e-7);
    }
  }
}

/// The state after the first iteration is the same for every number of ranks, each of which resumes it to the bits of
/// one run. mbirk::recon resumes it too.
TEST(views, a_state_is_resumed_by_any_number_of_ranks) {
  auto const c = cone_cases()[2];
  auto const save_to = [](std::optional<recon_state>& to) {
    return [&to](recon_options& o, cone_views const&) {
      o.checkpoint = [&to](recon_state const& state) {
        if (!to) to = state;
      };
    };
  };
  std::optional<recon_state> expected, saved;
  auto const alone = run_views(distributed::self{}, c, exec::host{1}, save_to(expected));
  distributed::traffic_ledger ledger;
  run_views(distributed::counted(world(), ledger), c, exec::host{1}, save_to(saved));
  auto const mine = views_of_rank(c);
  index_t const sends = world().rank() > 0 ? c.run.iterations : 0;
  EXPECT_EQ(ledger["checkpoint"].messages, 3 * sends);
  EXPECT_EQ(ledger["checkpoint"].bytes, 4 * sends * (2 * size_of(mine.recon_shape()) + size_of(mine.sinogram_shape())));
  EXPECT_EQ(saved.has_value(), world().rank() == 0) << "rank 0 alone gets the state";
  if (saved) {
    EXPECT_TRUE(same_bits(saved->recon, expected->recon));
    EXPECT_TRUE(same_bits(saved->hessian, expected->hessian));
    EXPECT_TRUE(same_bits(saved->weighted_error, expected->weighted_error));
    expect_same_log(saved->record, expected->record);
    float peak = 0, largest = 0;
    auto const whole = run_whole(c, exec::host{1}, &*saved);
    for (std::size_t k = 0; k < whole.image.size(); ++k) {
      peak = std::max(peak, std::abs(alone.image[k]));
      largest = std::max(largest, std::abs(alone.image[k] - whole.image[k]));
    }
    EXPECT_LE(largest, 2e-6f * peak);
  }
  recon_state state;
  auto const resumed = run_views(world(), c, exec::host{1}, [&](recon_options& o, cone_views const& views) {
    state = distributed::state_of_views(*expected, views, world().rank());
    o.resume = &state;
  });
  EXPECT_TRUE(same_bits(resumed.image, first_axis_part(alone.image, c.problem().scan->recon_shape(), mine.rows())));
  expect_same_log(resumed.log, alone.log);
}

/// The formulas of docs/distributed.md.
TEST(views, traffic_of_reconstructions_is_what_the_formulas_say) {
  for (bool const positive : {false, true}) {
    auto const c = cone_cases()[positive ? 3 : 2];
    distributed::traffic_ledger ledger;
    run_views(distributed::counted(world(), ledger), c);
    auto const mine = views_of_rank(c);
    auto const& scan = mine.whole();
    auto const& g = scan.geometry();
    index_t const trees = std::ssize(distributed::detail::subtrees_of(mine.ranges()));
    EXPECT_LE(trees, std::has_single_bit(static_cast<unsigned>(world().size())) ? 1 : 3);
    // The subsets, with the pixels that are repeated in them.
    numpy_random_state random(options_for(c).seed);
    auto const partitions = mbirk::detail::partition_set(ctx, scan.full_indices(), options_for(c).granularity, random,
                                          array_role::temporary, array_role::temporary);
    index_t subsets = 0, listed = 0, own = 0;
    for (auto const k : c.run.sequence) {
      auto const& p = partitions[static_cast<std::size_t>(k)];
      for (index_t s = 0; s < p.subsets; ++s, ++subsets)
        for (auto const pixel : p.subset(s)) {
          index_t const row = pixel / g.recon_cols;
          ++listed;
          if (mine.rows().first <= row && row < mine.rows().end()) ++own;
        }
    }
    using distributed::traffic;
    auto const expect = [&](char const* what, traffic const& expected) {
      auto const found = ledger.contains(what) ? ledger.at(what) : traffic{};
      EXPECT_EQ(found.messages, expected.messages) << what << ", rank " << world().rank();
      EXPECT_EQ(found.bytes, expected.bytes) << what << ", rank " << world().rank();
    };
    index_t const iterations = c.run.iterations, others = world().size() - 1, slices = g.slices,
                  pixels = g.recon_rows * g.recon_cols, own_pixels = mine.rows().count * g.recon_cols,
                  own_bands = mine.bands().count, gathers = positive ? 2 : 1;
    expect("parts of the back projection", {subsets * trees * others, 4 * trees * (listed - own) * slices});
    expect("direction", {subsets * gathers, gathers * 4 * own * slices});
    expect("slice means", {subsets, subsets * 16 * trees * slices});
    expect("line search", {subsets, subsets * 24 * trees});
    expect("change and norm", {iterations, iterations * 16 * trees});
    expect("rmse", {iterations, iterations * 8 * trees});
    expect("slice norms", {iterations, iterations * 8 * trees * slices});
    expect("whether to go on", {iterations, iterations * 8});
    expect("fit", {1, 16 * trees});
    expect("mean weight", {1, 8 * trees});
    expect("first image", {own_bands, 4 * own_pixels * slices});
    expect("parts of the Hessian",
           {trees * (distributed::row_bands - own_bands), 4 * trees * (pixels - own_pixels) * slices});
    index_t const beside = (world().rank() > 0 ? 1 : 0) + (distributed::is_last(world()) ? 0 : 1);
    expect("rows beside", {beside, 4 * beside * g.recon_cols * slices});
    auto const shape = mine.sinogram_shape();
    index_t const sends = world().rank() > 0 ? 2 : 0;  // sinogram and weights; all 37 views are sampled
    expect("sampled views", {sends, sends * 4 * shape[0] * shape[1] * shape[2]});
  }
}

TEST(views, every_rank_throws_what_one_rank_finds) {
  auto const& d = circle();
  int const last = world().size() - 1;
  auto const prefix = last > 0 ? "rank " + std::to_string(last) + ": " : std::string();
  cone_views const mine(d.parameters, world().rank(), world().size());
  auto const shape = mine.sinogram_shape();
  auto const run_changed = [&](auto const& change) {
    auto y = first_axis_part(d.sinogram, d.scan->sinogram_shape(), mine.views());
    recon_options o{{.max_iterations = 1}};
    change(y, o);
    auto image = array(mine.recon_shape());
    distributed::recon(ctx, world(), mine, reading(y, shape), {}, writing(image, mine.recon_shape()), o);
  };
  auto const nan = message_of<parameter_error>([&] {
    run_changed([&](floats& y, recon_options&) {
      if (world().rank() == last) y[5] = std::numeric_limits<float>::quiet_NaN();
    });
  });
  EXPECT_EQ(nan.find(prefix + "recon, views from "), 0u) << nan;
  EXPECT_NE(nan.find("sinogram(0, 0, 5) is nan, expected finite values"), std::string::npos) << nan;
  auto const alpha = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) {
      if (world().rank() == last) o.max_alpha = -1;
    });
  });
  EXPECT_EQ(alpha, prefix + "recon: max_alpha is -1, expected a positive number");
  if (last == 0) return;
  auto const damping = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) {
      if (world().rank() == 1) o.slice_damping = false;
    });
  });
  EXPECT_EQ(damping, "recon: ranks differ in slice_damping, expected the same on all");
}

}  // namespace
