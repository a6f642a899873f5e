// mbirk calibrate end to end: a scan whose axis is beside the middle, and what is refused.
#include "program.hpp"

namespace mbirk::test {
namespace {

struct Calibrate : testing::Test {
  scratch_folder folder;
  static constexpr double planted = 3;  // channels, by make_scan

  std::string name(std::string const& file) const { return (folder / file).string(); }
  void make(std::string const& geometry) const {
    auto const made = run_words({MBIRK_MAKE_SCAN, geometry, "24", folder.path().string(), "axis"});
    ASSERT_EQ(made.code, 0) << made;
  }
  outcome calibrate(std::string const& out, std::vector<std::string> const& more = {}) const {
    std::vector<std::string> words{"calibrate", name("scan.h5"), "--geometry", name("scan.json"), "--out", name(out)};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
};

TEST_F(Calibrate, FindsTheAxis) {
  make("cone");
  auto const ran = calibrate("found.json", {"--find", "det_channel_offset", "--cells", "24", "--iterations", "10"});
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_NE(ran.out.find("det_channel_offset"), std::string::npos) << ran;
  EXPECT_EQ(ran.out.find("detector_roll"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("residual of reprojection"), std::string::npos) << ran;
  auto const found = json::parse(file_text(folder / "found.json"));
  EXPECT_EQ(found["geometry"], "cone");
  EXPECT_NEAR(found["params"]["det_channel_offset"].get<double>(), planted, 0.1);
  auto const reconstructed = mbirk_program({"recon", name("scan.h5"), "--geometry", name("found.json"), "--method",
                                            "fdk", "--out", name("x.npy"), "--no-png", "--quiet"});
  EXPECT_EQ(reconstructed.code, 0) << reconstructed;
}

TEST_F(Calibrate, ARollMakesGeneralViews) {
  make("parallel");
  auto const ran = calibrate("found.json", {"--cells", "24", "--iterations", "5", "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_EQ(ran.out + ran.err, "");
  auto const found = json::parse(file_text(folder / "found.json"));
  EXPECT_EQ(found["geometry"], "general");
  EXPECT_EQ(found["params"]["parallel_rays"], true);
  auto const again = mbirk_program({"recon", name("scan.h5"), "--geometry", name("found.json"), "--max-iterations",
                                    "1", "--out", name("x.npy"), "--no-png", "--quiet"});
  EXPECT_EQ(again.code, 0) << again;
}

TEST_F(Calibrate, BadInput) {
  make("parallel");
  expect_failure(calibrate("x.json", {"--find", "det_row_offset"}), 2,
                 "scan.h5: calibrate: det_row_offset is to be found, expected rays from a source");
  expect_failure(calibrate("x.json", {"--find", "pitch"}), 2, "--find");
  expect_failure(calibrate("x.json", {"--cells", "8"}), 2, "--cells");
  expect_failure(calibrate("x.json", {"--rows", "0:4"}), 2, "has 4 rows, expected at least 8");
  expect_failure(calibrate("x.json", {"--memory-limit", "1MiB"}), 2, "1.00 MiB, --memory-limit");
  expect_failure(calibrate("scan.json"), 2, "would be written over what is read");
  expect_failure(calibrate("no/x.json"), 2, "no");
  expect_failure(calibrate("x.json", {"--policy", "emulated"}), 3, "mbirk calibrate runs on the host only");
  EXPECT_FALSE(fs::exists(folder / "x.json"));
}

}  // namespace
}  // namespace mbirk::test
