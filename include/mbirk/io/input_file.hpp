// Common start of all file readers. C++ standard library only.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
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

/// Returns the contents of a file. @throws io_error
inline std::string read_text(std::filesystem::path const& path) {
  require_file(path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  require<io_error>(static_cast<bool>(file), [&] { return path.string() + ": cannot be read"; });
  return text;
}

/// Message for text that is not JSON: nlohmann-json's, without the number in brackets that it begins with.
inline std::string not_json(std::string_view what) {
  if (auto const end = what.find("] "); what.starts_with('[') && end != what.npos) what.remove_prefix(end + 2);
  return "is not valid JSON: " + std::string(what);
}

}  // namespace mbirk::detail
