// Weights against their formulas in double and against MBIRJAX.
#include "mbirk/recon/weights.hpp"

#include "core/messages.hpp"
#include "filter/support.hpp"
#include "projector/golden.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

constexpr weight_type every_type[] = {weight_type::unweighted, weight_type::transmission,
                                      weight_type::transmission_root, weight_type::emission};

array<3> weights_of(array<3> const& y, weight_type type, int threads = 1) {
  array<3> w(y.shape, -1);
  gen_weights(on_host(threads), y.all(), type, w.all());
  return w;
}
double formula(weight_type type, double y) {
  switch (type) {
    case weight_type::unweighted: return 1;
    case weight_type::transmission: return std::exp(-y);
    case weight_type::transmission_root: return std::exp(-y / 2);
    default: return 1 / (std::abs(y) + 0.1);
  }
}
/// Values of both signs, up to some tens: large enough for weights from 1e-30 to 1e30.
array<3> sinogram_of(shape_3 shape, unsigned seed, float scale = 120) {
  auto y = random_array<3>(shape, seed);
  for (auto& x : y.data) x = (x - 0.5f) * scale;
  return y;
}

TEST(Weights, AreTheFormulas) {
  for (shape_3 const shape : {shape_3{1, 1, 1}, shape_3{3, 5, 7}, shape_3{2, 3, 33}, shape_3{1, 1, 50001}})
    for (auto const type : every_type) {
      auto const y = sinogram_of(shape, 1);
      auto const w = weights_of(y, type);
      // exp: two units in the last place, of a product that is exact (kernel/math_test.cpp); emission: sum, quotient
      // and the constant, half a unit each
      double const allowed = type == weight_type::unweighted ? 0
                             : type == weight_type::emission ? 3 * 0x1p-24
                                                             : 4 * 0x1p-24;
      for (std::size_t k = 0; k < y.data.size(); ++k) {
        double const expected = formula(type, static_cast<double>(y.data[k]));
        ASSERT_NEAR(w.data[k], expected, allowed * expected)
            << weight_type_names[static_cast<std::size_t>(type)] << " of " << y.data[k];
      }
    }
}
TEST(Weights, DoNotDependOnThreadsOrGaps) {
  auto const y = sinogram_of({4, 70, 91}, 2);
  for (auto const type : every_type) {
    auto const w = weights_of(y, type);
    EXPECT_TRUE(same_bits(w.data, weights_of(y, type, 3).data));
    spread in(y), out(array<3>(y.shape, 5));
    gen_weights(on_host(2), in.all(), type, out.all());
    EXPECT_TRUE(same_bits(w.data, out.dense()));
    EXPECT_TRUE(out.gaps_untouched());
  }
}
TEST(Weights, OfNothing) {
  for (shape_3 const shape : {shape_3{0, 2, 3}, shape_3{2, 0, 3}, shape_3{2, 3, 0}})
    for (auto const type : every_type) EXPECT_NO_THROW(weights_of(array<3>(shape), type));
}
TEST(Weights, TypesHaveNames) {
  for (auto const type : every_type)
    EXPECT_EQ(parse_weight_type(weight_type_names[static_cast<std::size_t>(type)]), type);
  for (std::string const name : {"Emission", "", "transmission_", "root"})
    expect_error<parameter_error>([&] { parse_weight_type(name); }, {"weight_type", "\"" + name + "\"", "unweighted",
                                                                     "transmission,", "transmission_root", "emission"});
}
TEST(Weights, RefuseOtherShapes) {
  array<3> const y({2, 3, 4});
  array<3> w({2, 4, 3});
  expect_error<shape_error>([&] { gen_weights(on_host(), y.all(), weight_type::emission, w.all()); },
                            {"gen_weights", "weights", "(2, 4, 3)", "(2, 3, 4)"});
}

