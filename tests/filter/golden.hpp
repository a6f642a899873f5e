// The golden cases for operations on a sinogram.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/io/npy.hpp"
#include "projector/cases.hpp"

namespace mbirk::test {

/// A case of MBIRJAX 0.7.3. The format: golden/README.md.
struct golden_case {
  explicit golden_case(std::string const& name)
      : folder(std::string(MBIRK_GOLDEN_DIR) + "/" + name + "/"), file(nlohmann::json::parse(std::ifstream(folder + "case.json"))) {}
  std::string folder;
  nlohmann::json file;

  array<3> floats(std::string const& name) const {
    auto const read = read_npy<float>(folder + name);
    EXPECT_EQ(read.shape.size(), 3u) << name;
    array<3> a({read.shape.at(0), read.shape.at(1), read.shape.at(2)});
    a.data = read.data;
    return a;
  }
  any_scan scan() const {
    auto const& p = file.at("params");
    auto const common = [&]<class Parameters>(Parameters q) {
      q.sinogram_shape = file.at("sinogram_shape").get<shape_3>(), q.recon_shape = file.at("recon_shape").get<shape_3>();
      q.angles = read_npy<float>(folder + file.at("angles").get<std::string>()).data;
      q.delta_det_channel = p.at("delta_det_channel"), q.delta_det_row = p.at("delta_det_row");
      q.det_channel_offset = p.at("det_channel_offset"), q.det_row_offset = p.at("det_row_offset");
      q.delta_voxel = p.at("delta_voxel").template get<double>();
      q.voxel_row_aspect = p.at("voxel_row_aspect"), q.voxel_slice_aspect = p.at("voxel_slice_aspect");
      q.use_ror_mask = p.at("use_ror_mask").template get<bool>();
      return q;
    };
    if (file.at("geometry") == "parallel") return parallel_scan(common(parallel_parameters{}));
    auto q = common(cone_parameters{});
    q.source_detector_dist = p.at("source_detector_dist"), q.source_iso_dist = p.at("source_iso_dist");
    q.recon_slice_offset = p.at("recon_slice_offset").get<double>();
    q.use_curved_detector = p.at("use_curved_detector");
    if (file.contains("helical_z_shifts")) q.helical_z_shifts = read_npy<float>(folder + file.at("helical_z_shifts").get<std::string>()).data;
    return cone_scan(q);
  }
};
inline constexpr char const* golden_names[] = {"parallel_32", "parallel_odd", "cone_32", "cone_odd", "cone_helical_curved"};

}  // namespace mbirk::test
