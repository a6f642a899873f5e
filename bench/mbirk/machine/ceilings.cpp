#include "machine/ceilings.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory_resource>
#include <thread>

#include "mbirk/exec/thread_pool.hpp"
#include "mbirk/exec/workspace.hpp"

namespace mbirk::program {
namespace {

using B = simd::native_backend;
using pack = B::pack;

constexpr int tries = 9;

/// Processor time of this thread, so that waiting for a core does not reduce a rate.
double seconds_of_thread() { return 1e-9 * static_cast<double>(exec::detail::read_thread_clock()); }

/// Calls task(t, worker) on every thread at the same time: threads share caches and memory.
template <class Task> void on_all_threads(exec::host const& exec, Task const& task) {
  exec::detail::process_pool().run_at_once(exec.threads(), exec::task_ref(task));
}

/// Measures a rate. `units` is the work of one call on one thread; every try takes at least 3 ms.
template <class Work> measured_rate rate(exec::host const& exec, double units, Work const& work) {
  int const threads = exec.threads();
  auto const seconds = [&](index_t repeats) {
    std::vector<double> each(static_cast<std::size_t>(threads));
    on_all_threads(exec, [&](index_t t, int) {
      auto const begin = seconds_of_thread();
      work(t, repeats);
      each[static_cast<std::size_t>(t)] = seconds_of_thread() - begin;
    });
    return each;
  };
  index_t repeats = 1;
  while (std::ranges::max(seconds(repeats)) < 0.003) repeats *= 2;
  std::vector<double> rates;
  for (int k = 0; k < tries; ++k) {
    double& all = rates.emplace_back(0);
    for (auto const each : seconds(repeats)) all += static_cast<double>(repeats) * units / each;
  }
  std::sort(rates.begin(), rates.end());
  return {rates.back(), rates[rates.size() / 2]};
}

/// Prevents the compiler from discarding the packs. The result is stored once at the end, because a value whose address
/// is taken would be stored in every round.
template <int N> MBIRK_HOST_INLINE void keep(pack (&x)[N]) {
  simd::static_for<N - 1>([&](auto k) MBIRK_FLAT { x[0] = max(x[0], x[k + 1]); });
  float out[B::lanes];
  B::store(out, x[0]);
  asm volatile("" : : "m"(out) : "memory");
}

measured_rate measure_fma(exec::host const& exec) {
  // One chain per register, because each operation of a chain waits for the previous result.
  constexpr int chains = B::lanes == 16 ? 20 : 12, rounds = 512;
  return rate(exec, double{chains} * rounds * B::lanes, [](index_t, index_t repeats) {
    pack sum[chains];
    simd::static_for<chains>([&](auto k) MBIRK_FLAT { sum[k] = B::constant(0.1 * k); });
    pack const factor = B::constant(0.999), more = B::constant(0.001);
    for (index_t r = 0; r < repeats * rounds; ++r)
      simd::static_for<chains>([&](auto k) MBIRK_FLAT { sum[k] = fma(sum[k], factor, more); });
    keep(sum);
  });
}

measured_rate measure_read(exec::host const& exec, float* memory, index_t elements) {
  constexpr int streams = 8;
  return rate(exec, static_cast<double>(elements) * sizeof(float), [&](index_t t, index_t repeats) {
    float const* const from = memory + t * elements;
    pack sum[streams];
    simd::static_for<streams>([&](auto k) MBIRK_FLAT { sum[k] = B::constant(0); });
    for (index_t r = 0; r < repeats; ++r) {
      for (index_t i = 0; i < elements; i += streams * B::lanes)
        simd::static_for<streams>([&](auto k) MBIRK_FLAT { sum[k] = sum[k] + B::load(from + i + k * B::lanes); });
      keep(sum);
    }
  });
}

measured_rate measure_triad(exec::host const& exec, float* memory, index_t elements) {
  index_t const each = elements / 3 / B::lanes * B::lanes;
  return rate(exec, 3.0 * static_cast<double>(each) * sizeof(float), [&](index_t t, index_t repeats) {
    float* const a = memory + t * elements;
    float const *const b = a + each, *const c = b + each;
    pack const s = B::constant(0.5);
    for (index_t r = 0; r < repeats; ++r)
      for (index_t i = 0; i < each; i += B::lanes) B::store(a + i, fma(s, B::load(c + i), B::load(b + i)));
  });
}

/// Wall-clock time to start the threads and wait for them. Measured many times, because most calls find the threads
/// awake, as in a sequence of kernels. Loops that begin with fewer threads, beside busy programs, do not count, unless
/// that goes on for a second.
double measure_launch(exec::host const& exec) {
  auto const& pool = exec::detail::process_pool();
  std::vector<double> times;
  for (int limited = 0; times.size() < 1001;) {
    auto const before = pool.limited_loops();
    auto const begin = std::chrono::steady_clock::now();
    exec.for_each(exec.threads(), exec.threads(), [](index_t, int) { asm volatile("" : : : "memory"); });
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
    if (pool.limited_loops() == before || ++limited > 1000) times.push_back(time.count());
    else std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::nth_element(times.begin(), times.begin() + 500, times.end());
  return times[500];
}

/// Capacity of the first processor's cache of a level, or a common value if the system does not report it. (sysconf
/// counts last-level caches of other processors too.)
index_t cache_bytes(int level, index_t otherwise) {
  for (int k = 0;; ++k) {
    auto const folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(k) + '/';
    int here = 0;
    index_t kib = 0;
    std::string type;
    if (!(std::ifstream(folder + "level") >> here)) return otherwise;
    std::ifstream(folder + "type") >> type;
    if (here == level && type != "Instruction" && std::ifstream(folder + "size") >> kib && kib > 0)
      return kib << 10;  // "32K"
  }
}

nlohmann::json to_json(measured_rate const& r) { return {{"best", r.best}, {"median", r.median}}; }

}  // namespace

ceilings measure_ceilings(exec::host const& exec) {
  ceilings c;
  c.threads = exec.threads();
  c.fma = measure_fma(exec);
  // Half of each cache, for the last level divided by the threads; for DRAM four times the last level together, within
  // limits.
  index_t const l1 = cache_bytes(1, 32 << 10), l2 = cache_bytes(2, 1 << 20), l3 = cache_bytes(3, 32 << 20);
  c.last_cache_bytes = l3;
  auto const round = [](index_t bytes) { return std::max<index_t>(bytes / 4096, 1) * 4096; };
  c.levels = {{"L1", round(l1 / 2), {}}, {"L2", round(l2 / 2), {}}};
  if (l3 / 2 / c.threads > l2) c.levels.push_back({"L3", round(l3 / 2 / c.threads), {}});
  c.levels.push_back({"DRAM", round(std::min<index_t>(4 * l3, index_t{1} << 30) / c.threads), {}});
  exec::workspace pages;  // large and aligned pages
  auto const bytes = static_cast<std::size_t>(c.levels.back().bytes * c.threads);
  auto* const memory = static_cast<float*>(pages.allocate(bytes));
  on_all_threads(exec, [&](index_t t, int) {  // first touch places pages near their thread
    std::fill_n(memory + t * c.levels.back().bytes / 4, c.levels.back().bytes / 4, 1.0f);
  });
  for (auto& level : c.levels) level.read = measure_read(exec, memory, level.bytes / 4);
  c.triad = measure_triad(exec, memory, c.levels.back().bytes / 4);
  c.launch_seconds = measure_launch(exec);
  pages.deallocate(memory, bytes);
  return c;
}

ceilings higher(ceilings a, ceilings const& b) {
  if (a.threads == 0) return b;
  auto const raise = [](measured_rate& x, measured_rate const& y) {
    x.best = std::max(x.best, y.best);
    x.median = std::max(x.median, y.median);
  };
  raise(a.fma, b.fma);
  raise(a.triad, b.triad);
  for (std::size_t k = 0; k < a.levels.size(); ++k) raise(a.levels[k].read, b.levels[k].read);
  a.launch_seconds = std::min(a.launch_seconds, b.launch_seconds);
  return a;
}

nlohmann::json to_json(ceilings const& c) {
  nlohmann::json levels = nlohmann::json::array();
  for (auto const& level : c.levels)
    levels.push_back(
        {{"name", level.name}, {"bytes of a thread", level.bytes}, {"bytes per second", to_json(level.read)}});
  return {{"threads", c.threads},
          {"fma per second", to_json(c.fma)},
          {"read", levels},
          {"triad bytes per second", to_json(c.triad)},
          {"launch seconds", c.launch_seconds}};
}

}  // namespace mbirk::program
