// Models: results of scripts written for MBIRJAX, against numbers from MBIRJAX 0.7.3 (one CPU device); methods equal
// the free functions; the rules of caching and of sigmas that a model adds.
#include "mbirk/recon/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "core/messages.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace {

using namespace mbirk;
using shape = std::array<index_t, 3>;
using values = std::vector<float>;

context const ctx{exec::host{1}, instrument::none{}};

/// y[v, m, n] = max(0, C - 1.5 |n - 3 + sin(v)/2|) (1 + 0.1 m) of shape (6, 2, 7).
values test_sinogram() {
  values y;
  for (int v = 0; v < 6; ++v)
    for (int m = 0; m < 2; ++m)
      for (int n = 0; n < 7; ++n)
        y.push_back(static_cast<float>(std::max(0.0, 7 - 1.5 * std::abs(n - 3 + 0.5 * std::sin(v))) * (1 + 0.1 * m)));
  return y;
}
values angles(int count, double range) {
  values a;
  for (int v = 0; v < count; ++v) a.push_back(static_cast<float>(range * v / count));
  return a;
}
template <class Model> Model small() {
  constexpr double pi = 3.14159265358979323846;
  auto model = [] {
    if constexpr (std::is_same_v<Model, cone_beam_model>) return Model({6, 2, 7}, angles(6, 2 * pi), 28, 14);
    else return Model({6, 2, 7}, angles(6, pi));
  }();
  model.set_params({{"granularity", {1, 2, 4}}, {"partition_sequence", {1, 2}}});
  return model;
}
values noise(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  values v;
  for (std::size_t k = 0; k < count; ++k) v.push_back(static_cast<float>(engine() >> 8) * 0x1p-24f);
  return v;
}

template <class Error = parameter_error, class F> std::string refusal(F const& f) { return test::message_of<Error>(f); }

/// Row 3 of slice 0 of a (7, 7, 2) image. MBIRJAX works in float32, also in its ramp taps: implementations differ by up
/// to 3e-5 of the peak (measured with direct reconstructions and a few iterations); 3 is below the peak of every image
/// here except the parallel ones (2.4).
void expect_row(values const& image, std::vector<double> const& expected) {
  ASSERT_EQ(image.size(), 98u);
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(image[(3 * 7 + j) * 2], expected[j], 3 * 3e-5) << j;
}
double total(values const& v) {
  double s = 0;
  for (auto const x : v) s += x;
  return s;
}

struct reference {
  std::vector<double> direct, one, three, prox, alphas;
  double sigma_x, change, rmse, sum, prox_alpha;
};
template <class Model> void expect_reference(reference const& r) {
  auto model = small<Model>();
  EXPECT_EQ(model.recon_shape(), (shape{7, 7, 2}));
  auto const y = test_sinogram();
  auto x = model.new_recon();
  recon_call_options one{.max_iterations = 1, .stop_threshold_change_pct = 0}, three = one;
  three.max_iterations = 3;

  model.direct_recon(ctx, model.sinogram_view(y), model.recon_view(x));
  expect_row(x, r.direct);
  auto const record = model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(x), one);
  expect_row(x, r.one);
  EXPECT_NEAR(total(x), r.sum, 1e-5 * r.sum);
  EXPECT_NEAR(model.template get_params<double>("sigma_y"), .15371744, 1e-7);
  EXPECT_NEAR(model.template get_params<double>("sigma_x"), r.sigma_x, 2e-7);
  EXPECT_NEAR(model.template get_params<double>("sigma_prox"), r.sigma_x, 2e-7);
  EXPECT_EQ(model.get_params("auto_regularize_flag"), true);
  ASSERT_EQ(record.num_iterations, 1);
  EXPECT_NEAR(record.alpha_values[0], r.alphas[0], 2e-5);
  EXPECT_NEAR(record.stop_threshold_change_pct[0], 100 * r.change, 2e-3);
  EXPECT_NEAR(record.fm_rmse[0], r.rmse, 1e-4);

  auto const longer = model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(x), three);
  expect_row(x, r.three);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(longer.alpha_values[k], r.alphas[k], 3e-5) << k;

  values const half(98, 0.5f);
  auto const proximal =
      model.prox_map(ctx, model.recon_view(half), model.sinogram_view(y), {}, model.recon_view(x), one);
  expect_row(x, r.prox);
  EXPECT_NEAR(proximal.alpha_values[0], r.prox_alpha, 3e-5);
}

