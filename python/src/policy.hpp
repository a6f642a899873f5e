// The policy of a module, under which its operations run and in whose memory its arrays are: the host in _core; a
// device in _cuda and _emulated, which are made of the same sources.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <concepts>
#include <cstdint>
#include <mutex>
#include <string>

#if defined(MBIRK_PYTHON_CUDA)
#include "mbirk/exec/cuda.hpp"
#elif defined(MBIRK_PYTHON_EMULATED)
#include "emulated_instances.hpp"
#else
#include "mbirk/exec/host.hpp"
#endif

namespace mbirk::python {

#if defined(MBIRK_PYTHON_CUDA)
using policy = exec::cuda;
inline constexpr int memory_type = nanobind::device::cuda::value;
#elif defined(MBIRK_PYTHON_EMULATED)
using policy = exec::emulated;
inline constexpr int memory_type = nanobind::device::cpu::value;
#else
using policy = exec::host;
inline constexpr int memory_type = nanobind::device::cpu::value;
#endif
inline constexpr bool on_device = !std::same_as<policy, exec::host>;

/// @param threads  of the host, or that emulate a device; 0 for all
policy policy_with(int threads);
/// The device of the module's arrays, as in DLPack.
std::int32_t memory_device();
/// Why no device can be used; empty if one can.
std::string missing_device();

/// The use of a device by a call, without the GIL. Calls take turns, because they share a stream. It ends when the
/// device has finished, also after an exception, as the caller may free the arrays then.
class device_turn {
 public:
  explicit device_turn(policy const& exec);
  ~device_turn();
  device_turn(device_turn const&) = delete;
  device_turn& operator=(device_turn const&) = delete;
  /// Waits for the device. @throws device_error
  void finish();

 private:
  policy const& exec_;
  std::unique_lock<std::recursive_mutex> turn_;
  bool finished_ = false;
};

}  // namespace mbirk::python