struct mar_outcome {
  array<3> weights;
  mar_record record;
};
template <class Scan> mar_outcome mar(Scan const& s, array<3> const& y, std::optional<array<3>> const& init = {},
                                      std::optional<double> threshold = {}, double beta = 1, double gamma = 3,
                                      int threads = 1) {
  mar_outcome out{array<3>(y.shape, -1), {}};
  gen_weights_mar(on_host(threads), s, y.all(), init ? std::optional(view<float const, 3>(init->all())) : std::nullopt,
                  threshold, beta, gamma, out.weights.all(), &out.record);
  return out;
}
/// exp of a product that is off by two roundings: factor and product.
void expect_weight(float found, double y, bool metal, double beta, double gamma) {
  double const exponent = -y * (1 + (metal ? gamma : 0)) / beta, expected = std::exp(exponent);
  ASSERT_NEAR(found, expected, (4 + 2 * std::abs(exponent)) * 0x1p-24 * expected) << y;
}
template <class F> void with_both_geometries(F const& f) {
  f(known_parallel());
  f(known_cone());
}

TEST(MarWeights, BySinogramAlone) {
  with_both_geometries([](auto const& s) {
    auto const y = known_sinogram();
    auto const found = mar(s, y, {}, {}, 2.0, 1.5);
    auto const expected = multi_threshold_otsu(on_host(), y.all(), 3);
    EXPECT_EQ(found.record.otsu_thresholds, expected);
    EXPECT_EQ(found.record.metal_threshold, expected[1]);
    int metal = 0;
    for (std::size_t k = 0; k < y.data.size(); ++k) {
      bool const is_metal = y.data[k] > expected[1];
      metal += is_metal;
      expect_weight(found.weights.data[k], static_cast<double>(y.data[k]), is_metal, 2, 1.5);
    }
    EXPECT_GT(metal, 0);
    EXPECT_LT(metal, static_cast<int>(y.data.size()));
    EXPECT_EQ(mar(s, y, {}, 1e9).record.metal_threshold, expected[1]) << "metal_threshold is about init_recon";
  });
}

TEST(MarWeights, ByAReconstruction) {
  with_both_geometries([](auto const& s) {
    auto const y = known_sinogram();
    array<3> x(s.recon_shape(), 0.2f);
    for (index_t k = 0; k < x.shape[2]; ++k) x.all()(3, 4, k) = 5, x.all()(2, 2, k) = 0.9f;
    x.all()(0, 0, 0) = 90;  // outside of the mask
    auto metal = x;
    for (auto& value : metal.data) value = value > 1 ? 1.0f : 0.0f;
    auto const pixels = masked_in(any_scan(s));
    auto const projection = define_forward(s, cylinders_of(metal, pixels).data, pixels);
    auto const check = [&](mar_outcome const& found) {
      int hit = 0;
      for (std::size_t k = 0; k < y.data.size(); ++k) {
        if (projection[k] > 0 && projection[k] < 1e-5) continue;  // float32 may decide either way
        hit += projection[k] > 0;
        expect_weight(found.weights.data[k], static_cast<double>(y.data[k]), projection[k] > 0, 1, 3);
      }
      EXPECT_GT(hit, 6) << "one pixel shadows at least a channel in each view";
      EXPECT_LT(hit, static_cast<int>(y.data.size()) / 2);
    };
    auto const given = mar(s, y, x, 1.0);
    check(given);
    EXPECT_TRUE(given.record.otsu_thresholds.empty());
    EXPECT_EQ(given.record.metal_threshold, 1.0f);
    x.all()(0, 0, 0) = 0.2f;
    auto const own = mar(s, y, x);  // three values: the upper threshold separates 5 from 0.9 and less
    check(own);
    EXPECT_EQ(own.record.otsu_thresholds, multi_threshold_otsu(on_host(), x.all(), 3));
    EXPECT_EQ(own.record.metal_threshold, own.record.otsu_thresholds[1]);
  });
}

TEST(MarWeights, DoNotDependOnThreadsOrGaps) {
  with_both_geometries([](auto const& s) {
    auto const y = known_sinogram();
    auto const x = random_array<3>(s.recon_shape(), 4);
    EXPECT_TRUE(same_bits(mar(s, y).weights.data, mar(s, y, {}, {}, 1, 3, 3).weights.data));
    auto const one = mar(s, y, x, 0.8);
    EXPECT_TRUE(same_bits(one.weights.data, mar(s, y, x, 0.8, 1, 3, 3).weights.data));
    spread sinogram(y), recon(x), weights(array<3>(y.shape, 0));
    gen_weights_mar(on_host(2), s, sinogram.all(), std::optional(view<float const, 3>(recon.all())), 0.8, 1, 3,
                    weights.all());
    EXPECT_TRUE(same_bits(weights.dense(), one.weights.data));
    EXPECT_TRUE(weights.gaps_untouched());
  });
}

