// The denoiser: known values, MBIRJAX's arrays, an oracle in double, properties, bad input.
#include "mbirk/recon/denoise.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/messages.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/mbirk.hpp"
#include "recon/denoise_oracle.hpp"

namespace {

using namespace mbirk;
using mbirk::testing::denoise_oracle;
using shape_3 = std::array<index_t, 3>;
context const plain{exec::host{}, instrument::none{}};

std::size_t size_of(shape_3 const& s) { return static_cast<std::size_t>(s[0] * s[1] * s[2]); }

struct denoised {
  std::vector<float> image;
  denoise_record record;
};
template <class Context>
denoised run(Context const& ctx, std::vector<float> const& x, shape_3 const& s, denoise_options const& o) {
  bool constexpr has_data = Context::backend::has_data;
  denoised out;
  if (has_data) out.image.assign(x.size(), NAN);
  out.record = qggmrf_denoise(ctx, view<float const, 3>(has_data ? x.data() : nullptr, s), o,
                              view<float, 3>(out.image.data(), s));
  return out;
}

/// A bright block in a dark box, and noise.
std::vector<float> noisy_block(shape_3 const& s, double sigma, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, sigma);
  std::vector<float> x;
  for (index_t i = 0; i < s[0]; ++i)
    for (index_t j = 0; j < s[1]; ++j)
      for (index_t k = 0; k < s[2]; ++k) {
        bool const inside =
            4 * std::abs(2 * i - s[0] + 1) <= 2 * s[0] && 4 * std::abs(2 * j - s[1] + 1) <= 2 * s[1] && 8 * k >= s[2];
        x.push_back(static_cast<float>((inside ? 1.0 : 0.2) + (sigma > 0 ? normal(random) : 0.0)));
      }
  return x;
}

/// An image like noisy_block() whose rows repeat after 37: drawing millions of numbers takes longer than the code
/// under test.
std::vector<float> large_noisy_block(shape_3 const& s, double sigma) {
  index_t const period = 37, row = s[1] * s[2];
  auto const some = noisy_block({period, s[1], s[2]}, sigma);
  std::vector<float> x(size_of(s));
  for (index_t i = 0; i < s[0]; ++i) std::copy_n(some.begin() + i % period * row, row, x.begin() + i * row);
  return x;
}

double worst(std::vector<float> const& found, std::vector<double> const& expected) {
  double error = 0, peak = 0;
  for (std::size_t k = 0; k < found.size(); ++k)
    error = std::max(error, std::abs(found[k] - expected[k])), peak = std::max(peak, std::abs(expected[k]));
  EXPECT_EQ(found.size(), expected.size());
  return found.empty() || std::isnan(found[0]) ? INFINITY : error / peak;
}

// A voxel moves by alpha (c e - g) / (1 + h), whose terms are good to 2e-6 (tests/prior) of themselves; a step is at
// most about sigma_noise, a tenth of the peak here, and a few iterations do not amplify it: 2e-7 an iteration. 5e-6
// allows for a voxel at a threshold of the estimates.
constexpr double allowed = 5e-6;

TEST(Denoise, KnownValues) {
  shape_3 const s{6, 5, 4};
  std::vector<float> image;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 4; ++k)
        image.push_back(static_cast<float>(((i - 2.5) * (i - 2.5) + (j - 2) * (j - 2) < 5 ? 1 : 0) +
                                           0.1 * std::sin(7 * i + 3 * j + 5 * k)));
  struct expected { std::vector<double> row, alphas; double sum; };
  for (auto const& e :
       {expected{{1.0009373, .9970002, .9929434, 1.0064697, .958968}, {.90517169}, 63.744165},
        expected{{.9796665, .9789774, .9817607, .9803191, .9498096}, {.90517169, .92223289, .92803639}, 63.664390}}) {
    auto const found =
        run(plain, image, s, {{.max_iterations = static_cast<int>(e.alphas.size()), .stop_threshold_change_pct = 0}});
    EXPECT_NEAR(found.record.sigma_noise, .21132758, 1e-7);
    EXPECT_NEAR(found.record.sigma_x, .04226552, 2e-8);
    ASSERT_EQ(found.record.alpha_values.size(), e.alphas.size());
    for (std::size_t k = 0; k < e.alphas.size(); ++k)
      EXPECT_NEAR(found.record.alpha_values[k], e.alphas[k], 3e-6) << "a mean of float32 steps";
    double sum = 0;
    for (auto const v : found.image) sum += v;
    EXPECT_NEAR(sum, e.sum, 1e-4);
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(found.image[(2 * 5 + j) * 4 + 1], e.row[j], 1e-6);
  }
}

