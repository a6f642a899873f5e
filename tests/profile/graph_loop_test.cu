// Steps of a stream as a graph. Tests that need a device are skipped, with a message, if there is none.
#include "mbirk/profile/graph_loop.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "mbirk/exec/array.hpp"

namespace {

using namespace mbirk;

__global__ void add_one(float* x) { *x += 1; }

struct GraphLoop : ::testing::Test {
  void SetUp() override {
    if (!exec::cuda::available()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(GraphLoop, RunsAsManyStepsAsTheOtherForm) {
  exec::cuda const exec;
  exec::array<float, exec::cuda> const x(exec, std::vector<float>{0});
  auto const step = [&] {
    add_one<<<1, 1, 0, exec.stream()>>>(x.data());
    exec::check_cuda(cudaGetLastError(), "launch of a kernel");
  };
  std::vector<float> value(1);
  profile::graph_loop const graph(exec, step, 5);
  x.download(value);
  EXPECT_EQ(value[0], 0) << "recording runs nothing";
  graph.launch(), graph.launch();
  x.download(value);
  EXPECT_EQ(value[0], 10);
  auto const result = profile::graph_against_steps(exec, step, 20, {.warm_up = 1, .rounds = 6});
  x.download(value);
  EXPECT_EQ(value[0], 10 + 2 * 7 * 20);
  EXPECT_EQ(result.loop.count, 6);
  EXPECT_GT(result.step_by_step.p50, 0);
}

TEST_F(GraphLoop, AStepThatThrowsLeavesTheStreamUsable) {
  exec::cuda const exec;
  EXPECT_THROW(profile::graph_loop(exec, [] { throw std::runtime_error("a step"); }, 2), std::runtime_error);
  exec::array<float, exec::cuda> const x(exec, std::vector<float>{3});
  std::vector<float> value(1);
  x.download(value);
  EXPECT_EQ(value[0], 3);
}

}  // namespace
