// Columns of the system matrix computed by an independent float64 program: one voxel of value 1.
#pragma once

#include <vector>

#include "mbirk/geometry/scan.hpp"

namespace mbirk::test {

struct matrix_entry {
  index_t view, row, channel;
  double value;
};

inline parallel_parameters reference_parallel() {
  return {.sinogram_shape = {3, 1, 8},
          .angles = {0.3f, 1.1f, 2.0f},
          .delta_det_channel = 0.9,
          .det_channel_offset = 0.25,
          .delta_voxel = 1.1,
          .voxel_row_aspect = 1.2,
          .recon_shape = std::array<index_t, 3>{5, 6, 1}};
}
inline cone_parameters reference_cone(bool curved) {
  return {.sinogram_shape = {2, 7, 8},
          .angles = {0.4f, 2.5f},
          .source_detector_dist = 24,
          .source_iso_dist = 14,
          .helical_z_shifts = {0.2f, -0.3f},
          .use_curved_detector = curved,
          .delta_det_channel = 1.1,
          .delta_det_row = 0.8,
          .det_channel_offset = 0.37,
          .det_row_offset = -0.55,
          .delta_voxel = 0.71,
          .voxel_row_aspect = 1.2,
          .voxel_slice_aspect = 0.9,
          .recon_shape = std::array<index_t, 3>{5, 6, 4},
          .recon_slice_offset = 0.63};
}
inline constexpr std::int32_t reference_pixel = 10;  // row 1, column 4
inline constexpr index_t reference_slice = 2;        // in cone beam

inline std::vector<matrix_entry> const parallel_entries = {
    {0, 0, 5, 0.16740698}, {0, 0, 6, 1.38171212}, {0, 0, 7, 0.06421424}, {1, 0, 5, 0.29261992},
    {1, 0, 6, 1.23428064}, {1, 0, 7, 0.08643278}, {2, 0, 4, 0.98996648}, {2, 0, 5, 0.62336685}};
inline std::vector<matrix_entry> const flat_entries = {
    {0, 3, 5, 0.0483114}, {0, 3, 6, 0.2193268}, {0, 4, 5, 0.1667077}, {0, 4, 6, 0.7568283}, {0, 5, 5, 0.0073736},
    {0, 5, 6, 0.0334750}, {1, 5, 3, 0.7795757}, {1, 5, 4, 0.2533173}, {1, 6, 3, 0.4142941}, {1, 6, 4, 0.1346218}};
inline std::vector<matrix_entry> const curved_entries = {
    {0, 4, 5, 0.1697333}, {0, 4, 6, 0.7499732}, {1, 5, 3, 0.7792372}, {1, 5, 4, 0.2532774}};

}  // namespace mbirk::test