TEST(Denoise, Golden) {
  std::string const folder = std::string(MBIRK_GOLDEN_DIR) + "/utilities/";
  auto const file = nlohmann::json::parse(std::ifstream(folder + "case.json"));
  int compared = 0;
  for (auto const& op : file.at("ops")) {
    if (op.at("op") != "qggmrf_denoise") continue;
    auto const& args = op.at("args");
    auto const image = read_npy<float>(folder + op.at("inputs").at("image").get<std::string>());
    auto const expected = read_npy<float>(folder + op.at("output").get<std::string>());
    denoise_options o;
    o.max_iterations = args.at("max_iterations"), o.seed = args.at("seed"),
    o.use_ror_mask = args.value("use_ror_mask", false);
    if (args.contains("sigma_noise")) o.sigma_noise = args.at("sigma_noise").get<double>();
    auto const found = run(plain, image.data, {image.shape[0], image.shape[1], image.shape[2]}, o);
    EXPECT_LE(worst(found.image, std::vector<double>(expected.data.begin(), expected.data.end())), allowed)
        << op.at("output");
    EXPECT_LE(allowed, op.at("rtol").get<double>());
    ++compared;
  }
  EXPECT_EQ(compared, 3);
}

void expect_oracle(std::vector<float> const& image, shape_3 const& s, denoise_options const& o) {
  SCOPED_TRACE(detail::shape_text(s));
  auto const found = run(plain, image, s, o);
  denoise_oracle const expected(image, s, o);
  EXPECT_NEAR(found.record.sigma_noise, expected.sigma_noise, 1e-6 * expected.sigma_noise);
  EXPECT_NEAR(found.record.sigma_x, expected.sigma_x, 1e-6 * expected.sigma_x);
  EXPECT_LE(worst(found.image, expected.x), allowed);
  ASSERT_EQ(found.record.num_iterations, o.max_iterations);
  for (std::size_t k = 0; k < expected.alphas.size(); ++k) {
    EXPECT_NEAR(found.record.alpha_values[k], expected.alphas[k], 1e-5);
    EXPECT_NEAR(found.record.stop_threshold_change_pct[k], 100 * expected.changes[k], 1e-3 * expected.changes[k])
        << "1e-5 of itself";
  }
}

