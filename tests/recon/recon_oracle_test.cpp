// recon and prox_map against an oracle in double, MBIRJAX's arrays and its printed numbers.
#include <numbers>

#include "projector/golden.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/damping.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/parameters.hpp"
#include "recon/recon_oracle.hpp"
#include "recon/recon_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

parallel_parameters tall_parallel() {  // more than one pack of slices, and more than one chunk on most machines
  return {.sinogram_shape = {5, 35, 8}, .angles = some_angles(5), .delta_voxel = 1, .recon_shape = shape_3{7, 8, 35}};
}
parallel_parameters flat_parallel() {
  return {.sinogram_shape = {6, 4, 11},
          .angles = some_angles(6),
          .delta_det_channel = 0.9,
          .delta_voxel = 0.9,
          .voxel_row_aspect = 1.5,
          .recon_shape = shape_3{7, 11, 4},
          .use_ror_mask = false};
}
parallel_parameters wide_parallel() {  // footprints of more than two channels
  return {.sinogram_shape = {6, 4, 21}, .angles = some_angles(6), .delta_voxel = 2.6, .recon_shape = shape_3{7, 8, 4}};
}
cone_parameters tall_cone() {
  return {.sinogram_shape = {4, 21, 8},
          .angles = some_angles(4),
          .source_detector_dist = 48,
          .source_iso_dist = 24,
          .delta_voxel = 0.5,
          .recon_shape = shape_3{6, 7, 19}};
}

// The oracle.

struct oracle_case {
  std::string name;
  vcd_problem problem;
};
void PrintTo(oracle_case const& c, std::ostream* out) { *out << c.name; }

std::vector<oracle_case> oracle_cases() {
  std::vector<oracle_case> cases;
  auto const add = [&](char const* name, any_parameters const& p, auto const& change) {
    auto problem = make_problem(p, static_cast<unsigned>(cases.size()));
    change(problem);
    cases.push_back({name, std::move(problem)});
  };
  auto const weigh = [](vcd_problem& p) { p.weights = patchy_weights(p.scan, 77); };
  auto const constrain = [](vcd_problem& p) { p.options.positivity_flag = true; };
  auto const prox = [](vcd_problem& p) { p.prox_input = random_array<3>(recon_shape(p.scan), 78); };
  auto const nothing = [](vcd_problem&) {};
  add("parallel", odd_parallel(), nothing);
  add("parallel_weighted", odd_parallel(), weigh);
  add("parallel_tall_weighted", tall_parallel(), weigh);
  add("parallel_positive", odd_parallel(), [&](auto& p) {
    constrain(p), weigh(p);
    for (std::size_t k = 0; k < p.start.data.size(); k += 3) p.start.data[k] = 0;
  });
  add("parallel_wide_pixels", wide_parallel(), weigh);
  add("parallel_without_mask", flat_parallel(), [](auto& p) { p.options.qggmrf_nbr_wts = {1, 2, 0.5}; });
  add("parallel_other_prior", odd_parallel(), [](auto& p) { p.options.p = 1.9, p.options.q = 1.1, p.options.T = 0.5; });
  add("parallel_small_steps", odd_parallel(), [](auto& p) { p.options.max_alpha = 0.5; });
  add("parallel_repeated_pixels", odd_parallel(), [](auto& p) {
    p.options.granularity = {12, 12, 12}, p.options.partition_sequence = {0, 1, 2}, p.options.seed = 1;
  });
  add("parallel_later_iterations", odd_parallel(),
      [](auto& p) { p.options.first_iteration = 2, p.options.max_iterations = 5; });
  add("parallel_prox", odd_parallel(), prox);
  add("parallel_prox_weighted_positive", odd_parallel(), [&](auto& p) { prox(p), weigh(p), constrain(p); });
  add("cone", odd_cone(), nothing);
  add("cone_weighted", odd_cone(), weigh);
  add("cone_tall_weighted", tall_cone(), weigh);
  add("cone_undamped", odd_cone(), [](auto& p) { p.options.slice_damping = false; });
  add("cone_positive", odd_cone(), [&](auto& p) {
    constrain(p), weigh(p);
    for (std::size_t k = 0; k < p.start.data.size(); k += 3) p.start.data[k] = 0;
  });
  add("cone_other_prior", odd_cone(), [](auto& p) {
    p.options.p = 1.9, p.options.q = 1.1, p.options.T = 0.5, p.options.qggmrf_nbr_wts = {1, 2, 0.5};
  });
  add("cone_small_steps", odd_cone(), [](auto& p) { p.options.max_alpha = 0.5; });
  add("cone_repeated_pixels", odd_cone(), [](auto& p) {
    p.options.granularity = {12, 12, 12}, p.options.partition_sequence = {0, 1, 2}, p.options.seed = 17;
  });
  add("cone_helical", helical_cone(), nothing);
  add("cone_helical_curved_weighted", helical_cone(), [&](auto& p) {
    auto q = helical_cone();
    q.use_curved_detector = true;
    p.scan = make_scan(q);
    weigh(p);
  });
  for (auto const kind : all_small_subset_cases)
    for (bool const weighted : {false, true}) {
      auto problem = small_subset_problem(static_cast<unsigned>(cases.size()), kind);
      if (weighted) weigh(problem), constrain(problem);
      cases.push_back(
          {std::string("small_subsets_") + name_of(kind) + (weighted ? "_weighted_positive" : ""), std::move(problem)});
    }
  add("cone_prox_weighted", odd_cone(), [&](auto& p) { prox(p), weigh(p); });
  add("cone_prox_positive", helical_cone(), [&](auto& p) { prox(p), constrain(p); });
  return cases;
}

