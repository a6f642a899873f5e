// What every reader of files begins with. C++ standard library only.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "mbirk/core/error.hpp"

namespace mbirk::detail {

/// @throws io_error naming the path, when there is no such file, or it cannot be looked at, or is a folder, a device or the like.
inline void require_file(std::filesystem::path const& path) {
  std::error_code code;
  auto const status = std::filesystem::status(path, code);
  auto const fail = [&](std::string const& what) { throw io_error(path.string() + ": " + what, source_location::current()); };
  if (status.type() == std::filesystem::file_type::not_found) fail("no such file");
  if (code) fail("cannot be read: " + code.message());
  if (!std::filesystem::is_regular_file(status)) fail("is not a file");
}

/// All of a file. @throws io_error
inline std::string read_text(std::filesystem::path const& path) {
  require_file(path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  require<io_error>(static_cast<bool>(file), [&] { return path.string() + ": cannot be read"; });
  return text;
}

}  // namespace mbirk::detail
