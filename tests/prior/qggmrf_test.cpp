// The qGGMRF prior: formulas against known values and properties, kernels against the definition in double.
#include "mbirk/prior/qggmrf.hpp"

#include <gtest/gtest.h>

#include <random>

#include "instrument/same_counts.hpp"
#include "mbirk/definition/qggmrf.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/mbirk.hpp"

namespace {

using namespace mbirk;
using instrument::operation;
using shape_3 = std::array<index_t, 3>;
constexpr auto name = "qggmrf_gradient_and_hessian_at_indices";

context const plain{exec::host{}, instrument::none{}};
qggmrf_parameters const spec_parameters{.sigma_x = 0.3};

struct prior_values { std::vector<float> gradient, hessian; };

std::vector<float> random_image(shape_3 const& s, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.5f, 0.6f);
  std::vector<float> x(static_cast<std::size_t>(s[0] * s[1] * s[2]));
  for (auto& v : x) v = normal(random);
  return x;
}
/// All pixels in a random order, and some of them again.
std::vector<std::int32_t> scattered(shape_3 const& s) {
  std::vector<std::int32_t> p(static_cast<std::size_t>(s[0] * s[1]));
  for (std::size_t k = 0; k < p.size(); ++k) p[k] = static_cast<std::int32_t>(k);
  std::shuffle(p.begin(), p.end(), std::mt19937(3));
  for (std::size_t k = 0, n = p.size(); k < n; k += 3) p.push_back(p[k]);
  return p;
}
template <class Context> prior_values run(Context const& ctx, std::vector<float> const& x, shape_3 const& s,
                                          std::vector<std::int32_t> const& pixels, qggmrf_parameters const& v) {
  auto const count = static_cast<index_t>(pixels.size());
  bool constexpr has_data = Context::backend::has_data;
  prior_values out;
  if (has_data) out.gradient.assign(static_cast<std::size_t>(count * s[2]), NAN), out.hessian = out.gradient;
  qggmrf_gradient_and_hessian_at_indices(
      ctx, view<float const, 3>(has_data ? x.data() : nullptr, s), view<std::int32_t const, 1>(pixels.data(), {count}),
      v, view<float, 2>(out.gradient.data(), {count, s[2]}), view<float, 2>(out.hessian.data(), {count, s[2]}));
  return out;
}

/// The definition in double.
struct oracle {
  std::vector<double> gradient, hessian;
  double loss;
  oracle(std::vector<float> const& x, shape_3 const& s, std::vector<std::int32_t> const& pixels,
         qggmrf_parameters const& v) {
    definition::plain_interpreter<double> m;
    auto const count = static_cast<index_t>(pixels.size());
    gradient.resize(static_cast<std::size_t>(count * s[2])), hessian = gradient;
    auto const in = m.input(view<float const, 3>(x.data(), s));
    definition::qggmrf_gradient_and_hessian(m, s, v, in, m.input(view<std::int32_t const, 1>(pixels.data(), {count})),
                                            count, view<double, 2>(gradient.data(), {count, s[2]}),
                                            view<double, 2>(hessian.data(), {count, s[2]}));
    definition::qggmrf_loss(m, s, v, in, view<double, 1>(&loss, {1}));
  }
};

// Rounding of one pair in units of 2^-24: the difference, its scaling (2), log2 (2, times ln 2 (p - q) |log2 s| w / (1
// + w) <= 5 for s <= 100), exp2 (4), 1 + w, the division, two fmas: some 20 on kappa, and 8 for adding six of them.
// 2e-6 are 34.
constexpr double allowed = 2e-6;

void expect_near(prior_values const& found, oracle const& expected, double largest_difference) {
  for (std::size_t k = 0; k < found.hessian.size(); ++k) {
    ASSERT_NEAR(found.hessian[k], expected.hessian[k], allowed * expected.hessian[k]) << k;
    ASSERT_NEAR(found.gradient[k], expected.gradient[k], allowed * expected.hessian[k] * largest_difference) << k;
  }
}
double range(std::vector<float> const& x) {
  auto const [low, high] = std::minmax_element(x.begin(), x.end());
  return double{*high} - double{*low};
}

