// mbirk recon of a raw scan that is larger than the memory it may take: the same bits as in memory, and no more memory.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <random>

#include "mbirk/io/recon_hdf5.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

/// Counts of 240 rows, about a thousandth of them dead.
struct LargeScan : testing::Test {
  static constexpr index_t views = 200, rows = 240, channels = 320;
  std::string const method, parts;
  double const limit;
  scratch_folder folder;

  /// @param parts_said  what the program says that it reconstructs
  LargeScan(std::string const& method_used, std::string const& parts_said, double bytes, std::string const& geometry)
      : method(method_used), parts("larger than memory: " + parts_said + " of"), limit(bytes) {
    std::mt19937 random(7);
    std::vector<std::uint16_t> counts(static_cast<std::size_t>(views * rows * channels));
    for (auto& n : counts) {
      auto const word = random();
      n = word % 1024 == 0 ? 0 : static_cast<std::uint16_t>(20000 + word / 131072);
    }
    write_text(folder / "scan.raw", std::string(reinterpret_cast<char const*>(counts.data()), 2 * counts.size()));
    write_text(folder / "scan.json", geometry);
  }
  std::string name(std::string const& file) const { return (folder / file).string(); }
  outcome recon(std::string const& out, std::vector<std::string> const& more) const {
    std::vector<std::string> words{"recon", name("scan.raw"), "--geometry", name("scan.json"), "--out", name(out)};
    words.insert(words.end(), {"--raw", "u16le,200,240,320", "--white-level", "60000", "--method", method});
    words.insert(words.end(), {"--threads", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
  /// Runs within the limit in a process of its own, whose children are the program alone. @return peak bytes
  double recon_in_parts(std::string const& out, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--memory-limit", std::to_string(static_cast<index_t>(limit))});
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    pid_t const child = ::fork();
    if (child == 0) {
      auto const ran = recon(out, more);
      if (ran.code != 0 || ran.out.find(parts) == std::string::npos) {
        std::fprintf(stderr, "%s\n%s\n%s\n", ran.command.c_str(), ran.out.c_str(), ran.err.c_str());
        _exit(1);
      }
      rusage used{};
      getrusage(RUSAGE_CHILDREN, &used);
      long const peak = used.ru_maxrss;
      _exit(::write(ends[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
    }
    ::close(ends[1]);
    long peak = -1;
    if (::read(ends[0], &peak, sizeof peak) != sizeof peak) peak = -1;
    ::close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << out;
    return 1024 * static_cast<double>(peak);
  }

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

struct ReconSlabs : LargeScan {
  ReconSlabs()
      : LargeScan("fbp", "slabs", 100 << 20,
                  R"({"geometry": "parallel", "recon_shape": [40, 48, 240], "params": {},
                      "angles": {"start": 0, "stop": 3.14, "num": 200, "endpoint": false}})") {}
};
/// Views over little more than half a turn, which are weighed.
struct ReconBands : LargeScan {
  ReconBands()
      : LargeScan("fdk", "bands", 90 << 20,
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

}  // namespace
}  // namespace mbirk::test
