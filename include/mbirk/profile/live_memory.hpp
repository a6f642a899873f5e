// Live memory of a running process, visible to other processes: a small file in the folder of run-time files, mapped by
// the process that publishes it and read by `mbirk top`. POSIX only.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/instrument/live.hpp"
#include "mbirk/io/folder.hpp"
#include "mbirk/version.hpp"

namespace mbirk::profile {

/// Header of a published file.
struct live_header {
  char magic[8];              ///< "mbirklv", 0
  std::uint32_t version, bytes;  ///< version of the layout; size of the file
  std::int64_t process;
  std::int64_t started;       ///< nanoseconds of the monotonic clock
  char command[64];           ///< the program's name for its work: "recon"
  char program_version[16];
};
struct live_page {
  live_header header;
  instrument::live_table table;

  static constexpr char magic[8] = "mbirklv";
  static constexpr std::uint32_t version = 1;
};
static_assert(std::is_standard_layout_v<live_page>);

/// Candidate folders: $XDG_RUNTIME_DIR, /dev/shm, the folder of temporary files.
inline std::vector<std::filesystem::path> live_folders() {
  std::vector<std::filesystem::path> folders;
  if (auto const* const given = std::getenv("XDG_RUNTIME_DIR"); given && *given) folders.emplace_back(given);
  folders.emplace_back("/dev/shm");
  std::error_code none;
  if (auto const temporary = std::filesystem::temp_directory_path(none); !none) folders.push_back(temporary);
  return folders;
}

namespace detail {

inline constexpr std::string_view live_prefix = "mbirk-live-";

class descriptor {
 public:
  explicit descriptor(int number) noexcept : number_(number) {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  operator int() const noexcept { return number_; }

 private:
  int number_;
};

/// Whether the publishing process has exited: it holds a lock during its lifetime, which the system releases however
/// the process ends.
inline bool abandoned(int file) noexcept { return ::flock(file, LOCK_SH | LOCK_NB) == 0; }

inline descriptor open_live(std::filesystem::path const& path) noexcept {
  return descriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

inline bool read_at(int file, void* to, std::size_t bytes, off_t offset) noexcept {
  return ::pread(file, to, bytes, offset) == static_cast<ssize_t>(bytes);
}

}  // namespace detail

/// Publishes the contents of a live_sites during its lifetime. One per process; only the same user may read it.
class live_publication {
 public:
  /// Publishes in the first folder that allows it.
  /// @throws io_error when no folder does, or when the process publishes already.
  explicit live_publication(std::string_view command,
                            std::vector<std::filesystem::path> const& folders = live_folders()) {
    std::string why = "no folder";
    for (auto const& folder : folders)
      if (open_in(folder, command, why)) return;
    throw io_error("live memory cannot be published: " + why, source_location::current());
  }
  ~live_publication() {
    if (::getpid() == process_) ::unlink(path_.c_str());  // a forked child must not remove it
    ::munmap(page_, sizeof(live_page));
    ::close(file_);
  }
  live_publication(live_publication const&) = delete;
  live_publication& operator=(live_publication const&) = delete;

  instrument::live_sites& sites() noexcept { return *sites_; }
  std::filesystem::path const& path() const noexcept { return path_; }

 private:
  bool open_in(std::filesystem::path const& folder, std::string_view command, std::string& why) {
    path_ = folder / (std::string(detail::live_prefix) + std::to_string(process_));
    if (auto const before = detail::open_live(path_); before >= 0) {
      require<io_error>(detail::abandoned(before), [&] {
        return "live memory cannot be published: " + path_.string() + " is that of this process already";
      });
    }
    auto name = (folder / ".mbirk-live-XXXXXX").string();
    file_ = ::mkstemp(name.data());  // permissions 0600; does not follow symbolic links
    auto const failed = [&] {
      why = folder.string() + ": " + std::generic_category().message(errno);
      if (file_ >= 0) {
        ::unlink(name.c_str());
        ::close(file_);
      }
      return false;
    };
    if (file_ < 0) return failed();
    ::fcntl(file_, F_SETFD, FD_CLOEXEC);
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) return failed();
    // Zeros are written, instead of only setting the length, so that a full disk is an error here and not a signal
    // later.
    std::vector<char> const zeros(sizeof(live_page));
    if (::write(file_, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size())) return failed();
    void* const memory = ::mmap(nullptr, sizeof(live_page), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED) return failed();
    page_ = ::new (memory) live_page{};
    auto& header = page_->header;
    std::memcpy(header.magic, live_page::magic, sizeof header.magic);
    header.version = live_page::version;
    header.bytes = sizeof(live_page);
    header.process = process_;
    header.started = instrument::live_sites::now();
    command.substr(0, sizeof header.command - 1).copy(header.command, sizeof header.command);
    std::string_view(version_string)
        .substr(0, sizeof header.program_version - 1)
        .copy(header.program_version, sizeof header.program_version);
    sites_.emplace(&page_->table);
    // The file becomes visible only when it is complete and locked; it replaces the file of an exited process.
    if (std::rename(name.c_str(), path_.c_str()) == 0) return true;
    int const why_not = errno;
    ::munmap(memory, sizeof(live_page));
    errno = why_not;
    return failed();
  }

