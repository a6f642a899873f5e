// The cases of MBIRJAX 0.7.3 in tests/golden. The format: golden/README.md.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/io/npy.hpp"
#include "projector/cases.hpp"

namespace mbirk::test {

struct golden_case {
  explicit golden_case(std::string const& name)
      : folder(std::string(MBIRK_GOLDEN_DIR) + "/" + name + "/"),
        file(nlohmann::json::parse(std::ifstream(folder + "case.json"))) {}
  std::string folder;
  nlohmann::json file;

  template <int Rank = 3> array<Rank> floats(std::string const& name) const {
    auto const read = read_npy<float>(folder + name);
    std::array<index_t, Rank> shape{};
    EXPECT_EQ(read.shape.size(), shape.size()) << name;
    std::copy_n(read.shape.begin(), std::min(read.shape.size(), shape.size()), shape.begin());
    array<Rank> a(shape);
    a.data = read.data;
    return a;
  }
  pixel_list pixels(std::string const& name) const { return read_npy<std::int32_t>(folder + name).data; }

  std::vector<float> list(char const* name) const {
    return read_npy<float>(folder + file.at(name).get<std::string>()).data;
  }
  /// Parameters of all geometries.
  template <class Parameters> Parameters common() const {
    auto const& p = file.at("params");
    Parameters q{};
    q.sinogram_shape = file.at("sinogram_shape").get<shape_3>();
    if constexpr (requires { q.angles; }) q.angles = list("angles");
    q.delta_det_channel = p.at("delta_det_channel"), q.delta_det_row = p.at("delta_det_row");
    q.det_channel_offset = p.at("det_channel_offset"), q.det_row_offset = p.at("det_row_offset");
    q.delta_voxel = p.at("delta_voxel").get<double>();
    q.voxel_row_aspect = p.at("voxel_row_aspect").get<double>(), q.voxel_slice_aspect = p.at("voxel_slice_aspect");
    q.recon_shape = file.at("recon_shape").get<shape_3>();
    q.use_ror_mask = p.at("use_ror_mask").get<bool>();
    return q;
  }
  any_scan scan() const {
    if (file.at("geometry") == "parallel") return make_scan(common<parallel_parameters>());
    if (file.at("geometry") == "multiaxis") {
      auto q = common<multiaxis_parameters>();
      q.recon_slice_offset = file.at("params").at("recon_slice_offset");
      return make_scan(q);
    }
    auto const& p = file.at("params");
    if (file.at("geometry") == "translation") {
      auto q = common<translation_parameters>();
      q.source_detector_dist = p.at("source_detector_dist"), q.source_iso_dist = p.at("source_iso_dist");
      q.translation_vectors = list("translation_vectors");
      return make_scan(q);
    }
    auto q = common<cone_parameters>();
    q.source_detector_dist = p.at("source_detector_dist"), q.source_iso_dist = p.at("source_iso_dist");
    q.recon_slice_offset = p.at("recon_slice_offset").get<double>();
    q.use_curved_detector = p.at("use_curved_detector");
    if (file.contains("helical_z_shifts"))
      q.helical_z_shifts = list("helical_z_shifts");
    return make_scan(q);
  }
};
inline constexpr char const* golden_names[] = {
    "parallel_32", "parallel_odd",  "cone_32",       "cone_odd",       "cone_helical_curved",
    "multiaxis_a", "multiaxis_odd", "translation_a", "translation_odd"};

/// A parametrised test of such cases.
struct golden_test : golden_case, ::testing::TestWithParam<char const*> {
  golden_test() : golden_case(GetParam()) {}
};
inline std::string golden_name(::testing::TestParamInfo<char const*> const& info) { return info.param; }

}  // namespace mbirk::test
