// What NVIDIA's management library says of the devices of this machine. The library is loaded at run time, so programs need neither it nor its headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mbirk::program {

/// One device now. What the driver does not tell is empty.
struct device_status {
  std::string name;
  std::optional<std::int64_t> memory_used, memory_total;  ///< bytes, of all processes
  std::optional<std::int64_t> memory_of_process;          ///< bytes really used by the process that was asked for; empty too when it is not listed
  std::optional<double> utilisation, memory_utilisation;  ///< percent of the last sampling period of the driver
  std::optional<double> clock, memory_clock;              ///< MHz, of the multiprocessors and of the memory
  std::optional<double> power;                            ///< watts
  std::optional<double> temperature;                      ///< degrees Celsius
};

class nvml {
 public:
  /// Never throws: without the library, or where it finds no driver, there are no devices, and problem() says why.
  explicit nvml(std::string const& library = "libnvidia-ml.so.1");
  ~nvml();
  nvml(nvml const&) = delete;
  nvml& operator=(nvml const&) = delete;

  /// Empty when devices can be asked.
  std::string const& problem() const noexcept { return problem_; }
  std::size_t count() const noexcept { return devices_.size(); }
  /// A few calls of the driver for each device: milliseconds.
  std::vector<device_status> devices(std::int64_t process) const;

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
