// Processors that this process may use: the affinity mask and the quotas of its control groups.
#include "mbirk/exec/processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace mbirk;
using exec::available_processors;

TEST(Processors, FollowTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int k = 0; k < CPU_SETSIZE; ++k)
    if (CPU_ISSET(k, &before)) {
      CPU_SET(k, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_processors(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(available_processors(), CPU_COUNT(&before));
}

/// A simulated folder of control groups.
struct Groups : ::testing::Test {
  std::filesystem::path root = std::filesystem::temp_directory_path() / ("mbirk-groups-" + std::to_string(getpid()));
  void write(char const* file, char const* text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << "\n";
  }
  double processors(char const* group) const { return exec::detail::group_processors(root.string(), group); }
  ~Groups() override { std::filesystem::remove_all(root); }
};

TEST_F(Groups, TheTightestQuotaOfAGroupAndItsParentsHolds) {
  EXPECT_EQ(processors("/a/b"), 0);
  write("a/b/cpu.max", "max 100000");
  EXPECT_EQ(processors("/a/b"), 0);
  write("a/cpu.max", "250000 100000");
  EXPECT_EQ(processors("/a/b"), 2.5);
  write("a/b/cpu.max", "50000 100000");
  EXPECT_EQ(processors("/a/b"), 0.5);
  EXPECT_EQ(processors("/a"), 2.5);
  write("cpu.max", "100000 100000");
  EXPECT_EQ(processors("/a"), 1);
  EXPECT_EQ(processors("/"), 1);
}

TEST_F(Groups, Version1HasTwoFiles) {
  write("job/cpu.cfs_quota_us", "-1");
  write("job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(processors("/job"), 0);
  write("job/cpu.cfs_quota_us", "300000");
  EXPECT_EQ(processors("/job"), 3);
}

TEST(Processors, FindTheGroupInALineOfProc) {
  EXPECT_EQ(exec::detail::cpu_group("0::/user.slice/x"), "/user.slice/x");
  EXPECT_EQ(exec::detail::cpu_group("4:cpu,cpuacct:/job"), "/job");
  EXPECT_EQ(exec::detail::cpu_group("4:cpuacct,cpu:/job"), "/job");
  EXPECT_EQ(exec::detail::cpu_group("3:cpuset:/job"), "");
  EXPECT_EQ(exec::detail::cpu_group("nonsense"), "");
}

}  // namespace