struct ReconOracle : ::testing::TestWithParam<oracle_case> {};

/// Float32 keeps the image, the error, the Hessian and the direction to 2^-24. A step of a voxel adds views x taps
/// products, here up to 7 x 3 x 3 or 16 x 2 x 3 or 33 x 3, with independent roundings, so its error is 10 of them, and
/// later steps inherit it: 30 after three iterations, 1.8e-6 of the largest voxel. The numbers of the record are sums
/// over all voxels. The error sinogram is the small remainder of y - A x, so its scale is that of w y.
///
/// On a device, a product of cone beam also contains a secant, an approximate root, whose error is two roundings: three
/// in all, 5.4e-6. With roots that are off by as much as that, the emulated device is off by 2.2e-6 in the worst case,
/// and by 1.0e-6 if they are rounded.
TEST_P(ReconOracle, EveryIteration) {
  auto const& p = GetParam().problem;
  double const allowed = 2e-6 * (std::holds_alternative<parallel_scan>(p.scan) ? 1 : 1 + error_of_roots());
  system_matrix const a(p.scan);
  vcd_oracle const expected(p.scan, a, p.sinogram.data, p.weights ? p.weights->data : std::vector<float>(),
                            p.start.data, p.options, p.prox_input ? p.prox_input->data : std::vector<float>());
  auto o = p.options;
  std::vector<recon_state> states;
  o.checkpoint = [&](recon_state const& state) { states.push_back(state); };
  o.compute_prior_loss = true;
  auto const found = solve(p, o);
  ASSERT_EQ(expected.iterations.size(), 3u);
  ASSERT_EQ(states.size(), 3u);
  ASSERT_EQ(found.record.num_iterations, 3);
  double const voxels = static_cast<double>(p.start.data.size());
  for (std::size_t k = 0; k < 3; ++k) {
    SCOPED_TRACE("iteration " + std::to_string(k + 1));
    auto const& it = expected.iterations[k];
    EXPECT_LE(relative_error(states[k].recon, it.image), allowed);
    EXPECT_NEAR(found.record.alpha_values[k] / it.alpha, 1, allowed);
    EXPECT_NEAR(found.record.stop_threshold_change_pct[k] / (100 * it.change), 1, allowed);
    EXPECT_NEAR(found.record.fm_rmse[k] / it.rmse, 1, allowed);
    EXPECT_LE(relative_error(found.record.delta_norm_per_slice[k], it.slice_norms), allowed);
    if (!p.prox_input) {
      EXPECT_NEAR(found.record.prior_loss[k] / (expected.prior_loss(it.image) / voxels), 1, allowed);
    }
  }
  EXPECT_TRUE(same_bits(found.image.data, states[2].recon));
  EXPECT_LE(relative_error(states[2].hessian, expected.hessian), allowed);
  double worst = 0, largest = 0;
  for (std::size_t n = 0; n < expected.e.size(); ++n) {
    double const w = p.weights ? static_cast<double>(p.weights->data[n]) : 1;
    worst = std::max(worst, std::abs(static_cast<double>(states[2].weighted_error[n]) - w * expected.e[n]));
    largest = std::max(largest, w * std::abs(static_cast<double>(p.sinogram.data[n])));
  }
  EXPECT_LE(worst / largest, allowed);
  auto const is_case = [](char const* end) { return GetParam().name.ends_with(end); };
  EXPECT_EQ(expected.repeats_within_a_subset || !is_case("repeated_pixels"), true) << "the case misses its point";
  EXPECT_EQ(found.record.alpha_values[2] == p.options.max_alpha || !is_case("small_steps"), true)
      << "the case misses its point";
}
INSTANTIATE_TEST_SUITE_P(Recon, ReconOracle, ::testing::ValuesIn(oracle_cases()),
                         [](auto const& one) { return one.param.name; });

