// Many steps of a stream as one CUDA graph, and the time saved compared with queueing each step.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/cuda.hpp"
#include "mbirk/profile/loop.hpp"

namespace mbirk::profile {

/// A graph of the work that `steps` calls of `record()` queue on the policy's stream. Recording does not run it.
/// The steps must not wait or make decisions on the host, and the memory that they use must remain allocated.
class graph_loop {
 public:
  /// @throws device_error when a step does something that cannot be captured, and whatever record throws.
  template <class Record> graph_loop(exec::cuda const& exec, Record&& record, std::int64_t steps) : exec_(exec) {
    exec::check_cuda(cudaStreamBeginCapture(exec_.stream(), cudaStreamCaptureModeThreadLocal),
                     "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      for (std::int64_t k = 0; k < steps; ++k) record();
    } catch (...) {
      (void)cudaStreamEndCapture(exec_.stream(), &graph);
      if (graph) cudaGraphDestroy(graph);
      (void)cudaGetLastError();
      throw;
    }
    exec::check_cuda(cudaStreamEndCapture(exec_.stream(), &graph), "cudaStreamEndCapture");
    cudaGraphExec_t made = nullptr;
    cudaError_t const status = cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    exec::check_cuda(status, "cudaGraphInstantiate");
    graph_.reset(made, [](cudaGraphExec_t g) { cudaGraphExecDestroy(g); });
  }
  /// Queues all steps.
  void launch() const { exec::check_cuda(cudaGraphLaunch(graph_.get(), exec_.stream()), "cudaGraphLaunch"); }

 private:
  exec::cuda exec_;
  std::shared_ptr<CUgraphExec_st> graph_;
};

/// Runs loop_against_steps with the steps as one graph. `step()` queues a step on the policy's stream. Times end when
/// the stream is idle; making the graph is not timed.
template <class Step>
loop_result graph_against_steps(exec::cuda const& exec, Step&& step, std::int64_t steps, loop_options options = {}) {
  require(steps > 0, [&] { return "graph_against_steps: steps is " + std::to_string(steps) + ", less than 1"; });
  graph_loop const graph(exec, step, steps);
  // The wait belongs to the run, not to the step, so that launches can run ahead of the device.
  auto prepare = [given = std::move(options.prepare), exec] {
    if (given) given();
    exec.wait();
  };
  options.prepare = prepare;
  auto const loop = [&](std::int64_t) {
    graph.launch();
    exec.wait();
  };
  std::int64_t left = steps;
  auto const one = [&] {
    step();
    if (--left == 0) {
      left = steps;
      exec.wait();
    }
  };
  return loop_against_steps(loop, one, steps, options);
}

}  // namespace mbirk::profile
