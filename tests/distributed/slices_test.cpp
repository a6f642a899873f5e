// Operations of ranks that have slices each, in parallel beam: the bits of one memory for every number of ranks, and
// the traffic that docs/distributed.md promises. Run by mpirun with 1 to 4 ranks; every rank runs
// all tests, and reports what it finds in its own slices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/distributed/self.hpp"
#include "mbirk/distributed/slab_state.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/util/phantom.hpp"
#include "world.hpp"

namespace {

using namespace mbirk;
using testing_ranks::world;
using distributed::parallel_slab;
using floats = std::vector<float>;

context const ctx{exec::host{1}, instrument::none{}};

/// The last unit of slices is not full, and the last pack of it neither.
parallel_parameters scan_parameters() {
  parallel_parameters p;
  p.sinogram_shape = {24, 116, 20};
  for (int v = 0; v < 24; ++v) p.angles.push_back(static_cast<float>(v * std::numbers::pi / 24));
  p.recon_shape = {20, 20, 116};
  return p;
}

index_t size_of(std::array<index_t, 3> const& shape) { return shape[0] * shape[1] * shape[2]; }
floats array(std::array<index_t, 3> const& shape) { return floats(static_cast<std::size_t>(size_of(shape))); }
view<float const, 3> reading(floats const& v, std::array<index_t, 3> const& shape) { return {v.data(), shape}; }
view<float, 3> writing(floats& v, std::array<index_t, 3> const& shape) { return {v.data(), shape}; }

/// A phantom whose slices all differ, its sinogram with noise, and weights.
struct problem {
  parallel_parameters parameters = scan_parameters();
  parallel_scan scan{parameters};
  floats image = array(scan.recon_shape()), sinogram = array(scan.sinogram_shape()),
         weights = array(scan.sinogram_shape());