// MBIRJAX 0.7.3.

/// An entry of a case: its operation, run with these additional options.
struct golden_entry {
  golden_case const& file;
  nlohmann::json const& op;
  any_scan scan = file.scan();
  array<3> sinogram = file.floats(op.at("inputs").at("sinogram"));
  std::optional<array<3>> weights =
      op.at("inputs").contains("weights") ? std::optional(file.floats(op.at("inputs").at("weights"))) : std::nullopt;

  std::vector<float> run(recon_options o) const {
    auto const own = std::visit([]<class Geometry>(mbirk::scan<Geometry> const&) {
      return parameter_values<Geometry>::default_options();
    }, scan);
    o.qggmrf_nbr_wts = own.qggmrf_nbr_wts, o.max_alpha = own.max_alpha;
    o.max_iterations = op.at("args").at("max_iterations"), o.seed = op.at("args").at("seed").get<std::uint32_t>(),
    o.stop_threshold_change_pct = 0;
    array<3> x(recon_shape(scan), NAN);
    auto const w = weights ? std::optional<view<float const, 3>>(weights->all()) : std::nullopt;
    if (op.at("op") == "recon") run_recon(scan, sinogram.all(), w, x.all(), o);
    else run_prox_map(scan, file.floats(op.at("inputs").at("prox_input")).all(), sinogram.all(), w, x.all(), o);
    return x.data;
  }
  std::vector<float> expected() const { return file.floats(op.at("output")).data; }
};

struct ReconGolden : ::testing::TestWithParam<char const*> {
  golden_case const file{GetParam()};
  template <class F> void each_entry(F const& f) const {
    int entries = 0;
    for (auto const& op : file.file.at("ops"))
      if (op.at("op") == "recon" || op.at("op") == "prox_map") {
        SCOPED_TRACE(op.at("output").template get<std::string>());
        f(golden_entry{file, op}), ++entries;
      }
    EXPECT_EQ(entries, 4);
  }
};
INSTANTIATE_TEST_SUITE_P(Recon, ReconGolden, ::testing::ValuesIn(golden_names),
                         [](auto const& one) { return one.param; });

/// The files give the tolerance between two float32 programs. Without MBIRJAX's rounding its scale of the initial image
/// cannot be matched (see below).
TEST_P(ReconGolden, ReconAndProxMap) {
  each_entry([](golden_entry const& e) {
    recon_options o;
    o.mbirjax_rounding = true;
    EXPECT_LE(relative_error(e.run(o), e.expected()), e.op.at("rtol").get<double>());
    EXPECT_LE(relative_error(e.run({}), e.expected()), 5e-4);  // 1.5e-5 times 20, plus other differences
  });
}

