// mbirk run of a case that is larger than memory: slab by slab from file to file, to the same bits.
#include <algorithm>
#include <cmath>
#include <set>

#include "program.hpp"

namespace mbirk::test {
namespace {

struct RunInSlabs : Case {
  static constexpr index_t views = 40, rows = 2000, channels = 48;
  std::vector<std::string> const limited{"--memory-limit", "40MiB"};

  RunInSlabs() {
    fs::create_directories(folder);
    auto const array = [&](char const* name, std::vector<index_t> const& shape, float least) {
      std::vector<float> period(65537), values;
      for (std::size_t n = 0; n < period.size(); ++n) period[n] = least + std::sin(static_cast<float>(n));
      for (auto left = shape[0] * shape[1] * shape[2]; left > 0; left -= std::ssize(period))
        values.insert(values.end(), period.begin(), period.begin() + std::min<index_t>(std::ssize(period), left));
      write_npy(folder / name, values.data(), shape);
    };
    array("sinogram.npy", {views, rows, channels}, 0);
    array("weights.npy", {views, rows, channels}, 1.1f);
    array("recon.npy", {channels, channels, rows}, 0);
    std::vector<float> angles;
    for (index_t v = 0; v < views; ++v) angles.push_back(0.0785f * static_cast<float>(v));
    write_npy(folder / "angles.npy", angles.data(), {views});
    make("parallel");
  }
  void make(std::string const& geometry) const {
    json const sinogram{{"sinogram", "sinogram.npy"}};
    auto const entry = [](char const* op, json const& inputs, json const& arguments = json::object()) {
      return json{{"op", op}, {"inputs", inputs}, {"args", arguments}, {"output", std::string(op) + ".npy"},
                  {"rtol", 0}};
    };
    json params = json::object();
    if (geometry == "cone") params = {{"source_detector_dist", 4000}, {"source_iso_dist", 2000}};
    json ops = {entry("forward_project", {{"recon", "recon.npy"}}), entry("back_project", sinogram),
                entry("hessian_diagonal", {{"weights", "weights.npy"}}), entry("direct_filter", sinogram),
                entry("direct_recon", sinogram), entry("gen_weights", sinogram, {{"weight_type", "transmission"}})};
    write({{"name", "slabs"}, {"geometry", geometry}, {"sinogram_shape", {views, rows, channels}},
           {"recon_shape", {channels, channels, rows}}, {"angles", "angles.npy"}, {"params", params}, {"ops", ops}});
  }
  outcome run_limited(std::vector<std::string> more) const {
    more.insert(more.end(), limited.begin(), limited.end());
    return run(more);
  }
};

TEST_F(RunInSlabs, HasTheBitsOfTheWhole) {
  auto const whole = run();
  ASSERT_EQ(whole.code, 0) << whole;
  EXPECT_EQ(whole.out.find("larger than memory"), std::string::npos) << whole;
  // The results become references, which those of slabs are compared with by the program itself.
  std::set<std::string> names;
  for (auto const& entry : fs::directory_iterator(out)) {
    names.insert(entry.path().filename().string());
    fs::rename(entry.path(), folder / entry.path().filename());
  }
  EXPECT_EQ(names.size(), 6u);
  auto const slabs = run_limited({"--check"});
  EXPECT_EQ(slabs.code, 0) << slabs;
  EXPECT_NE(slabs.out.find("6 of 6 within tolerance"), std::string::npos) << slabs;
  for (auto const& name : names) {
    EXPECT_NE(slabs.out.find(name + ": larger than memory: slabs of "), std::string::npos) << slabs;
    EXPECT_TRUE(file_text(out / name) == file_text(folder / name)) << name;
  }
  // A reference that differs in one value is found.
  auto reference = read_npy<float>(folder / "back_project.npy");
  reference.data[4711] += 1;
  write_npy(folder / "back_project.npy", reference);
  auto const differs = run_limited({"--check", "--ops", "back_project"});
  EXPECT_EQ(differs.code, 1) << differs;
  EXPECT_NE(differs.out.find("0 of 1 within tolerance"), std::string::npos) << differs;
}

TEST_F(RunInSlabs, WhatIsNotFiniteIsNamed) {
  auto recon = read_npy<float>(folder / "recon.npy");
  recon.data[(24 * channels + 20) * rows + 900] = NAN;
  recon.data[3] = NAN;  // outside the mask
  write_npy(folder / "recon.npy", recon);
  expect_failure(run_limited({"--ops", "forward_project", "--quiet"}), 2,
                 "recon.npy: value (24, 20, 900) is nan, expected finite numbers");
  EXPECT_FALSE(fs::exists(out / "forward_project.npy"));
}

TEST_F(RunInSlabs, WhatNeedsTheWholeIsRefused) {
  expect_failure(run_limited({"--instrument", "counting", "--ops", "forward_project", "--quiet"}), 2,
                 "ops[0]: forward_project needs ");
  expect_failure(run({"--memory-limit", "1MiB", "--ops", "forward_project", "--quiet"}), 2,
                 "1.00 MiB, --memory-limit");
  make("cone");
  expect_failure(run({"--memory-limit", "5MiB", "--ops", "back_project", "--quiet"}), 2,
                 " of memory, expected at most 5.00 MiB: in slabs that fit, without instrumentation, run ");
}

}  // namespace
}  // namespace mbirk::test