TEST(Denoise, EqualsTheOracle) {
  for (shape_3 const& s : {shape_3{9, 7, 5}, {1, 37, 41}, {23, 1, 19}, {19, 17, 1}, {45, 13, 33}, {12, 11, 16}})
    expect_oracle(noisy_block(s, 0.1), s, {{.max_iterations = 3, .stop_threshold_change_pct = 0, .seed = 7}});
}
TEST(Denoise, EqualsTheOracleForOtherParameters) {
  shape_3 const s{14, 11, 18};
  auto const image = noisy_block(s, 0.1), other = noisy_block(s, 0.3, 2);
  expect_oracle(image, s, {{.max_iterations = 2, .stop_threshold_change_pct = 0}, {.sharpness = 1, .granularity = 4}});
  expect_oracle(
      image, s,
      {{.sigma_noise = 0.2, .max_iterations = 2, .stop_threshold_change_pct = 0}, {.sigma_x = 0.1, .granularity = 1}});
  expect_oracle(image, s,
                {{.use_ror_mask = true, .max_iterations = 2, .stop_threshold_change_pct = 0},
                 {.p = 1.9, .q = 1.1, .T = 0.5, .qggmrf_nbr_wts = {1, 2, 0.5}}});
  expect_oracle(
      image, s,
      {{.init_image = view<float const, 3>(other.data(), s), .max_iterations = 3, .stop_threshold_change_pct = 0}});
  std::vector<std::uint8_t> mask(14 * 11, 0);
  for (std::size_t k = 0; k < mask.size(); k += 2) mask[k] = 1;
  expect_oracle(image, s,
                {{.use_ror_mask = mask_array{{14, 11}, mask}, .max_iterations = 2, .stop_threshold_change_pct = 0}});
}
/// A pixel that a subset lists twice moves twice, and tasks that share the subset do not split its two entries.
TEST(Denoise, RepeatedPixelsMoveTwice) {
  shape_3 const s{3, 7, 18};
  std::vector<std::int32_t> pixels(21);
  for (std::int32_t k = 0; k < 21; ++k) pixels[static_cast<std::size_t>(k)] = k;
  std::uint32_t seed = 0;
  for (bool repeated = false; !repeated; ++seed) {
    ASSERT_LT(seed, 1000u);
    numpy_random_state random(seed);
    auto const p = gen_pixel_partition(std::span<std::int32_t const>(pixels), 16, random);
    for (index_t k = 0; k < p.subsets; ++k) repeated = repeated || p.subset(k)[0] == p.subset(k)[1];
    if (repeated) break;
  }
  expect_oracle(noisy_block(s, 0.1), s, {{.max_iterations = 2, .stop_threshold_change_pct = 0, .seed = seed}});
  std::vector<std::int32_t> list;
  for (std::int32_t k = 0; k < 50; ++k) list.insert(list.end(), {k, k, k});
  index_t next = 0;
  for (auto const& r : kernel::chunk_without_splitting_duplicates(list, kernel::prior_batch)) {
    EXPECT_EQ(r.first, next);
    EXPECT_TRUE(r.first == 0 || list[static_cast<std::size_t>(r.first)] != list[static_cast<std::size_t>(r.first - 1)]);
    next = r.last;
  }
  EXPECT_EQ(next, 150);
}
/// More than 17 million voxels: only every second one on each axis enters the noise level, and every 50th row the
/// scale.
TEST(Denoise, LargeImagesAreSampled) {
  shape_3 const s{1000, 131, 133};
  ASSERT_EQ(std::nearbyint(std::cbrt(static_cast<double>(size_of(s)) / 5e6)), 2);
  expect_oracle(large_noisy_block(s, 0.1), s, {{.max_iterations = 0}});
}

