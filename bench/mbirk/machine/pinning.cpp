#include "machine/pinning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <new>
#include <string_view>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/exec/thread_pool.hpp"

namespace mbirk::program {
namespace {

constexpr int max_processors = 1 << 16;

/// Calls f(set, bytes) for a set of processors that is large enough for any kernel.
template <class F> auto with_set(F const& f) {
  struct owner {
    cpu_set_t* set = CPU_ALLOC(max_processors);
    ~owner() { CPU_FREE(set); }
  } const all;
  if (!all.set) throw std::bad_alloc();
  std::size_t const bytes = CPU_ALLOC_SIZE(max_processors);
  CPU_ZERO_S(bytes, all.set);
  return f(all.set, bytes);
}

/// Lets the calling thread run on these processors only; the error number if the system refuses, else 0.
int stay_on(std::vector<int> const& processors) {
  return with_set([&](cpu_set_t* set, std::size_t bytes) {
    for (int const p : processors) CPU_SET_S(static_cast<std::size_t>(p), bytes, set);
    return sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
  });
}

int number_in(std::string_view text, std::string const& list) {
  int n = -1;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  require(code == std::errc() && end == text.data() + text.size() && n >= 0,
          [&] { return fmt::format("--pin {}: '{}' is not a processor, expected a list like 0,2-3", list, text); });
  return n;
}

void check_result(int error, std::vector<int> const& processors) {
  require(error == 0, [&] {
    return fmt::format("--pin {}: the system refuses: {}, expected processors that this process may use",
                       fmt::join(processors, ","), std::strerror(error));
  });
}

}  // namespace

std::vector<int> allowed_processors() {
  return with_set([](cpu_set_t* set, std::size_t bytes) {
    std::vector<int> all;
    if (sched_getaffinity(0, bytes, set) != 0) return all;
    for (int p = 0; p < max_processors; ++p)
      if (CPU_ISSET_S(static_cast<std::size_t>(p), bytes, set)) all.push_back(p);
    return all;
  });
}

std::vector<int> processors_of(std::string const& list, std::vector<int> const& allowed) {
  if (list.empty()) return allowed;
  std::vector<int> chosen;
  for (std::size_t at = 0; at <= list.size();) {
    auto const comma = std::min(list.find(',', at), list.size());
    auto const part = std::string_view(list).substr(at, comma - at);
    auto const dash = part.find('-');
    int const first = number_in(part.substr(0, dash), list);
    int const last = dash == part.npos ? first : number_in(part.substr(dash + 1), list);
    require(first <= last && last < max_processors, [&] {
      return fmt::format("--pin {}: {} is not a range of processors, expected one that ascends", list, part);
    });
    for (int p = first; p <= last; ++p) {
      require(std::find(allowed.begin(), allowed.end(), p) != allowed.end(), [&] {
        return fmt::format("--pin {}: processor {} is not available, expected some of {}", list, p,
                           fmt::join(allowed, ","));
      });
      require(std::find(chosen.begin(), chosen.end(), p) == chosen.end(),
              [&] { return fmt::format("--pin {}: processor {} appears twice, expected it once", list, p); });
      chosen.push_back(p);
    }
    at = comma + 1;
  }
  return chosen;
}

std::vector<int> pin_threads(std::vector<int> const& processors, int threads) {
  require(threads <= static_cast<int>(processors.size()), [&] {
    return fmt::format("--pin {}: {} processors for {} threads, expected one for each", fmt::join(processors, ","),
                       processors.size(), threads);
  });
  check_result(stay_on(processors), processors);
  auto const count = exec::host(threads).threads();
  std::atomic<int> error{0};
  auto const pin = [&](index_t, int worker) {
    if (int const e = stay_on({processors[static_cast<std::size_t>(worker)]})) error = e;
  };
  exec::detail::process_pool().run_at_once(count, exec::task_ref(pin));
  check_result(error, processors);
  return {processors.begin(), processors.begin() + count};
}

}  // namespace mbirk::program