TEST(Model, ParallelBeamGivesTheNumbersOfMbirjax) {
  expect_reference<parallel_beam_model>(
      {.direct = {.850782, .9710366, 1.2337654, 1.4653629, .920461, .6412202, .5384237},
       .one = {2.0212831, .8116156, 1.1443216, 1.3184603, .9297272, .4578196, .9442819},
       .three = {2.4312658, .3102637, 1.1108857, 1.3859688, .6130337, -.0870916, 1.3615346},
       .prox = {1.9256734, .9364171, 1.1070845, 1.2876184, 1.0056378, .4617029, .9152824},
       .alphas = {.88503182, .81091106, .89421368},
       .sigma_x = .26184896,
       .change = .2865234,
       .rmse = 4.2711310,
       .sum = 64.418601,
       .prox_alpha = .792834});
}
TEST(Model, ConeBeamGivesTheNumbersOfMbirjax) {
  expect_reference<cone_beam_model>(
      {.direct = {1.0117679, 1.3488292, 1.8723363, 2.9371982, 1.9415183, 1.4290615, 1.0898118},
       .one = {2.5958123, 1.0580413, 2.4301956, 2.5376472, 2.7598205, 1.5901833, 2.421489},
       .three = {3.1668875, .5849807, 3.215085, 3.1651056, 2.9045203, 1.0755961, 3.6559508},
       .prox = {2.5295208, 1.0866299, 2.37644, 2.5086124, 2.7109146, 1.5863538, 2.3836827},
       .alphas = {.86503237, 1.1711034, 1.1497813},
       .sigma_x = .52369791,
       .change = .2754277,
       .rmse = 3.3148446,
       .sum = 124.316123,
       .prox_alpha = .8565944});
}

/// Image (6, 5, 4): [(i - 2.5)^2 + (j - 2)^2 < 5] + 0.1 sin(7i + 3j + 5k). Gate of the denoiser: 5e-6 of the peak.
TEST(Denoiser, GivesTheNumbersOfMbirjax) {
  values image;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 4; ++k)
        image.push_back(static_cast<float>(((i - 2.5) * (i - 2.5) + (j - 2) * (j - 2) < 5) +
                                           0.1 * std::sin(7 * i + 3 * j + 5 * k)));
  values x(120);
  view<float const, 3> const in(image.data(), {6, 5, 4});
  view<float, 3> const out(x.data(), {6, 5, 4});
  qggmrf_denoiser denoiser({6, 5, 4});
  auto const expect = [&](int iterations, std::vector<double> const& row, double sum,
                          std::vector<double> const& alphas) {
    auto const record = denoiser.denoise(ctx, in, out, {.max_iterations = iterations, .stop_threshold_change_pct = 0});
    for (int j = 0; j < 5; ++j) EXPECT_NEAR(out(2, j, 1), row[static_cast<std::size_t>(j)], 1.1 * 5e-6) << j;
    EXPECT_NEAR(total(x), sum, 5e-6 * sum);
    ASSERT_EQ(record.alpha_values.size(), alphas.size());
    for (std::size_t k = 0; k < alphas.size(); ++k) EXPECT_NEAR(record.alpha_values[k], alphas[k], 1e-5);
  };
  expect(1, {1.0009373, .9970002, .9929434, 1.0064697, .958968}, 63.744165, {.90517169});
  expect(3, {.9796665, .9789774, .9817607, .9803191, .9498096}, 63.664390, {.90517169, .92223289, .92803639});
  EXPECT_NEAR(denoiser.get_params<double>("sigma_y"), .21132758, 2e-7);
  EXPECT_NEAR(denoiser.get_params<double>("sigma_x"), .04226552, 1e-7);
  EXPECT_EQ(denoiser.get_params("auto_regularize_flag"), true);
}