TEST(QggmrfDefinition, KnownValues) {
  auto const kappa = [](double d) { return definition::qggmrf_surrogate(spec_parameters, d); };
  auto const rho = [](double d) { return definition::qggmrf_potential(spec_parameters, d); };
  double const deltas[] = {0, 0.01, 0.3, 1, 10}, kappas[] = {11.111065, 10.167534, 4.444444, 2.1807702, 0.39473644};
  for (int k = 0; k < 5; ++k) EXPECT_NEAR(kappa(deltas[k]), kappas[k], 3e-7 * kappas[k]) << "float32 values";
  double const rhos[] = {0, 5.212511e-4, 0.25, 1.5346795, 31.689626};
  for (int k = 1; k < 5; ++k) EXPECT_NEAR(rho(deltas[k]), rhos[k], 3e-7 * rhos[k]);
}

class Shapes : public ::testing::TestWithParam<qggmrf_parameters> {};
INSTANTIATE_TEST_SUITE_P(
    Parameters, Shapes,
    ::testing::Values(qggmrf_parameters{.sigma_x = 0.3},
                      qggmrf_parameters{.sigma_x = 0.2, .p = 1.9, .q = 1.1, .T = 0.5},
                      qggmrf_parameters{.sigma_x = 2, .p = 2, .q = 1, .T = 3, .nbr_wts = {1, 2, 0.5}},
                      qggmrf_parameters{.sigma_x = 0.5, .p = 1.5, .q = 1.5, .T = 1, .nbr_wts = {0, 1, 3}}));

TEST_P(Shapes, KernelsEqualTheDefinition) {
  for (shape_3 const& s : {shape_3{1, 1, 1},
                           {1, 1, 2},
                           {1, 7, 5},
                           {7, 1, 5},
                           {6, 5, 1},
                           {5, 4, 16},
                           {5, 4, 17},
                           {3, 4, 33},
                           {9, 8, 7},
                           {4, 3, 70}}) {
    SCOPED_TRACE(detail::shape_text(s));
    auto const x = random_image(s, 1);
    auto const pixels = scattered(s);
    oracle const expected(x, s, pixels, GetParam());
    expect_near(run(plain, x, s, pixels, GetParam()), expected, std::max(range(x), 1e-3));
    // Each potential within `allowed` of itself, all positive.
    EXPECT_NEAR(qggmrf_loss(plain, view<float const, 3>(x.data(), s), GetParam()), expected.loss,
                allowed * expected.loss);
  }
}

/// rho(b) <= rho(a) + kappa(a)/2 (b^2 - a^2): the curvature of a parabola that touches rho from above.
TEST_P(Shapes, SurrogateIsAboveThePotential) {
  auto const& v = GetParam();
  for (double const a : {0.001, 0.05, 0.4, 3.0})
    for (double const b : {0.001, 0.02, 0.3, 0.4, 1.0, 20.0}) {
      double const bound =
          definition::qggmrf_potential(v, a) + definition::qggmrf_surrogate(v, a) / 2 * (b * b - a * a);
      EXPECT_LE(definition::qggmrf_potential(v, b), bound + 1e-12 * std::abs(bound)) << a << " " << b;
    }
}

