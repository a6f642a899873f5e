// The operations on a CUDA device, in plain C++. What is declared here is defined by operations_cuda*.cu, linked in where MBIRK_WITH_CUDA is defined.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "operations.hpp"

namespace mbirk::program {

struct cuda_description {
  std::string device;           ///< "NVIDIA H100 80GB HBM3"
  std::string runtime, driver;  ///< versions, "13.0"
  std::string capability;       ///< "9.0"
};

/// A stream of the current device with a pool of memory. Copies share them.
class cuda_operations {
 public:
  /// @throws device_error, with what the runtime said, when there is no device that can be used.
  cuda_operations();

  cuda_description const& description() const noexcept;
  /// An operation that does not run on the host only, traced (unless `trace` is null) or marked for NVTX. @throws mbirk::error
  void run(std::string_view operation, any_scan const& scan, operands& x, instrument::trace_buffer* trace, bool nvtx, caller const& calls) const;

 private:
  struct implementation;
  std::shared_ptr<implementation const> implementation_;
};

}  // namespace mbirk::program
