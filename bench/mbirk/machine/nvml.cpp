#include "machine/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace mbirk::program {
namespace {

// The part of the library's interface used here, from its documentation.
using device = void*;
struct memory_info {
  unsigned long long total, free, used;
};
struct utilisation_rates {
  unsigned int gpu, memory;
};
struct process_info {
  unsigned int process;
  unsigned long long memory;
  unsigned int gpu_instance, compute_instance;
};
constexpr int success = 0, too_small = 7;
constexpr unsigned long long not_available = ~0ull;
enum clock_type : int { multiprocessors = 1, memory_clock = 2 };

}  // namespace

struct nvml::functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  char const* (*error_text)(int) = nullptr;
  int (*count)(unsigned int*) = nullptr;
  int (*handle)(unsigned int, device*) = nullptr;
  int (*name)(device, char*, unsigned int) = nullptr;
  int (*memory)(device, memory_info*) = nullptr;
  int (*utilisation)(device, utilisation_rates*) = nullptr;
  int (*clock)(device, int, unsigned int*) = nullptr;
  int (*power)(device, unsigned int*) = nullptr;
  int (*temperature)(device, int, unsigned int*) = nullptr;
  int (*energy)(device, unsigned long long*) = nullptr;
  int (*processes)(device, unsigned int*, process_info*) = nullptr;
};

template <class Function> bool nvml::load(Function& function, char const* name) {
  function = reinterpret_cast<Function>(::dlsym(library_, name));
  return function != nullptr;
}

nvml::nvml(std::string const& library)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)), call_(new functions) {
  if (library_) start();
  else problem_ = "no NVIDIA driver library";
}

nvml::~nvml() {
  if (started_) call_->shutdown();
  if (library_) ::dlclose(library_);
  delete call_;
}

void nvml::start() {
  auto& f = *call_;
  bool const usable = load(f.init, "nvmlInit_v2") && load(f.shutdown, "nvmlShutdown") &&
                      load(f.error_text, "nvmlErrorString") && load(f.count, "nvmlDeviceGetCount_v2") &&
                      load(f.handle, "nvmlDeviceGetHandleByIndex_v2");
  if (!usable) {
    problem_ = "the NVIDIA driver library lacks functions that every version since 2014 has";
    return;
  }
  auto const failed = [&](int status) {
    if (status != success) problem_ = std::string("the NVIDIA driver library says: ") + f.error_text(status);
    return status != success;
  };
  if (failed(f.init())) return;
  started_ = true;
  // Each of these functions may be missing; its value is then empty.
  load(f.name, "nvmlDeviceGetName");
  load(f.memory, "nvmlDeviceGetMemoryInfo");
  load(f.utilisation, "nvmlDeviceGetUtilizationRates");
  load(f.clock, "nvmlDeviceGetClockInfo");
  load(f.power, "nvmlDeviceGetPowerUsage");
  load(f.temperature, "nvmlDeviceGetTemperature");
  load(f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  // The older version uses the same structure.
  if (!load(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3"))
    load(f.processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  unsigned int count = 0;
  if (failed(f.count(&count))) return;
  for (unsigned int k = 0; k < count; ++k)
    if (device d = nullptr; !failed(f.handle(k, &d))) devices_.push_back(d);
  if (devices_.empty() && problem_.empty()) problem_ = "the NVIDIA driver library knows no device";
  if (!devices_.empty()) problem_.clear();
}

std::optional<double> nvml::joules(std::string const& name) const {
  auto const& f = *call_;
  if (!f.name || !f.energy) return std::nullopt;
  device only = nullptr;
  for (auto* const d : devices_) {
    char text[96] = {};
    if (f.name(d, text, sizeof text) != success || name != text) continue;
    if (only) return std::nullopt;
    only = d;
  }
  unsigned long long millijoules = 0;
  if (!only || f.energy(only, &millijoules) != success) return std::nullopt;
  return 1e-3 * static_cast<double>(millijoules);
}

std::vector<device_status> nvml::devices(std::int64_t process) const {
  auto const& f = *call_;
  std::vector<device_status> all;
  for (auto* const d : devices_) {
    auto& s = all.emplace_back();
    if (char text[96] = {}; f.name && f.name(d, text, sizeof text) == success) s.name = text;
    if (memory_info m{}; f.memory && f.memory(d, &m) == success) {
      s.memory_used = static_cast<std::int64_t>(m.used);
      s.memory_total = static_cast<std::int64_t>(m.total);
    }
    if (utilisation_rates u{}; f.utilisation && f.utilisation(d, &u) == success) {
      s.utilisation = u.gpu;
      s.memory_utilisation = u.memory;
    }
    unsigned int value = 0;
    if (f.clock && f.clock(d, multiprocessors, &value) == success) s.clock = value;
    if (f.clock && f.clock(d, memory_clock, &value) == success) s.memory_clock = value;
    if (f.power && f.power(d, &value) == success) s.power = 1e-3 * value;  // the driver reports milliwatts
    if (f.temperature && f.temperature(d, 0, &value) == success) s.temperature = value;
    if (!f.processes) continue;
    std::vector<process_info> list(64);
    unsigned int used = static_cast<unsigned int>(list.size());
    int status = f.processes(d, &used, list.data());
    if (status == too_small) {
      list.resize(used + 64);  // more processes may have started in the meantime
      used = static_cast<unsigned int>(list.size());
      status = f.processes(d, &used, list.data());
    }
    if (status != success) continue;
    for (unsigned int k = 0; k < used; ++k)
      if (static_cast<std::int64_t>(list[k].process) == process && list[k].memory != not_available)
        s.memory_of_process = s.memory_of_process.value_or(0) + static_cast<std::int64_t>(list[k].memory);
  }
  return all;
}

}  // namespace mbirk::program