  pid_t process_ = ::getpid();
  std::filesystem::path path_;
  int file_ = -1;
  live_page* page_ = nullptr;
  std::optional<instrument::live_sites> sites_;
};

/// Published data of a process.
struct live_report {
  std::int64_t process = 0, started = 0;
  std::string command, program_version;
  bool consistent = true;  ///< false: it changed during every attempt to read it, so sums may not agree
  instrument::live_state state{};
};

/// @throws io_error when the file cannot be read, is not of this kind or version, or its process has exited.
inline live_report read_live(std::filesystem::path const& path) {
  auto const file = detail::open_live(path);
  require<io_error>(file >= 0,
                    [&] { return path.string() + ": cannot be read: " + std::generic_category().message(errno); });
  struct stat info {};
  live_header header{};
  bool const whole = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                     detail::read_at(file, &header, sizeof header, 0) &&
                     std::memcmp(header.magic, live_page::magic, sizeof header.magic) == 0;
  require<io_error>(whole, [&] { return path.string() + ": not the live memory of a process"; });
  require<io_error>(header.version == live_page::version && header.bytes == sizeof(live_page) &&
                        info.st_size == static_cast<off_t>(sizeof(live_page)),
                    [&] {
                      return path.string() + ": of another version of mbirk: layout " + std::to_string(header.version) +
                             ", expected " + std::to_string(live_page::version);
                    });
  require<io_error>(!detail::abandoned(file), [&] { return path.string() + ": its process is gone"; });

  live_report report;
  report.process = header.process;
  report.started = header.started;
  report.command.assign(header.command, ::strnlen(header.command, sizeof header.command));
  report.program_version.assign(header.program_version,
                                ::strnlen(header.program_version, sizeof header.program_version));
  constexpr off_t at = offsetof(live_page, table);
  // The order of the three reads is fixed: each acquires and releases its pages through atomic counts.
  for (int attempt = 0;; ++attempt) {
    std::uint64_t before = 0, after = 0;
    bool ok = detail::read_at(file, &before, sizeof before, at);
    ok = ok && detail::read_at(file, &report.state, sizeof report.state, at + static_cast<off_t>(sizeof before));
    ok = ok && detail::read_at(file, &after, sizeof after, at);
    require<io_error>(ok, [&] { return path.string() + ": cannot be read"; });
    report.consistent = before == after && before % 2 == 0;
    if (report.consistent || attempt == 100) break;
    std::this_thread::sleep_for(std::chrono::microseconds(attempt < 10 ? 1 : 50));
  }
  // Strings and the count are untrusted input that controls the reader.
  auto& s = report.state;
  s.sites = std::clamp<std::int64_t>(s.sites, 0, instrument::live_state::capacity);
  s.step[sizeof s.step - 1] = s.current[sizeof s.current - 1] = 0;
  for (auto& site : s.site) site.where[sizeof site.where - 1] = site.array[sizeof site.array - 1] = 0;
  return report;
}

/// Published data of all processes on this machine that may be read, by process number. Files of exited processes are
/// removed.
inline std::vector<live_report> live_processes(std::vector<std::filesystem::path> const& folders = live_folders()) {
  std::vector<live_report> found;
  for (auto const& folder : folders) {
    std::error_code none;
    for (auto const& name : mbirk::detail::names_in(folder, none)) {
      if (!name.starts_with(detail::live_prefix)) continue;
      auto const path = folder / name;
      if (auto const file = detail::open_live(path); file >= 0 && detail::abandoned(file)) {
        ::unlink(path.c_str());
        continue;
      }
      try {
        auto report = read_live(path);
        bool const known =
            std::any_of(found.begin(), found.end(), [&](auto const& other) { return other.process == report.process; });
        if (!known && name.substr(detail::live_prefix.size()) == std::to_string(report.process))
          found.push_back(std::move(report));
      } catch (io_error const&) {  // belongs to another user or version
      }
    }
  }
  std::sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.process < b.process; });
  return found;
}

/// Published data of one process.
/// @throws io_error when it publishes nothing that may be read.
inline live_report live_process(std::int64_t process,
                                std::vector<std::filesystem::path> const& folders = live_folders()) {
  std::string why = "process " + std::to_string(process) + " publishes no live memory";
  for (auto const& folder : folders) {
    auto const path = folder / (std::string(detail::live_prefix) + std::to_string(process));
    std::error_code none;
    if (!std::filesystem::exists(path, none)) continue;
    try {
      return read_live(path);
    } catch (io_error const& e) {
      why = e.what();
    }
  }
  throw io_error(why, source_location::current());
}

}  // namespace mbirk::profile
