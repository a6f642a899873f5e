// recon and prox_map: guarantees that hold for any data.
#include <algorithm>

#include "recon/recon_oracle.hpp"
#include "recon/recon_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// One of each geometry, with and without weights, and with many subsets.
std::vector<vcd_problem> both_geometries() {
  std::vector<vcd_problem> problems;
  for (any_parameters const& p : {any_parameters(odd_parallel()), any_parameters(helical_cone())})
    for (bool const weighted : {false, true}) {
      problems.push_back(make_problem(p, 31));
      if (weighted) problems.back().weights = patchy_weights(problems.back().scan, 32);
    }
  for (auto const kind : {small_subset_case::parallel, small_subset_case::mirrored})
    problems.push_back(small_subset_problem(33, kind));
  return problems;
}

TEST(Recon, AnyNumberOfThreadsGivesTheSameBits) {
  any_parameters const parallel = parallel_parameters{.sinogram_shape = {13, 9, 33}, .angles = some_angles(13)};
  any_parameters const cone = cone_parameters{
      .sinogram_shape = {13, 11, 33}, .angles = some_angles(13), .source_detector_dist = 132, .source_iso_dist = 66};
  for (auto const& parameters : {parallel, cone})
    for (bool const prox : {false, true}) {
      auto p = make_problem(parameters, 41);
      p.weights = patchy_weights(p.scan, 42);
      if (prox) p.prox_input = random_array<3>(recon_shape(p.scan), 43);
      p.options.max_iterations = 2, p.options.compute_prior_loss = true, p.options.positivity_flag = prox;
      auto const one = solve(p, 1);
      for (int const threads : {2, 3, 7}) {
        auto const several = solve(p, threads);
        EXPECT_TRUE(same_bits(one.image.data, several.image.data)) << threads;
        expect_same_record(one.record, several.record);
      }
      p.options.sigma_y.reset(), p.options.sigma_x.reset(),
          p.options.sigma_prox.reset();  // all automatic, from the direct image
      array<3> a(recon_shape(p.scan)), b(recon_shape(p.scan));
      auto const first = run_recon(p.scan, p.sinogram.all(), p.weights_view(), a.all(), p.options, 1);
      auto const second = run_recon(p.scan, p.sinogram.all(), p.weights_view(), b.all(), p.options, 3);
      EXPECT_TRUE(same_bits(a.data, b.data));
      expect_same_record(first, second);
    }
  for (auto const kind : all_small_subset_cases) {
    auto const p = small_subset_problem(44, kind);
    auto const one = solve(p, 1);
    for (int const threads : {2, 3, 11}) {
      auto const several = solve(p, threads);
      EXPECT_TRUE(same_bits(one.image.data, several.image.data)) << threads << " by views, " << name_of(kind);
      expect_same_record(one.record, several.record);
    }
  }
}

TEST(Recon, EveryIterationLowersTheObjective) {
  for (auto p : both_geometries())
    for (bool const prox : {false, true}) {
      if (prox) p.prox_input = random_array<3>(recon_shape(p.scan), 44);
      system_matrix const a(p.scan);
      p.options.max_iterations = 8;
      auto no_steps = p.options;
      no_steps.max_iterations = 0;
      auto const objective = [&](std::vector<float> const& image) {
        return vcd_oracle(p.scan, a, p.sinogram.data, p.weights ? p.weights->data : std::vector<float>(), image,
                          no_steps, p.prox_input ? p.prox_input->data : std::vector<float>())
            .objective();
      };
      std::vector<double> values{objective(p.start.data)};
      p.options.checkpoint = [&](recon_state const& state) { values.push_back(objective(state.recon)); };
      solve(p);
      ASSERT_EQ(values.size(), 9u);
      for (std::size_t k = 1; k < values.size(); ++k) EXPECT_LT(values[k], values[k - 1]) << "iteration " << k;
      EXPECT_LT(values.back(), 0.5 * values.front());
    }
}

/// A step of -x/(alpha + 2^-23) ends at x 2^-23/alpha or, rounded, up to two roundings below 0. Nothing else keeps x
/// from being negative.
TEST(Recon, PositivityKeepsTheImageFromBeingNegative) {
  for (auto p : both_geometries()) {
    p.options.max_iterations = 5;
    for (std::size_t k = 0; k < p.start.data.size(); k += 2) p.start.data[k] = 0;
    for (std::size_t n = 0; n < p.sinogram.data.size(); n += 5) p.sinogram.data[n] = 0;
    auto const free = solve(p).image;
    EXPECT_LT(*std::min_element(free.data.begin(), free.data.end()), -1e-3f) << "the problem has nothing to constrain";
    p.options.positivity_flag = true;
    p.options.checkpoint = [&](recon_state const& state) {
      float const least = *std::min_element(state.recon.begin(), state.recon.end()),
                  most = *std::max_element(state.recon.begin(), state.recon.end());
      EXPECT_GE(least, -0x1p-22f * most);
    };
    solve(p);
  }
}

