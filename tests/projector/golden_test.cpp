// The operations against arrays of MBIRJAX 0.7.3, called in this process. The format of the cases: golden/README.md.
//
// MBIRJAX has its coordinates in float32: on up to 32 channels each rounding moves a footprint by up to 2^-20 = 9.5e-7
// of a channel, and so a weight by that much; ours are in double (oracle_test.cpp: below 5e-7). The files allow 1e-5;
// 3e-6 are three such roundings.
#include "projector/golden.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

constexpr double allowed = 3e-6;

struct Golden : golden_test {
  /// Result of an operation of the file on its inputs.
  std::vector<float> run(nlohmann::json const& op, any_scan const& s) const {
    auto const& in = op.at("inputs");
    std::string const name = op.at("op");
    if (name == "forward_project") return forward(s, floats<3>(in.at("recon"))).data;
    if (name == "back_project") return back(s, floats<3>(in.at("sinogram"))).data;
    if (name == "sparse_forward_project")
      return sparse_forward(s, floats<2>(in.at("voxel_values")), pixels(in.at("pixel_indices"))).data;
    if (name == "sparse_back_project")
      return sparse_back(s, floats<3>(in.at("sinogram")), pixels(in.at("pixel_indices")),
                         op.at("args").value("coeff_power", 1))
          .data;
    if (in.contains("weights")) return hessian(s, floats<3>(in.at("weights"))).data;
    return hessian(s).data;
  }
};

TEST_P(Golden, EveryProjectorOperation) {
  auto const s = scan();
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
      p.source_detector_dist = file.at("params").at("source_detector_dist"),
      p.source_iso_dist = file.at("params").at("source_iso_dist");
    auto const size = auto_size(p);
    EXPECT_EQ(size.delta_voxel, file.at("params").at("delta_voxel").get<double>());
    EXPECT_EQ(size.recon_shape, scan.recon_shape());
  }, scan());
}

INSTANTIATE_TEST_SUITE_P(Projector, Golden, ::testing::ValuesIn(golden_names), golden_name);
INSTANTIATE_TEST_SUITE_P(Projector, GoldenSize, ::testing::Values("parallel_32", "cone_32", "multiaxis_a"),
                         golden_name);

}  // namespace
