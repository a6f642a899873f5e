// Automatic regularisation against reference values and against a version that sorts and sums in plain loops; the
// checks of data.
#include "mbirk/recon/regularization.hpp"

#include "core/messages.hpp"
#include "filter/support.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

template <class Scan> regularization regularize(Scan const& s, array<3> const& y, std::optional<array<3>> const& w = {},
                                                double snr_db = 30, double sharpness = 1, int threads = 1) {
  return auto_regularization(on_host(threads), s, y.all(),
                             w ? std::optional(view<float const, 3>(w->all())) : std::nullopt, snr_db, sharpness);
}

TEST(Regularization, ReferenceValues) {
  // MBIRJAX 0.7.3, printed to eight digits; its float32 sums are good to 1.1e-7.
  auto const expect = [](float found, double expected) { EXPECT_NEAR(found, expected, 2e-7 * expected); };
  auto const parallel = regularize(known_parallel(), known_sinogram()),
             cone = regularize(known_cone(), known_sinogram());
  expect(parallel.sigma_y, 0.15371744);
  expect(parallel.sigma_x, 0.26184896);
  expect(cone.sigma_y, 0.15371744);
  expect(cone.sigma_x, 0.52369791);
  EXPECT_EQ(parallel.sigma_prox, parallel.sigma_x);
  EXPECT_EQ(cone.sigma_prox, cone.sigma_x);
}

// ---- reference version by sorting, one loop for each step

enum class outcome { found, nothing_positive, no_background };
struct expectation {
  double sigma_y, sigma_x, cut;
  outcome how;
};

/// The end of the background; infinity below everything when there is none.
float background(std::vector<float> const& y, outcome& how) {
  constexpr int bins = 400;
  auto const [least, greatest] = std::minmax_element(y.begin(), y.end());
  float low = *least, high = *greatest;
  if (low == high) low -= 0.5f, high += 0.5f;
  std::vector<float> edges;
  for (int b = 0; b < bins; ++b)
    edges.push_back(static_cast<float>(b * ((static_cast<double>(high) - static_cast<double>(low)) / bins) +
                                       static_cast<double>(low)));
  edges.push_back(high);
  std::vector<int> h(bins);
  for (float const x : y)
    ++h[static_cast<std::size_t>(
        std::min<std::ptrdiff_t>(bins - 1, std::upper_bound(edges.begin(), edges.end(), x) - edges.begin() - 1))];
  auto const centre = [&](int b) {
    return (edges[static_cast<std::size_t>(b)] + edges[static_cast<std::size_t>(b + 1)]) / 2;
  };
  auto const count = [&](int b) { return h[static_cast<std::size_t>(b)]; };
  int peak = -1;
  for (int b = 0; b < bins - 1; ++b)
    if ((b == 0 || count(b) >= count(b - 1)) && count(b) > count(b + 1) &&
        (peak < 0 || std::abs(centre(b)) < std::abs(centre(peak))))
      peak = b;
  if (peak < 0) {
    peak = 0;
    for (int b = 1; b < bins; ++b)
      if (std::abs(centre(b)) < std::abs(centre(peak))) peak = b;
  }
  int left = peak, right = peak;
  while (left > 0 && 10 * count(left) > count(peak)) --left;
  while (right < bins - 1 && 10 * count(right) > count(peak)) ++right;
  float const end = centre(right) + (centre(right) - centre(left));
  how = *greatest <= 0 ? outcome::nothing_positive : *greatest < end ? outcome::no_background : outcome::found;
  return how == outcome::found ? end : -INFINITY;
}

