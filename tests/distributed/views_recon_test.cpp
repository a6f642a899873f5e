// Iterative reconstructions in cone beam by ranks that have views each: the same bits for every number of ranks, close
// to those of one memory, and the traffic that docs/distributed.md promises. Run by mpirun with 1 to 4 ranks, and 7.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/distributed/self.hpp"
#include "slices_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;
using distributed::cone_views;

/// A cone-beam scan of some balls, with noise, and weights.
struct cone_problem {
  cone_parameters parameters;
  std::optional<cone_scan> scan;
  floats image, sinogram, weights;

  cone_problem(index_t views, index_t rows, index_t channels, bool helical) {
    auto& p = parameters;
    p.sinogram_shape = {views, rows, channels};
    p.source_detector_dist = 4.0 * static_cast<double>(channels);
    p.source_iso_dist = 2.0 * static_cast<double>(channels);
    p.det_channel_offset = 0.4;
    for (index_t v = 0; v < views; ++v) {
      p.angles.push_back(
          static_cast<float>(2 * std::numbers::pi * static_cast<double>(v) / static_cast<double>(views)));
      if (helical) p.helical_z_shifts.push_back(0.1f * static_cast<float>(v));
    }
    scan.emplace(p);
    auto const shape = scan->recon_shape();
    image = array(shape);
    sinogram = array(p.sinogram_shape);
    for (index_t i = 0, n = 0; i < shape[0]; ++i)
      for (index_t j = 0; j < shape[1]; ++j)
        for (index_t k = 0; k < shape[2]; ++k, ++n) {
          auto const at = [](index_t index, index_t count) {
            return (static_cast<double>(index) - static_cast<double>(count - 1) / 2) / static_cast<double>(count);
          };
          double const y = at(i, shape[0]) - 0.05, x = at(j, shape[1]), z = at(k, shape[2]);
          double const radius = x * x + y * y + z * z;
          if (radius < 0.12) image[static_cast<std::size_t>(n)] = x > y ? 0.03f : 0.02f;
        }
    forward_project(ctx, *scan, reading(image, shape), writing(sinogram, p.sinogram_shape));
    std::uint32_t state = 1;
    for (auto& y : sinogram) {
      state = state * 1664525u + 1013904223u;
      y += 0.002f * (static_cast<float>(state >> 8) / 0x1p24f - 0.5f);
      weights.push_back(std::exp(-y));
    }
  }
};
cone_problem const& circle() {
  static cone_problem const p(37, 13, 24, false);
  return p;
}
cone_problem const& helix() {
  static cone_problem const p(37, 13, 24, true);
  return p;
}
/// So many pixels that a subset is back projected in several pieces.
cone_problem const& wide() {
  static cone_problem const p(16, 5, 76, false);
  return p;
}
/// Fewer views than ranges, and fewer pixel rows than bands.
cone_problem const& small() {
  static cone_problem const p(10, 6, 11, false);
  return p;
}

struct cone_case {
  char const* name;
  cone_problem const& (*problem)();
  run_case run;
  bool damped = true;
};
std::vector<cone_case> cone_cases() {
  return {{"few subsets, damped", circle, {"", false, false, false, 2, {0, 2}}},
          {"many subsets, undamped", circle, {"", false, false, false, 2, {4, 5}}, false},
          {"weights", circle, {"", true, false, false, 2, {2, 4}}},
          {"positivity", circle, {"", true, true, false, 2, {1, 5}}},
          {"proximal map", circle, {"", true, false, true, 2, {2, 5}}},
          {"proximal map, undamped", circle, {"", false, true, true, 1, {4}}, false},
          {"a constant as first image", circle, {"", false, true, false, 1, {4}, run_case::constant}},
          {"a given first image", circle, {"", false, false, false, 1, {4}, run_case::given}},
          {"a helix", helix, {"", true, false, false, 2, {1, 4}}},
          {"several pieces", wide, {"", false, false, false, 2, {0, 3}}},
          {"fewer views than ranges", small, {"", true, true, false, 2, {1, 3}}}};
}
recon_options options_for(cone_case const& c) {
  auto o = options_of(c.run);
  if (!c.damped) o.slice_damping = false;
  return o;
}

struct cone_outcome { floats image; recon_log log; };

/// Views or pixel rows of this rank.
floats cut(floats const& all, std::array<index_t, 3> const& shape, distributed::index_range r) {
  return part(all, shape, 0, r);
}
inline constexpr auto unchanged = [](recon_options&, cone_views const&) {};