TEST(Denoiser, TakesParametersAndArguments) {
  qggmrf_denoiser d({6, 5, 4});
  auto o = d.options();
  EXPECT_EQ(o.sharpness, 0);
  EXPECT_EQ(o.granularity, 16);
  EXPECT_EQ(o.sigma_noise, std::nullopt);
  EXPECT_EQ(o.sigma_x, std::nullopt);
  EXPECT_EQ(std::get<bool>(o.use_ror_mask.value()), false);
  d.set_params(
      {{"sharpness", 0.5}, {"granularity", {1, 8}}, {"partition_sequence", {1}}, {"use_ror_mask", true}, {"p", 1.9}});
  o = d.options({.sigma_noise = 0.25, .max_iterations = 7, .seed = 3});
  EXPECT_EQ(o.sharpness, 0.5);
  EXPECT_EQ(o.granularity, 8);
  EXPECT_EQ(o.p, 1.9);
  EXPECT_EQ(o.sigma_noise, 0.25);
  EXPECT_EQ(o.max_iterations, 7);
  EXPECT_EQ(o.seed, 3u);
  EXPECT_TRUE(std::get<bool>(o.use_ror_mask.value()));
  EXPECT_FALSE(std::get<bool>(d.options({.use_ror_mask = false}).use_ror_mask.value()));
  d.set_params("sigma_x", 0.125);
  EXPECT_EQ(d.options().sigma_x, 0.125);
  EXPECT_EQ(d.options().sigma_noise, 1.0);
  EXPECT_EQ(d.options({.sigma_noise = 0.5}).sigma_noise, 0.5);
  std::vector<parameter_setting> const settings{{"partition_sequence", {2}}};
  d.set_params(std::span(settings));
  EXPECT_TRUE(
      refusal<index_error>([&] { d.options(); }).starts_with("partition_sequence begins with 2, expected 0 to 1"));
  values a(6), b(6);
  EXPECT_THROW(d.denoise(ctx, view<float const, 3>(a.data(), {1, 2, 3}), view<float, 3>(b.data(), {1, 2, 3})),
               shape_error);
  EXPECT_THROW(d.get_params("delta_voxel"), parameter_error);
}

/// Every method gives the bits of the free function.
template <class Model> struct Methods : ::testing::Test {};
using models = ::testing::Types<parallel_beam_model, cone_beam_model>;
TYPED_TEST_SUITE(Methods, models, );