TEST(Recon, VoxelsOutsideTheMaskStay) {
  for (auto const& p : both_geometries()) {
    auto const image = solve(p).image;
    auto const& mask = mask_of(p.scan);
    auto const slices = static_cast<std::size_t>(slices_of(p.scan));
    std::size_t inside = 0, moved = 0;
    for (std::size_t k = 0; k < image.data.size(); ++k) {
      if (mask[k / slices]) ++inside, moved += image.data[k] != p.start.data[k];
      else EXPECT_EQ(image.data[k], p.start.data[k]) << k;
    }
    EXPECT_LT(inside, image.data.size());
    EXPECT_GT(moved, inside / 2);
  }
}

TEST(Recon, AConstantIsTheArrayOfThatConstantEverywhere) {
  for (auto p : both_geometries())
    for (double const constant : {0.0, 0.3}) {
      p.start = array<3>(recon_shape(p.scan), static_cast<float>(constant));
      auto const as_array = solve(p);
      auto o = p.options;
      o.init_recon = constant;
      auto const as_number = solve(p, o);
      EXPECT_TRUE(same_bits(as_array.image.data, as_number.image.data));
      expect_same_record(as_array.record, as_number.record);
      o.max_iterations = 0;
      EXPECT_TRUE(same_bits(solve(p, o).image.data, p.start.data));
    }
}

TEST(Recon, TheInitialImageMayBeTheResultsArrayAndSinogramsMayHaveGaps) {
  for (auto const& p : both_geometries()) {
    auto const expected = solve(p);
    auto image = p.start;
    auto o = p.options;
    o.init_recon = view<float const, 3>(image.all());
    spread y(p.sinogram), w(p.weights ? *p.weights : p.sinogram);
    auto const record =
        run_recon(p.scan, view<float const, 3>(y.all()),
                  p.weights ? std::optional<view<float const, 3>>(w.all()) : std::nullopt, image.all(), o);
    EXPECT_TRUE(same_bits(image.data, expected.image.data));
    expect_same_record(record, expected.record);
  }
}

TEST(Recon, NoIterationsReturnTheInitialImage) {
  auto p = both_geometries()[1];
  for (int const first : {0, 3, 7}) {
    p.options.max_iterations = 3 * (first > 0), p.options.first_iteration = first;
    auto const found = solve(p);
    EXPECT_TRUE(same_bits(found.image.data, p.start.data));
    EXPECT_EQ(found.record.num_iterations, 0);
    EXPECT_TRUE(found.record.partition_sequence.empty());
  }
}

TEST(Recon, StopsBelowTheThreshold) {
  for (auto p : both_geometries()) {
    p.options.max_iterations = 9;
    auto const all = solve(p).record.stop_threshold_change_pct;
    ASSERT_EQ(all.size(), 9u);
    p.options.stop_threshold_change_pct = 1.001 * all[4];
    auto const first = static_cast<std::size_t>(
        std::find_if(all.begin(), all.end(), [&](double c) { return c < p.options.stop_threshold_change_pct; }) -
        all.begin());
    auto const record = solve(p).record;
    EXPECT_EQ(record.stop_threshold_change_pct,
              (std::vector<double>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first) + 1)));
    EXPECT_FALSE(record.cancelled);
  }
}

TEST(Recon, TheRecordSaysWhatWasDone) {
  auto p = both_geometries()[2];
  auto const S = static_cast<std::size_t>(slices_of(p.scan));
  p.options.max_iterations = 5, p.options.first_iteration = 1, p.options.partition_sequence = {2, 1, 3};
  auto const r = solve(p).record;
  EXPECT_EQ(r.num_iterations, 4);
  EXPECT_EQ(r.granularity, p.options.granularity);
  EXPECT_EQ(r.partition_sequence, (std::vector<index_t>{1, 3, 3, 3})) << "the last entry repeats";
  EXPECT_EQ(r.sigma_y, 0.3);
  EXPECT_EQ(r.sigma_x, 0.2);
  EXPECT_EQ(r.prior_loss, std::vector<double>(4, 0.0));
  for (auto const* list : {&r.fm_rmse, &r.alpha_values, &r.stop_threshold_change_pct}) {
    ASSERT_EQ(list->size(), 4u);
    for (auto const x : *list) EXPECT_GT(x, 0);
  }
  ASSERT_EQ(r.delta_norm_per_slice.size(), 4u);
  for (auto const& norms : r.delta_norm_per_slice) EXPECT_EQ(norms.size(), S);
  EXPECT_TRUE(r.warnings.empty());
  EXPECT_FALSE(r.cancelled);
}