template <class Comm, class More = decltype(unchanged)>
cone_outcome run_views(Comm const& ranks, cone_case const& c, int threads = 1, More const& more = unchanged) {
  auto const& d = c.problem();
  cone_views const mine(d.parameters, ranks.rank(), ranks.size());
  context const here{exec::host{threads}, instrument::none{}};
  auto const all = d.scan->sinogram_shape(), all_x = d.scan->recon_shape(), shape = mine.sinogram_shape(),
             recon_shape = mine.recon_shape();
  auto const y = cut(d.sinogram, all, mine.views()), w = cut(d.weights, all, mine.views()),
             x = cut(d.image, all_x, mine.rows());
  std::optional<view<float const, 3>> weights;
  if (c.run.weighted) weights = reading(w, shape);
  auto o = options_for(c);
  if (c.run.first == run_case::given) o.init_recon = reading(x, recon_shape);
  more(o, mine);
  cone_outcome out{floats(element_count(recon_shape), -1.0f), {}};
  auto const to = writing(out.image, recon_shape);
  out.log = c.run.proximal
                ? distributed::prox_map(here, ranks, mine, reading(x, recon_shape), reading(y, shape), weights, to, o)
                : distributed::recon(here, ranks, mine, reading(y, shape), weights, to, o);
  return out;
}
cone_outcome run_whole(cone_case const& c, recon_state const* resume = nullptr) {
  auto const& d = c.problem();
  auto const shape = d.scan->sinogram_shape(), recon_shape = d.scan->recon_shape();
  std::optional<view<float const, 3>> weights;
  if (c.run.weighted) weights = reading(d.weights, shape);
  auto o = options_for(c);
  if (c.run.first == run_case::given) o.init_recon = reading(d.image, recon_shape);
  o.resume = resume;
  cone_outcome out{array(recon_shape), {}};
  auto const to = writing(out.image, recon_shape);
  out.log = c.run.proximal ? prox_map(ctx, *d.scan, reading(d.image, recon_shape), reading(d.sinogram, shape),
                                      weights, to, o)
                           : recon(ctx, *d.scan, reading(d.sinogram, shape), weights, to, o);
  return out;
}
/// Whether a problem has enough views for the ranks.
bool fits(cone_case const& c) {
  auto const what = message_of<parameter_error>([&] {
    cone_views(c.problem().parameters, world().rank(), world().size());
  });
  return what == "nothing";
}
cone_views part_of_rank(cone_case const& c) {
  return cone_views(c.problem().parameters, world().rank(), world().size());
}

TEST(views, reconstructions_have_the_same_bits_for_every_number_of_ranks) {
  for (auto const& c : cone_cases()) {
    if (!fits(c)) continue;
    SCOPED_TRACE(c.name);
    auto const alone = run_views(distributed::self{}, c);
    auto const mine = run_views(world(), c, 2);
    EXPECT_TRUE(same_bits(mine.image, cut(alone.image, c.problem().scan->recon_shape(), part_of_rank(c).rows())));
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
    auto const here = cut(expected.image, c.problem().scan->recon_shape(), part_of_rank(c).rows());
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
  auto const alone = run_views(distributed::self{}, c, 1, save_to(expected));
  distributed::traffic_ledger ledger;
  run_views(distributed::counted(world(), ledger), c, 1, save_to(saved));
  auto const mine = part_of_rank(c);
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
    auto const whole = run_whole(c, &*saved);
    for (std::size_t k = 0; k < whole.image.size(); ++k) {
      peak = std::max(peak, std::abs(alone.image[k]));
      largest = std::max(largest, std::abs(alone.image[k] - whole.image[k]));
    }
    EXPECT_LE(largest, 2e-6f * peak);
  }
  recon_state state;
  auto const resumed = run_views(world(), c, 1, [&](recon_options& o, cone_views const& views) {
    state = distributed::state_of_views(*expected, views, world().rank());
    o.resume = &state;
  });
  EXPECT_TRUE(same_bits(resumed.image, cut(alone.image, c.problem().scan->recon_shape(), mine.rows())));
  expect_same_log(resumed.log, alone.log);
}

/// The formulas of docs/distributed.md.
TEST(views, traffic_of_reconstructions_is_what_the_formulas_say) {
  for (bool const positive : {false, true}) {
    auto const c = cone_cases()[positive ? 3 : 2];
    distributed::traffic_ledger ledger;
    run_views(distributed::counted(world(), ledger), c);
    auto const mine = part_of_rank(c);
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
    auto y = cut(d.sinogram, d.scan->sinogram_shape(), mine.views());
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