template <class Scan> expectation expected_of(Scan const& s, array<3> const& y, std::optional<array<3>> const& w,
                                              double snr_db, double sharpness) {
  auto const [views, rows, channels] = y.shape;
  index_t const step = std::max<index_t>(views / std::min<index_t>(20, views), 1);
  std::vector<float> values, weights;
  for (index_t v = 0; v < views; v += step)
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n)
        values.push_back(y.all()(v, m, n)), weights.push_back(w ? w->all()(v, m, n) : 1);
  expectation e{};
  float threshold = background(values, e.how);
  if (e.how == outcome::found) {
    std::vector<float> object;
    for (float const x : values)
      if (x >= threshold) object.push_back(x);
    std::sort(object.begin(), object.end());
    threshold = 0.25f * ((object[(object.size() - 1) / 2] + object[object.size() / 2]) / 2);
  }
  double square = 0, number = 0, size = 0, first = 0, last = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] < threshold) continue;
    double const x = static_cast<double>(values[k]);
    square += static_cast<double>(weights[k]) * x * x, number += 1, size += std::abs(x);
    first += static_cast<index_t>(k) % channels == 0, last += static_cast<index_t>(k) % channels == channels - 1;
  }
  e.cut = e.how == outcome::found
              ? std::max(first, last) * static_cast<double>(channels) / static_cast<double>(values.size())
              : 0;
  auto const& g = s.geometry();
  double magnification = 1;
  if constexpr (requires { g.inverse_magnification; }) magnification = 1 / g.inverse_magnification;
  double const r = static_cast<double>(g.recon_rows), c = static_cast<double>(g.recon_cols);
  e.sigma_y = std::pow(10, -snr_db / 20) * std::sqrt(square / number) *
              std::sqrt(g.delta_x * magnification / g.delta_det_channel);
  e.sigma_x =
      0.2 * std::pow(2, sharpness) * size / number /
      std::min(2 * r * c / (r + c) * g.delta_x, static_cast<double>(channels) * g.delta_det_channel / magnification);
  return e;
}

/// Sums in double in another order, then one rounding to float32.
void expect_scale(float found, double expected) { EXPECT_NEAR(found, expected, (0x1p-24 + 1e-12) * expected); }

template <class Scan> void compare(Scan const& s, array<3> const& y, std::optional<array<3>> const& w = {},
                                   double snr_db = 30, double sharpness = 1, std::optional<outcome> how = {}) {
  auto const found = regularize(s, y, w, snr_db, sharpness, 2);
  auto const expected = expected_of(s, y, w, snr_db, sharpness);
  expect_scale(found.sigma_y, expected.sigma_y);
  expect_scale(found.sigma_x, expected.sigma_x);
  EXPECT_EQ(found.sigma_prox, found.sigma_x);
  if (how) { EXPECT_EQ(expected.how, *how); }
  std::vector<std::string> words;
  if (expected.how == outcome::nothing_positive) words.push_back("no positive value");
  if (expected.how == outcome::no_background) words.push_back("background");
  if (expected.cut > 0.02) words.push_back("truncated");
  ASSERT_EQ(found.warnings.size(), words.size());
  for (std::size_t k = 0; k < words.size(); ++k)
    EXPECT_NE(found.warnings[k].find(words[k]), std::string::npos) << found.warnings[k];
}

parallel_scan parallel_of(shape_3 shape) {
  parallel_parameters p{.sinogram_shape = shape, .angles = some_angles(shape[0]), .delta_det_channel = 0.7};
  p.delta_voxel = 0.9, p.recon_shape = shape_3{shape[2] + 3, shape[2] + 1, shape[1]};
  return parallel_scan(p);
}
cone_scan cone_of(shape_3 shape) {
  cone_parameters p{.sinogram_shape = shape,
                    .angles = some_angles(shape[0]),
                    .source_detector_dist = 300,
                    .source_iso_dist = 170,
                    .delta_det_channel = 1.3};
  return cone_scan(p);
}