TEST(Denoise, RemovesNoiseAndKeepsEdges) {
  shape_3 const s{32, 30, 28};
  auto const clean = noisy_block(s, 0), noisy = noisy_block(s, 0.1);
  auto const found = run(plain, noisy, s, {{.sigma_noise = 0.1}, {.sigma_x = 0.02}});
  auto const error = [&](std::vector<float> const& x) {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += (x[k] - clean[k]) * (x[k] - clean[k]);
    return std::sqrt(sum / static_cast<double>(x.size()));
  };
  EXPECT_NEAR(error(noisy), 0.1, 0.005);
  EXPECT_LT(error(found.image), 0.04);
}
TEST(Denoise, ZeroIterationsGiveTheInitialImage) {
  shape_3 const s{5, 6, 7};
  auto const image = noisy_block(s, 0.1), other = noisy_block(s, 0.1, 2);
  EXPECT_EQ(run(plain, image, s, {{.max_iterations = 0}}).image, image);
  EXPECT_EQ(run(plain, image, s, {{.init_image = view<float const, 3>(other.data(), s), .max_iterations = 0}}).image,
            other);
}
TEST(Denoise, FlatImagesStayAndStopWhenTheSigmasAreGiven) {
  shape_3 const s{5, 6, 7};
  for (float const value : {0.0f, 0.3f}) {
    std::vector<float> const flat(size_of(s), value);
    auto const found = run(plain, flat, s, {{.sigma_noise = 0.1}, {.sigma_x = 0.1}});
    EXPECT_EQ(found.image, flat);
    EXPECT_EQ(found.record.num_iterations, 1) << "no change, or none that is a number";
  }
}
TEST(Denoise, PixelsOutsideTheMaskStay) {
  shape_3 const s{17, 15, 9};
  auto const image = noisy_block(s, 0.1);
  auto const found = run(plain, image, s, {{.use_ror_mask = true, .max_iterations = 1}});
  auto const mask = ror_mask(17, 15);
  std::size_t moved = 0;
  for (std::size_t k = 0; k < image.size(); ++k) {
    if (mask[k / 9]) moved += found.image[k] != image[k];
    else EXPECT_EQ(found.image[k], image[k]);
  }
  EXPECT_GT(moved, image.size() / 2);
}
TEST(Denoise, OutputMayBeTheInitialImageAndArraysMayHaveGaps) {
  shape_3 const s{8, 7, 18};
  auto const image = noisy_block(s, 0.1);
  auto start = noisy_block(s, 0.2, 3);
  denoise_options o{{.max_iterations = 2}};
  o.init_image = view<float const, 3>(start.data(), s);
  auto const apart = run(plain, image, s, o);
  std::vector<float> wide(8 * 200, -7);
  view<float, 3> const gaps(wide.data(), s, {200, 25, 1});
  qggmrf_denoise(plain, view<float const, 3>(image.data(), s), o, gaps);
  qggmrf_denoise(plain, view<float const, 3>(image.data(), s), o, view<float, 3>(start.data(), s));
  EXPECT_EQ(start, apart.image);
  for (index_t i = 0; i < 8; ++i)
    for (index_t j = 0; j < 8; ++j)
      for (index_t k = 0; k < 25; ++k) {
        bool const inside = j < 7 && k < 18;
        EXPECT_EQ(wide[static_cast<std::size_t>(i * 200 + j * 25 + k)],
                  inside ? apart.image[static_cast<std::size_t>((i * 7 + j) * 18 + k)] : -7.0f);
      }
}

TEST(Denoise, StopsBelowTheThreshold) {
  shape_3 const s{16, 15, 14};
  auto const image = noisy_block(s, 0.1);
  auto const all = run(plain, image, s, {{.max_iterations = 6, .stop_threshold_change_pct = 0}}).record;
  ASSERT_EQ(all.num_iterations, 6);
  auto const& change = all.stop_threshold_change_pct;
  ASSERT_GT(change[1], change[2]);
  EXPECT_EQ(run(plain, image, s, {{.stop_threshold_change_pct = (change[1] + change[2]) / 2}}).record.num_iterations,
            3);
  EXPECT_EQ(all.subsets, 16);
  EXPECT_EQ(all.alpha_values.size(), 6u);
  EXPECT_FALSE(all.cancelled);
}
TEST(Denoise, CallbackSeesEveryIterationAndCanStop) {
  shape_3 const s{16, 15, 14};
  auto const image = noisy_block(s, 0.1);
  std::vector<iteration_report> seen;
  auto const found =
      run(plain, image, s,
          {{.max_iterations = 9, .stop_threshold_change_pct = 0, .progress = [&](iteration_report const& r) {
              seen.push_back(r);
              return r.iteration < 2;
            }}});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].iteration, 2);
  EXPECT_EQ(seen[1].iterations, 9);
  EXPECT_EQ(100 * seen[1].change, found.record.stop_threshold_change_pct[1]);
  EXPECT_EQ(seen[1].alpha, found.record.alpha_values[1]);
  EXPECT_TRUE(found.record.cancelled);
  EXPECT_EQ(found.image, run(plain, image, s, {{.max_iterations = 2, .stop_threshold_change_pct = 0}}).image);
}
TEST(Denoise, WarnsWhenThereAreFewerPixelsThanSubsets) {
  shape_3 const s{3, 2, 5};
  auto const found = run(plain, noisy_block(s, 0.1), s, {{.max_iterations = 1}});
  EXPECT_EQ(found.record.subsets, 6);
  EXPECT_EQ(found.record.warnings.size(), 1u);
}

