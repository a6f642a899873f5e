// mbirk recon on a device, which is emulated here: the same images as on the host, the same checkpoints, and errors.
#include <algorithm>
#include <cmath>

#include "mbirk/io/npy.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

struct DeviceRecon : testing::Test {
  scratch_folder folder;

  std::string name(std::string const& file) const { return (folder / file).string(); }
  void make(std::string const& geometry) const {
    auto const made = run_words({MBIRK_MAKE_SCAN, geometry, "16", folder.path().string()});
    ASSERT_EQ(made.code, 0) << made;
  }
  outcome recon(std::string const& policy, std::string const& out, std::vector<std::string> const& more) const {
    std::vector<std::string> words{"recon",    name("scan.h5"), "--geometry", name("scan.json"), "--out", name(out),
                                   "--policy", policy,          "--no-png"};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
  std::vector<float> volume(std::string const& policy, std::vector<std::string> const& more) const {
    auto const done = recon(policy, policy + ".npy", more);
    EXPECT_EQ(done.code, 0) << done;
    return done.code ? std::vector<float>() : read_npy<float>(name(policy + ".npy")).data;
  }
};

/// Within the tolerance of the reference cases, relative to the largest value.
void expect_close(std::vector<float> const& got, std::vector<float> const& expected, double relative) {
  ASSERT_EQ(got.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(difference, relative * largest);
}

TEST_F(DeviceRecon, IsThatOfTheHost) {
  for (std::string const geometry : {"parallel", "cone"}) {
    make(geometry);
    std::vector<std::string> const direct{"--method", geometry == "cone" ? "fdk" : "fbp"},
        iterative{"--max-iterations", "2", "--weights", "transmission_root", "--positivity"};
    expect_close(volume("emulated", direct), volume("host", direct), 1e-5);
    expect_close(volume("emulated", iterative), volume("host", iterative), 1e-4);
  }
}

TEST_F(DeviceRecon, ResumesToTheSameBits) {
  make("parallel");
  std::vector<std::string> const two{"--max-iterations", "2", "--stop-threshold-change-pct", "0"},
      one{"--max-iterations", "1", "--stop-threshold-change-pct", "0", "--checkpoint", name("state")},
      resumed{"--max-iterations", "2", "--stop-threshold-change-pct", "0", "--resume", name("state")};
  auto const straight = volume("emulated", two);
  volume("emulated", one);
  EXPECT_EQ(volume("emulated", resumed), straight);
  volume("host", one);  // another policy may go on
  expect_close(volume("emulated", resumed), straight, 1e-4);
}

/// Not even a slab fits into 50 KiB.
TEST_F(DeviceRecon, Errors) {
  make("parallel");
  expect_failure(recon("emulated", "x.npy", {"--method", "fbp", "--memory-limit", "50KiB", "--quiet"}), 2,
                 "expected at most 50.0 KiB, --memory-limit");
  expect_failure(recon("emulated", "x.npy", {"--method", "fdk"}), 2, "--method fdk is for geometry");
  std::vector<float> const lines(48 * 40, 1);
  write_npy(name("fan.npy"), lines.data(), {48, 1, 40});
  write_text(folder / "fan.json", R"({"geometry": "fan", "angles": {"start": 0, "stop": 6.2831853, "num": 48,
      "endpoint": false}, "params": {"source_detector_dist": 160, "source_iso_dist": 80}})");
  expect_failure(mbirk_program({"recon", name("fan.npy"), "--geometry", name("fan.json"), "--out", name("x.npy"),
                                "--method", "fdk", "--policy", "emulated", "--quiet"}), 3,
                 "policy emulated is not available for a direct reconstruction of a fan beam, expected --policy host");
  EXPECT_FALSE(fs::exists(name("x.npy")));
}

}  // namespace
}  // namespace mbirk::test