TEST(MarWeights, OfNothing) {
  parallel_scan const s(parallel_parameters{.sinogram_shape = {0, 2, 7}, .angles = {}});
  EXPECT_NO_THROW(mar(s, array<3>({0, 2, 7})));
  EXPECT_NO_THROW(mar(s, array<3>({0, 2, 7}), array<3>(s.recon_shape(), 1), 0.5));
}

TEST(MarWeights, RefuseBadInput) {
  auto const s = known_cone();
  auto const y = known_sinogram();
  array<3> const x(s.recon_shape());
  expect_error<shape_error>(
      [&] {
        mar(s, array<3>({6, 7, 2}));
      },
      {"gen_weights_mar", "sinogram", "(6, 7, 2)", "(6, 2, 7)"});
  expect_error<shape_error>([&] { mar(s, y, array<3>({1, 2, 3})); }, {"gen_weights_mar", "init_recon", "(1, 2, 3)"});
  expect_error<parameter_error>([&] { mar(s, y, {}, {}, 0); }, {"beta is 0", "positive"});
  expect_error<parameter_error>([&] { mar(s, y, {}, {}, -1); }, {"beta is -1"});
  expect_error<parameter_error>([&] { mar(s, y, {}, {}, NAN); }, {"beta is nan"});
  expect_error<parameter_error>([&] { mar(s, y, {}, {}, 1, INFINITY); }, {"gamma is inf"});
  expect_error<parameter_error>([&] { mar(s, y, x, NAN); }, {"metal_threshold is nan"});
  auto bad = y;
  bad.all()(2, 1, 3) = NAN;
  expect_error<parameter_error>([&] { mar(s, bad); }, {"gen_weights_mar", "sinogram(2, 1, 3) is nan", "finite"});
  auto bad_recon = x;
  bad_recon.all()(1, 0, 1) = INFINITY;
  expect_error<parameter_error>([&] { mar(s, y, bad_recon); }, {"init_recon(1, 0, 1) is inf"});
}

struct GoldenWeights : golden_test {};

// Both programs are off by two units of the exponential, and by two roundings of the exponent, |e| exp(-|e|) <= 0.37 of
// the largest weight.
TEST_P(GoldenWeights, EqualMbirjax) {
  auto const s = scan();
  constexpr double allowed = 2 * (4 + 2 * 0.37) * 0x1p-24;
  int compared = 0;
  for (auto const& op : file.at("ops")) {
    std::string const name = op.at("op"), output = op.at("output");
    if (!name.starts_with("gen_weights")) continue;
    auto const y = floats(op.at("inputs").at("sinogram")), expected = floats(output);
    auto const& args = op.at("args");
    array<3> found(y.shape);
    if (name == "gen_weights") {
      found = weights_of(y, parse_weight_type(args.at("weight_type").get<std::string>()));
    } else {
      auto const init = op.at("inputs").contains("init_recon") ? std::optional(floats(op.at("inputs").at("init_recon")))
                                                               : std::nullopt;
      auto const threshold =
          args.contains("metal_threshold") ? std::optional(args.at("metal_threshold").get<double>()) : std::nullopt;
      found = std::visit([&](auto const& scan) { return mar(scan, y, init, threshold).weights; }, s);
    }
    // Where a ray barely touches metal, float32 may decide either way: the file says how often.
    double const largest = static_cast<double>(*std::max_element(expected.data.begin(), expected.data.end()));
    std::size_t out = 0;
    for (std::size_t k = 0; k < y.data.size(); ++k)
      out +=
          !(std::abs(static_cast<double>(found.data[k]) - static_cast<double>(expected.data[k])) <= allowed * largest);
    EXPECT_LE(static_cast<double>(out), op.value("outliers", 0.0) * static_cast<double>(y.data.size())) << output;
    RecordProperty(output, std::to_string(out) + " of " + std::to_string(y.data.size()) + " out");
    ++compared;
  }
  bool const without_mar = file.at("geometry") == "multiaxis" || file.at("geometry") == "translation";
  EXPECT_EQ(compared, without_mar ? 3 : 5);
}
INSTANTIATE_TEST_SUITE_P(Recon, GoldenWeights, ::testing::ValuesIn(golden_names), golden_name);

}  // namespace