TYPED_TEST(Methods, AreTheFreeFunctions) {
  auto model = small<TypeParam>();
  std::vector<parameter_setting> const settings{{"det_channel_offset", 0.4},
                                                {"use_ror_mask", false},
                                                {"sharpness", 0.5},
                                                {"max_alpha", 1.2},
                                                {"positivity_flag", true}};
  model.set_params(std::span(settings));
  auto const& s = model.scan();
  auto const y = test_sinogram(), image = noise(98, 1), w = noise(84, 2);
  view<float const, 3> const sinogram = model.sinogram_view(y), volume = model.recon_view(image),
                             weights = model.sinogram_view(w);
  auto const same_sinogram = [&](char const* what, auto const& method, auto const& function) {
    values a(84, NAN), b(84, NAN);
    method(model.sinogram_view(a)), function(model.sinogram_view(b));
    EXPECT_EQ(a, b) << what;
  };
  auto const same_recon = [&](char const* what, auto const& method, auto const& function) {
    values a(98, NAN), b(98, NAN);
    method(model.recon_view(a)), function(model.recon_view(b));
    EXPECT_EQ(a, b) << what;
  };
  same_sinogram(
      "forward_project", [&](auto out) { model.forward_project(ctx, volume, out); },
      [&](auto out) { forward_project(ctx, s, volume, out); });
  same_recon(
      "back_project", [&](auto out) { model.back_project(ctx, sinogram, out); },
      [&](auto out) { back_project(ctx, s, sinogram, out); });
  std::vector<std::int32_t> const pixels{3, 17, 40};
  view<std::int32_t const, 1> const list(pixels.data(), {3});
  view<float const, 2> const columns(image.data(), {3, 2});
  same_sinogram("sparse_forward_project", [&](auto out) { model.sparse_forward_project(ctx, columns, list, out); },
                [&](auto out) { sparse_forward_project(ctx, s, columns, list, out); });
  for (int const power : {1, 2})
    same_recon(
        "sparse_back_project",
        [&](auto out) {
          model.sparse_back_project(ctx, sinogram, list, view<float, 2>(out.data(), {3, 2}), power);
          std::fill(out.data() + 6, out.data() + 98, 0.0f);
        },
        [&](auto out) {
          sparse_back_project(ctx, s, sinogram, list, view<float, 2>(out.data(), {3, 2}), power);
          std::fill(out.data() + 6, out.data() + 98, 0.0f);
        });
  same_recon(
      "hessian", [&](auto out) { model.compute_hessian_diagonal(ctx, weights, out); },
      [&](auto out) { hessian_diagonal(ctx, s, std::optional(weights), out); });
  same_recon(
      "hessian without weights", [&](auto out) { model.compute_hessian_diagonal(ctx, {}, out); },
      [&](auto out) { hessian_diagonal(ctx, s, std::nullopt, out); });

  filter_options const taps{.taps = ramp_taps::float32};
  same_sinogram(
      "direct_filter", [&](auto out) { model.direct_filter(ctx, sinogram, out, taps); },
      [&](auto out) { direct_filter(ctx, s, sinogram, out, taps); });
  same_recon(
      "direct_recon", [&](auto out) { model.direct_recon(ctx, sinogram, out, taps); },
      [&](auto out) { direct_recon(ctx, s, sinogram, out, taps); });
  if constexpr (std::is_same_v<TypeParam, cone_beam_model>) {
    same_sinogram(
        "fdk_filter", [&](auto out) { model.fdk_filter(ctx, sinogram, out); },
        [&](auto out) { fdk_filter(ctx, s, sinogram, out); });
    same_recon(
        "fdk_recon", [&](auto out) { model.fdk_recon(ctx, sinogram, out); },
        [&](auto out) { fdk_recon(ctx, s, sinogram, out); });
  } else {
    same_sinogram(
        "fbp_filter", [&](auto out) { model.fbp_filter(ctx, sinogram, out); },
        [&](auto out) { fbp_filter(ctx, s, sinogram, out); });
    same_recon(
        "fbp_recon", [&](auto out) { model.fbp_recon(ctx, sinogram, out); },
        [&](auto out) { fbp_recon(ctx, s, sinogram, out); });
  }
  same_sinogram("gen_weights", [&](auto out) { model.gen_weights(ctx, sinogram, "emission", out); },
                [&](auto out) { gen_weights(ctx, sinogram, weight_type::emission, out); });
  same_sinogram(
      "gen_weights_mar",
      [&](auto out) {
        model.gen_weights_mar(ctx, sinogram, out,
                              {.init_recon = volume, .metal_threshold = 0.5, .beta = 2, .gamma = 1});
      },
      [&](auto out) { gen_weights_mar(ctx, s, sinogram, volume, 0.5, 2, 1, out); });

  recon_call_options const a{.init_recon = 0.5, .max_iterations = 3, .stop_threshold_change_pct = 0, .seed = 5};
  recon_options const o{a,
                        {.sharpness = 0.5,
                         .positivity_flag = true,
                         .max_alpha = 1.2,
                         .granularity = {1, 2, 4},
                         .partition_sequence = {1, 2}}};
  same_recon(
      "recon", [&](auto out) { model.recon(ctx, sinogram, weights, out, a); },
      [&](auto out) { recon(ctx, s, sinogram, weights, out, o); });
  same_recon("prox_map", [&](auto out) { model.prox_map(ctx, volume, sinogram, weights, out, a); },
             [&](auto out) { prox_map(ctx, s, volume, sinogram, weights, out, o); });
  auto const found = model.auto_set_regularization_params(ctx, sinogram, weights);
  EXPECT_EQ(found.sigma_y, auto_regularization(ctx, s, sinogram, weights, 30, 0.5).sigma_y);
  EXPECT_EQ(model.template get_params<double>("sigma_y"), found.sigma_y);
  EXPECT_THROW(model.gen_weights(ctx, sinogram, "transmision", view<float, 3>()), parameter_error);
}

