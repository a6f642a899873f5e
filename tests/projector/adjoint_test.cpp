// Back projection is the transpose of forward projection, and both are linear.
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct Operator : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
};

/// |<Ax, y> - <x, A'y>| / <Ax, y>. The errors of elements are of either sign and average out over the sums, so 1e-6 (16
/// roundings) stands for any geometry, where a weight that differs between the two directions by its own size would
/// show as 1e-3 or more.
double adjoint_error(double left, double right) {
  return left == right ? 0 : std::abs(left - right) / std::max(std::abs(left), std::abs(right));
}

TEST_P(Operator, BackIsTheTransposeOfForward) {
  auto const x = random_array<3>(recon_shape(s), 21), y = random_array<3>(sinogram_shape(s), 22);
  double const left = dot(forward(s, x).data, y.data), right = dot(x.data, back(s, y).data);
  EXPECT_LE(adjoint_error(left, right), 1e-6) << left << " " << right;
  RecordProperty("adjoint", std::to_string(adjoint_error(left, right) * 1e9) + "e-9");
  EXPECT_TRUE(left > 0 || GetParam().name.ends_with("_unseen")) << "nothing was compared";
}

// A device sorts few pixels by channel before it projects them.
TEST_P(Operator, SparseBackIsTheTransposeOfSparseForward) {
  for (int const count : {3, 50}) {
    auto const pixels = some_pixels(s, count, 23);
    auto const x = random_array<2>({count, slices_of(s)}, 24);
    auto const y = random_array<3>(sinogram_shape(s), 25);
    double const left = dot(sparse_forward(s, x, pixels).data, y.data),
                 right = dot(x.data, sparse_back(s, y, pixels, 1).data);
    EXPECT_LE(adjoint_error(left, right), 1e-6) << count << ": " << left << " " << right;
  }
}

// A(x + 2 z) against A x + 2 A z: each of the three has the rounding error of the operator, the sum one more.
TEST_P(Operator, ForwardIsLinear) {
  auto const x = random_array<3>(recon_shape(s), 31), z = random_array<3>(recon_shape(s), 32);
  auto sum = x;
  for (std::size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += 2 * z.data[k];
  auto const left = forward(s, sum), ax = forward(s, x), az = forward(s, z);
  std::vector<double> right;
  for (std::size_t k = 0; k < ax.data.size(); ++k)
    right.push_back(static_cast<double>(ax.data[k]) + 2 * static_cast<double>(az.data[k]));
  EXPECT_LE(relative_error(left.data, right), 2 * tolerance(s, true, 1));
}

TEST_P(Operator, BackIsLinear) {
  auto const y = random_array<3>(sinogram_shape(s), 33), z = random_array<3>(sinogram_shape(s), 34);
  auto sum = y;
  for (std::size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += 2 * z.data[k];
  auto const left = back(s, sum), aty = back(s, y), atz = back(s, z);
  std::vector<double> right;
  for (std::size_t k = 0; k < aty.data.size(); ++k)
    right.push_back(static_cast<double>(aty.data[k]) + 2 * static_cast<double>(atz.data[k]));
  EXPECT_LE(relative_error(left.data, right), 2 * tolerance(s, false, 1));
}

// A power of two scales every rounding with it.
TEST_P(Operator, PowersOfTwoScaleExactly) {
  auto x = random_array<3>(recon_shape(s), 35);
  auto y = random_array<3>(sinogram_shape(s), 36);
  auto ax = forward(s, x), aty = back(s, y);
  for (auto* a : {&x, &y, &ax, &aty})
    for (auto& value : a->data) value *= -8;
  EXPECT_EQ(relative_error(forward(s, x).data, ax.data), 0);
  EXPECT_EQ(relative_error(back(s, y).data, aty.data), 0);
}

TEST_P(Operator, OfNothingIsNothing) {
  for (float const value : forward(s, array<3>(recon_shape(s))).data) ASSERT_EQ(value, 0);
  for (float const value : back(s, array<3>(sinogram_shape(s))).data) ASSERT_EQ(value, 0);
}

INSTANTIATE_TEST_SUITE_P(Projector, Operator, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