/// Starts from MBIRJAX's own initial image. Its direct image is scaled by a quotient of two sums that a processor adds
/// up one by one in float32: they are off by up to 1.5e-5 here, and the first step of a reconstruction, which has to
/// undo that in all pixels, moves 20 times as much. With equal sums the results are 2e-6 apart; fusing by the compiler
/// changes a sum by 2e-7 and the image by 4e-6.
TEST_P(ReconGolden, FromTheSameInitialImage) {
  auto const direct = file.floats("out_direct_recon.npy");
  each_entry([&](golden_entry const& e) {
    auto const pixels = masked_in(e.scan);
    auto const z = std::visit(
        [&](auto const& scan) { return define_forward(scan, cylinders_of(direct, pixels).data, pixels); }, e.scan);
    float with_data = 0, with_itself = 0;
    for (std::size_t n = 0; n < z.size(); ++n) {
      float const wz = (e.weights ? e.weights->data[n] : 1.0f) * static_cast<float>(z[n]);
      with_data += wz * e.sinogram.data[n], with_itself += wz * static_cast<float>(z[n]);
    }
    auto image = direct;
    for (auto& value : image.data) value *= with_data / with_itself;
    recon_options o;
    o.init_recon = view<float const, 3>(image.all());
    EXPECT_LE(relative_error(e.run(o), e.expected()), 1e-5);
  });
}

/// MBIRJAX's results for known_sinogram(): row 3 of slice 0, and scalars.
struct known_values {
  any_scan scan;
  double sigma_y, sigma_x;
  std::vector<double> direct, one, three, prox;
  double change, rmse, sum, prox_alpha;
  std::vector<double> alphas;
};
std::vector<known_values> all_known_values() {
  return {{known_parallel(), 0.15371744, 0.26184896,
           {0.850782, 0.9710366, 1.2337654, 1.4653629, 0.920461, 0.6412202, 0.5384237},
           {2.0212831, 0.8116156, 1.1443216, 1.3184603, 0.9297272, 0.4578196, 0.9442819},
           {2.4312658, 0.3102637, 1.1108857, 1.3859688, 0.6130334, -0.0870916, 1.3615346},
           {1.9256734, 0.9364171, 1.1070845, 1.2876184, 1.0056378, 0.4617029, 0.9152824},
           0.2865234, 4.2711310, 64.418601, 0.792834, {0.88503182, 0.81091106, 0.89421368}},
          {known_cone(), 0.15371744, 0.52369791,
           {1.0117679, 1.3488292, 1.8723363, 2.9371982, 1.9415183, 1.4290615, 1.0898118},
           {2.5958123, 1.0580413, 2.4301956, 2.5376472, 2.7598205, 1.5901833, 2.421489},
           {3.1668875, 0.5849807, 3.215085, 3.1651056, 2.9045203, 1.0755961, 3.6559508},
           {2.5295208, 1.0866299, 2.37644, 2.5086124, 2.7109146, 1.5863538, 2.3836827},
           0.2754277, 3.3148446, 124.316123, 0.8565944, {0.86503237, 1.1711034, 1.1497813}}};
}
recon_options known_options(int iterations) {
  recon_options o;
  o.max_iterations = iterations, o.stop_threshold_change_pct = 0, o.granularity = {1, 2, 4},
  o.partition_sequence = {1, 2};
  return o;
}
double largest_of(array<3> const& x) { return *std::max_element(x.data.begin(), x.data.end()); }
/// Tolerance 5e-6 of the largest voxel: MBIRJAX is up to 3e-6 away from the oracle above, because its sums are float32
/// too. Step lengths may differ by twice that.
void expect_row(array<3> const& x, std::vector<double> const& expected) {
  for (std::size_t j = 0; j < 7; ++j)
    EXPECT_NEAR(static_cast<double>(x.all()(3, j, 0)), expected[j], 5e-6 * largest_of(x)) << "column " << j;
}