TYPED_TEST(Methods, KeepTheScanUntilItChanges) {
  auto model = small<TypeParam>();
  auto const* scan = &model.scan();
  auto const* positions = scan->positions().data();
  model.set_params({{"sharpness", 2}, {"sigma_y", 1}, {"granularity", {2}}});
  EXPECT_EQ(model.scan().positions().data(), positions);
  auto const copy = model;
  EXPECT_NE(copy.scan().positions().data(), positions);

  model.set_params("det_channel_offset", 0.5);
  EXPECT_EQ(model.scan().geometry().det_channel_offset, 0.5);
  EXPECT_EQ(copy.scan().geometry().det_channel_offset, 0.0);
  model.set_params("angles", angles(6, 1));
  EXPECT_EQ(model.scan().angles()[1], angles(6, 1)[1]);

  model.set_params("angles", angles(5, 1));  // each is valid alone, but not both together
  EXPECT_EQ(refusal([&] { model.scan(); }), "angles has 5 values, expected one per view = 6");
  EXPECT_EQ(refusal([&] { model.verify_valid_params(); }), "angles has 5 values, expected one per view = 6");
  model.set_params("sinogram_shape", {5, 2, 7});
  EXPECT_EQ(model.scan().sinogram_shape(), (shape{5, 2, 7}));
  EXPECT_THROW(model.set_params("no_such", 1), parameter_error);
}

TYPED_TEST(Methods, SizeAndScale) {
  auto model = small<TypeParam>();
  model.set_params("use_ror_mask", true);
  auto const scaled = model.scale_recon_shape(1.5, 1.3);
  EXPECT_EQ(scaled.shape, (shape{10, 9, 2}));
  EXPECT_EQ(scaled.added, (shape{3, 2, 0}));
  EXPECT_EQ(model.recon_shape(), (shape{10, 9, 2}));
  EXPECT_EQ(model.scan().recon_shape(), (shape{10, 9, 2}));
  EXPECT_THROW(model.scale_recon_shape(-1), parameter_error);
  model.auto_set_recon_geometry();
  EXPECT_EQ(model.scan().recon_shape(), (shape{7, 7, 2}));
  EXPECT_EQ(model.get_magnification(), (std::is_same_v<TypeParam, cone_beam_model> ? 2.0 : 1.0));

  EXPECT_EQ(model.new_recon().size(), 98u);
  EXPECT_EQ(model.new_sinogram().size(), 84u);
  values wrong(97);
  EXPECT_EQ(refusal<shape_error>([&] { model.recon_view(wrong); }),
            "recon has 97 values, expected 98 for a shape (7, 7, 2)");
  EXPECT_THROW(model.sinogram_view(wrong), shape_error);
}

TYPED_TEST(Methods, SigmasSetByHandAreUsedAndKept) {
  auto model = small<TypeParam>();
  auto const y = test_sinogram();
  auto x = model.new_recon();
  model.set_params({{"sigma_y", 0.5}, {"sigma_x", 0.25}});
  auto const record = model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(x), {.max_iterations = 1});
  EXPECT_EQ(record.sigma_y, 0.5);
  EXPECT_EQ(record.sigma_x, 0.25);
  EXPECT_EQ(model.get_params("sigma_y"), 0.5);
  EXPECT_EQ(model.get_params("auto_regularize_flag"), false);
  values const ones(98, 1.0f);
  auto const proximal = model.prox_map(ctx, model.recon_view(ones), model.sinogram_view(y), {}, model.recon_view(x),
                                       {.max_iterations = 1});
  EXPECT_EQ(proximal.sigma_prox, 1.0);  // its default: no sigma is automatic any more
}

