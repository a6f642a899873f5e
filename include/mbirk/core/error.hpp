// Error types and require(). No CUDA, no formatting library: a message is made only when it is needed.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "mbirk/core/index.hpp"

namespace mbirk {

/// A place in the source. std::source_location is missing in some compilers that mbirk supports.
struct source_location {
  char const* file;
  int line;
  static constexpr source_location current(char const* f = __builtin_FILE(), int l = __builtin_LINE()) noexcept { return {f, l}; }
};

/// What mbirk throws. what() says what is wrong, where in the caller's data, what was expected and what was found.
struct error : std::runtime_error {
  error(std::string const& what, source_location w) : std::runtime_error(what), where(w) {}
  source_location where;  ///< where in mbirk it was noticed
};
struct shape_error : error { using error::error; };       ///< an array does not have the shape that the geometry demands
struct parameter_error : error { using error::error; };   ///< a parameter has a value that makes no sense
struct index_error : error { using error::error; };       ///< a pixel index lies outside the reconstruction
struct io_error : error { using error::error; };          ///< a file is missing, truncated or not what it should be
struct allocation_error : error { using error::error; };  ///< memory ran out; says how much was asked for
struct thread_error : error { using error::error; };      ///< the system has not as many threads as were asked for
struct device_error : error { using error::error; };      ///< a call of the device's runtime failed; says which one and why

/// Throws Error(message()) unless ok. message is a callable, so that the good path builds no text.
template <class Error = parameter_error, class Message>
void require(bool ok, Message const& message, source_location w = source_location::current()) {
  if (!ok) [[unlikely]] throw Error(message(), w);
}

namespace detail {

/// "(16, 32, 32)", as the messages print shapes.
template <class Shape> std::string shape_text(Shape const& shape) {
  std::string s = "(";
  for (auto const n : shape) s += (s.size() > 1 ? ", " : "") + std::to_string(n);
  return s + ")";
}

/// "0.7", as short as it can be written and still be read back as a double of six digits.
inline std::string number_text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}

}  // namespace detail
}  // namespace mbirk
