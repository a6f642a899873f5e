// A stand-in for NVIDIA's library with two devices: one that reports everything, and one that has only a name.
// FAKE_NVML_PROCESS is a process that uses the first one; FAKE_NVML_STATUS is the result of initialisation, 0 if unset.
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr int not_supported = 3, too_small = 7;
int devices[2];
bool first(void const* device) { return device == &devices[0]; }
unsigned long long of_environment(char const* name) {
  auto const* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}
int set(unsigned int* to, bool known, unsigned int value) {
  if (!known) return not_supported;
  *to = value;
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return static_cast<int>(of_environment("FAKE_NVML_STATUS")); }
int nvmlShutdown() { return 0; }
char const* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned int* count) { return set(count, true, 2); }
int nvmlDeviceGetHandleByIndex_v2(unsigned int k, void** device) {
  *device = &devices[k];
  return k < 2 ? 0 : not_supported;
}
int nvmlDeviceGetName(void* device, char* name, unsigned int size) {
  std::strncpy(name, first(device) ? "Fake 9000" : "Silent 1", size);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  if (!first(device)) return not_supported;
  total_free_used[0] = 80ull << 30, total_free_used[1] = 77ull << 30, total_free_used[2] = 3ull << 30;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned int* both) {
  if (!first(device)) return not_supported;
  both[0] = 42, both[1] = 17;
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned int* mhz) {
  return set(mhz, first(device) && (type == 1 || type == 2), type == 1 ? 1410 : 2619);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned int* milliwatts) { return set(milliwatts, first(device), 312500); }
/// FAKE_NVML_ENERGY millijoules.
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  if (!first(device)) return not_supported;
  *millijoules = of_environment("FAKE_NVML_ENERGY");
  return 0;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned int* celsius) {
  return set(celsius, first(device) && sensor == 0, 55);
}

struct fake_process {
  unsigned int process;
  unsigned long long memory;
  unsigned int gpu_instance, compute_instance;
};
/// A hundred processes, more than callers expect; one of them twice, as two contexts.
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned int* count, fake_process* list) {
  if (!first(device)) return not_supported;
  unsigned int const room = *count;
  *count = 100;
  if (room < 100) return too_small;
  for (unsigned int k = 0; k < 100; ++k) list[k] = {4'000'000'000u + k, 1, ~0u, ~0u};
  for (unsigned int const k : {40u, 99u})
    list[k] = {static_cast<unsigned int>(of_environment("FAKE_NVML_PROCESS")), 5ull << 20, ~0u, ~0u};
  return 0;
}
}