TYPED_TEST(Methods, ProximalMapWithoutInitialization) {
  auto model = small<TypeParam>();
  auto const y = test_sinogram(), v = noise(98, 3);
  auto brighter = y;
  for (auto& s : brighter) s *= 2;
  auto x = model.new_recon();
  auto const prox = [&](values const& sinogram, int iterations, prox_arguments const& p) {
    return model.prox_map(ctx, model.recon_view(v), model.sinogram_view(sinogram), {}, model.recon_view(x),
                          {.max_iterations = iterations, .stop_threshold_change_pct = 0}, p);
  };
  EXPECT_TRUE(
      refusal([&] { prox(y, 1, {.do_initialization = false}); }).starts_with("prox_map: do_initialization is false"));
  auto const first = prox(y, 1, {});
  auto const again = prox(brighter, 3, {.do_initialization = false});
  EXPECT_EQ(again.num_iterations, 3) << "MBIRJAX ignores it";
  EXPECT_EQ(again.sigma_y, first.sigma_y);
  EXPECT_EQ(again.sigma_prox, first.sigma_prox);
  EXPECT_EQ(prox(y, 1, {.sigma_prox = 0.125, .do_initialization = false}).sigma_prox, 0.125);
  EXPECT_EQ(prox(y, 1, {.do_initialization = false}).sigma_prox, first.sigma_prox)
      << "a given one is for its call only";
  auto const fresh = prox(brighter, 1, {.sigma_prox = 0.125});
  EXPECT_NEAR(fresh.sigma_y, 2 * first.sigma_y, 1e-6);
  EXPECT_EQ(fresh.sigma_prox, 0.125);
  EXPECT_NEAR(model.template get_params<double>("sigma_prox"), 2 * first.sigma_prox, 1e-6);

  model.set_params("det_channel_offset", 0.25);  // another scan: no state to resume from
  EXPECT_THROW(prox(y, 1, {.do_initialization = false}), parameter_error);
}

TYPED_TEST(Methods, ArgumentsReachTheReconstruction) {
  auto model = small<TypeParam>();
  auto const y = test_sinogram();
  auto x = model.new_recon(), resumed = x;
  int calls = 0;
  recon_state state;
  recon_call_options a{
      .init_recon = 0.0, .max_iterations = 4, .stop_threshold_change_pct = 0, .compute_prior_loss = true, .seed = 7};
  auto const whole = model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(x), a);
  EXPECT_GT(whole.prior_loss[0], 0);
  a.progress = [&](iteration_report const& r) { return ++calls, r.iteration < 2; };
  a.checkpoint = [&](recon_state const& s) { state = s; };
  a.checkpoint_every = 100;
  auto const part = model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(resumed), a);
  EXPECT_TRUE(part.cancelled);
  EXPECT_EQ(part.num_iterations, 2);
  EXPECT_EQ(calls, 2);
  a.progress = {}, a.checkpoint = {}, a.resume = &state;
  model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(resumed), a);
  EXPECT_EQ(resumed, x);
  a.resume = nullptr, a.first_iteration = 3;
  EXPECT_EQ(model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(x), a).num_iterations, 1);
  EXPECT_TRUE(model.options({.mbirjax_rounding = true}).mbirjax_rounding);
}

TEST(Model, SlicesAreDampedInConeBeamUnlessSwitchedOff) {
  auto model = small<cone_beam_model>();
  EXPECT_EQ(model.options().slice_damping, true);
  auto const y = test_sinogram();
  auto damped = model.new_recon(), not_damped = damped;
  recon_call_options const a{.max_iterations = 2, .stop_threshold_change_pct = 0};
  model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(damped), a);
  model.set_params("slice_damping", false);
  model.recon(ctx, model.sinogram_view(y), {}, model.recon_view(not_damped), a);
  EXPECT_NE(damped, not_damped);
}

TEST(Model, HelicalScanAndGeneralParameters) {
  cone_beam_model const helical({3, 4, 6}, {0, 1, 2}, 40, 20, {-1, 0, 1});
  EXPECT_GT(helical.recon_shape()[2], cone_beam_model({3, 4, 6}, {0, 1, 2}, 40, 20).recon_shape()[2]);
  EXPECT_EQ(helical.scan().z_shifts()[2], 1);
  cone_beam_model const given(cone_parameters{.sinogram_shape = {3, 4, 6},
                                              .angles = {0, 1, 2},
                                              .source_detector_dist = 40,
                                              .source_iso_dist = 20,
                                              .recon_shape = shape{5, 5, 3}});
  EXPECT_EQ(given.scan().recon_shape(), (shape{5, 5, 3}));
  EXPECT_TRUE(given.params_text().find("recon_shape = (5, 5, 3)\n") != std::string::npos);
  EXPECT_THROW(cone_beam_model({3, 4, 6}, {0, 1, 2}, -40, 20), parameter_error);
}

}  // namespace
