// mbirk recon of a raw scan that is larger than the memory it may take: the same bits as in memory, and no more memory.
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "large_scan.hpp"
#include "mbirk/core/difference.hpp"
#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/io/recon_hdf5.hpp"
#include "mbirk/projector/cone.hpp"

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
/// Images that are large enough to be written while the next slab is reconstructed.
struct ReconLargeSlabs : PartsOfTheWhole {
  ReconLargeSlabs()
      : PartsOfTheWhole("fbp", "slabs", 120 << 20,
                        R"({"geometry": "parallel", "recon_shape": [192, 192, 240], "params": {},
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
TEST_F(ReconLargeSlabs, HaveTheBitsOfTheWholeWithinTheLimit) { compare_hdf5({192, 192, 240}); }
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

/// Random line integrals of few views that are reconstructed on an emulated device, as a whole and in parts.
struct PartsOnDevices : testing::Test {
  scratch_folder folder;
  std::vector<float> sinogram, whole, parts;
  std::string method;

  void make(std::string const& by, std::vector<index_t> const& shape, char const* geometry) {
    method = by;
    sinogram.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
    std::mt19937 random(7);
    for (auto& y : sinogram) y = static_cast<float>(random() % 1024) / 1024;
    write_npy(folder / "y.npy", sinogram.data(), shape);
    write_text(folder / "g.json", geometry);
  }
  outcome recon(char const* out, std::vector<std::string> const& more) const {
    std::vector<std::string> words{"recon", (folder / "y.npy").string(), "--geometry", (folder / "g.json").string(),
                                   "--out", (folder / out).string(), "--method", method, "--policy", "emulated",
                                   "--threads", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
  /// @param said  what the program says of the parts
  void compare(std::string const& limit, std::string const& said) {
    auto const at_once = recon("whole.npy", {}), in_parts = recon("parts.npy", {"--memory-limit", limit});
    ASSERT_EQ(at_once.code, 0) << at_once;
    ASSERT_EQ(in_parts.code, 0) << in_parts;
    EXPECT_NE(in_parts.out.find("larger than memory: " + said), std::string::npos) << in_parts;
    whole = read_npy<float>(folder / "whole.npy").data;
    parts = read_npy<float>(folder / "parts.npy").data;
    ASSERT_EQ(parts.size(), whole.size());
  }
};

/// On a device slabs are other grids, so the result is the same to rounding.
TEST_F(PartsOnDevices, SlabsAreThoseOfTheWhole) {
  make("fbp", {4, 256, 8192}, R"({"geometry": "parallel", "recon_shape": [12, 12, 256], "params": {},
                                  "angles": {"start": 0, "stop": 3.14, "num": 4, "endpoint": false}})");
  compare("55MiB", "slabs of ");
  // Transforms of 16384 channels, which differ in which row is the imaginary part: 14 stages of rounding.
  EXPECT_LE(mbirk::detail::relative_difference(parts, whole), 14 * 0x1p-23);
}

/// Three bands, of eight blocks each, which are summed by themselves. Each of the sums over the V views has at most
/// V - 1 roundings of the sum of magnitudes.
TEST_F(PartsOnDevices, BandsAreThoseOfTheWhole) {
  constexpr int views = 16;
  make("fdk", {views, 256, 1024}, R"({"geometry": "cone", "recon_shape": [75, 64, 512],
                                  "params": {"source_detector_dist": 4096, "source_iso_dist": 2048},
                                  "angles": {"start": 0, "stop": 6.2831853, "num": 16, "endpoint": false}})");
  // Bands of 32 rows fit into two MiB more than the least, and no larger ones.
  auto const refused = recon("x.npy", {"--memory-limit", "1MiB", "--quiet"});
  EXPECT_EQ(refused.code, 2) << refused;
  auto const bytes = refused.err.find(" of memory (");
  ASSERT_NE(bytes, std::string::npos) << refused;
  auto const least = std::stoll(refused.err.substr(bytes + std::string(" of memory (").size()));
  compare(std::to_string(least / 1024 + 2048) + "KiB", "bands of 32 of 75 rows, blocks of 2 of 16 views");

  cone_parameters p;
  p.sinogram_shape = {views, 256, 1024};
  for (int v = 0; v < views; ++v) p.angles.push_back(6.2831853f * static_cast<float>(v) / views);
  p.source_detector_dist = 4096;
  p.source_iso_dist = 2048;
  p.recon_shape = std::array<index_t, 3>{75, 64, 512};
  cone_scan const scan(p);
  context const host{exec::host(2), instrument::none{}};
  std::vector<float> filtered(sinogram.size()), magnitudes(whole.size());
  direct_filter(host, scan, view<float const, 3>(sinogram.data(), p.sinogram_shape),
                view<float, 3>(filtered.data(), p.sinogram_shape));
  for (auto& q : filtered) q = std::abs(q);
  back_project(host, scan, view<float const, 3>(filtered.data(), p.sinogram_shape),
               view<float, 3>(magnitudes.data(), *p.recon_shape));
  for (std::size_t n = 0; n < whole.size(); ++n)
    ASSERT_NEAR(parts[n], whole[n], 2 * views * 0x1p-24 * static_cast<double>(magnitudes[n])) << n;
}

}  // namespace
}  // namespace mbirk::test