/// A cylinder of this radius (1: to the edges of the detector) on a noisy background.
array<3> cylinder(shape_3 shape, double radius, unsigned seed) {
  auto y = random_array<3>(shape, seed);
  double const middle = static_cast<double>(shape[2] - 1) / 2;
  for (std::size_t k = 0; k < y.data.size(); ++k) {
    double const u = (static_cast<double>(k % static_cast<std::size_t>(shape[2])) - middle) / (radius * (middle + 0.5));
    y.data[k] = 0.05f * (y.data[k] - 0.5f) + static_cast<float>(u * u < 1 ? 3 * std::sqrt(1 - u * u) : 0);
  }
  return y;
}

// Numbers of views around the steps 1, 2, 3; rows of one sample, of less and more than a pack.
shape_3 const shapes[] = {{1, 1, 9},   {19, 2, 40}, {20, 3, 31}, {21, 1, 64}, {39, 2, 50}, {40, 2, 50},
                          {41, 3, 33}, {59, 1, 47}, {60, 5, 17}, {67, 2, 129}, {130, 7, 65}, {5, 40, 1}};

TEST(Regularization, EqualsPlainLoops) {
  unsigned seed = 1;
  for (auto const shape : shapes) {
    SCOPED_TRACE(mbirk::detail::shape_text(shape));
    auto const inside = cylinder(shape, 0.6, ++seed), cut = cylinder(shape, 1.4, ++seed);
    auto const w = random_array<3>(shape, ++seed);
    for (auto const& y : {inside, cut}) {
      compare(parallel_of(shape), y);
      compare(cone_of(shape), y, w, 25, -0.5);
      compare(parallel_of(shape), y, w, 41.5, 0.3);
    }
    compare(parallel_of(shape), random_array<3>(shape, ++seed));
  }
}
TEST(Regularization, WarnsOfATruncatedObject) {
  shape_3 const shape{30, 4, 60};
  EXPECT_TRUE(regularize(parallel_of(shape), cylinder(shape, 0.6, 1)).warnings.empty());
  auto y = cylinder(shape, 0.6, 2);
  compare(parallel_of(shape), y, {}, 30, 1, outcome::found);
  for (index_t v = 0; v < 2; ++v) y.all()(v, 1, 59) = 2;  // in 2 of 120 rows: below two in a hundred
  EXPECT_TRUE(regularize(parallel_of(shape), y).warnings.empty());
  y.all()(3, 1, 59) = 2;
  EXPECT_EQ(regularize(parallel_of(shape), y).warnings.size(), 1u);
  for (index_t v = 0; v < 4; ++v) y.all()(v, 1, 59) = 0, y.all()(v, 2, 0) = 2;
  EXPECT_EQ(regularize(parallel_of(shape), y).warnings.size(), 1u);
}
TEST(Regularization, TakesAllWhereThereIsNoBackground) {
  shape_3 const shape{8, 3, 21};
  array<3> y(shape, 2);
  compare(parallel_of(shape), y, {}, 30, 1, outcome::no_background);
  for (auto& x : y.data) x = -1.5f;
  compare(parallel_of(shape), y, {}, 30, 1, outcome::nothing_positive);
  y.data[5] = 0;
  compare(parallel_of(shape), y, {}, 30, 1, outcome::nothing_positive);
  for (std::size_t k = 0; k < y.data.size(); ++k) y.data[k] = k % 2 ? 1.0f : 1.25f;
  compare(parallel_of(shape), y);
  compare(parallel_of(shape), array<3>(shape, 1e-30f));
}
TEST(Regularization, ScalesWithItsInputs) {
  shape_3 const shape{25, 3, 40};
  auto const s = cone_of(shape);
  auto const y = cylinder(shape, 0.5, 3);
  auto doubled = y;
  for (auto& x : doubled.data) x *= 2;
  auto const one = regularize(s, y), two = regularize(s, doubled), quiet = regularize(s, y, {}, 50),
             sharp = regularize(s, y, {}, 30, 2);
  auto const quarter = regularize(s, y, array<3>(shape, 0.25f));
  auto const same = [](double a, double b) { EXPECT_NEAR(a, b, 2 * 0x1p-24 * b); };  // both rounded to float32
  same(two.sigma_y, 2 * static_cast<double>(one.sigma_y));
  same(two.sigma_x, 2 * static_cast<double>(one.sigma_x));
  same(quiet.sigma_y, 0.1 * static_cast<double>(one.sigma_y));
  EXPECT_EQ(quiet.sigma_x, one.sigma_x);
  same(sharp.sigma_x, 2 * static_cast<double>(one.sigma_x));
  EXPECT_EQ(sharp.sigma_y, one.sigma_y);
  same(quarter.sigma_y, 0.5 * static_cast<double>(one.sigma_y));
  EXPECT_EQ(quarter.sigma_x, one.sigma_x);
}
TEST(Regularization, DoesNotDependOnThreadsOrGaps) {
  shape_3 const shape{67, 31, 120};
  auto const y = cylinder(shape, 0.7, 4), w = random_array<3>(shape, 5);
  auto const s = parallel_of(shape);
  auto const one = regularize(s, y, w);
  spread sinogram(y), weights(w);
  for (auto const& other : {regularize(s, y, w, 30, 1, 2), regularize(s, y, w, 30, 1, 7)}) {
    EXPECT_EQ(one.sigma_y, other.sigma_y);
    EXPECT_EQ(one.sigma_x, other.sigma_x);
  }
  auto const gaps =
      auto_regularization(on_host(), s, sinogram.all(), std::optional<view<float const, 3>>(weights.all()));
  EXPECT_NEAR(gaps.sigma_y, one.sigma_y, 0x1p-23 * static_cast<double>(one.sigma_y))
      << "sums of other lines, each rounded to float32";
  EXPECT_NEAR(gaps.sigma_x, one.sigma_x, 0x1p-23 * static_cast<double>(one.sigma_x));
}
TEST(Regularization, CountsEqualTheModel) {
  for (auto const shape : shapes) {
    auto const s = parallel_of(shape);
    auto const y = cylinder(shape, 0.6, 6), w = random_array<3>(shape, 7);
    for (bool const weighted : {false, true}) {
      instrument::ledger counted, modelled;
      auto const weights = [&](float const* data) {
        return weighted ? std::optional(view<float const, 3>(data, shape)) : std::nullopt;
      };
      auto const r = auto_regularization(context{exec::host{}, instrument::counting<>{counted}}, s, y.all(),
                                         weights(w.data.data()));
      auto const m = auto_regularization(context{exec::host{}, instrument::cost_model<>{modelled}}, s,
                                         view<float const, 3>(nullptr, shape), weights(nullptr));
      expect_same_counts(counted.last(), modelled.last());
      EXPECT_EQ(counted.last().name, "auto_regularization");
      auto const plain = regularize(s, y, weighted ? std::optional(w) : std::nullopt);
      EXPECT_EQ(r.sigma_y, plain.sigma_y);
      EXPECT_EQ(r.sigma_x, plain.sigma_x);
      EXPECT_EQ(m.sigma_y, 1);
      EXPECT_EQ(m.sigma_x, 1);
      EXPECT_TRUE(m.warnings.empty());
    }
  }
}

