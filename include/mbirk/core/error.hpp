// Error types and require(). No CUDA and no formatting library: messages are built only when an error is thrown.
#pragma once

#include <concepts>
#include <cstdio>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

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

namespace detail {

/// Compiled for size, like the messages that are inlined here: most of a check is the text of its message.
template <class Error, class Message>
[[noreturn]] MBIRK_COLD void throw_error(Message const& message, source_location w) {
  throw Error(message(), w);
}

}  // namespace detail

/// Throws Error(message()) unless ok. message is a callable, so that the success path builds no text.
template <class Error = parameter_error, class Message>
void require(bool ok, Message const& message, source_location w = source_location::current()) {
  if (!ok) [[unlikely]] detail::throw_error<Error>(message, w);
}

namespace detail {

/// Number as printed in messages: "0.7", with at most six significant digits and no trailing zeros.
MBIRK_COLD inline std::string number_text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}

/// A word or a number of a message.
class text_part {
 public:
  text_part(char const* words) : words_(words) {}
  text_part(std::string_view words) : words_(words) {}
  text_part(std::string const& words) : words_(words) {}
  template <std::signed_integral T> text_part(T x) : integer_(x), kind_(kind::integer) {}
  template <std::unsigned_integral T> text_part(T x) : natural_(x), kind_(kind::natural) {}
  template <std::floating_point T> text_part(T x) : real_(static_cast<double>(x)), kind_(kind::real) {}

  MBIRK_COLD void append_to(std::string& s) const {
    switch (kind_) {
      case kind::words: s += words_; break;
      case kind::integer: s += std::to_string(integer_); break;
      case kind::natural: s += std::to_string(natural_); break;
      case kind::real: s += number_text(real_); break;
    }
  }

 private:
  enum class kind { words, integer, natural, real };
  std::string_view words_ = {};
  union {
    long long integer_ = 0;
    unsigned long long natural_;
    double real_;
  };
  kind kind_ = kind::words;
};

MBIRK_COLD inline std::string join_text(std::initializer_list<text_part> parts) {
  std::string s;
  for (auto const& part : parts) part.append_to(s);
  return s;
}
/// Words and numbers in a row. One call, whatever they are: sums of strings would take longer to compile than the
/// operations that they are about.
template <class... Parts> std::string message(Parts const&... parts) { return join_text({text_part(parts)...}); }

/// Shape as printed in messages: "(16, 32, 32)".
template <class Shape> MBIRK_COLD std::string shape_text(Shape const& shape) {
  std::string s = "(";
  for (auto const n : shape) s += message(s.size() > 1 ? ", " : "", n);
  return s + ")";
}

}  // namespace detail
}  // namespace mbirk
