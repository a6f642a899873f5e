// recon and prox_map in slabs: the result in memory for one slab, close to it for several, and the table of errors.
#include "mbirk/distributed/recon_in_slabs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "recon/slab_problem.hpp"

namespace in_slabs {
namespace {

using namespace mbirk;
using namespace mbirk::test;

/// Root mean square of the difference, in % of the range of b.
double percent_of_range(array<3> const& a, array<3> const& b) {
  double squares = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) {
    double const d = static_cast<double>(a.data[n]) - static_cast<double>(b.data[n]);
    squares += d * d;
  }
  auto const [low, high] = std::ranges::minmax(b.data);
  return 100 * std::sqrt(squares / static_cast<double>(a.data.size())) / static_cast<double>(high - low);
}

TEST(ReconInSlabs, OneSlabHasTheBitsOfTheWhole) {
  for (bool const weighted : {false, true}) {
    auto const p = small_phantom(weighted);
    for (auto const& o : {iterations(4), recon_options{{.init_recon = 0.01, .max_iterations = 3}}}) {
      auto const whole = p.in_memory(o), slabs = p.in_slabs(o, {40, 2});
      EXPECT_TRUE(same_bits(slabs.image.data, whole.image.data));
      expect_same_record(slabs.record, whole.record);
    }
  }
}

TEST(ReconInSlabs, ProxMapOfOneSlabHasTheBitsOfTheWhole) {
  auto p = small_phantom();
  p.prox_input = random_array<3>(p.scan.recon_shape(), 4);
  auto const whole = p.in_memory(iterations(3)), slabs = p.in_slabs(iterations(3), {21});
  EXPECT_TRUE(same_bits(slabs.image.data, whole.image.data));
  expect_same_record(slabs.record, whole.record);
}

/// The bound is that of the documentation; only for slabs of a single slice it is larger (0.21 % were measured).
TEST(ReconInSlabs, SeveralSlabsAreCloseToTheWhole) {
  for (bool const weighted : {false, true}) {
    auto const p = small_phantom(weighted);
    auto o = iterations(15);
    for (bool const positive : {false, true}) {
      o.positivity_flag = positive;
      auto const whole = p.in_memory(o);
      for (index_t const slices : {1, 8, 10, 16}) {  // the last slab of 10 has a single slice
        auto const slabs = p.in_slabs(o, {slices, 3});
        EXPECT_LT(percent_of_range(slabs.image, whole.image), slices == 1 ? 0.4 : 0.1)
            << slices << positive << weighted;
        EXPECT_TRUE(!positive || *std::ranges::min_element(slabs.image.data) >= 0);
        // Sigmas are those of the whole; other numbers are means that come close to them.
        EXPECT_EQ(slabs.record.sigma_y, whole.record.sigma_y);
        EXPECT_EQ(slabs.record.sigma_x, whole.record.sigma_x);
        EXPECT_EQ(slabs.record.num_iterations, 15);
        EXPECT_EQ(slabs.record.partition_sequence, whole.record.partition_sequence);
        EXPECT_EQ(slabs.record.warnings, whole.record.warnings);
        EXPECT_NEAR(slabs.record.fm_rmse.back(), whole.record.fm_rmse.back(), 5e-3 * whole.record.fm_rmse.back());
        EXPECT_NEAR(slabs.record.stop_threshold_change_pct[4], whole.record.stop_threshold_change_pct[4],
                    0.1 * whole.record.stop_threshold_change_pct[4]);
        EXPECT_NEAR(slabs.record.alpha_values[4], whole.record.alpha_values[4], 0.1);
        ASSERT_EQ(slabs.record.delta_norm_per_slice.size(), 15u);
        for (auto const& norms : slabs.record.delta_norm_per_slice) EXPECT_EQ(norms.size(), 21u);
      }
    }
  }
}

TEST(ReconInSlabs, ProxMapOfSeveralSlabsIsCloseToTheWhole) {
  auto p = small_phantom(true);
  p.prox_input = random_array<3>(p.scan.recon_shape(), 4);
  auto const o = iterations(15);
  auto const whole = p.in_memory(o), slabs = p.in_slabs(o, {8});
  EXPECT_LT(percent_of_range(slabs.image, whole.image), 0.1);
  EXPECT_EQ(slabs.record.sigma_prox, whole.record.sigma_prox);
}

/// From a constant, and with given sigmas.
TEST(ReconInSlabs, FirstImagesAndSigmas) {
  auto const p = small_phantom();
  auto o = iterations(12);
  o.init_recon = 0.2;
  o.sigma_y = 0.3;
  o.sigma_x = 0.05;
  auto const whole = p.in_memory(o), slabs = p.in_slabs(o, {8, 3});
  EXPECT_LT(percent_of_range(slabs.image, whole.image), 0.1);
  EXPECT_EQ(slabs.record.sigma_y, 0.3);
  // Without an iteration, it is the first image, scaled by the fit of all slabs.
  auto const first = p.in_memory(iterations(0)), of_slabs = p.in_slabs(iterations(0), {8, 1});
  EXPECT_LT(percent_of_range(of_slabs.image, first.image), 1e-4);
  EXPECT_EQ(of_slabs.record.num_iterations, 0);
  // Leading entries of the partition sequence are skipped.
  o.first_iteration = 3;
  EXPECT_EQ(p.in_slabs(o, {8, 3}).record.partition_sequence, p.in_memory(o).record.partition_sequence);
}

TEST(ReconInSlabs, TheNumberOfThreadsChangesNoBit) {
  auto const p = small_phantom(true);
  auto const one = p.in_slabs(iterations(4), {8, 2}), three = p.in_slabs(iterations(4), {8, 2}, 3);
  EXPECT_TRUE(same_bits(one.image.data, three.image.data));
  expect_same_record(one.record, three.record);
}

TEST(ReconInSlabs, StopsAfterASweep) {
  auto const p = small_phantom();
  auto o = iterations(12);
  int calls = 0, last = 0;
  o.progress = [&](iteration_report const& r) {
    EXPECT_EQ(r.iteration, ++calls);
    EXPECT_EQ(r.iterations, 36);
    EXPECT_GT(r.norm, 0);
    last = r.iteration;
    return true;
  };
  EXPECT_EQ(p.in_slabs(o, {8, 3}).record.num_iterations, 12);
  EXPECT_EQ(last, 36);
  calls = 0;
  o.stop_threshold_change_pct = 100;
  auto const stopped = p.in_slabs(o, {8, 3}).record;
  EXPECT_EQ(stopped.num_iterations, 4);
  EXPECT_FALSE(stopped.cancelled);
  // The callback stops in the second slab of the second sweep, whose log has the iterations that all have done.
  o.stop_threshold_change_pct = 0;
  o.progress = [](iteration_report const& r) { return r.iteration < 18; };
  auto const cancelled = p.in_slabs(o, {8, 3}).record;
  EXPECT_TRUE(cancelled.cancelled);
  EXPECT_EQ(cancelled.num_iterations, 4);
  EXPECT_EQ(cancelled.delta_norm_per_slice.size(), 4u);
}

/// Weights of a slab that are all 0: its slices are those of the prior alone.
TEST(ReconInSlabs, ASlabWithoutWeight) {
  auto p = small_phantom(true);
  for (index_t v = 0; v < 12; ++v)
    for (index_t m = 8; m < 16; ++m)
      for (index_t n = 0; n < 14; ++n) p.weights->all()(v, m, n) = 0;
  auto const o = iterations(30);
  auto const whole = p.in_memory(o), slabs = p.in_slabs(o, {8, 10});
  EXPECT_LT(percent_of_range(slabs.image, whole.image), 1);
  EXPECT_NEAR(slabs.record.fm_rmse.back(), whole.record.fm_rmse.back(), 1e-2 * whole.record.fm_rmse.back());
}

template <class Error> std::string message(std::function<void()> const& f) {
  try {
    f();
  } catch (Error const& e) {
    std::string const text = e.what();
    return text.substr(text.find("slabs: ") + 7);
  }
  return "nothing was thrown";
}

TEST(ReconInSlabs, Errors) {
  auto p = small_phantom(true);
  auto const run = [&](distributed::slab_division const& d, std::function<void(recon_options&)> const& change = {}) {
    auto o = iterations(4);
    if (change) change(o);
    return message<parameter_error>([&] { p.in_slabs(o, d); });
  };
  EXPECT_EQ(run({0, 3}), "slabs have 0 slices, expected at least 1");
  EXPECT_EQ(run({8, 0}), "sweeps is 0, expected 1 to 4, the number of iterations");
  EXPECT_EQ(run({8, 5}), "sweeps is 5, expected 1 to 4, the number of iterations");
  EXPECT_EQ(run({8, 3}, [](auto& o) { o.compute_prior_loss = true; }),
            "compute_prior_loss is set, expected none in slabs");
  EXPECT_EQ(run({8, 3}, [](auto& o) { o.checkpoint = [](recon_state const&) {}; }),
            "there is a checkpoint callback, expected none in slabs");
  EXPECT_EQ(run({8, 3}, [](auto& o) { o.max_alpha = 0; }), "max_alpha is 0, expected a positive number");
  std::ranges::fill(p.weights->data, 0.0f);
  EXPECT_EQ(run({8, 3}), "every one of the weights is 0, expected at least one that is positive");
  p.weights.reset();
  p.sinogram.all()(3, 9, 2) = NAN;
  EXPECT_NE(run({8, 3}).find("rows from 8 on: sinogram(3, 1, 2) is nan, expected finite values"), std::string::npos)
      << run({8, 3});
}

/// A state without arrays continues the log of a reconstruction from its image.
TEST(ReconInSlabs, AStateWithoutArrays) {
  auto const p = small_phantom();
  auto o = iterations(2);
  auto const first = p.in_memory(o);
  recon_state before{p.scan.sinogram_shape(), p.scan.recon_shape(), o.seed, {}, {}, {}, first.record};
  auto more = iterations(5);
  more.resume = &before;
  EXPECT_THROW(p.in_memory(more), parameter_error);  // no init_recon
  more.init_recon = first.image.all();
  auto const resumed = p.in_memory(more), whole = p.in_memory(iterations(5));
  EXPECT_LT(percent_of_range(resumed.image, whole.image), 1e-4);
  EXPECT_EQ(resumed.record.partition_sequence, whole.record.partition_sequence);
}

/// The numbers that the documentation promises.
TEST(ReconInSlabs, ErrorsOfSweepsAt64) {
  auto const p = noisy_phantom({32, 64, 64});
  auto const whole = p.in_memory(iterations(15), 2), converged = p.in_memory(iterations(100), 2);
  for (index_t const slices : {16, 32}) {
    auto const three = p.in_slabs(iterations(15), {slices, 3}, 2),
               long_run = p.in_slabs(iterations(45), {slices, 3}, 2);
    double const to_whole = percent_of_range(three.image, whole.image),
                 to_converged = percent_of_range(long_run.image, converged.image);
    RecordProperty("3 x 5 to 15, slabs of " + std::to_string(slices), std::to_string(to_whole));
    RecordProperty("3 x 15 to converged, slabs of " + std::to_string(slices), std::to_string(to_converged));
    EXPECT_LT(to_whole, 0.1) << slices;
    EXPECT_LT(to_converged, 0.05) << slices;
  }
}

}  // namespace
}  // namespace in_slabs
