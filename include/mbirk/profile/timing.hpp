// Timing of one call, and formatting of times.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace mbirk::profile {

/// Prevents the compiler from removing the computation of `value`.
template <class T> void keep(T const& value) noexcept { asm volatile("" : : "g"(&value) : "memory"); }

/// Seconds of one call by the monotonic clock; the result of the call is kept.
template <class F, class... Args> double seconds_of(F&& fn, Args&&... args) {
  auto const begin = std::chrono::steady_clock::now();
  if constexpr (std::is_void_v<std::invoke_result_t<F, Args...>>)
    std::invoke(std::forward<F>(fn), std::forward<Args>(args)...);
  else keep(std::invoke(std::forward<F>(fn), std::forward<Args>(args)...));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

namespace detail {

template <class... Values> std::string formatted(char const* format, Values... values) {
  int const length = std::snprintf(nullptr, 0, format, values...);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::snprintf(text.data(), text.size() + 1, format, values...);
  return text;
}
/// "12.3 us": at most four digits, with a suitable unit.
inline std::string time_text(double seconds) {
  double const size = seconds < 0 ? -seconds : seconds;
  if (size >= 1) return formatted("%.3g s", seconds);
  if (size >= 1e-3) return formatted("%.3g ms", seconds * 1e3);
  if (size >= 1e-6) return formatted("%.3g us", seconds * 1e6);
  return formatted("%.3g ns", seconds * 1e9);
}

}  // namespace detail
}  // namespace mbirk::profile
