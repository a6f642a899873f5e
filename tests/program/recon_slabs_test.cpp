// mbirk recon of a raw scan that is larger than the memory it may take: the same bits as in memory, and no more memory.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <random>

#include "mbirk/io/recon_hdf5.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

/// Counts of 240 rows, about a thousandth of them dead, and a geometry with a small reconstruction.
struct ReconSlabs : testing::Test {
  static constexpr index_t views = 200, rows = 240, channels = 320;
  static constexpr double limit = 100 << 20;
  scratch_folder folder;

  ReconSlabs() {
    std::mt19937 random(7);
    std::vector<std::uint16_t> counts(static_cast<std::size_t>(views * rows * channels));
    for (auto& n : counts) {
      auto const word = random();
      n = word % 1024 == 0 ? 0 : static_cast<std::uint16_t>(20000 + word / 131072);
    }
    write_text(folder / "scan.raw", std::string(reinterpret_cast<char const*>(counts.data()), 2 * counts.size()));
    write_text(folder / "scan.json", R"({"geometry": "parallel", "recon_shape": [40, 48, 240], "params": {},
                                         "angles": {"start": 0, "stop": 3.14, "num": 200, "endpoint": false}})");
  }
  std::string name(std::string const& file) const { return (folder / file).string(); }
  outcome recon(std::string const& out, std::vector<std::string> const& more) const {
    std::vector<std::string> words{"recon", name("scan.raw"), "--geometry", name("scan.json"), "--out", name(out)};
    words.insert(words.end(), {"--raw", "u16le,200,240,320", "--white-level", "60000", "--method", "fbp"});
    words.insert(words.end(), {"--threads", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
  /// Runs within the limit in a process of its own, whose children are the program alone. @return peak bytes
  double recon_in_slabs(std::string const& out, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--memory-limit", std::to_string(static_cast<index_t>(limit))});
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    pid_t const child = ::fork();
    if (child == 0) {
      auto const ran = recon(out, more);
      if (ran.code != 0 || ran.out.find("larger than memory: slabs of") == std::string::npos) {
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
};

TEST_F(ReconSlabs, HaveTheBitsOfTheWholeWithinTheLimit) {
  double const peak = recon_in_slabs("slabs.h5");
  RecordProperty("peak over limit", std::to_string(peak / limit));
  EXPECT_GT(peak, 0);
  EXPECT_LE(peak, 1.1 * limit);
  auto const whole = recon("whole.h5", {});
  ASSERT_EQ(whole.code, 0) << whole;
  EXPECT_EQ(whole.out.find("slabs"), std::string::npos) << whole;
  auto const x = load_recon_hdf5(folder / "whole.h5"), y = load_recon_hdf5(folder / "slabs.h5");
  EXPECT_EQ(x.recon.shape, (std::vector<index_t>{40, 48, 240}));
  EXPECT_EQ(x.recon.data, y.recon.data);
  EXPECT_EQ(x.record, y.record);
  EXPECT_EQ(file_text(folder / "whole.png"), file_text(folder / "slabs.png"));
}

TEST_F(ReconSlabs, OtherFormatsAreTheSameFiles) {
  for (std::string const ending : {".npy", ".mrc"}) {
    recon_in_slabs("slabs" + ending);
    auto const whole = recon("whole" + ending, {});
    ASSERT_EQ(whole.code, 0) << whole;
    EXPECT_TRUE(file_text(folder / ("whole" + ending)) == file_text(folder / ("slabs" + ending))) << ending;
  }
}

TEST_F(ReconSlabs, WhatNeedsWholeViewsIsRefused) {
  expect_failure(recon("x.h5", {"--zingers", "0.5", "--quiet", "--memory-limit", "60MiB"}), 2,
                 "60.0 MiB, --memory-limit");
  expect_failure(recon("x.h5", {"--quiet", "--memory-limit", "1MiB"}), 2, "1.00 MiB, --memory-limit");
  EXPECT_FALSE(fs::exists(folder / "x.h5"));
}

}  // namespace
}  // namespace mbirk::test
