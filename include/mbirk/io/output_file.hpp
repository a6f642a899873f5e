// Output file that appears under its name only when it is complete. The C++ standard library and POSIX only.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/io/temporary_file.hpp"

namespace mbirk {

/// Writes into a file without a name, or with a temporary one in the folder of `path`; commit() gives it its final
/// name. Destroyed without commit, it leaves no file. A symbolic link is followed; only regular files are replaced.
///
/// @throws io_error from every member, with the file and the system's message.
class output_file {
 public:
  explicit output_file(std::filesystem::path path, durability how = durability::synced)
      : path_(std::move(path)), file_(path_, how) {
    if (file_.error()) fail(file_.error());
  }
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;

  void write(void const* data, std::size_t bytes) {
    errno = 0;
    if (bytes > 0 && std::fwrite(data, 1, bytes, file_.stream()) != bytes) fail(detail::system_error_code());
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Writes at `offset` from the beginning, also beyond the end; what lies in between is zeros. write() goes on behind.
  void write_at(index_t offset, void const* data, std::size_t bytes) {
    errno = 0;
    if (::fseeko(file_.stream(), static_cast<off_t>(offset), SEEK_SET) != 0) fail(detail::system_error_code());
    write(data, bytes);
  }

  /// Reads back what was written at `offset`.
  void read_at(index_t offset, void* data, std::size_t bytes) {
    errno = 0;
    bool const found = ::fseeko(file_.stream(), static_cast<off_t>(offset), SEEK_SET) == 0;
    if (!found || (bytes > 0 && std::fread(data, 1, bytes, file_.stream()) != bytes))
      fail(detail::system_error_code(), "cannot be read back");
  }

  /// Gives the file its name; by default it is on the disk when this returns.
  void commit() {
    if (auto const code = file_.commit()) fail(code);
  }

 private:
  [[noreturn]] void fail(std::error_code code, char const* what = "cannot be written") {
    file_.discard();
    throw io_error(path_.string() + ": " + what + ": " + code.message(), source_location::current());
  }

  std::filesystem::path path_;
  detail::temporary_file file_;
};

}  // namespace mbirk
