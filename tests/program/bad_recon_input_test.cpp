// Bad input of the operations of reconstruction, through mbirk run: exit code 2, one line with the numbers, and no
// file.
#include <cmath>
#include <functional>

#include "program.hpp"

namespace mbirk::test {
namespace {

struct BadReconInput : Case {
  void SetUp() override { copy("parallel_odd"); }

  /// Entry `index` alone, with one change, must fail with this text.
  void expect_bad(std::size_t index, std::function<void(json&)> const& f, std::string const& part) {
    copy("parallel_odd");
    change([&](json& j) {
      j["ops"] = json::array({j["ops"][index]});
      f(j);
    });
    spoiled();
    expect_failure(run(), 2, part);
    EXPECT_EQ(file_count(out), 0);
    spoiled = [] {};
  }
  void expect_bad_argument(std::size_t index, char const* name, json const& value, std::string const& part) {
    expect_bad(index, [&](json& j) { j["ops"][0]["args"][name] = value; }, part);
  }
  void expect_bad_parameter(char const* name, json const& value, std::string const& part) {
    expect_bad(recon, [&](json& j) { j["params"][name] = value; }, part);
  }
  void expect_bad_values(std::size_t index, char const* file, std::function<void(npy_array<float>&)> const& f,
                         std::string const& part) {
    spoiled = [=, this] {
      auto a = read_npy<float>(folder / file);
      f(a);
      write_npy(folder / file, a);
    };
    expect_bad(index, [](json&) {}, part);
  }

  // Places in ops.
  static constexpr std::size_t direct_filter = 7, direct_recon = 8, gen_weights = 9, mar = 13, recon = 15,
                               weighted_recon = 16, prox_map = 17;
  std::function<void()> spoiled = [] {};
};

TEST_F(BadReconInput, Names) {
  expect_bad_argument(direct_filter, "filter_name", "hann",
                      "ops[0]: direct_filter: filter_name is \"hann\", expected ramp");
  expect_bad_argument(direct_recon, "filter_name", "hann",
                      "ops[0]: direct_recon: filter_name is \"hann\", expected ramp");
  expect_bad_argument(gen_weights, "weight_type", "heavy", "weight_type is \"heavy\", expected ");
}

TEST_F(BadReconInput, Values) {
  auto const nan_at = [](npy_array<float>& a) { a.data[3] = std::nanf(""); };
  for (auto const index : {recon, prox_map})
    expect_bad_values(index, "sinogram.npy", nan_at, "sinogram.npy: value (0, 0, 3) is nan, expected finite numbers");
  expect_bad_values(weighted_recon, "weights.npy", nan_at,
                    "weights.npy: value (0, 0, 3) is nan, expected finite numbers");
  expect_bad_values(weighted_recon, "weights.npy", [](auto& a) { a.data[3] = -0.5f; }, "weights");
  expect_bad_values(weighted_recon, "weights.npy", [](auto& a) { a.data.assign(a.data.size(), 0.0f); }, "weights");
  expect_bad_values(recon, "sinogram.npy", [](auto& a) { a.data.assign(a.data.size(), 0.0f); }, "sigma_y");
}

TEST_F(BadReconInput, Shapes) {
  auto const longer = [](npy_array<float>& a) {
    a.data.resize(a.data.size() / static_cast<std::size_t>(a.shape[2]) * static_cast<std::size_t>(++a.shape[2]));
  };
  for (auto const index : {direct_filter, direct_recon, gen_weights, mar, recon})
    expect_bad_values(index, "sinogram.npy", longer,
                      "sinogram.npy has shape (17, 9, 24), expected (views, rows, channels) = (17, 9, 23)");
  expect_bad_values(weighted_recon, "weights.npy", longer,
                    "weights.npy has shape (17, 9, 24), expected (views, rows, channels) = (17, 9, 23)");
  for (auto const index : {mar, prox_map}) expect_bad_values(index, "recon.npy", longer, "recon.npy has shape ");
}

TEST_F(BadReconInput, Parameters) {
  expect_bad_parameter("partition_sequence", {0, 99},
                       "ops[0]: recon: partition_sequence has the entry 99, expected 0 to 10");
  expect_bad_parameter("q", 2.5, "q is 2.5");
  expect_bad_parameter("sigma_y", -1, "sigma_y is -1, expected a positive number");
  expect_bad_parameter("max_alpha", 0, "max_alpha is 0, expected a positive number");
  expect_bad_argument(recon, "max_iterations", -1, "max_iterations is -1");
  expect_bad_parameter("voxel_slice_aspect", 2, "voxel_slice_aspect is 2, expected 1");
  expect_bad(recon, [](json& j) { j["recon_shape"][2] = 16; }, "recon_shape");
}

}  // namespace
}  // namespace mbirk::test