TEST(Recon, SigmasThatAreGivenAreUsedAndTheOthersAreAutomatic) {
  auto p = both_geometries()[1];
  p.options.max_iterations = 1;
  p.options.sigma_y.reset(), p.options.sigma_x.reset(), p.options.sigma_prox.reset();
  auto const automatic = solve(p);
  EXPECT_NE(automatic.record.sigma_y, 0.3);
  p.options.sigma_x = 0.2;
  auto const mixed = solve(p);
  EXPECT_EQ(mixed.record.sigma_x, 0.2);
  EXPECT_EQ(mixed.record.sigma_y, automatic.record.sigma_y);
  p.options.sigma_x = automatic.record.sigma_x, p.options.sigma_y = automatic.record.sigma_y;
  EXPECT_TRUE(same_bits(solve(p).image.data, automatic.image.data));
  p.options.sigma_y.reset(), p.options.sigma_x.reset(), p.options.sharpness = 2, p.options.snr_db = 40;
  auto const sharper = solve(p).record;
  EXPECT_NEAR(sharper.sigma_x, 2 * automatic.record.sigma_x, 1e-6 * sharper.sigma_x);
  EXPECT_NEAR(sharper.sigma_y, automatic.record.sigma_y / std::sqrt(10.0), 1e-6 * sharper.sigma_y);
}

TEST(Recon, CallbacksSeeEveryIterationAndCanStop) {
  auto p = both_geometries()[0];
  p.options.max_iterations = 5, p.options.compute_prior_loss = true, p.options.checkpoint_every = 2;
  auto const expected = solve(p).record;
  std::vector<iteration_report> reports;
  std::vector<int> saved;
  p.options.progress = [&](iteration_report const& r) { return reports.push_back(r), true; };
  p.options.checkpoint = [&](recon_state const& s) { saved.push_back(s.record.num_iterations); };
  expect_same_record(solve(p).record, expected);
  ASSERT_EQ(reports.size(), 5u);
  EXPECT_EQ(saved, (std::vector<int>{2, 4}));
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(reports[k].iteration, static_cast<int>(k) + 1);
    EXPECT_EQ(reports[k].iterations, 5);
    EXPECT_EQ(100 * reports[k].change, expected.stop_threshold_change_pct[k]);
    EXPECT_EQ(reports[k].alpha, expected.alpha_values[k]);
    EXPECT_EQ(reports[k].fm_rmse, expected.fm_rmse[k]);
    EXPECT_EQ(reports[k].prior_loss, expected.prior_loss[k]);
    EXPECT_GT(reports[k].prior_loss, 0);
  }
  saved.clear();
  p.options.progress = [](iteration_report const& r) { return r.iteration < 3; };
  auto const stopped = solve(p);
  EXPECT_EQ(stopped.record.num_iterations, 3);
  EXPECT_TRUE(stopped.record.cancelled);
  EXPECT_EQ(saved, (std::vector<int>{2, 3})) << "a run that is stopped can be resumed";
  p.options.progress = {}, p.options.max_iterations = 3;
  EXPECT_TRUE(same_bits(stopped.image.data, solve(p).image.data));
}

/// A run stopped after two iterations and resumed from its state equals an uninterrupted run to the bit. The sinogram
/// is not needed any more.
TEST(Recon, ResumesToTheSameBits) {
  for (auto p : both_geometries())
    for (bool const prox : {false, true}) {
      if (prox) p.prox_input = random_array<3>(recon_shape(p.scan), 45);
      p.options.max_iterations = 6, p.options.compute_prior_loss = true;
      p.options.sigma_y.reset(), p.options.sigma_x.reset(), p.options.sigma_prox.reset();
      auto const expected = solve(p);
      auto o = p.options;
      recon_state kept;
      o.progress = [](iteration_report const& r) { return r.iteration < 2; };
      o.checkpoint = [&](recon_state const& s) { kept = s; };
      EXPECT_EQ(solve(p, o).record.num_iterations, 2);
      EXPECT_TRUE(kept.record.cancelled);
      o = p.options;
      o.resume = &kept;
      auto q = p;
      std::fill(q.sinogram.data.begin(), q.sinogram.data.end(), NAN);
      auto const resumed = solve(q, o);
      EXPECT_TRUE(same_bits(resumed.image.data, expected.image.data));
      expect_same_record(resumed.record, expected.record);
    }
}
/// The state after the last iteration that a run makes: nothing is left to do.
TEST(Recon, ResumingAFinishedRunReturnsItsResult) {
  for (auto p : both_geometries())
    for (bool const by_threshold : {false, true}) {
      p.options.max_iterations = 6;
      p.options.stop_threshold_change_pct = by_threshold ? 1.001 * solve(p).record.stop_threshold_change_pct[3] : 0;
      auto o = p.options;
      recon_state kept;
      o.checkpoint = [&](recon_state const& state) { kept = state; };
      auto const expected = solve(p, o);
      o = p.options;
      o.resume = &kept;
      auto const resumed = solve(p, o);
      EXPECT_TRUE(same_bits(resumed.image.data, expected.image.data)) << by_threshold;
      expect_same_record(resumed.record, expected.record);
    }
}

}  // namespace