TEST(Denoise, AnyNumberOfThreadsGivesTheSameBits) {
  shape_3 const s{29, 31, 33};
  auto const image = noisy_block(s, 0.1);
  denoise_options const o{{.max_iterations = 2}};
  auto const one = run(context{exec::host{1}, instrument::none{}}, image, s, o);
  for (int const threads : {2, 3, 7}) {
    auto const many = run(context{exec::host{threads}, instrument::none{}}, image, s, o);
    EXPECT_EQ(many.image, one.image);
    EXPECT_EQ(many.record.alpha_values, one.record.alpha_values);
    EXPECT_EQ(many.record.stop_threshold_change_pct, one.record.stop_threshold_change_pct);
    EXPECT_EQ(many.record.sigma_x, one.record.sigma_x);
  }
}

TEST(Denoise, CountingEqualsTheModelAndChangesNoBit) {
  for (shape_3 const& s : {shape_3{9, 7, 5}, {1, 13, 40}, {45, 6, 16}}) {
    auto const image = noisy_block(s, 0.1);
    mask_array const inside{{s[0], s[1]}, std::vector<std::uint8_t>(static_cast<std::size_t>(s[0] * s[1]), 1)};
    for (denoise_options const& o : {denoise_options{{.max_iterations = 2, .stop_threshold_change_pct = 0}},
                                     denoise_options{{.sigma_noise = 0.1, .use_ror_mask = inside, .max_iterations = 1},
                                                     {.p = 1.8, .granularity = 3}}}) {
      instrument::ledger counted, modelled;
      auto const found = run(context{exec::host{}, instrument::counting<>{counted}}, image, s, o);
      run(context{exec::host{}, instrument::cost_model<>{modelled}}, image, s, o);
      EXPECT_EQ(found.image, run(plain, image, s, o).image);
      ASSERT_EQ(counted.records().size(), 1u);
      auto const &a = counted.last(), &b = modelled.last();
      EXPECT_EQ(a.name, "qggmrf_denoise");
      EXPECT_EQ(a.items, static_cast<index_t>(image.size()) * o.max_iterations);
      EXPECT_GT(a.operations.flops(), 0u);
      test::expect_same_counts(a, b);
    }
  }
}
TEST(Denoise, CountingEqualsTheModelForSampledImages) {
  shape_3 const s{1000, 131, 133};
  instrument::ledger counted, modelled;
  constexpr auto cheap = instrument::level::operations;
  run(context{exec::host{}, instrument::counting<cheap>{counted}}, large_noisy_block(s, 0.1), s,
      {{.max_iterations = 0}});
  run(context{exec::host{}, instrument::cost_model<cheap>{modelled}}, {}, s, {{.max_iterations = 0}});
  EXPECT_EQ(counted.last().operations, modelled.last().operations);
}

TEST(Denoise, TracingShowsTheStages) {
  shape_3 const s{9, 7, 5};
  instrument::trace_buffer buffer(1000);
  run(context{exec::host{}, instrument::tracing{buffer}}, noisy_block(s, 0.1), s,
      {{.max_iterations = 2, .stop_threshold_change_pct = 0}});
  std::map<std::string, int> stages;
  for (auto const& e : buffer.events()) {
    if (e.kind == instrument::event_kind::stage) ++stages[e.name];
    if (e.kind == instrument::event_kind::operation && e.name != std::string("gen_pixel_partition")) {
      EXPECT_STREQ(e.name, "qggmrf_denoise");
      EXPECT_EQ(e.value, 9 * 7 * 5 * 2);
    }
  }
  EXPECT_EQ(stages, (std::map<std::string, int>{{"shuffle", 1},
                                                {"subsets", 1},
                                                {"check", 1},
                                                {"noise level", 1},
                                                {"scale", 1},
                                                {"direction", 32},
                                                {"update", 32}}));
  EXPECT_EQ(buffer.live_bytes.load(), 0);
}

