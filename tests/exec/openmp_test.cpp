// OpenMP as the runner of exec::host; empty if the compiler has no OpenMP.
#if defined(_OPENMP)
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "mbirk/exec/host.hpp"
#include "mbirk/exec/openmp.hpp"

namespace {

using namespace mbirk;

TEST(OpenMP, RunsTheLoopsOfAHostPolicy) {
  exec::openmp_runner runner;
  exec::host const host(runner, 3);
  std::vector<std::atomic<int>> calls(50);
  std::atomic<int> wrong{0};
  host.for_each(50, host.workers(50), [&](index_t i, int worker) {
    ++calls[static_cast<std::size_t>(i)];
    wrong += worker < 0 || worker >= 3;
  });
  for (auto const& c : calls) EXPECT_EQ(c, 1);
  EXPECT_EQ(wrong, 0);
}

TEST(OpenMP, RethrowsToTheCaller) {
  exec::openmp_runner runner;
  exec::host const host(runner, 2);
  EXPECT_THROW(host.for_each(20, 2, [](index_t i, int) {
    if (i == 5) throw std::runtime_error("task 5");
  }), std::runtime_error);
}

}  // namespace
#endif