  problem() {
    auto const [rows, cols, slices] = scan.recon_shape();
    for (index_t i = 0, n = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j)
        for (index_t k = 0; k < slices; ++k, ++n) {
          double const y = (static_cast<double>(i) - 9.5) / 8, x = (static_cast<double>(j) - 9.5) / 8;
          double const reach = 0.6 + 0.3 * std::sin(0.15 * static_cast<double>(k));
          if (x * x + y * y < reach) image[static_cast<std::size_t>(n)] = 0.02f + 0.01f * static_cast<float>(k % 3);
        }
    forward_project(ctx, scan, reading(image, scan.recon_shape()), writing(sinogram, scan.sinogram_shape()));
    std::uint32_t state = 1;
    for (std::size_t n = 0; n < sinogram.size(); ++n) {
      state = state * 1664525u + 1013904223u;
      sinogram[n] += 0.002f * (static_cast<float>(state >> 8) / 0x1p24f - 0.5f);
      weights[n] = std::exp(-sinogram[n]);
    }
  }
};
problem const& data() {
  static problem const p;
  return p;
}

/// Rows or slices [first, first + count) along axis `axis` of an array.
floats part(floats const& all, std::array<index_t, 3> shape, int axis, distributed::index_range r) {
  floats out;
  auto const n = static_cast<std::size_t>(axis);
  index_t inner = 1;
  for (auto d = n + 1; d < 3; ++d) inner *= shape[d];
  index_t const outer = size_of(shape) / (shape[n] * inner);
  for (index_t o = 0; o < outer; ++o) {
    auto const begin = all.begin() + (o * shape[n] + r.first) * inner;
    out.insert(out.end(), begin, begin + r.count * inner);
  }
  return out;
}

bool same_bits(floats const& a, floats const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
/// The arguments of recon or prox_map, on one rank or on all.
struct run_case {
  char const* name;
  bool weighted, positivity, proximal;
  int iterations;
  std::vector<index_t> sequence;  // subsets: 1 << entry
  enum { direct, constant, given } first = direct;
};
std::vector<run_case> cases() {
  return {{"few subsets, whose projections are kept", false, false, false, 2, {1, 2}},
          {"many subsets, projected twice", false, false, false, 2, {4, 6}},
          {"weights", true, false, false, 2, {2, 6}},
          {"positivity", true, true, false, 2, {1, 6}},
          {"proximal map", true, false, true, 2, {2, 5}},
          {"a constant as first image", false, true, false, 1, {6}, run_case::constant},
          {"a given first image", false, false, false, 1, {6}, run_case::given}};
}
recon_options options_of(run_case const& c) {
  recon_options o{{.max_iterations = c.iterations, .stop_threshold_change_pct = 0, .seed = 3}};
  o.granularity = {1, 2, 4, 8, 16, 32, 64};
  o.partition_sequence = c.sequence;
  o.positivity_flag = c.positivity;
  if (c.first == run_case::constant) o.init_recon = 0.01;
  return o;
}

struct outcome { floats image; recon_log log; };

struct nothing_more {
  void operator()(recon_options&, parallel_slab const&) const {}
};
/// @param more  changes the options of this rank
template <class Comm, class More = nothing_more>
outcome run(Comm const& ranks, run_case const& c, exec::host const& host = exec::host{1}, More const& more = {}) {
  context const here{host, instrument::none{}};
  auto const& d = data();
  parallel_slab const slab(d.parameters, ranks.rank(), ranks.size());
  auto const shape = slab.scan().sinogram_shape(), recon_shape = slab.scan().recon_shape();
  auto const y = part(d.sinogram, d.scan.sinogram_shape(), 1, slab.range()),
             w = part(d.weights, d.scan.sinogram_shape(), 1, slab.range()),
             v = part(d.image, d.scan.recon_shape(), 2, slab.range());
  std::optional<view<float const, 3>> weights;
  if (c.weighted) weights = reading(w, shape);
  outcome out{array(recon_shape), {}};
  auto const x = writing(out.image, recon_shape);
  auto o = options_of(c);
  if (c.first == run_case::given) o.init_recon = reading(v, recon_shape);
  more(o, slab);
  out.log = c.proximal
                ? distributed::prox_map(here, ranks, slab, reading(v, recon_shape), reading(y, shape), weights, x, o)
                : distributed::recon(here, ranks, slab, reading(y, shape), weights, x, o);
  return out;
}
template <class More = nothing_more> outcome run_in_one_memory(run_case const& c, More const& more = {}) {
  auto const& d = data();
  auto const shape = d.scan.sinogram_shape(), recon_shape = d.scan.recon_shape();
  std::optional<view<float const, 3>> weights;
  if (c.weighted) weights = reading(d.weights, shape);
  outcome out{array(recon_shape), {}};
  auto const x = writing(out.image, recon_shape);
  auto o = options_of(c);
  if (c.first == run_case::given) o.init_recon = reading(d.image, recon_shape);
  more(o, parallel_slab(d.parameters, 0, 1));
  out.log = c.proximal
                ? prox_map(ctx, d.scan, reading(d.image, recon_shape), reading(d.sinogram, shape), weights, x, o)
                : recon(ctx, d.scan, reading(d.sinogram, shape), weights, x, o);
  return out;
}

void expect_same_log(recon_log const& found, recon_log const& expected) {
  EXPECT_EQ(found.alpha_values, expected.alpha_values);
  EXPECT_EQ(found.fm_rmse, expected.fm_rmse);
  EXPECT_EQ(found.stop_threshold_change_pct, expected.stop_threshold_change_pct);
  EXPECT_EQ(found.delta_norm_per_slice, expected.delta_norm_per_slice);
  EXPECT_EQ(found.sigma_y, expected.sigma_y);
  EXPECT_EQ(found.sigma_x, expected.sigma_x);
  EXPECT_EQ(found.sigma_prox, expected.sigma_prox);
}

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
  ASSERT_EQ(saved.has_value(), world().rank() == 0) << "rank 0 alone gets the state";
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
  expect("units", {1, 8});
}

TEST(slices, the_proximal_map_exchanges_no_slices) {
  distributed::traffic_ledger ledger;
  run(distributed::counted(world(), ledger), cases()[4]);
  EXPECT_FALSE(ledger.contains("boundaries of a subset"));
  EXPECT_FALSE(ledger.contains("boundary slices"));
}

/// What this rank's call throws; empty if nothing.
template <class Error, class F> std::string message_of(F const& f) {
  try {
    f();
    return "nothing";
  } catch (Error const& e) {
    return e.what();
  }
}

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
  EXPECT_NE(nan.find("sinogram(0, 0, 5) is nan, expected finite values"), std::string::npos) << nan;
  EXPECT_NE(nan.find("rows from "), std::string::npos) << nan;
  auto const alpha = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) {
      if (world().rank() == last) o.max_alpha = -1;
    });
  });
  EXPECT_NE(alpha.find("max_alpha is -1, expected a positive number"), std::string::npos) << alpha;
  auto const loss = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) { o.compute_prior_loss = true; });
  });
  EXPECT_NE(loss.find("compute_prior_loss is set, which is not distributed"), std::string::npos) << loss;
}

TEST(slices, ranks_must_agree) {
  if (world().size() == 1) GTEST_SKIP() << "a rank alone agrees";
  auto const seed = message_of<parameter_error>([&] {
    run_changed([&](floats&, recon_options& o) { o.seed += world().rank() == 1; });
  });
  EXPECT_EQ(seed, "recon: ranks differ in seed, expected the same on all");
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

TEST(slices, are_shared_out_in_whole_units) {
  for (index_t const slices : {1, 31, 32, 33, 100, 128, 1000})
    for (int ranks = 1; ranks <= ceil_div(slices, index_t{32}); ++ranks) {
      index_t next = 0, least = slices, most = 0;
      for (int r = 0; r < ranks; ++r) {
        auto const range = distributed::slices_of(slices, r, ranks);
        EXPECT_EQ(range.first, next);
        EXPECT_EQ(range.first % 32, 0);
        EXPECT_GT(range.count, 0);
        next += range.count;
        least = std::min(least, ceil_div(range.count, index_t{32}));
        most = std::max(most, ceil_div(range.count, index_t{32}));
      }
      EXPECT_EQ(next, slices);
      EXPECT_LE(most, least + 1);
    }
  EXPECT_EQ(message_of<parameter_error>([] { distributed::slices_of(100, 0, 5); }),
            "5 ranks for 100 slices, expected at most 4: one for each 32 slices");
}

}  // namespace
