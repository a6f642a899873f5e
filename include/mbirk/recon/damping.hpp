// Slice damping of cone-beam VCD: a preconditioner that keeps the mean of a slice from advancing too fast where the
// cone sees it at a steep angle.
#pragma once

#include <cmath>
#include <vector>

#include "mbirk/definition/footprint.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk {

/// Damping factors, one per slice, in [0.25, 0.5]:
///   s_k = mean over views of s(t_kv),  t_kv = N_r delta |z_k - zeta_v| / (D_0 delta_z),
///   s(t) = (0.5 t^0.7 + 0.25 100^0.7) / (t^0.7 + 100^0.7),
/// computed in double and rounded to float32. The column pitch is used in place of the row pitch, as in MBIRJAX.
/// Cost: one power per slice and view, on one thread. Source: MBIRJAX 0.7.3.
inline std::vector<float> slice_damping(cone_scan const& s) {
  auto const& g = s.geometry();
  constexpr double low = 0.25, high = 0.5, exponent = 0.7;
  double const knee = std::pow(100.0, exponent);
  double const inverse_iso_dist = g.inverse_detector_dist / g.inverse_magnification;
  std::vector<float> damping;
  for (index_t k = 0; k < g.slices; ++k) {
    double const z = definition::slice_z(g, static_cast<double>(k), 0.0);
    double sum = 0;
    for (auto const& at : s.positions()) {
      double const t =
          static_cast<double>(g.recon_rows) * g.delta_x * std::abs(z - at.z_shift) * inverse_iso_dist / g.delta_z;
      double const power = std::pow(t, exponent);
      sum += (high * power + low * knee) / (power + knee);
    }
    damping.push_back(static_cast<float>(sum / static_cast<double>(g.views)));
  }
  return damping;
}

}  // namespace mbirk
