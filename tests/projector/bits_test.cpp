// Results do not depend, to the bit, on the number of threads, on repetition, or on padding between rows; and padding
// is not changed.
#include "projector/cases.hpp"
#include "projector/spread_array.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct Bits : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
  array<3> const recon = random_array<3>(recon_shape(s), 41), sinogram = random_array<3>(sinogram_shape(s), 42);
  pixel_list const pixels = some_pixels(s, 150, 43);
  array<2> const values = random_array<2>({150, slices_of(s)}, 44);

  /// The results of all operations, one after the other.
  std::vector<std::vector<float>> all(int threads) const {
    return {forward(s, recon, threads).data,
            back(s, sinogram, threads).data,
            sparse_forward(s, values, pixels, threads).data,
            sparse_back(s, sinogram, pixels, 1, threads).data,
            sparse_back(s, sinogram, pixels, 2, threads).data,
            hessian(s, sinogram, threads).data,
            hessian(s, {}, threads).data};
  }
};

TEST_P(Bits, DoNotDependOnTheNumberOfThreads) {
  auto const one = all(1);
  for (int const threads : {2, 3, 7}) {
    auto const many = all(threads);
    for (std::size_t op = 0; op < one.size(); ++op)
      EXPECT_TRUE(same_bits(one[op], many[op])) << "operation " << op << ", " << threads << " threads";
  }
}

TEST_P(Bits, AreTheSameOnRepetition) {
  auto const once = all(3), twice = all(3);
  for (std::size_t op = 0; op < once.size(); ++op) EXPECT_TRUE(same_bits(once[op], twice[op])) << "operation " << op;
}

TEST_P(Bits, OfDenseAndSparseBackAreEqualToRounding) {
  // A pixel sums its views in one order whatever its neighbours are. Fractions are rounded in fixed point for tiles and
  // in double for lists, and in cone beam a group chooses the number of taps and the form of the secant: results differ
  // by the rounding of the operator.
  auto const inside = masked_in(s);
  auto const dense = cylinders_of(back(s, sinogram), inside), sparse = sparse_back(s, sinogram, inside, 1);
  EXPECT_LE(relative_error(dense.data, sparse.data), 2 * tolerance(s, false, 1));
}

// A list whose sinogram exceeds every cache is processed in batches, four views at once, with prefetched views. A short
// list takes neither path.
TEST(LargeSinogram, EveryCylinderIsThatOfAShortList) {
  static constexpr int views = 70;
  auto const angles = [](double range) {
    std::vector<float> a;
    for (int v = 0; v < views; ++v) a.push_back(static_cast<float>(range * v / views));
    return a;
  };
  for (any_parameters const& p :
       {any_parameters(parallel_parameters{.sinogram_shape = {views, 131, 491}, .angles = angles(3.1416)}),
        any_parameters(cone_parameters{.sinogram_shape = {views, 131, 491},
        .angles = angles(6.2832),
        .source_detector_dist = 1900,
        .source_iso_dist = 950})}) {
    auto const s = make_scan(p);
    auto const y = random_array<3>(sinogram_shape(s), 45);
    ASSERT_GT(y.data.size(), std::size_t{1} << 22);
    auto const pixels = some_pixels(s, 413, 46);
    auto const slices = static_cast<std::size_t>(slices_of(s));
    auto const list = sparse_back(s, y, pixels, 1, 1);
    EXPECT_TRUE(same_bits(list.data, sparse_back(s, y, pixels, 1, 3).data));
    pixel_list few;
    std::vector<float> found;
    for (std::size_t k = 0; k < pixels.size(); k += 31) {
      few.push_back(pixels[k]);
      found.insert(found.end(), list.data.begin() + static_cast<std::ptrdiff_t>(k * slices),
                   list.data.begin() + static_cast<std::ptrdiff_t>((k + 1) * slices));
    }
    EXPECT_LE(relative_error(found, sparse_back(s, y, few, 1).data), 2 * tolerance(s, false, 1));
  }
}

TEST_P(Bits, DoNotDependOnStrides) {
  auto const expected = all(1);
  spread_array<3> in_recon(recon), in_sinogram(sinogram), y(sinogram_shape(s)), x(recon_shape(s)), h(recon_shape(s)),
      unit(recon_shape(s));
  spread_array<2> in_values(values), v1(values.shape), v2(values.shape);
  spread_array<3> sparse_y(sinogram_shape(s));
  run_forward(s, in_recon.all(), y.all());
  run_back(s, in_sinogram.all(), x.all());
  run_sparse_forward(s, in_values.all(), as_view(pixels), sparse_y.all());
  run_sparse_back(s, in_sinogram.all(), as_view(pixels), v1.all(), 1);
  run_sparse_back(s, in_sinogram.all(), as_view(pixels), v2.all(), 2);
  run_hessian(s, view<float const, 3>(in_sinogram.all()), h.all());
  run_hessian(s, {}, unit.all());
  EXPECT_TRUE(same_bits(y.dense(), expected[0]) && y.gaps_untouched()) << "forward";
  EXPECT_TRUE(same_bits(x.dense(), expected[1]) && x.gaps_untouched()) << "back";
  EXPECT_TRUE(same_bits(sparse_y.dense(), expected[2]) && sparse_y.gaps_untouched()) << "sparse forward";
  EXPECT_TRUE(same_bits(v1.dense(), expected[3]) && v1.gaps_untouched()) << "sparse back";
  EXPECT_TRUE(same_bits(v2.dense(), expected[4]) && v2.gaps_untouched()) << "sparse back, power 2";
  EXPECT_TRUE(same_bits(h.dense(), expected[5]) && h.gaps_untouched()) << "weighted hessian";
  EXPECT_TRUE(same_bits(unit.dense(), expected[6]) && unit.gaps_untouched()) << "hessian";
}

// The contents of an input's gaps must not matter either, not even NaN.
TEST_P(Bits, DoNotDependOnWhatLiesInTheGaps) {
  auto const marked = [](auto const& dense) {
    spread_array<3> a(dense.shape);
    auto const all = a.all();
    std::fill_n(all.data(), all.span(), std::numeric_limits<float>::quiet_NaN());
    std::size_t k = 0;
    for (index_t i = 0; i < all.extent(0); ++i)
      for (index_t j = 0; j < all.extent(1); ++j)
        for (index_t l = 0; l < all.extent(2); ++l) all(i, j, l) = dense.data[k++];
    return a;
  };
  auto in_recon = marked(recon), in_sinogram = marked(sinogram);
  array<3> y(sinogram_shape(s)), x(recon_shape(s)), h(recon_shape(s));
  run_forward(s, in_recon.all(), y.all());
  run_back(s, in_sinogram.all(), x.all());
  run_hessian(s, view<float const, 3>(in_sinogram.all()), h.all());
  EXPECT_TRUE(same_bits(y.data, forward(s, recon).data));
  EXPECT_TRUE(same_bits(x.data, back(s, sinogram).data));
  EXPECT_TRUE(same_bits(h.data, hessian(s, sinogram).data));
}

INSTANTIATE_TEST_SUITE_P(Projector, Bits, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
