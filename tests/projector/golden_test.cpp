// The operations against arrays of MBIRJAX 0.7.3, called in this process. The format of the cases: golden/README.md.
//
// MBIRJAX has its coordinates in float32: on up to 32 channels each rounding moves a footprint by up to 2^-20 = 9.5e-7 of a channel, and so a
// weight by that much; ours are in double (oracle_test.cpp: below 5e-7). The files allow 1e-5; 3e-6 are three such roundings.
#include <fstream>
#include <nlohmann/json.hpp>

#include "mbirk/io/npy.hpp"
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using json = nlohmann::json;

constexpr double allowed = 3e-6;

struct Golden : ::testing::TestWithParam<std::string> {
  std::string const folder = std::string(MBIRK_GOLDEN_DIR) + "/" + GetParam() + "/";
  json const file = json::parse(std::ifstream(folder + "case.json"));

  template <int Rank> array<Rank> floats(std::string const& name) const {
    auto const read = read_npy<float>(folder + name);
    std::array<index_t, Rank> shape;
    EXPECT_EQ(read.shape.size(), shape.size()) << name;
    std::copy_n(read.shape.begin(), Rank, shape.begin());
    array<Rank> a(shape);
    a.data = read.data;
    return a;
  }
  pixel_list pixels(std::string const& name) const { return read_npy<std::int32_t>(folder + name).data; }

  template <class Parameters> Parameters common() const {
    auto const& p = file.at("params");
    Parameters q{.sinogram_shape = file.at("sinogram_shape").get<shape_3>(),
                 .angles = read_npy<float>(folder + file.at("angles").get<std::string>()).data};
    q.delta_det_channel = p.at("delta_det_channel"), q.delta_det_row = p.at("delta_det_row");
    q.det_channel_offset = p.at("det_channel_offset"), q.det_row_offset = p.at("det_row_offset");
    q.delta_voxel = p.at("delta_voxel").get<double>();
    q.voxel_row_aspect = p.at("voxel_row_aspect"), q.voxel_slice_aspect = p.at("voxel_slice_aspect");
    q.recon_shape = file.at("recon_shape").get<shape_3>();
    q.use_ror_mask = p.at("use_ror_mask").get<bool>();
    return q;
  }
  any_scan scan_of_case() const {
    if (file.at("geometry") == "parallel") return make_scan(common<parallel_parameters>());
    auto q = common<cone_parameters>();
    auto const& p = file.at("params");
    q.source_detector_dist = p.at("source_detector_dist"), q.source_iso_dist = p.at("source_iso_dist");
    q.recon_slice_offset = p.at("recon_slice_offset").get<double>();
    q.use_curved_detector = p.at("use_curved_detector");
    if (file.contains("helical_z_shifts")) q.helical_z_shifts = read_npy<float>(folder + file.at("helical_z_shifts").get<std::string>()).data;
    return make_scan(q);
  }

  /// What an operation of the file makes of its inputs.
  std::vector<float> run(json const& op, any_scan const& s) const {
    auto const& in = op.at("inputs");
    std::string const name = op.at("op");
    if (name == "forward_project") return forward(s, floats<3>(in.at("recon"))).data;
    if (name == "back_project") return back(s, floats<3>(in.at("sinogram"))).data;
    if (name == "sparse_forward_project") return sparse_forward(s, floats<2>(in.at("voxel_values")), pixels(in.at("pixel_indices"))).data;
    if (name == "sparse_back_project")
      return sparse_back(s, floats<3>(in.at("sinogram")), pixels(in.at("pixel_indices")), op.at("args").value("coeff_power", 1)).data;
    if (in.contains("weights")) return hessian(s, floats<3>(in.at("weights"))).data;
    return hessian(s).data;
  }
};

TEST_P(Golden, EveryProjectorOperation) {
  auto const s = scan_of_case();
  int compared = 0;
  for (auto const& op : file.at("ops")) {
    std::string const name = op.at("op"), output = op.at("output");
    if (!name.ends_with("project") && name != "hessian_diagonal") continue;
    auto const expected = read_npy<float>(folder + output).data, found = run(op, s);
    ASSERT_EQ(found.size(), expected.size()) << output;
    EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0) << output;
    double const error = relative_error(found, expected);
    EXPECT_LE(error, allowed) << output;
    RecordProperty(output, std::to_string(error * 1e9) + "e-9 of 3000e-9");
    ++compared;
  }
  EXPECT_EQ(compared, 7);
}

/// The cases that MBIRJAX sized itself.
struct GoldenSize : Golden {};
TEST_P(GoldenSize, IsTheAutomaticOne) {
  std::visit([&](auto const& scan) {
    auto p = common<typename std::decay_t<decltype(scan)>::parameters>();
    if constexpr (requires { p.source_iso_dist; })
      p.source_detector_dist = file.at("params").at("source_detector_dist"), p.source_iso_dist = file.at("params").at("source_iso_dist");
    auto const size = auto_size(p);
    EXPECT_EQ(size.delta_voxel, file.at("params").at("delta_voxel").get<double>());
    EXPECT_EQ(size.recon_shape, scan.recon_shape());
  }, scan_of_case());
}

auto const case_folder = [](auto const& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Projector, Golden, ::testing::Values("parallel_32", "parallel_odd", "cone_32", "cone_odd", "cone_helical_curved"),
                         case_folder);
INSTANTIATE_TEST_SUITE_P(Projector, GoldenSize, ::testing::Values("parallel_32", "cone_32"), case_folder);

}  // namespace
