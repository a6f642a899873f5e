// Error types and require(). No CUDA and no formatting library: messages are built only when an error is thrown.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "mbirk/core/index.hpp"

namespace mbirk {

/// File and line of a call. std::source_location is missing in some compilers that mbirk supports.
struct source_location {
  char const* file;
  int line;
  static constexpr source_location current(char const* f = __builtin_FILE(), int l = __builtin_LINE()) noexcept {
    return {f, l};
  }
};

/// Base class of all exceptions of mbirk. what() names the error, its position in the caller's data, the expected value
/// and the value found.
struct error : std::runtime_error {
  error(std::string const& what, source_location w) : std::runtime_error(what), where(w) {}
  source_location where;  ///< location of the failed check in mbirk
};
struct shape_error : error { using error::error; };       ///< an array shape does not match the geometry
struct parameter_error : error { using error::error; };   ///< a parameter is outside its valid range
struct index_error : error { using error::error; };       ///< a pixel index lies outside the reconstruction
struct io_error : error { using error::error; };          ///< a file is missing, truncated or in the wrong format
struct allocation_error : error { using error::error; };  ///< memory ran out; the message has the requested size
struct thread_error : error { using error::error; };      ///< the system cannot create as many threads as requested
struct device_error : error { using error::error; };      ///< a device runtime call failed; names call and reason

/// Throws Error(message()) unless ok. message is a callable, so that the success path builds no text.
template <class Error = parameter_error, class Message>
void require(bool ok, Message const& message, source_location w = source_location::current()) {
  if (!ok) [[unlikely]] throw Error(message(), w);
}

namespace detail {

/// Shape as printed in messages: "(16, 32, 32)".
template <class Shape> std::string shape_text(Shape const& shape) {
  std::string s = "(";
  for (auto const n : shape) s += (s.size() > 1 ? ", " : "") + std::to_string(n);
  return s + ")";
}

/// Number as printed in messages: "0.7", with at most six significant digits and no trailing zeros.
inline std::string number_text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}

}  // namespace detail
}  // namespace mbirk
