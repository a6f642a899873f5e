// Output file that appears under its name only when it is complete. C++ standard library only.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "mbirk/core/error.hpp"

namespace mbirk {
namespace detail {

/// Opens a new file in the folder of `path`, under a unique name that is stored in `name`. Null on failure, with the
/// reason in errno. The name has a fixed prefix, because the name of the file plus a suffix could exceed the limit of
/// the file system.
/// @param mode  mode for fopen, including "x", so that existing links are never followed.
inline std::FILE* open_temporary(std::filesystem::path const& path, char const* mode, std::filesystem::path& name) {
  std::random_device random;
  std::FILE* file = nullptr;
  for (int attempt = 0; !file && attempt < 8; ++attempt) {
    char text[64];
    std::snprintf(text, sizeof text, ".mbirk-%08x%08x.tmp", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    name = path.parent_path() / text;
    errno = 0;
    file = std::fopen(name.string().c_str(), mode);
    if (!file && errno != EEXIST) break;
  }
  return file;
}

}  // namespace detail

/// Writes under a temporary name in the folder of `path`; commit() gives the file its final name. Destroyed without
/// commit, it leaves no file.
///
/// @throws io_error from every member, with the file and the system's message.
class output_file {
 public:
  explicit output_file(std::filesystem::path path)
      : path_(std::move(path)), file_(detail::open_temporary(path_, "wbx", temporary_)) {
    if (!file_) fail();
  }
  ~output_file() { discard(); }
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;

  void write(void const* data, std::size_t bytes) {
    errno = 0;
    if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail();
  }
  void write(std::string_view text) { write(text.data(), text.size()); }

  void commit() {
    errno = 0;
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
    std::error_code code;
    std::filesystem::rename(temporary_, path_, code);
    if (code) fail(code);
    temporary_.clear();
  }

 private:
  [[noreturn]] void fail(std::error_code code = {}) {
    if (!code) code = {errno ? errno : EIO, std::generic_category()};
    discard();
    throw io_error(path_.string() + ": cannot be written: " + code.message(), source_location::current());
  }
  void discard() noexcept {
    if (file_) std::fclose(std::exchange(file_, nullptr));
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
    temporary_.clear();
  }

  std::filesystem::path path_, temporary_;
  std::FILE* file_ = nullptr;
};

}  // namespace mbirk