/// Evaluated in double, so that only the third derivative limits the central difference: step^2 rho''' / 6, with rho'''
/// at most about kappa / (0.01 sigma).
TEST_P(Shapes, GradientIsTheDerivativeOfTheLoss) {
  shape_3 const s{3, 2, 4};
  auto const& v = GetParam();
  std::vector<double> x(24);
  std::mt19937 random(5);
  for (auto& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
  std::vector<std::int32_t> const pixels{0, 1, 2, 3, 4, 5};
  definition::plain_interpreter<double> m;
  std::vector<double> g(24), h(24);
  definition::qggmrf_gradient_and_hessian(m, s, v, m.input(view<double const, 3>(x.data(), s)),
                                          m.input(view<std::int32_t const, 1>(pixels.data(), {6})), 6,
                                          view<double, 2>(g.data(), {6, 4}), view<double, 2>(h.data(), {6, 4}));
  auto const loss = [&] {
    double l = 0;
    definition::qggmrf_loss(m, s, v, m.input(view<double const, 3>(x.data(), s)), view<double, 1>(&l, {1}));
    return l;
  };
  double const step = 1e-5;
  for (std::size_t k = 0; k < 24; ++k) {
    double const centre = x[k];
    x[k] = centre + step;
    double const above = loss();
    x[k] = centre - step;
    double const below = loss();
    x[k] = centre;
    EXPECT_NEAR((above - below) / (2 * step), g[k], 1e-6 * h[k]) << k;
  }
}

TEST(Qggmrf, KernelGivesTheKnownValues) {
  for (auto const& [delta, kappa, rho] : {std::tuple(0.01, 10.167534, 5.212511e-4),
                                          {0.3, 4.444444, 0.25},
                                          {1.0, 2.1807702, 1.5346795},
                                          {10.0, 0.39473644, 31.689626}}) {
    std::vector<float> const x{0, static_cast<float>(delta)};
    auto const found = run(plain, x, {1, 1, 2}, {0}, spec_parameters);
    EXPECT_NEAR(found.gradient[1], kappa * delta / 6, allowed * kappa * delta / 6);
    EXPECT_EQ(found.gradient[0], -found.gradient[1]);
    EXPECT_NEAR(found.hessian[0], (kappa + 5 * 11.111065) / 6, allowed * 11);
    EXPECT_NEAR(qggmrf_loss(plain, view<float const, 3>(x.data(), {1, 1, 2}), spec_parameters), rho / 6,
                allowed * rho / 6);
  }
}

TEST(Qggmrf, FlatImagesHaveNoGradientAndFullCurvature) {
  std::vector<float> const x(3 * 3 * 19, 0.7f);
  auto const found = run(plain, x, {3, 3, 19}, scattered({3, 3, 19}), spec_parameters);
  for (auto const g : found.gradient) EXPECT_EQ(g, 0);
  for (auto const h : found.hessian) EXPECT_NEAR(h, 11.111065, 11.2 * allowed);
  // The floor of |d| leaves a tiny potential for every pair that exists, and for no other.
  double const loss = qggmrf_loss(plain, view<float const, 3>(x.data(), {3, 3, 19}), spec_parameters),
               pairs = 2 * 6 * 19 + 9 * 18;
  EXPECT_NEAR(loss / definition::qggmrf_potential(spec_parameters, 0.0), pairs / 6, allowed * pairs / 6);
}

/// |d| / (T sigma) overflows to infinity here; the gradient b |d|^(q - 1) T^(2 - q) / sigma^q q/p does not.
TEST(Qggmrf, HugeDifferencesStayFinite) {
  for (double const q : {1.0, 1.2}) {
    std::vector<float> const x{0, 1e30f, -1e30f, 0, 1e-38f, 0};
    auto const found = run(plain, x, {1, 2, 3}, {0, 1}, {.sigma_x = 1e-10, .q = q});
    for (auto const g : found.gradient) EXPECT_TRUE(std::isfinite(g)) << q;
    for (auto const h : found.hessian) EXPECT_TRUE(std::isfinite(h)) << q;
  }
}

TEST(Qggmrf, ArraysMayHaveGaps) {
  shape_3 const s{4, 3, 18};
  auto const x = random_image(s, 7);
  auto const pixels = scattered(s);
  auto const count = static_cast<index_t>(pixels.size());
  std::vector<float> wide(4 * 100, NAN), g(static_cast<std::size_t>(count * 21), -7.0f), h = g;
  for (index_t p = 0; p < 12; ++p) std::copy_n(x.begin() + p * 18, 18, wide.begin() + p / 3 * 100 + p % 3 * 30);
  view<float const, 3> const spread(wide.data(), s, {100, 30, 1});
  qggmrf_gradient_and_hessian_at_indices(plain, spread, view<std::int32_t const, 1>(pixels.data(), {count}),
                                         spec_parameters, view<float, 2>(g.data(), {count, 18}, {21, 1}),
                                         view<float, 2>(h.data(), {count, 18}, {21, 1}));
  auto const dense = run(plain, x, s, pixels, spec_parameters);
  for (index_t p = 0; p < count; ++p)
    for (index_t k = 0; k < 21; ++k) {
      EXPECT_EQ(g[static_cast<std::size_t>(p * 21 + k)],
                k < 18 ? dense.gradient[static_cast<std::size_t>(p * 18 + k)] : -7.0f);
      EXPECT_EQ(h[static_cast<std::size_t>(p * 21 + k)],
                k < 18 ? dense.hessian[static_cast<std::size_t>(p * 18 + k)] : -7.0f);
    }
  EXPECT_EQ(qggmrf_loss(plain, spread, spec_parameters),
            qggmrf_loss(plain, view<float const, 3>(x.data(), s), spec_parameters));
}

TEST(Qggmrf, EmptyInputsGiveEmptyOutputs) {
  EXPECT_TRUE(run(plain, random_image({3, 4, 5}, 1), {3, 4, 5}, {}, spec_parameters).gradient.empty());
  EXPECT_TRUE(run(plain, {}, {3, 4, 0}, {1, 2}, spec_parameters).gradient.empty());
  for (shape_3 const& s : {shape_3{0, 4, 5}, {3, 0, 5}, {3, 4, 0}})
    EXPECT_EQ(qggmrf_loss(plain, view<float const, 3>(nullptr, s), spec_parameters), 0);
  float const one = 3;
  EXPECT_EQ(qggmrf_loss(plain, view<float const, 3>(&one, {1, 1, 1}), spec_parameters), 0) << "no pair";
}

TEST(Qggmrf, BadParametersAreErrors) {
  auto const refused = [](qggmrf_parameters const& v, char const* text) {
    try {
      run(plain, {1, 2}, {1, 1, 2}, {0}, v);
      ADD_FAILURE() << text;
    } catch (parameter_error const& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
    float const x[] = {1, 2};
    EXPECT_THROW((void)qggmrf_loss(plain, view<float const, 3>(x, {1, 1, 2}), v), parameter_error) << text;
  };
  refused({.sigma_x = 0}, "sigma_x is 0");
  refused({.sigma_x = -1}, "sigma_x is -1");
  refused({.sigma_x = NAN}, "sigma_x is nan");
  refused({.T = 0}, "T is 0");
  refused({.p = 2.1}, "p is 2.1");
  refused({.p = 1.1, .q = 1.2}, "q is 1.2 and p is 1.1");
  refused({.q = 0.9}, "q is 0.9");
  refused({.q = NAN}, "q is nan");
  refused({.nbr_wts = {0, 0, 0}}, "nbr_wts is (0, 0, 0)");
  refused({.nbr_wts = {1, -1, 1}}, "nbr_wts is (1, -1, 1)");
}

TEST(Qggmrf, WrongShapesAreErrors) {
  std::vector<float> x(24), g(100);
  std::vector<std::int32_t> pixels{0, 5};
  view<float const, 3> const recon(x.data(), {2, 3, 4});
  view<std::int32_t const, 1> const list(pixels.data(), {2});
  auto const call = [&](std::array<index_t, 2> gradient, std::array<index_t, 2> hessian) {
    qggmrf_gradient_and_hessian_at_indices(plain, recon, list, {}, view<float, 2>(g.data(), gradient),
                                           view<float, 2>(g.data() + 50, hessian));
  };
  EXPECT_NO_THROW(call({2, 4}, {2, 4}));
  EXPECT_THROW(call({2, 5}, {2, 4}), shape_error);
  EXPECT_THROW(call({2, 4}, {1, 4}), shape_error);
  for (std::int32_t const bad : {-1, 6}) {
    pixels[1] = bad;
    EXPECT_THROW(call({2, 4}, {2, 4}), index_error);
  }
  EXPECT_THROW((void)qggmrf_loss(plain, view<float const, 3>(nullptr, {2, 3, 4}), {}), shape_error) << "no data";
  EXPECT_THROW((void)qggmrf_loss(plain, view<float const, 3>(x.data(), {2, 3, 2}, {12, 4, 2}), {}), shape_error)
      << "slices not contiguous";
}

TEST(Qggmrf, AnyNumberOfThreadsGivesTheSameBits) {
  shape_3 const s{13, 17, 21};
  auto const x = random_image(s, 9);
  auto const pixels = scattered(s);
  auto const one = run(context{exec::host{1}, instrument::none{}}, x, s, pixels, spec_parameters);
  double const loss =
      qggmrf_loss(context{exec::host{1}, instrument::none{}}, view<float const, 3>(x.data(), s), spec_parameters);
  for (int const threads : {2, 3, 7}) {
    context const ctx{exec::host{threads}, instrument::none{}};
    auto const many = run(ctx, x, s, pixels, spec_parameters);
    EXPECT_EQ(many.gradient, one.gradient);
    EXPECT_EQ(many.hessian, one.hessian);
    EXPECT_EQ(qggmrf_loss(ctx, view<float const, 3>(x.data(), s), spec_parameters), loss);
  }
}

TEST_P(Shapes, CountingEqualsTheModelAndChangesNoBit) {
  for (shape_3 const& s : {shape_3{1, 1, 1}, {5, 6, 16}, {4, 7, 37}}) {
    auto const x = random_image(s, 11);
    auto const pixels = scattered(s);
    instrument::ledger counted, modelled;
    context const counting{exec::host{}, instrument::counting<>{counted}};
    context const model{exec::host{}, instrument::cost_model<>{modelled}};
    auto const watched = run(counting, x, s, pixels, GetParam()), bare = run(plain, x, s, pixels, GetParam());
    run(model, x, s, pixels, GetParam());
    EXPECT_EQ(watched.gradient, bare.gradient);
    EXPECT_EQ(watched.hessian, bare.hessian);
    test::expect_same_counts(counted.last(), modelled.last());
    EXPECT_EQ(counted.last().name, name);
    EXPECT_GT(counted.last().operations.flops(), 0u);

    view<float const, 3> const image(x.data(), s), nothing(nullptr, s);
    EXPECT_EQ(qggmrf_loss(counting, image, GetParam()), qggmrf_loss(plain, image, GetParam()));
    EXPECT_EQ(qggmrf_loss(model, nothing, GetParam()), 0);
    test::expect_same_counts(counted.last(), modelled.last());
    EXPECT_EQ(counted.last().name, "qggmrf_loss");
  }
}

/// Five pairs per voxel: four in the plane and one shared by two slices; a pair takes one logarithm, one division, and
/// one exponential or two.
TEST(Qggmrf, SpecialFunctionsByHand) {
  shape_3 const s{5, 5, 37};
  std::uint64_t const padded = static_cast<std::uint64_t>(round_up(37, simd::native_lanes));
  std::vector<std::int32_t> const inner{6, 7, 8, 11, 12, 13, 16, 17, 18};
  for (double const p : {2.0, 1.9}) {
    instrument::ledger l;
    run(context{exec::host{}, instrument::counting<>{l}}, random_image(s, 2), s, inner, {.sigma_x = 0.3, .p = p});
    auto const& c = l.last().operations;
    EXPECT_EQ(c.of(operation::log), 9 * 5 * padded);
    EXPECT_EQ(c.of(operation::div), 9 * 5 * padded);
    EXPECT_EQ(c.of(operation::exp), (p == 2 ? 1 : 2) * 9 * 5 * padded);
    EXPECT_EQ(c.lanes_useful, 9u * 37u);
    EXPECT_EQ(c.lanes_executed, 9 * padded);
  }
}

}  // namespace