template <class F> void expect_refused(F const& f, std::vector<std::string> const& parts) {
  auto const text = message_of<error>(f);
  for (auto const& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Regularization, RefusesBadInput) {
  shape_3 const shape{23, 3, 20};
  auto const s = parallel_of(shape);
  auto const y = cylinder(shape, 0.6, 8), w = random_array<3>(shape, 9);
  auto const with = [](array<3> a, index_t v, index_t m, index_t n, float x) { return a.all()(v, m, n) = x, a; };
  for (auto const& [bad, word] : {std::pair(NAN, "nan"), std::pair(INFINITY, "inf"), std::pair(-INFINITY, "-inf")}) {
    expect_refused([&, x = bad] { regularize(s, with(y, 22, 2, 19, x)); },
                   {"auto_regularization", "sinogram(22, 2, 19) is", word});
    expect_refused([&, x = bad] { regularize(s, y, with(w, 0, 1, 3, x)); },
                   {"auto_regularization", "weights(0, 1, 3) is", word});
  }
  expect_refused([&] { regularize(s, y, with(w, 4, 0, 7, -0.5f)); }, {"weights(4, 0, 7) is -0.5", ">= 0"});
  expect_refused([&] { regularize(s, y, array<3>(shape, 0)); }, {"auto_regularization", "weights is 0", "positive"});
  EXPECT_NO_THROW(regularize(s, y, with(w, 4, 0, 7, 0)));
  expect_refused([&] { regularize(s, array<3>(shape, 0)); },
                 {"auto_regularization", "sigma_y is 0", "sinogram is zero"});
  {
    array<3> only_where_zero(shape, 0);  // the weights see nothing of the object
    for (std::size_t k = 0; k < y.data.size(); ++k) only_where_zero.data[k] = y.data[k] < 0.3f ? 1.0f : 0.0f;
    expect_refused([&] { regularize(s, y, only_where_zero); }, {"sigma_y is 0", "weight"});
  }
  expect_refused([&] { regularize(s, array<3>(shape, 1e-45f)); }, {"sigma_y is 0"});
  expect_refused([&] { regularize(s, y, {}, NAN); }, {"snr_db is nan"});
  expect_refused([&] { regularize(s, y, {}, 30, INFINITY); }, {"sharpness is inf"});
  expect_refused([&] { regularize(s, y, {}, 30, 1000); }, {"sigma_x is inf"});
  expect_refused([&] { regularize(s, array<3>({23, 20, 3})); }, {"sinogram", "(23, 20, 3)", "(23, 3, 20)"});
  expect_refused([&] { regularize(s, y, array<3>({1, 3, 20})); }, {"weights", "(1, 3, 20)"});
  for (shape_3 const empty : {shape_3{0, 3, 5}, shape_3{4, 0, 5}})
    expect_refused([&] { regularize(parallel_of(empty), array<3>(empty)); }, {"sinogram has shape", "some samples"});
  parallel_parameters p{.sinogram_shape = {2, 1, 3}, .angles = {0, 1}};
  p.recon_shape = shape_3{0, 4, 1};
  expect_refused(
      [&] {
        regularize(parallel_scan(p), array<3>({2, 1, 3}, 1));
      },
      {"reconstruction has shape", "(0, 4, 1)"});
}

TEST(CheckOfData, NamesTheOperationAndTheSample) {
  auto const ctx = on_host();
  array<3> a({2, 3, 40}, 0);
  EXPECT_NO_THROW(detail::require_finite_sinogram(ctx, a.all(), "recon"));
  EXPECT_NO_THROW(detail::require_finite_sinogram(ctx, view<float const, 3>(nullptr, {0, 3, 4}), "recon"));
  EXPECT_NO_THROW(detail::require_weights(ctx, view<float const, 3>(nullptr, {0, 3, 4}), "recon"));
  expect_refused([&] { detail::require_weights(ctx, a.all(), "recon"); }, {"recon: every one of the weights is 0"});
  a.all()(1, 2, 39) = 3e38f;
  EXPECT_NO_THROW(detail::require_weights(ctx, a.all(), "recon"));
  EXPECT_NO_THROW(detail::require_finite_sinogram(ctx, a.all(), "recon"));
  a.all()(1, 0, 17) = NAN;
  expect_refused([&] { detail::require_finite_sinogram(ctx, a.all(), "prox_map"); },
                 {"prox_map: sinogram(1, 0, 17) is nan"});
  a.all()(1, 0, 17) = -1e-45f;
  expect_refused([&] { detail::require_weights(ctx, a.all(), "prox_map"); }, {"prox_map: weights(1, 0, 17) is -1"});
}

}  // namespace
