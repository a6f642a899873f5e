// Status of the devices of this machine from NVIDIA's management library. It is loaded at run time, so programs need
// neither the library nor its headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mbirk::program {

/// Current status of a device. Values that the driver does not report are empty.
struct device_status {
  std::string name;
  std::optional<std::int64_t> memory_used, memory_total;  ///< bytes of all processes
  /// Bytes in use by the requested process; also empty if it is not listed.
  std::optional<std::int64_t> memory_of_process;
  std::optional<double> utilisation, memory_utilisation;  ///< percent of the last sampling period of the driver
  std::optional<double> clock, memory_clock;              ///< MHz, of the multiprocessors and of the memory
  std::optional<double> power;                            ///< watts
  std::optional<double> temperature;                      ///< degrees Celsius
};

class nvml {
 public:
  /// Never throws: without the library or a driver there are no devices, and problem() says why.
  explicit nvml(std::string const& library = "libnvidia-ml.so.1");
  ~nvml();
  nvml(nvml const&) = delete;
  nvml& operator=(nvml const&) = delete;

  /// Reason why devices cannot be queried; empty if they can.
  std::string const& problem() const noexcept { return problem_; }
  std::size_t count() const noexcept { return devices_.size(); }
  /// Makes a few driver calls per device, which take milliseconds.
  std::vector<device_status> devices(std::int64_t process) const;
  /// Joules since the driver was loaded of the device with this name; empty if several have it, or the driver does not
  /// count them (before Volta).
  std::optional<double> joules(std::string const& name) const;

 private:
  struct functions;
  template <class Function> bool load(Function& function, char const* name);
  void start();

  void* library_ = nullptr;
  functions* call_ = nullptr;
  bool started_ = false;
  std::vector<void*> devices_;
  std::string problem_;
};

}  // namespace mbirk::program
