// C++ generated from a graph gives the golden results: equal arithmetic to the definition, in another order of loops.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mbirk/geometry/mask.hpp"
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

/// Inputs of operations that are made of others: the golden image, the pixels of its mask, and calls by the names of
/// the generated functions, which differ in what describes the views.
struct composed : arrays {
  npy_array<float> image = read_npy<float>(std::string(MBIRK_GOLDEN_DIR) + "/" + folder + "/recon.npy");
  std::vector<float> weights = reals(folder + "/weights");
  std::vector<int> mask = full_indices(ror_mask(image.shape.at(0), image.shape.at(1)));

  /// Voxel columns of listed pixels.
  std::vector<float> listed(std::vector<float> const& volume, std::vector<int> const& at) const {
    auto const slices = image.shape.at(2);
    std::vector<float> columns;
    for (int const p : at)
      for (std::int64_t k = 0; k < slices; ++k) columns.push_back(volume[static_cast<std::size_t>(p * slices + k)]);
    return columns;
  }
  template <class DirectRecon> void expect_direct_recon(DirectRecon const& direct_recon) {
    auto const expected = listed(reals(folder + "/out_direct_recon"), mask);
    std::vector<float> found(expected.size());
    direct_recon(sinogram.data(), mask.data(), found.data());
    expect_close(found, expected);
  }
  /// A ray that barely touches metal may be decided either way in float32: in one sample of a thousand.
  template <class MetalWeights> void expect_metal_weights(MetalWeights const& metal_weights) {
    float const threshold = 0.55f;
    auto const expected = reals(folder + "/out_gen_weights_mar_metal_threshold0.55");
    std::vector<float> found(expected.size());
    metal_weights(sinogram.data(), image.data.data(), &threshold, mask.data(), found.data());
    std::size_t differ = 0;
    for (std::size_t k = 0; k < found.size(); ++k) differ += !(std::abs(found[k] - expected[k]) <= 1e-5f);
    EXPECT_LE(1000 * differ, found.size());
  }
  /// The new error is that of the new image, whatever a call before this one has left in the temporaries.
  template <class Hessian, class Update, class Forward>
  void expect_update(Hessian const& hessian_diagonal, Update const& update, Forward const& forward) {
    auto const before = listed(image.data, pixels);
    std::vector<float> hessian(before.size()), values[2], errors[2];
    hessian_diagonal(weights.data(), pixels.data(), hessian.data());
    for (int const call : {0, 1}) {
      values[call].resize(before.size()), errors[call].resize(sinogram.size());
      update(image.data.data(), sinogram.data(), weights.data(), hessian.data(), pixels.data(), values[call].data(),
             errors[call].data());
    }
    EXPECT_EQ(values[0], values[1]);
    EXPECT_EQ(errors[0], errors[1]);
    std::vector<float> change(before.size()), moved(sinogram.size()), expected;
    for (std::size_t k = 0; k < change.size(); ++k) change[k] = values[0][k] - before[k];
    forward(change.data(), pixels.data(), moved.data());
    float most = 0;
    for (std::size_t k = 0; k < moved.size(); ++k) {
      expected.push_back(sinogram[k] - moved[k]);
      most = std::max(most, std::abs(moved[k]));
    }
    EXPECT_GT(most, 0);
    expect_close(errors[0], expected);
  }
  static void expect_close(std::vector<float> const& found, std::vector<float> const& expected) {
    ASSERT_EQ(found.size(), expected.size());
    float largest = 0, worst = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      largest = std::max(largest, std::abs(expected[k]));
      worst = std::max(worst, std::abs(found[k] - expected[k]));
    }
    EXPECT_LE(worst, 1e-5f * largest);
  }
};

TEST(GeneratedCode, OperationsMadeOfOthersInParallelBeam) {
  using namespace generated;
  composed c{{"parallel_odd"}};
  auto const of_views = [&](auto const& f) { return [&](auto... a) { f(a..., c.angles.data()); }; };
  c.expect_direct_recon(of_views(parallel_direct_recon<float>));
  c.expect_direct_recon(of_views(parallel_direct_recon_unfused<float>));
  c.expect_direct_recon(of_views(parallel_direct_recon_fused<float>));
  c.expect_metal_weights(of_views(parallel_gen_weights_mar<float>));
  c.expect_metal_weights(of_views(parallel_gen_weights_mar_fused<float>));
  for (auto const update : {parallel_vcd_subset_update<float>, parallel_vcd_subset_update_unfused<float>,
                            parallel_vcd_subset_update_fused<float>})
    c.expect_update(of_views(parallel_hessian_diagonal<float>), of_views(update),
                    of_views(parallel_sparse_forward_project<float>));
  c.expect_update(
      of_views(parallel_hessian_diagonal<float>),
      [&](auto x, auto... a) { parallel_prox_map_subset_update(x, c.image.data.data(), a..., c.angles.data()); },
      of_views(parallel_sparse_forward_project<float>));
}

TEST(GeneratedCode, OperationsMadeOfOthersInConeBeam) {
  using namespace generated;
  composed c{{"cone_odd"}};
  auto const of_views = [&](auto const& f) {
    return [&](auto... a) { f(a..., c.angles.data(), c.shifts.data()); };
  };
  c.expect_direct_recon(of_views(cone_direct_recon<float>));
  c.expect_direct_recon(of_views(cone_direct_recon_unfused<float>));
  c.expect_metal_weights(of_views(cone_gen_weights_mar<float>));
  std::vector<float> const damping(static_cast<std::size_t>(c.image.shape.at(2)), 0.3f);
  auto const damped = [&](auto const& f) {
    return [&](auto x, auto e, auto w, auto h, auto p, auto new_values, auto new_error) {
      f(x, e, w, h, p, damping.data(), new_values, new_error, c.angles.data(), c.shifts.data());
    };
  };
  for (auto const update :
       {cone_vcd_subset_update<float>, cone_vcd_subset_update_unfused<float>, cone_vcd_subset_update_fused<float>})
    c.expect_update(of_views(cone_hessian_diagonal<float>), damped(update),
                    of_views(cone_sparse_forward_project<float>));
}

TEST(GeneratedCode, TheMedianIsExact) {
  auto const image = reals("utilities/image");
  std::vector<float> median(image.size()), least(image.size()), greatest(image.size());
  generated::median_filter3d(image.data(), median.data(), least.data(), greatest.data());
  EXPECT_EQ(median, reals("utilities/out_median_filter3d"));
}

}  // namespace
