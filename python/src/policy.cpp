#include "policy.hpp"

#include <exception>

namespace mbirk::python {
namespace {

std::recursive_mutex calls;  // recursive, because callbacks may call operations

}  // namespace

#if defined(MBIRK_PYTHON_CUDA)
namespace {

/// The device that is current at the first use. Made once, because a policy has a stream and a pool of memory.
policy const& only_policy() {
  static policy const one;
  return one;
}

}  // namespace

policy policy_with(int) { return only_policy(); }
std::int32_t memory_device() { return only_policy().device(); }
std::string missing_device() { return policy::missing(); }
#elif defined(MBIRK_PYTHON_EMULATED)
policy policy_with(int threads) {
  exec::emulation_options options;
  options.workers = exec::host(threads).threads();
  return policy(options);
}
std::int32_t memory_device() { return 0; }
std::string missing_device() { return {}; }
#else
policy policy_with(int threads) { return policy(threads); }
std::int32_t memory_device() { return 0; }
std::string missing_device() { return {}; }
#endif

device_turn::device_turn(policy const& exec) : exec_(exec) {
  if constexpr (on_device) turn_ = std::unique_lock(calls);
#if defined(MBIRK_PYTHON_CUDA)
  // Others export their arrays for the default stream (DLPack), on which ours does not wait.
  exec::check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize");
#endif
}

device_turn::~device_turn() {
  if (finished_) return;
  try {
    finish();
  } catch (std::exception const&) {
    // The exception that ends the call says more.
  }
}

void device_turn::finish() {
  finished_ = true;
  [](auto const& exec) {
    if constexpr (on_device) exec.wait();
  }(exec_);
}

}  // namespace mbirk::python
