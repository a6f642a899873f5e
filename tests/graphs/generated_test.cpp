// C++ generated from a graph gives the golden results: equal arithmetic to the definition, in another order of loops.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mbirk/io/npy.hpp"

namespace generated {
using std::abs, std::atan, std::ceil, std::cos, std::exp, std::exp2, std::floor, std::log, std::log2, std::sin,
    std::sqrt;
#include "generated.inc"
}  // namespace generated

namespace {

using namespace mbirk;

std::vector<float> reals(std::string const& file) {
  return read_npy<float>(std::string(MBIRK_GOLDEN_DIR) + "/" + file + ".npy").data;
}
std::vector<int> indices(std::string const& file) {
  return read_npy<std::int32_t>(std::string(MBIRK_GOLDEN_DIR) + "/" + file + ".npy").data;
}

/// Within 1e-5 of the largest element: the possible error of float32 sums of up to 500 terms and sines of float32
/// angles.
void expect_near(std::vector<float> const& result, std::string const& file) {
  auto const expected = reals(file);
  ASSERT_EQ(result.size(), expected.size()) << file;
  float largest = 0, worst = 0;
  for (float const x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t k = 0; k < result.size(); ++k) worst = std::max(worst, std::abs(result[k] - expected[k]));
  EXPECT_LE(worst, 1e-5f * largest) << file;
  EXPECT_GT(largest, 0.f) << file;
}

struct arrays {
  std::string folder;
  std::vector<float> sinogram = reals(folder + "/sinogram"), voxels = reals(folder + "/voxel_values"),
                     angles = reals(folder + "/angles"), shifts = std::vector<float>(angles.size());
  std::vector<int> pixels = indices(folder + "/pixel_indices");
  std::vector<float> to_sinogram = std::vector<float>(sinogram.size()), to_voxels = std::vector<float>(voxels.size());
};

TEST(GeneratedCode, Parallel) {
  arrays a{"parallel_odd"};
  generated::parallel_sparse_forward_project(a.voxels.data(), a.pixels.data(), a.to_sinogram.data(), a.angles.data());
  expect_near(a.to_sinogram, "parallel_odd/out_sparse_forward_project");
  generated::parallel_sparse_back_project(a.sinogram.data(), a.pixels.data(), a.to_voxels.data(), a.angles.data());
  expect_near(a.to_voxels, "parallel_odd/out_sparse_back_project");
  generated::parallel_hessian_diagonal(a.sinogram.data(), a.pixels.data(), a.to_voxels.data(), a.angles.data());
  expect_near(a.to_voxels, "parallel_odd/out_sparse_back_project_coeff_power2");
  generated::parallel_direct_filter(a.sinogram.data(), a.to_sinogram.data());
  expect_near(a.to_sinogram, "parallel_odd/out_direct_filter");
  generated::gen_weights_transmission(a.sinogram.data(), a.to_sinogram.data());
  expect_near(a.to_sinogram, "parallel_odd/out_gen_weights_weight_typetransmission");
}

TEST(GeneratedCode, Cone) {
  arrays a{"cone_odd"};
  generated::cone_sparse_forward_project(a.voxels.data(), a.pixels.data(), a.to_sinogram.data(), a.angles.data(),
                                         a.shifts.data());
  expect_near(a.to_sinogram, "cone_odd/out_sparse_forward_project");
  generated::cone_sparse_back_project(a.sinogram.data(), a.pixels.data(), a.to_voxels.data(), a.angles.data(),
                                      a.shifts.data());
  expect_near(a.to_voxels, "cone_odd/out_sparse_back_project");
  generated::cone_hessian_diagonal(a.sinogram.data(), a.pixels.data(), a.to_voxels.data(), a.angles.data(),
                                   a.shifts.data());
  expect_near(a.to_voxels, "cone_odd/out_sparse_back_project_coeff_power2");
  generated::cone_direct_filter(a.sinogram.data(), a.to_sinogram.data());
  expect_near(a.to_sinogram, "cone_odd/out_direct_filter");
}

TEST(GeneratedCode, IsTheSameBeforeAndAfterFusion) {
  arrays p{"parallel_odd"}, c{"cone_odd"};
  generated::parallel_sparse_forward_project_unfused(p.voxels.data(), p.pixels.data(), p.to_sinogram.data(),
                                                     p.angles.data());
  expect_near(p.to_sinogram, "parallel_odd/out_sparse_forward_project");
  generated::parallel_sparse_back_project_unfused(p.sinogram.data(), p.pixels.data(), p.to_voxels.data(),
                                                  p.angles.data());
  expect_near(p.to_voxels, "parallel_odd/out_sparse_back_project");
  for (auto const forward :
       {generated::cone_sparse_forward_project_unfused<float>, generated::cone_sparse_forward_project_fused<float>}) {
    forward(c.voxels.data(), c.pixels.data(), c.to_sinogram.data(), c.angles.data(), c.shifts.data());
    expect_near(c.to_sinogram, "cone_odd/out_sparse_forward_project");
  }
  for (auto const back :
       {generated::cone_sparse_back_project_unfused<float>, generated::cone_sparse_back_project_fused<float>}) {
    back(c.sinogram.data(), c.pixels.data(), c.to_voxels.data(), c.angles.data(), c.shifts.data());
    expect_near(c.to_voxels, "cone_odd/out_sparse_back_project");
  }
  generated::cone_direct_filter_unfused(c.sinogram.data(), c.to_sinogram.data());
  expect_near(c.to_sinogram, "cone_odd/out_direct_filter");
}

TEST(GeneratedCode, TheMedianIsExact) {
  auto const image = reals("utilities/image");
  std::vector<float> median(image.size()), least(image.size()), greatest(image.size());
  generated::median_filter3d(image.data(), median.data(), least.data(), greatest.data());
  EXPECT_EQ(median, reals("utilities/out_median_filter3d"));
}

}  // namespace
