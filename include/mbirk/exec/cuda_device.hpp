// Calls of the CUDA runtime: their errors, why no device can be used, and the device that is current on a thread.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "mbirk/core/error.hpp"

namespace mbirk::exec {

/// Checks the status of a CUDA call and clears the error, so that it does not surface in the next, unrelated call.
/// @throws device_error  "cudaX: name of the error: its description", unless the call succeeded
inline void check_cuda(cudaError_t status, char const* call, source_location w = source_location::current()) {
  if (status == cudaSuccess) [[likely]] return;
  (void)cudaGetLastError();
  throw device_error(std::string(call) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status), w);
}

namespace detail {

/// A version as CUDA encodes it, 13000 for 13.0.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

/// Why no device can be used; empty if one can. A driver that is too old is an error of the installation, not a
/// computer without a device, so the text names both versions.
inline std::string no_device_because() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    (void)cudaGetLastError();
    return "no CUDA driver is installed";
  }
  cudaError_t const status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return {};
  (void)cudaGetLastError();
  if (status == cudaSuccess || status == cudaErrorNoDevice) return "there is no CUDA device";
  if (status == cudaErrorInsufficientDriver)
    return "the CUDA driver is too old: it supports CUDA " + cuda_version_text(driver) + ", expected at least " +
           cuda_version_text(CUDART_VERSION) + "; install a newer driver";
  return std::string("cudaGetDeviceCount: ") + cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
}

/// Makes a device current on the calling thread while it lives: new threads start on device 0, and the caller may have
/// chosen another one.
class device_guard {
 public:
  /// @throws device_error
  explicit device_guard(int device) {
    check_cuda(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ == device) return;
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    changed_ = true;
  }
  ~device_guard() {
    if (changed_) (void)cudaSetDevice(previous_);
  }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

/// Allows calls that a capture of the calling thread forbids otherwise, such as allocations and the loading of kernels,
/// while it lives.
class outside_of_capture {
 public:
  /// @throws device_error
  outside_of_capture() {
    check_cuda(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  ~outside_of_capture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  outside_of_capture(outside_of_capture const&) = delete;
  outside_of_capture& operator=(outside_of_capture const&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace detail
}  // namespace mbirk::exec
