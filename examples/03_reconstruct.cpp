// An iterative reconstruction with MBIRJAX's names: a cone-beam model, weights, a progress callback. docs/model.md
// shows the marked part.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "mbirk/mbirk.hpp"
#include "mbirk/recon/model.hpp"

int main() {
  std::vector<float> angles;
  for (int v = 0; v < 60; ++v) angles.push_back(static_cast<float>(2 * std::numbers::pi * v / 60));
  // example: begin
  using namespace mbirk;
  host_context const ctx;
  cone_beam_model model({60, 24, 32}, angles, 128, 64);                 // ConeBeamModel(sinogram_shape, angles, ...)
  model.set_params({{"sharpness", 1.5}, {"positivity_flag", true}});
  auto phantom = model.new_recon(), recon = model.new_recon();          // std::vector<float>
  auto sinogram = model.new_sinogram(), weights = model.new_sinogram();
  nested_ellipsoids(model.recon_view(phantom));                         // views of vectors; the size is checked
  auto const y = model.sinogram_view(sinogram), w = model.sinogram_view(weights);
  model.forward_project(ctx, model.recon_view(phantom), y);
  model.gen_weights(ctx, y, "transmission_root", w);
  auto const show = [](iteration_report const& r) {
    std::printf("%2d: change %.2g\n", r.iteration, r.change);
    return true;  // false stops
  };
  auto const record = model.recon(ctx, y, w, model.recon_view(recon),
                                  {.max_iterations = 20, .seed = 1, .progress = show});
  // example: end
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < recon.size(); ++i) {
    auto const p = static_cast<double>(phantom[i]), d = static_cast<double>(recon[i]) - p;
    difference += d * d;
    whole += p * p;
  }
  std::printf("%d iterations, last change %.2g %%, error %.1f %% of the phantom\n", record.num_iterations,
              record.stop_threshold_change_pct.back(), 100 * std::sqrt(difference / whole));
  return difference < 0.04 * whole ? 0 : 1;
}
