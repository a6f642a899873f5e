// Errors and disagreements of ranks that have slices each: every rank throws the same. Run by mpirun with 1 to 4 ranks.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "mbirk/distributed/recon.hpp"
#include "slices_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

/// Calls recon with what `change` makes of the arguments of one rank.
template <class Change> void run_changed(Change const& change) {
  auto const& d = data();
  parallel_slab const slab(d.parameters, world().rank(), world().size());
  auto y = part(d.sinogram, d.scan.sinogram_shape(), 1, slab.range());
  auto o = options_of(cases()[0]);
  change(y, o);
  auto image = array(slab.scan().recon_shape());
  distributed::recon(ctx, world(), slab, reading(y, slab.scan().sinogram_shape()), {},
                     writing(image, slab.scan().recon_shape()), o);
}

TEST(slices, every_rank_throws_what_one_rank_finds) {
  int const last = world().size() - 1;
  auto const nan = message_of<parameter_error>([&] {
    run_changed([&](floats& y, recon_options&) {
      if (world().rank() == last) y[5] = std::numeric_limits<float>::quiet_NaN();
    });
  });
  // The rank is named unless all have failed.
  auto const prefix = last > 0 ? "rank " + std::to_string(last) + ": " : std::string();
  EXPECT_EQ(nan.find(prefix + "recon"), 0u) << nan;
  EXPECT_NE(nan.find("sinogram(0, 0, 5) is nan, expected finite values"), std::string::npos) << nan;
  EXPECT_NE(nan.find("rows from "), std::string::npos) << nan;
  auto const alpha = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) {
      if (world().rank() == last) o.max_alpha = -1;
    });
  });
  EXPECT_EQ(alpha, prefix + "recon: max_alpha is -1, expected a positive number");
  auto const loss = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) { o.compute_prior_loss = true; });
  });
  EXPECT_EQ(loss, "recon: compute_prior_loss is set, which is not distributed");
  auto const snr = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) { o.snr_db = std::numeric_limits<double>::infinity(); });
  });
  EXPECT_EQ(snr, "recon: snr_db is inf, expected a finite number");
}

TEST(slices, ranks_must_agree) {
  if (world().size() == 1) GTEST_SKIP() << "a rank alone agrees";
  struct change { std::string name; void (*make)(recon_options&); };
  for (auto const& c : {change{"seed", [](recon_options& o) { ++o.seed; }},
                        change{"granularity", [](recon_options& o) { o.granularity.push_back(128); }},
                        change{"stop_threshold_change_pct", [](recon_options& o) { o.stop_threshold_change_pct = 1; }},
                        change{"sigma_y", [](recon_options& o) { o.sigma_y = 0.5; }},
                        change{"positivity_flag", [](recon_options& o) { o.positivity_flag = true; }}}) {
    auto const found = message_of<parameter_error>([&] {
      run_changed([&](floats&, recon_options& o) {
        if (world().rank() == 1) c.make(o);
      });
    });
    EXPECT_EQ(found, "recon: ranks differ in " + c.name + ", expected the same on all");
  }
}

/// Every rank throws the same, and messages that were in flight do not reach the next reconstruction.
TEST(slices, callbacks_that_throw_end_all_ranks) {
  auto const c = cases()[2];
  auto const expected = run(world(), c);
  int const last = world().size() - 1;
  auto const saving = message_of<io_error>([&] {
    run(world(), c, exec::host{1}, [](recon_options& o, parallel_slab const&) {
      o.checkpoint = [](recon_state const&) { throw io_error("no room", source_location::current()); };
    });
  });
  EXPECT_EQ(saving, last > 0 ? "rank 0: no room" : "no room");
  EXPECT_TRUE(same_bits(run(world(), c).image, expected.image));
  auto const reporting = message_of<error>([&] {
    run(world(), c, exec::host{1}, [&](recon_options& o, parallel_slab const&) {
      o.progress = [&](iteration_report const&) -> bool {
        if (world().rank() == last) throw std::runtime_error("no display");
        return true;
      };
    });
  });
  EXPECT_EQ(reporting, last > 0 ? "rank " + std::to_string(last) + ": no display" : "no display");
  EXPECT_TRUE(same_bits(run(world(), c).image, expected.image));
}

TEST(slices, a_callback_of_one_rank_stops_all) {
  auto const& d = data();
  parallel_slab const slab(d.parameters, world().rank(), world().size());
  auto const y = part(d.sinogram, d.scan.sinogram_shape(), 1, slab.range());
  auto o = options_of(cases()[0]);
  bool const stops = distributed::is_last(world());
  o.progress = [&](iteration_report const&) { return !stops; };
  auto image = array(slab.scan().recon_shape());
  auto const log = distributed::recon(ctx, world(), slab, reading(y, slab.scan().sinogram_shape()), {},
                                      writing(image, slab.scan().recon_shape()), o);
  EXPECT_EQ(log.num_iterations, 1);
  EXPECT_TRUE(log.cancelled);
}

}  // namespace
