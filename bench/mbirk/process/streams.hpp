// What the program writes on its standard streams. None of it can end a command, because that may be hours of work.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

namespace mbirk::program {
namespace streams {

inline bool results_printed = false, results_lost = false;

/// A reader that has gone, like that of `mbirk ops | head -1`, misses nothing.
inline bool reader_has_gone() noexcept { return errno == EPIPE; }

inline bool write_text(std::FILE* stream, std::string_view before, fmt::string_view text, fmt::format_args values,
                       std::string_view after) noexcept try {
  fmt::memory_buffer line;
  line.append(before);
  fmt::vformat_to(std::back_inserter(line), text, values);
  line.append(after);
  errno = 0;
  return std::fwrite(line.data(), 1, line.size(), stream) == line.size() || reader_has_gone();
} catch (std::exception const&) { return false; }

}  // namespace streams

/// Prints what the command was run for; main reports when that is lost.
template <class... T> void show(fmt::format_string<T...> text, T&&... values) noexcept {
  streams::results_printed = true;
  if (!streams::write_text(stdout, "", text, fmt::make_format_args(values...), "")) streams::results_lost = true;
}

/// Prints about a command whose result is in files, on the standard output. What cannot be written is left out.
template <class... T> void say(fmt::format_string<T...> text, T&&... values) noexcept {
  streams::write_text(stdout, "", text, fmt::make_format_args(values...), "");
}

/// Writes progress and other diagnostics on standard error. What cannot be written is left out.
template <class... T> void diagnose(fmt::format_string<T...> text, T&&... values) noexcept {
  std::fflush(stdout);
  streams::write_text(stderr, "", text, fmt::make_format_args(values...), "");
}
template <class... T> void note(fmt::format_string<T...> text, T&&... values) noexcept {
  std::fflush(stdout);
  streams::write_text(stderr, "mbirk: note: ", text, fmt::make_format_args(values...), "\n");
}

/// Sends what was printed so far on its way. Returns whether all results have been written.
inline bool flush_results() noexcept {
  errno = 0;
  if (std::fflush(stdout) != 0 && !streams::reader_has_gone()) streams::results_lost = true;
  return !streams::results_printed || !streams::results_lost;
}

/// Writes "mbirk: " and a message as one line on standard error, whatever it contains, without taking memory.
inline void print_failure(std::string_view what) noexcept {
  std::fflush(stdout);
  std::string_view const program = "mbirk: ";
  char line[4096];
  std::size_t size = program.copy(line, program.size());
  auto const write = [&] { std::fwrite(line, 1, std::exchange(size, 0), stderr); };
  for (char const c : what) {
    line[size++] = static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
    if (size == sizeof line) write();
  }
  line[size++] = '\n';
  write();
}

}  // namespace mbirk::program
