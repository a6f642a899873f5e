// Meaning of the mask for each operation, and of a list of pixels.
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

float const nan = std::numeric_limits<float>::quiet_NaN();

struct Masked : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  std::size_t const slices = static_cast<std::size_t>(slices_of(s));
  bool inside(std::size_t pixel) const { return mask_of(s)[pixel] != 0; }
};

TEST_P(Masked, ForwardIgnoresWhatIsOutsideEvenWhenItIsNoNumber) {
  auto x = random_array<3>(recon_shape(s), 51);
  auto const clean = forward(s, x);
  for (std::size_t p = 0; p < mask_of(s).size(); ++p)
    if (!inside(p))
      std::fill_n(x.data.begin() + static_cast<std::ptrdiff_t>(p * slices), slices, p % 2 ? nan : INFINITY);
  EXPECT_TRUE(same_bits(forward(s, x).data, clean.data));
}

TEST_P(Masked, BackIsExactlyZeroOutside) {
  array<3> x(recon_shape(s), nan);
  auto const y = random_array<3>(sinogram_shape(s), 52);
  run_back(s, y.all(), x.all());
  for (std::size_t k = 0; k < x.data.size(); ++k) {
    ASSERT_TRUE(std::isfinite(x.data[k])) << "not written: " << k;
    ASSERT_TRUE(inside(k / slices) || std::bit_cast<std::uint32_t>(x.data[k]) == 0) << k << ": " << x.data[k];
  }
}

// The Hessian diagonal is a sum of squares outside the mask too. Other tests check its values; this one, that no pixel
// is left out.
TEST_P(Masked, HessianIsNotMasked) {
  array<3> h(recon_shape(s), nan);
  run_hessian(s, {}, h.all());
  auto const everywhere = sparse_back(s, array<3>(sinogram_shape(s), 1), every_pixel(s), 2);
  EXPECT_LE(relative_error(h.data, everywhere.data), 2 * tolerance(s, false, 2));
}

TEST_P(Masked, HessianWithUnitWeightsIsTheOneWithout) {
  EXPECT_LE(relative_error(hessian(s, array<3>(sinogram_shape(s), 1)).data, hessian(s).data),
            2 * tolerance(s, false, 2));
}

TEST_P(Masked, SparseOperationsIgnoreTheMask) {
  pixel_list outside;
  for (std::size_t p = 0; p < mask_of(s).size(); ++p)
    if (!inside(p)) outside.push_back(static_cast<std::int32_t>(p));
  auto const ones = array<2>({static_cast<index_t>(outside.size()), slices_of(s)}, 1);
  auto const y = sparse_forward(s, ones, outside);
  auto const expected = std::visit([&](auto const& scan) { return define_forward(scan, ones.data, outside); }, s);
  EXPECT_LE(relative_error(y.data, expected), tolerance(s, true, 1));
}

TEST_P(Masked, DenseForwardIsTheSparseOneOnFullIndices) {
  auto const x = random_array<3>(recon_shape(s), 53);
  auto const pixels = masked_in(s);
  EXPECT_LE(relative_error(sparse_forward(s, cylinders_of(x, pixels), pixels).data, forward(s, x).data),
            2 * tolerance(s, true, 1));
}

// A pixel listed n times contributes n times, as though its values were added first. Worst case: n more additions.
TEST_P(Masked, DuplicatesContributeEachTime) {
  auto const last = static_cast<std::int32_t>(mask_of(s).size()) - 1;
  pixel_list const pixels{last, 0, last, last / 2, last};
  auto const x = random_array<2>({5, slices_of(s)}, 54);
  pixel_list const once{last, 0, last / 2};
  array<2> summed({3, slices_of(s)});
  for (std::size_t k = 0; k < slices; ++k) {
    summed.data[k] = x.data[k] + x.data[2 * slices + k] + x.data[4 * slices + k];
    summed.data[slices + k] = x.data[slices + k];
    summed.data[2 * slices + k] = x.data[3 * slices + k];
  }
  EXPECT_LE(relative_error(sparse_forward(s, x, pixels).data, sparse_forward(s, summed, once).data),
            2 * tolerance(s, true, 1));

  auto const y = random_array<3>(sinogram_shape(s), 55);
  auto const back = sparse_back(s, y, pixels, 1);
  for (std::size_t k = 0; k < slices; ++k) {
    EXPECT_EQ(back.data[k], back.data[2 * slices + k]);
    EXPECT_EQ(back.data[k], back.data[4 * slices + k]);
  }
}

// The list defines the order of the voxel columns, wherever the kernel puts the pixels.
TEST_P(Masked, ListOrderOnlyPermutesCylinders) {
  auto pixels = every_pixel(s);
  auto const y = random_array<3>(sinogram_shape(s), 56);
  auto const sorted = sparse_back(s, y, pixels, 1);
  std::mt19937 engine(57);
  std::shuffle(pixels.begin(), pixels.end(), engine);
  auto const shuffled = sparse_back(s, y, pixels, 1);
  array<2> expected(shuffled.shape);
  for (std::size_t k = 0; k < pixels.size(); ++k)
    std::copy_n(sorted.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(pixels[k]) * slices), slices,
                expected.data.begin() + static_cast<std::ptrdiff_t>(k * slices));
  EXPECT_LE(relative_error(shuffled.data, expected.data), 2 * tolerance(s, false, 1));
}

INSTANTIATE_TEST_SUITE_P(Projector, Masked, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
