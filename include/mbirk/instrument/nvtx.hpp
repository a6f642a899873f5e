// The NVTX policy: a range for every operation and stage in mbirk's own domain, with the work items of an operation as payload. Needs the header-only
// nvtx3 of the CUDA toolkit; without a tool that listens a range costs a few nanoseconds.
#pragma once

#include <nvtx3/nvtx3.hpp>

#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

class nvtx {
 public:
  struct domain { static constexpr char const* name = "mbirk"; };
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "nvtx";
  static constexpr bool serial = false, dataless = false;
  template <class Native> using backend = Native;  // the kernels of `none`

  /// Ranges are of the thread that opens them: when kernels are queued. A tool relates them to what runs on the device.
  using guard = nvtx3::scoped_range_in<domain>;
  [[nodiscard]] guard scope(op_info op) const noexcept {
    return guard(nvtx3::event_attributes{nvtx3::message{op.name}, nvtx3::payload{static_cast<std::int64_t>(op.items)}});
  }
  [[nodiscard]] guard stage(char const* what) const noexcept { return guard(nvtx3::event_attributes{nvtx3::message{what}}); }
  void allocated(char const*, index_t) const noexcept {}
  void released(char const*, index_t) const noexcept {}
};

static_assert(instrumentation_policy<nvtx>);

}  // namespace mbirk::instrument
