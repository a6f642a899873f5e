// Common start of all file readers. C++ standard library only.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <string>
#include <system_error>

#include "mbirk/core/error.hpp"

namespace mbirk::detail {

/// Checks that a file can be read.
/// @throws io_error  with the path, when the file does not exist, cannot be inspected, or is a folder, a device or the
///                   like
inline void require_file(std::filesystem::path const& path) {
  std::error_code code;
  auto const status = std::filesystem::status(path, code);
  auto const fail = [&](std::string const& what) {
    throw io_error(path.string() + ": " + what, source_location::current());
  };
  if (status.type() == std::filesystem::file_type::not_found) fail("no such file");
  if (code) fail("cannot be read: " + code.message());
  if (!std::filesystem::is_regular_file(status)) fail("is not a file");
}

/// Opens a file to read bytes. @throws io_error with the path and the system's reason
inline std::ifstream open_input(std::filesystem::path const& path) {
  require_file(path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw io_error(path.string() + ": cannot be read: " +
                       std::error_code(errno ? errno : EIO, std::generic_category()).message(),
                   source_location::current());
  return file;
}

/// Returns the contents of a file of at most `most` bytes. @throws io_error
inline std::string read_text(std::filesystem::path const& path,
                             std::size_t most = std::numeric_limits<std::size_t>::max() / 2) {
  auto file = open_input(path);
  auto const too_large = [&](std::uintmax_t bytes) {
    throw io_error(path.string() + ": has " + (bytes > 0 ? std::to_string(bytes) : "too many") +
                       " bytes, expected at most " + std::to_string(most),
                   source_location::current());
  };
  std::error_code code;
  // Refuses a large file before it is read. Files of the system may claim to be empty.
  if (auto const bytes = std::filesystem::file_size(path, code); !code && bytes > most) too_large(bytes);
  std::string text;
  while (file) {
    auto const old = text.size();
    text.resize(old + std::max<std::size_t>(4096, old));
    file.read(text.data() + old, static_cast<std::streamsize>(text.size() - old));
    text.resize(old + static_cast<std::size_t>(file.gcount()));
    if (text.size() > most) too_large(0);
  }
  require<io_error>(!file.bad(), [&] { return path.string() + ": cannot be read"; });
  return text;
}

}  // namespace mbirk::detail