template <class Error>
void expect_refusal(std::vector<float> const& image, shape_3 const& s, denoise_options const& o, char const* text) {
  test::expect_error<Error>([&] { run(plain, image, s, o); }, {text});
}
TEST(Denoise, BadImagesAreErrors) {
  shape_3 const s{5, 6, 7};
  auto const good = noisy_block(s, 0.1);
  for (float const bad : {NAN, INFINITY, -INFINITY}) {
    auto image = good;
    image[(2 * 6 + 3) * 7 + 4] = bad;
    expect_refusal<parameter_error>(image, s, {}, "image(2, 3, 4) is");
    expect_refusal<parameter_error>(good, s, {{.init_image = view<float const, 3>(image.data(), s)}},
                                  "init_image(2, 3, 4) is");
  }
  std::vector<float> const flat(good.size(), 0.3f);
  expect_refusal<error>(flat, s, {}, "sigma_noise");
  expect_refusal<error>(flat, s, {{.sigma_noise = 0.1}}, "sigma_x");
  expect_refusal<shape_error>({}, {0, 6, 7}, {}, "at least one voxel");
  expect_refusal<parameter_error>(good, s, {{.use_ror_mask = mask_array{{5, 6}, std::vector<std::uint8_t>(30, 0)}}},
                                "no pixel");

  std::vector<float> x(good);
  view<float const, 3> const image(x.data(), s), short_one(x.data(), {5, 6, 6});
  std::vector<float> y(x.size());
  EXPECT_THROW(qggmrf_denoise(plain, image, {}, view<float, 3>(y.data(), {5, 6, 6})), shape_error);
  EXPECT_THROW(qggmrf_denoise(plain, image, {{.init_image = short_one}}, view<float, 3>(y.data(), s)), shape_error);
  EXPECT_THROW(qggmrf_denoise(plain, view<float const, 3>(nullptr, s), {}, view<float, 3>(y.data(), s)), shape_error);
  EXPECT_THROW(qggmrf_denoise(plain, image, {}, view<float, 3>(x.data(), s)), parameter_error) << "in place";
}
TEST(Denoise, BadOptionsAreErrors) {
  shape_3 const s{5, 6, 7};
  auto const good = noisy_block(s, 0.1);
  auto const refused = [&](denoise_options const& o, char const* text) {
    expect_refusal<parameter_error>(good, s, o, text);
  };
  refused({{.sigma_noise = 0.0}}, "sigma_noise is 0");
  refused({{.sigma_noise = NAN}}, "sigma_noise is nan");
  refused({{}, {.sigma_x = -1.0}}, "sigma_x is -1");
  refused({{}, {.sharpness = INFINITY}}, "sharpness is inf");
  refused({{}, {.p = 3}}, "p is 3");
  refused({{}, {.T = 0}}, "T is 0");
  refused({{}, {.qggmrf_nbr_wts = {0, 0, 0}}}, "nbr_wts");
  refused({{.use_ror_mask = mask_array{{6, 5}, std::vector<std::uint8_t>(30, 1)}}}, "use_ror_mask");
  refused({{.max_iterations = -1}}, "max_iterations is -1");
  refused({{.stop_threshold_change_pct = -0.1}}, "stop_threshold_change_pct is -0.1");
  refused({{.stop_threshold_change_pct = NAN}}, "stop_threshold_change_pct is nan");
  refused({{}, {.granularity = 0}}, "granularity is 0");
}

}  // namespace