TEST(KnownRecon, ImagesAndRecords) {
  auto const y = known_sinogram();
  array<3> const v({7, 7, 2}, 0.5f);
  for (auto const& k : all_known_values()) {
    SCOPED_TRACE(std::holds_alternative<cone_scan>(k.scan) ? "cone" : "parallel");
    array<3> x({7, 7, 2});
    auto const one = run_recon(k.scan, y.all(), {}, x.all(), known_options(1));
    expect_row(x, k.one);
    double sum = 0;
    for (auto const value : x.data) sum += static_cast<double>(value);
    EXPECT_NEAR(sum, k.sum, 1e-6 * k.sum);
    ASSERT_EQ(one.num_iterations, 1);
    EXPECT_NEAR(one.sigma_y, k.sigma_y, 5e-7 * k.sigma_y);
    EXPECT_NEAR(one.sigma_x, k.sigma_x, 5e-7 * k.sigma_x);
    EXPECT_EQ(one.sigma_prox, one.sigma_x);
    EXPECT_NEAR(one.alpha_values[0], k.alphas[0], 1e-5);
    EXPECT_NEAR(one.stop_threshold_change_pct[0], 100 * k.change, 1e-3 * k.change);
    EXPECT_NEAR(one.fm_rmse[0], k.rmse, 1e-5 * k.rmse);

    auto const three = run_recon(k.scan, y.all(), {}, x.all(), known_options(3));
    expect_row(x, k.three);
    ASSERT_EQ(three.num_iterations, 3);
    for (std::size_t n = 0; n < 3; ++n) EXPECT_NEAR(three.alpha_values[n], k.alphas[n], 1e-5);
    EXPECT_EQ(three.partition_sequence, (std::vector<index_t>{1, 2, 2}));

    auto const prox = run_prox_map(k.scan, v.all(), y.all(), {}, x.all(), known_options(1));
    expect_row(x, k.prox);
    EXPECT_NEAR(prox.alpha_values.at(0), k.prox_alpha, 1e-5);
    EXPECT_EQ(prox.sigma_prox, one.sigma_prox);
  }
}

/// No iteration: the direct image, scaled so that its projection is nearest to the sinogram in the weighted sense.
TEST(KnownRecon, TheInitialImageIsTheScaledDirectImage) {
  auto const y = known_sinogram();
  for (auto const& k : all_known_values()) {
    auto const& s = k.scan;
    array<3> direct({7, 7, 2}), x({7, 7, 2}, NAN);
    visit_direct([&](auto const& scan) { direct_recon(on_host(), scan, y.all(), direct.all()); }, s);
    expect_row(direct, k.direct);
    auto const pixels = masked_in(s);
    auto const z = std::visit(
        [&](auto const& scan) { return define_forward(scan, cylinders_of(direct, pixels).data, pixels); }, s);
    for (bool const weighted : {false, true}) {
      auto const w = weighted ? patchy_weights(s, 3) : array<3>({6, 2, 7}, 1.0f);
      double with_data = 0, with_itself = 0;
      for (std::size_t n = 0; n < z.size(); ++n) {
        auto const weight = static_cast<double>(w.data[n]);
        with_data += weight * z[n] * static_cast<double>(y.data[n]), with_itself += weight * z[n] * z[n];
      }
      auto const record = run_recon(s, y.all(), weighted ? std::optional<view<float const, 3>>(w.all()) : std::nullopt,
                                    x.all(), known_options(0));
      EXPECT_EQ(record.num_iterations, 0);
      EXPECT_TRUE(record.alpha_values.empty());
      auto expected = direct.data;
      for (auto& value : expected) value = static_cast<float>(static_cast<double>(value) * with_data / with_itself);
      EXPECT_LE(relative_error(x.data, expected), 1e-6);  // the weights of the projection, and three roundings
    }
  }
}

TEST(SliceDamping, KnownValues) {
  cone_parameters p{.sinogram_shape = {4, 5, 8},
                    .angles = equal_angles(4, 2 * std::numbers::pi),
                    .source_detector_dist = 32,
                    .source_iso_dist = 16};
  auto const found = slice_damping(cone_scan(p));
  double const expected[] = {0.25598, 0.2537153, 0.25, 0.2537153, 0.25598};
  ASSERT_EQ(found.size(), 5u);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(static_cast<double>(found[k]), expected[k], 1e-7);
  p.source_detector_dist = std::numeric_limits<double>::infinity();  // no slice is seen at an angle
  for (auto const s : slice_damping(cone_scan(p))) EXPECT_EQ(s, 0.25f);
}

}  // namespace
