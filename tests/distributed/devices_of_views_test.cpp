// Reconstructions in cone beam by ranks that each have an emulated device: the same bits for every number of ranks,
// close to those of one device, and the traffic of the host. Run by mpirun with 1 to 3 ranks.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "emulated_instances.hpp"
#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/direct_recon.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/distributed/self.hpp"
#include "mbirk/distributed/state_of_views.hpp"
#include "views_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

/// Images differ by up to this share of the peak, because views are added in another order, and iterations amplify that
/// rounding. Ranks of the host differ from one memory by as much (views_recon_test.cpp).
inline constexpr float of_the_peak = 2e-6f;

floats rows_of_rank(cone_case const& c, floats const& image) {
  return first_axis_part(image, c.problem().scan->recon_shape(), views_of_rank(c).rows());
}
/// Small, because emulation is slow.
cone_problem const& small_circle() {
  static cone_problem const p(20, 7, 17, false);
  return p;
}
cone_problem const& small_helix() {
  static cone_problem const p(20, 7, 17, true);
  return p;
}
cone_case case_of(char const* name) {
  for (auto c : cone_cases()) {
    if (c.name != std::string(name)) continue;
    if (c.problem == &circle) c.problem = &small_circle;
    if (c.problem == &helix) c.problem = &small_helix;
    return c;
  }
  throw std::invalid_argument(name);
}

TEST(devices_of_views, reconstructions_have_the_same_bits_for_every_number_of_ranks) {
  // The others differ in what the host and devices do alike.
  for (auto const* name : {"few subsets, damped", "positivity", "proximal map, undamped", "a given first image",
                           "a helix", "several pieces", "fewer views than ranges"}) {
    auto c = case_of(name);
    if (!fits(c)) continue;
    if (c.problem == &wide) {  // all pixels in one subset, because emulation is slow
      if (world().size() > 2) continue;
      c.run.iterations = 1;
      c.run.sequence = {0};
    }
    SCOPED_TRACE(name);
    auto const alone = run_views(distributed::self{}, c, exec::emulated());
    if (world().size() > 1) {
      auto const mine = run_views(world(), c, exec::emulated());
      EXPECT_TRUE(same_bits(mine.image, rows_of_rank(c, alone.image)));
      expect_same_log(mine.log, alone.log);
      continue;
    }
    auto const expected = run_whole(c, exec::emulated());
    expect_close(alone.image, expected.image, of_the_peak);
    EXPECT_EQ(alone.log.num_iterations, expected.log.num_iterations);
    for (std::size_t k = 0; k < expected.log.alpha_values.size(); ++k) {
      EXPECT_NEAR(alone.log.alpha_values[k], expected.log.alpha_values[k], 1e-5);
      EXPECT_NEAR(alone.log.fm_rmse[k], expected.log.fm_rmse[k], 1e-5 * expected.log.fm_rmse[k]);
      EXPECT_NEAR(alone.log.stop_threshold_change_pct[k], expected.log.stop_threshold_change_pct[k],
                  1e-4 * expected.log.stop_threshold_change_pct[k]);
    }
  }
}

TEST(devices_of_views, messages_are_those_of_the_host) {
  auto const c = case_of("positivity");
  distributed::traffic_ledger of_devices, of_host;
  run_views(distributed::counted(world(), of_devices), c, exec::emulated());
  run_views(distributed::counted(world(), of_host), c);
  expect_same_traffic(of_devices, of_host);
}

/// Any number of devices goes on where another has stopped, to the same bits, and where the host has.
TEST(devices_of_views, a_state_is_resumed_by_any_number_of_devices) {
  auto const c = case_of("weights");
  auto const state_after_one = [&](auto const& where) {
    std::optional<recon_state> saved;
    auto const whole = run_views(distributed::self{}, c, where, [&](recon_options& o, cone_views const&) {
      o.checkpoint = [&](recon_state const& state) {
        if (!saved) saved = state;
      };
    });
    return std::pair(*saved, whole.image);
  };
  auto const resumed = [&](recon_state const& whole) {
    recon_state mine;
    return run_views(world(), c, exec::emulated(), [&](recon_options& o, cone_views const& views) {
      mine = distributed::state_of_views(whole, views, world().rank());
      o.resume = &mine;
    });
  };
  auto const [state, image] = state_after_one(exec::emulated());
  EXPECT_TRUE(same_bits(resumed(state).image, rows_of_rank(c, image)));
  auto const [of_host, image_of_host] = state_after_one(exec::host{1});
  expect_close(resumed(of_host).image, rows_of_rank(c, image_of_host), of_the_peak);
}

TEST(devices_of_views, fdk_has_the_same_bits_for_every_number_of_ranks) {
  for (auto const* problem : {&small_circle(), &small_helix(), &small()}) {
    auto const run = [&](auto const& ranks, auto const& where) {
      cone_views const mine(problem->parameters, ranks.rank(), ranks.size());
      auto image = array(mine.recon_shape());
      auto const views = first_axis_part(problem->sinogram, problem->scan->sinogram_shape(), mine.views());
      auto const y = test::place(where, reading(views, mine.sinogram_shape())),
                 x = test::place(where, reading(image, mine.recon_shape()));
      distributed::fdk_recon(context{where, instrument::none{}}, ranks, mine, y.in(), x.all());
      x.download(writing(image, mine.recon_shape()));
      return image;
    };
    cone_views const mine(problem->parameters, world().rank(), world().size());
    auto const alone = run(distributed::self{}, exec::emulated());
    auto const shape = problem->scan->recon_shape();
    EXPECT_TRUE(same_bits(run(world(), exec::emulated()), first_axis_part(alone, shape, mine.rows())));
    auto expected = array(shape);
    fdk_recon(ctx, *problem->scan, reading(problem->sinogram, problem->scan->sinogram_shape()),
              writing(expected, shape));
    expect_close(alone, expected, of_the_peak);
  }
}

TEST(devices_of_views, ranks_on_the_host_and_on_devices_do_not_mix) {
  if (world().size() == 1) return;
  auto const c = case_of("weights");
  EXPECT_EQ(message_of<parameter_error>([&] {
              if (world().rank() == 0) run_views(world(), c, exec::emulated());
              else run_views(world(), c);
            }),
            "recon: ranks differ in having the views on a device, expected the same on all");
}

}  // namespace
