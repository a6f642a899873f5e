// Reconstruction of general views: that of the cone beam which they describe, and from the scaled back projection.
#include "recon/recon_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

recon_options some_options() {
  auto o = small_options();
  o.sigma_y = 0.1, o.sigma_x = 0.05, o.slice_damping = false;
  return o;
}

// By the kernels of cone beam, which project upright views, and by those of general views; with weights as well.
TEST(GeneralRecon, IsThatOfTheConeBeam) {
  auto const cone = some_circular_cone();
  any_scan const expected = cone_scan(cone);
  auto const y = noisy_sinogram(expected, 61);
  array<3> w(sinogram_shape(expected));
  std::transform(y.data.begin(), y.data.end(), w.data.begin(), [](float v) { return std::exp(-0.1f * std::abs(v)); });
  auto o = some_options();
  o.init_recon = 0.0;
  auto options = o;
  options.slice_damping.reset();
  for (bool const weighted : {false, true}) {
    std::optional<view<float const, 3>> weights;
    if (weighted) weights = w.all();
    array<3> a(recon_shape(expected));
    run_recon(expected, y.all(), weights, a.all(), o);
    for (auto const& [parameters, allowed] :
         {std::pair{to_general(cone), 1e-6}, std::pair{tilted(to_general(cone)), 1e-4}}) {
      any_scan const found = general_scan(parameters);
      array<3> b(recon_shape(found));
      run_recon(found, y.all(), weights, b.all(), options);
      EXPECT_LE(relative_error(b.data, a.data), allowed) << weighted;
    }
  }
}

// Rolled and pitched detectors, all automatic: the first image is the back projection times the factor that fits best.
TEST(GeneralRecon, ReconstructsRolledDetectors) {
  any_scan const s = general_scan(general_geometry::typical_scan({16, 12, 18}));
  array<3> object(recon_shape(s));
  for (index_t i = 5; i < 12; ++i)
    for (index_t j = 6; j < 13; ++j)
      for (index_t k = 3; k < 9; ++k) object.all()(i, j, k) = 1;
  array<3> y(sinogram_shape(s));
  std::visit([&](auto const& scan) { forward_project(on_host(), scan, object.all(), y.all()); }, s);
  recon_options o;
  o.max_iterations = 8, o.stop_threshold_change_pct = 0;
  array<3> x(recon_shape(s));
  auto const log = run_recon(s, y.all(), {}, x.all(), o);
  EXPECT_EQ(log.num_iterations, 8);
  for (std::size_t k = 1; k < log.fm_rmse.size(); ++k) EXPECT_LT(log.fm_rmse[k], log.fm_rmse[k - 1]);
  double error = 0, size = 0;
  for (std::size_t k = 0; k < x.data.size(); ++k) {
    error += std::pow(static_cast<double>(x.data[k] - object.data[k]), 2);
    size += std::pow(static_cast<double>(object.data[k]), 2);
  }
  EXPECT_LT(std::sqrt(error / size), 0.25);
  array<3> near(recon_shape(s));
  run_prox_map(s, x.all(), y.all(), {}, near.all(), o);
  EXPECT_LE(relative_error(near.data, x.data), 0.5);
}

}  // namespace
