// The CUDA policy. Tests that need a device are skipped, with a message, if there is none.
#include <gtest/gtest.h>

#include <vector>

#include "mbirk/exec/array.hpp"
#include "mbirk/exec/cuda.cuh"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/parallel.hpp"

namespace {

using namespace mbirk;

TEST(Cuda, WithoutADeviceSaysWhatIsMissing) {
  if (exec::cuda::available()) GTEST_SKIP() << "there is a device";
  try {
    exec::cuda const exec;
    FAIL() << "no error";
  } catch (device_error const& e) {
    EXPECT_EQ(std::string(e.what()), exec::cuda::missing());
  }
}

struct OnADevice : ::testing::Test {
  void SetUp() override {
    if (!exec::cuda::available()) GTEST_SKIP() << "no CUDA device";
  }
  static parallel_scan scan() {
    parallel_parameters p{.sinogram_shape = {9, 5, 33}, .angles = {}};
    for (int v = 0; v < 9; ++v) p.angles.push_back(0.3f * static_cast<float>(v));
    return parallel_scan(p);
  }
};

TEST_F(OnADevice, OutOfMemorySaysHowMuchAndLeavesThePolicyUsable) {
  exec::cuda const exec;
  try {
    exec::array<float, exec::cuda>(exec, index_t{1} << 44);
    FAIL() << "no error";
  } catch (allocation_error const& e) {
    EXPECT_NE(std::string(e.what()).find("70368744177664 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("are free"), std::string::npos) << e.what();
  }
  std::vector<float> const values{1, 2, 3};
  std::vector<float> back(3);
  exec::array<float, exec::cuda>(exec, values).download(back);
  EXPECT_EQ(back, values);
  EXPECT_EQ(exec.transfers().bytes_up, 12);
  EXPECT_EQ(exec.transfers().bytes_down, 12);
}

TEST_F(OnADevice, EventsMeasureTheStream) {
  exec::cuda const exec;
  auto const from = exec.timestamp();
  exec::array<float, exec::cuda> const a(exec, 1 << 20);
  exec.clear(a.data(), 4 << 20);
  EXPECT_GT(exec.seconds(from, exec.timestamp()), 0);
}

// A projection needs no decision by the host, so a graph can hold it and run it again on new data.
TEST_F(OnADevice, AProjectionRunsFromAGraph) {
  auto const s = scan();
  exec::cuda const exec;
  context const ctx{exec, instrument::none{}};
  auto const shape = s.recon_shape(), samples = s.sinogram_shape();
  std::vector<float> image(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 1.0f), expected(9 * 5 * 33),
      found(expected.size());
  exec::array<float, exec::cuda> const x(exec, image), y(exec, static_cast<index_t>(expected.size()));
  auto const project = [&] {
    forward_project(ctx, s, view<float const, 3>(x.data(), shape), view<float, 3>(y.data(), samples));
  };
  project();
  y.download(expected);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(exec.stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  project();
  ASSERT_EQ(cudaStreamEndCapture(exec.stream(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  for (float const scale : {1.0f, 2.0f}) {
    std::vector<float> const scaled(image.size(), scale);
    exec.upload(x.data(), scaled.data(), scaled.size() * sizeof(float));
    exec.clear(y.data(), found.size() * sizeof(float));
    ASSERT_EQ(cudaGraphLaunch(ready, exec.stream()), cudaSuccess);
    y.download(found);
    for (std::size_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], scale * expected[k]) << k;
  }
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
}

}  // namespace
