#include "mbirk/geometry/scan.hpp"

#include "geometry/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using shape = std::array<index_t, 3>;

TEST(Scan, ShapesMaskAndIndices) {
  auto p = good_cone();
  p.recon_shape = {7, 6, 2};
  cone_scan const s(p);
  EXPECT_EQ(s.sinogram_shape(), (shape{3, 4, 5}));
  EXPECT_EQ(s.recon_shape(), (shape{7, 6, 2}));
  EXPECT_EQ(s.mask(), ror_mask(7, 6));
  auto const expected = full_indices(ror_mask(7, 6));
  EXPECT_TRUE(std::equal(s.full_indices().begin(), s.full_indices().end(), expected.begin(), expected.end()));
  p.use_ror_mask = false;
  EXPECT_EQ(cone_scan(p).full_indices().size(), 42u);
}

TEST(Scan, OwnMask) {
  auto p = good_parallel();
  p.recon_shape = {2, 3, 4};
  p.use_ror_mask = mask_array{{2, 3}, {0, 1, 0, 0, 1, 1}};
  parallel_scan const s(p);
  EXPECT_EQ(std::vector<std::int32_t>(s.full_indices().begin(), s.full_indices().end()),
            (std::vector<std::int32_t>{1, 4, 5}));
}

TEST(Scan, AnglesAreFloatThenCosinesDouble) {
  auto p = good_parallel();
  p.angles = {0.1f, 2.5f, -7.0f};
  parallel_scan const s(p);
  for (std::size_t v = 0; v < 3; ++v) {
    EXPECT_EQ(s.positions()[v].cosine, std::cos(static_cast<double>(p.angles[v])));
    EXPECT_EQ(s.positions()[v].sine, std::sin(static_cast<double>(p.angles[v])));
    EXPECT_EQ(s.positions()[v].z_shift, 0);
  }
  EXPECT_NE(s.positions()[0].cosine, std::cos(0.1)) << "a double angle is another angle";
}

TEST(Scan, ZShiftsPerView) {
  auto p = good_cone();
  EXPECT_EQ(cone_scan(p).positions()[2].z_shift, 0);
  p.helical_z_shifts = {-0.5f, 0.1f, 2.0f};
  cone_scan const s(p);
  for (std::size_t v = 0; v < 3; ++v) EXPECT_EQ(s.positions()[v].z_shift, static_cast<double>(p.helical_z_shifts[v]));
}

TEST(Scan, ViewParametersAsTheyAreStored) {
  auto p = good_cone();
  cone_scan s(p);
  ASSERT_EQ(s.z_shifts().size(), 3u);
  EXPECT_TRUE(std::equal(s.angles().begin(), s.angles().end(), p.angles.begin(), p.angles.end()));
  for (float const z : s.z_shifts()) EXPECT_EQ(z, 0) << "one per view, even where none was given";
  std::vector<float> const shifts{1, 2, 3};
  s.set_views(p.angles, shifts);
  EXPECT_TRUE(std::equal(s.z_shifts().begin(), s.z_shifts().end(), shifts.begin(), shifts.end()));
}

TEST(Scan, SetViewsReplacesPositionsAndNothingElse) {
  auto p = good_cone();
  p.helical_z_shifts = {0, 1, 2};
  cone_scan s(p);
  auto const recon = s.recon_shape();
  double const offset = s.geometry().recon_slice_offset;
  std::vector<float> const angles{1, 2, 3}, shifts{10, 20, 30};
  s.set_views(angles, shifts);
  for (std::size_t v = 0; v < 3; ++v) {
    EXPECT_EQ(s.positions()[v].cosine, std::cos(static_cast<double>(angles[v])));
    EXPECT_EQ(s.positions()[v].z_shift, shifts[v]);
  }
  EXPECT_EQ(s.recon_shape(), recon);
  EXPECT_EQ(s.geometry().recon_slice_offset, offset);
}

TEST(Scan, ARefusedSetViewsChangesNothing) {
  cone_scan s(good_cone());
  double const before = s.positions()[0].cosine;
  std::vector<float> const angles{1, 2, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(s.set_views(angles), parameter_error);
  EXPECT_EQ(s.positions()[0].cosine, before);
}

TEST(Scan, CopiesAreIndependent) {
  cone_scan const original(good_cone());
  cone_scan copy = original;
  std::vector<float> const angles{1, 2, 3};
  copy.set_views(angles);
  EXPECT_EQ(original.positions()[0].cosine, 1);
  EXPECT_EQ(copy.positions()[0].cosine, std::cos(1.0));
  EXPECT_EQ(copy.mask(), original.mask());
}

TEST(Scan, NoViewsIsAScan) {
  auto p = good_cone();
  p.sinogram_shape[0] = 0, p.angles.clear();
  cone_scan const s(p);
  EXPECT_TRUE(s.positions().empty());
}

}  // namespace
