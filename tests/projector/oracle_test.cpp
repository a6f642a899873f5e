// The tuned kernels against the definitions in double, on every geometry. Tolerances are derived in cases.hpp.
#include "mbirk/kernel/host/cone_view.hpp"
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct Oracle : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  double const towards_sinogram = tolerance(s, true, 1), towards_recon = tolerance(s, false, 1),
               squared = tolerance(s, false, 2);

  std::vector<double> defined_forward(array<2> const& x, pixel_list const& pixels) const {
    return std::visit([&](auto const& scan) { return define_forward(scan, x.data, pixels); }, s);
  }
  std::vector<double> defined_back(array<3> const& y, pixel_list const& pixels, int power) const {
    return std::visit([&](auto const& scan) { return define_back(scan, y.data, pixels, power); }, s);
  }
  /// The worst error over tolerance is reported with the run, so that a change of accuracy shows before it fails.
  void expect_close(std::vector<float> const& found, std::vector<double> const& expected, double allowed,
                    char const* what) {
    ASSERT_EQ(found.size(), expected.size());
    double const error = relative_error(found, expected);
    EXPECT_LE(error, allowed) << what;
    RecordProperty(what, std::to_string(error * 1e9) + "e-9 of " + std::to_string(allowed * 1e9) + "e-9");
  }
};

TEST_P(Oracle, Forward) {
  auto const x = random_array<3>(recon_shape(s), 1);
  auto const pixels = masked_in(s);
  expect_close(forward(s, x).data, defined_forward(cylinders_of(x, pixels), pixels), towards_sinogram, "forward");
}

TEST_P(Oracle, Back) {
  auto const y = random_array<3>(sinogram_shape(s), 2);
  auto const pixels = masked_in(s);
  expect_close(cylinders_of(back(s, y), pixels).data, defined_back(y, pixels, 1), towards_recon, "back");
}

TEST_P(Oracle, SparseForward) {
  auto const pixels = some_pixels(s, 75, 3);
  auto const x = random_array<2>({75, slices_of(s)}, 4);
  // The list may name a line's pixels more than once: at most 75 more additions.
  expect_close(sparse_forward(s, x, pixels).data, defined_forward(x, pixels), towards_sinogram + 75 * 0x1p-24,
               "sparse forward");
}

// So few that a device sorts them by channel before it projects them.
TEST_P(Oracle, SparseForwardOfFew) {
  auto const [views, rows, channels] = sinogram_shape(s);
  auto const few = std::clamp<index_t>(rows * channels / 8, 1, 75);
  auto const pixels = some_pixels(s, static_cast<std::size_t>(few), 8);
  auto const x = random_array<2>({few, slices_of(s)}, 9);
  expect_close(sparse_forward(s, x, pixels).data, defined_forward(x, pixels),
               towards_sinogram + static_cast<double>(few) * 0x1p-24, "sparse forward of few");
}

TEST_P(Oracle, SparseBack) {
  auto const pixels = some_pixels(s, 75, 5);
  auto const y = random_array<3>(sinogram_shape(s), 6);
  expect_close(sparse_back(s, y, pixels, 1).data, defined_back(y, pixels, 1), towards_recon, "sparse back");
  expect_close(sparse_back(s, y, pixels, 2).data, defined_back(y, pixels, 2), squared, "sparse back, power 2");
}

TEST_P(Oracle, HessianWithWeights) {
  auto const w = random_array<3>(sinogram_shape(s), 7);
  expect_close(hessian(s, w).data, defined_back(w, every_pixel(s), 2), squared, "weighted hessian");
}

TEST_P(Oracle, HessianWithoutWeights) {
  array<3> const ones(sinogram_shape(s), 1);
  expect_close(hessian(s).data, defined_back(ones, every_pixel(s), 2), squared, "hessian");
}

INSTANTIATE_TEST_SUITE_P(Projector, Oracle, ::testing::ValuesIn(all_cases()), case_name);

bool is_mirrored_cone(auto const& s) {
  if constexpr (requires { s.geometry().side_extent; }) return kernel::is_mirrored(s, simd::native_lanes);
  else return false;
}

// The cases are useful only if they reach every branch of the kernels.
TEST(Cases, ReachEveryFormOfTheFootprints) {
  bool narrow[2] = {}, medium[2] = {}, wide[2] = {}, widest[2] = {};
  bool small_step[2] = {}, medium_step[2] = {}, large_step[2] = {}, unseen = false;
  int mirrored = 0;
  auto cases = parallel_cases();
  for (auto& c : cone_cases()) cases.push_back(c);
  for (auto& c : translation_cases()) cases.push_back(c);
  for (auto const& c : cases) {
    auto const s = make_scan(c.parameters);
    auto const r = footprints_of(s);
    bool const cone = s.index() > 0;
    narrow[cone] |= r.widest <= 1, medium[cone] |= r.widest > 1 && r.widest <= 2,
        wide[cone] |= r.widest > 2 && r.widest < 4;
    widest[cone] |= r.widest > 5, unseen |= !r.all_seen;
    if (cone == 0) continue;
    mirrored += std::visit([](auto const& any) { return is_mirrored_cone(any); }, s);
    for (int direction : {0, 1}) {
      double const low = direction ? 1 / r.tallest : r.lowest, high = direction ? 1 / r.lowest : r.tallest;
      small_step[direction] |= high<1, medium_step[direction] |= low> 1 && high<1.6, large_step[direction] |= low> 2;
    }
  }
  for (int kind : {0, 1}) EXPECT_TRUE(narrow[kind] && medium[kind] && wide[kind] && widest[kind]) << kind;
  for (int direction : {0, 1})
    EXPECT_TRUE(small_step[direction] && medium_step[direction] && large_step[direction]) << direction;
  EXPECT_TRUE(unseen);
  EXPECT_EQ(mirrored, 5);
}

}  // namespace
