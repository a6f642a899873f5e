// FDK by bands and blocks of views: the bits of fdk_recon.
#include "mbirk/recon/fdk_band.hpp"

#include "filter/support.hpp"
#include "mbirk/projector/cone.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

template <class Error, class F> void expect_throw(F const& f, char const* message) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown, expected " << message;
  } catch (Error const& e) {
    EXPECT_STREQ(e.what(), message);
  }
}

struct band_case {
  char const* name;
  std::array<index_t, 3> sinogram;
  bool helical;
  double det_row_offset;
};

struct FdkBand : ::testing::TestWithParam<band_case> {
  cone_scan const s = make();
  array<3> const y = random_array<3>(s.sinogram_shape(), 17);

  static cone_scan make() {
    auto const& c = GetParam();
    auto p = cone_geometry::typical_scan(c.sinogram);
    p.det_row_offset = c.det_row_offset;
    for (index_t v = 0; c.helical && v < c.sinogram[0]; ++v) p.helical_z_shifts.push_back(0.3f * static_cast<float>(v));
    return cone_scan(p);
  }
  view<float const, 3> views(index_t first, index_t count) const {
    auto const [all, rows, channels] = s.sinogram_shape();
    return {y.data.data() + first * rows * channels, {count, rows, channels}};
  }
};

TEST_P(FdkBand, HasTheBitsOfTheWhole) {
  auto const [rows, cols, slices] = s.recon_shape();
  array<3> whole(s.recon_shape(), -1.0f), parts(s.recon_shape(), -1.0f);
  std::vector<std::string> warnings, of_bands;
  fdk_recon(on_host(1), s, y.all(), whole.all(), {}, &warnings);
  for (int const threads : {1, 3}) {
    auto const ctx = on_host(threads);
    std::fill(parts.data.begin(), parts.data.end(), -1.0f);
    for (index_t first = 0, count = 2 * fdk_band_unit; first < rows; first += count, count = fdk_band_unit) {
      index_t const here = std::min(count, rows - first);
      fdk_band band(ctx, s, first,
                    view<float, 3>(parts.data.data() + first * cols * slices, {here, cols, slices}));
      index_t const all = s.geometry().views;
      for (index_t block = 2; band.views() < all; block += 2)
        band.add(views(band.views(), std::min(block, all - band.views())));
      of_bands.clear();
      band.finish(&of_bands);
      EXPECT_EQ(of_bands, warnings);
    }
    EXPECT_EQ(parts.data, whole.data) << threads << " threads";
  }
}

// 13 x 17 x 75: odd, and a last band that is no unit; 64 rows and slices: both halves at once, by transforms; 24 and 48
// rows: three packs of 8 and of 16 lanes, which are transformed in pairs.
INSTANTIATE_TEST_SUITE_P(Cases, FdkBand,
                         ::testing::Values(band_case{"Odd", {13, 17, 75}, false, 0.7},
                                           band_case{"Mirrored", {9, 64, 100}, false, 0},
                                           band_case{"Helical", {11, 20, 75}, true, 0},
                                           band_case{"ThreePacksOf8", {9, 24, 100}, false, 0},
                                           band_case{"ThreePacksOf16", {9, 48, 100}, false, 0},
                                           band_case{"NoViews", {0, 8, 40}, false, 0},
                                           band_case{"NoRows", {3, 0, 40}, false, 0}),
                         [](auto const& info) { return std::string(info.param.name); });

TEST(FdkBand, StridedRowsAndOneView) {
  cone_scan const s(cone_geometry::typical_scan({1, 6, 40}));
  auto const [rows, cols, slices] = s.recon_shape();
  array<3> const y = random_array<3>(s.sinogram_shape(), 3);
  array<3> whole(s.recon_shape()), wide({rows, cols + 2, slices + 3}, -1.0f);
  fdk_recon(on_host(1), s, y.all(), whole.all());
  auto const ctx = on_host(2);
  view<float, 3> const x(wide.data.data(), s.recon_shape(), {(cols + 2) * (slices + 3), slices + 3, 1});
  fdk_band band(ctx, s, 0, x);
  band.add(y.all());
  band.finish();
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j)
      for (index_t k = 0; k < slices; ++k) ASSERT_EQ(x(i, j, k), whole.all()(i, j, k));
  EXPECT_EQ(wide.data.back(), -1.0f);
}

TEST(FdkBand, WrongBandsAndViewsAreNamed) {
  cone_scan const s(cone_geometry::typical_scan({4, 6, 100}));
  auto const [rows, cols, slices] = s.recon_shape();
  std::vector<float> x(static_cast<std::size_t>(rows * cols * slices)), y(5 * 6 * 100);
  auto const ctx = on_host(1);
  auto const band_of = [&](index_t first, index_t count) {
    return view<float, 3>(x.data() + first * cols * slices, {count, cols, slices});
  };
  expect_throw<parameter_error>([&] { fdk_band(ctx, s, 5, band_of(5, 32)); },
                                "fdk_band: first_row is 5, expected a multiple of 32 up to 100");
  expect_throw<shape_error>([&] { fdk_band(ctx, s, 32, band_of(32, 33)); },
                            "fdk_band: recon has 33 rows, expected a multiple of 32, or all 68 from row 32 on");
  fdk_band band(ctx, s, 64, band_of(64, 36));
  expect_throw<shape_error>([&] { band.add(view<float const, 3>(y.data(), {5, 6, 100})); },
                            "fdk_band: sinogram has 5 views, expected at most the 4 that have not been added");
  expect_throw<parameter_error>([&] { band.finish(); }, "fdk_band: 0 views have been added, expected all 4");
}

}  // namespace
