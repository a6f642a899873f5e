// mbirk recon of a raw scan that is larger than the memory it may take: the same bits as in memory, and no more memory.
#include <algorithm>
#include <cmath>
#include <random>

#include "large_scan.hpp"
#include "mbirk/core/difference.hpp"
#include "mbirk/io/recon_hdf5.hpp"

namespace mbirk::test {
namespace {

struct PartsOfTheWhole : LargeScan {
  using LargeScan::LargeScan;

  void compare_hdf5(std::vector<index_t> const& shape) const {
    double const peak = recon_in_parts("parts.h5");
    RecordProperty("peak over limit", std::to_string(peak / limit));
    EXPECT_GT(peak, 0);
    EXPECT_LE(peak, 1.1 * limit);
    auto const whole = recon("whole.h5", {});
    ASSERT_EQ(whole.code, 0) << whole;
    EXPECT_EQ(whole.out.find("larger than memory"), std::string::npos) << whole;
    auto const x = load_recon_hdf5(folder / "whole.h5"), y = load_recon_hdf5(folder / "parts.h5");
    EXPECT_EQ(x.recon.shape, shape);
    EXPECT_EQ(x.recon.data, y.recon.data);
    EXPECT_EQ(x.record, y.record);
    EXPECT_EQ(file_text(folder / "whole.png"), file_text(folder / "parts.png"));
  }
  void compare_files(std::string const& ending) const {
    recon_in_parts("parts" + ending);
    auto const whole = recon("whole" + ending, {});
    ASSERT_EQ(whole.code, 0) << whole;
    EXPECT_TRUE(file_text(folder / ("whole" + ending)) == file_text(folder / ("parts" + ending))) << ending;
  }
};

struct ReconSlabs : PartsOfTheWhole {
  ReconSlabs()
      : PartsOfTheWhole("fbp", "slabs", 100 << 20,
                        R"({"geometry": "parallel", "recon_shape": [40, 48, 240], "params": {},
                            "angles": {"start": 0, "stop": 3.14, "num": 200, "endpoint": false}})") {}
};
/// Views over little more than half a turn, which are weighed.
struct ReconBands : PartsOfTheWhole {
  ReconBands()
      : PartsOfTheWhole("fdk", "bands", 90 << 20,
                        R"({"geometry": "cone", "recon_shape": [75, 60, 240],
                            "params": {"source_detector_dist": 1280, "source_iso_dist": 640},
                            "angles": {"start": 0, "stop": 3.5, "num": 200, "endpoint": false}})") {}
};

TEST_F(ReconSlabs, HaveTheBitsOfTheWholeWithinTheLimit) { compare_hdf5({40, 48, 240}); }
TEST_F(ReconBands, HaveTheBitsOfTheWholeWithinTheLimit) { compare_hdf5({75, 60, 240}); }

TEST_F(ReconSlabs, OtherFormatsAreTheSameFiles) {
  compare_files(".npy");
  compare_files(".mrc");
}
TEST_F(ReconBands, OtherFormatsAreTheSameFiles) { compare_files(".npy"); }

TEST_F(ReconBands, WhatNeedsTheWholeIsRefused) {
  expect_failure(recon("x.mrc", {"--quiet", "--memory-limit", "90MiB"}), 2, "90.0 MiB, --memory-limit");
  expect_failure(recon("x.npy", {"--stripes", "sorting", "--quiet", "--memory-limit", "90MiB"}), 2,
                 "90.0 MiB, --memory-limit");
  expect_failure(recon("x.npy", {"--quiet", "--memory-limit", "1MiB"}), 2, "1.00 MiB, --memory-limit");
  EXPECT_FALSE(fs::exists(folder / "x.npy"));
}

TEST_F(ReconSlabs, WhatNeedsWholeViewsIsRefused) {
  expect_failure(recon("x.h5", {"--zingers", "0.5", "--quiet", "--memory-limit", "60MiB"}), 2,
                 "60.0 MiB, --memory-limit");
  expect_failure(recon("x.h5", {"--quiet", "--memory-limit", "1MiB"}), 2, "1.00 MiB, --memory-limit");
  EXPECT_FALSE(fs::exists(folder / "x.h5"));
}

/// Random line integrals of few views that are reconstructed on an emulated device.
struct PartsOnDevices : testing::Test {
  scratch_folder folder;

  /// Reconstructs them as a whole and in parts. @return largest difference relative to the largest magnitude
  double difference(std::vector<index_t> const& shape, char const* geometry, char const* method, char const* parts) {
    npy_array<float> sinogram{shape, std::vector<float>(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]))};
    std::mt19937 random(7);
    for (auto& y : sinogram.data) y = static_cast<float>(random() % 1024) / 1024;
    write_npy(folder / "y.npy", sinogram);
    write_text(folder / "g.json", geometry);
    auto const recon = [&](char const* out, std::vector<std::string> const& more) {
      std::vector<std::string> words{"recon", (folder / "y.npy").string(), "--geometry", (folder / "g.json").string(),
                                     "--out", (folder / out).string(), "--method", method, "--policy", "emulated",
                                     "--threads", "2"};
      words.insert(words.end(), more.begin(), more.end());
      auto const ran = mbirk_program(words);
      EXPECT_EQ(ran.code, 0) << ran;
      return ran.out;
    };
    recon("whole.npy", {});
    auto const said = recon("parts.npy", {"--memory-limit", "55MiB"});
    EXPECT_NE(said.find(std::string("larger than memory: ") + parts + " of "), std::string::npos) << said;
    auto const x = read_npy<float>(folder / "whole.npy"), y = read_npy<float>(folder / "parts.npy");
    EXPECT_EQ(y.shape, x.shape);
    return mbirk::detail::relative_difference(y.data, x.data);
  }
};

/// On a device slabs are other grids, so the result is the same to rounding.
TEST_F(PartsOnDevices, SlabsAreThoseOfTheWhole) {
  char const* const geometry = R"({"geometry": "parallel", "recon_shape": [12, 12, 256], "params": {},
                                   "angles": {"start": 0, "stop": 3.14, "num": 4, "endpoint": false}})";
  // Transforms of 16384 channels, which differ in which row is the imaginary part: 14 stages of rounding.
  EXPECT_LE(difference({4, 256, 8192}, geometry, "fbp", "slabs"), 14 * 0x1p-23);
}

TEST_F(PartsOnDevices, BandsAreThoseOfTheWhole) {
  char const* const geometry = R"({"geometry": "cone", "recon_shape": [75, 8, 256],
                                   "params": {"source_detector_dist": 8192, "source_iso_dist": 4096},
                                   "angles": {"start": 0, "stop": 6.2831853, "num": 16, "endpoint": false}})";
  // Eight blocks of views are summed by themselves. Sums without cancellation are at most ten times the result.
  EXPECT_LE(difference({16, 256, 2048}, geometry, "fdk", "bands"), 10 * 8 * 0x1p-24);
}

}  // namespace
}  // namespace mbirk::test
