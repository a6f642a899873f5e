// The file behind an output: it has no name, or a temporary one, until it is complete. POSIX; what Linux adds is used
// where it is there.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mbirk {

/// Whether a file survives a loss of power once it has its name: its contents and its name are then on the disk, which
/// takes tens of milliseconds.
enum class durability { synced, unsynced };

namespace detail {

inline constexpr std::string_view temporary_prefix = ".mbirk-", temporary_suffix = ".tmp";
inline constexpr std::size_t temporary_digits = 16;

inline bool is_temporary_name(std::string_view name) noexcept {
  return name.size() == temporary_prefix.size() + temporary_digits + temporary_suffix.size() &&
         name.starts_with(temporary_prefix) && name.ends_with(temporary_suffix) &&
         name.substr(temporary_prefix.size(), temporary_digits).find_first_not_of("0123456789abcdef") == name.npos;
}

/// The one error that the system has no number for.
class not_a_file_category final : public std::error_category {
 public:
  char const* name() const noexcept override { return "mbirk output"; }
  std::string message(int) const override {
    return "it is not a regular file, expected a new name or a file to be replaced";
  }
};
inline std::error_code not_a_file() noexcept {
  static not_a_file_category const category;
  return {1, category};
}

inline std::error_code system_error_code() noexcept { return {errno ? errno : EIO, std::generic_category()}; }

/// The file that a path names once symbolic links are followed; it need not exist. A folder, a device or a pipe is an
/// error, because a file with its name would take its place.
inline std::filesystem::path replaced_file(std::filesystem::path path, std::error_code& error) {
  struct stat there = {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    error = S_ISDIR(there.st_mode) ? std::error_code(EISDIR, std::generic_category()) : not_a_file();
    return path;
  }
  for (int links = 0; links < 40; ++links) {
    if (::lstat(path.c_str(), &there) != 0) {
      if (errno != ENOENT) error = system_error_code();
      return path;
    }
    if (!S_ISLNK(there.st_mode)) return path;
    auto const to = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = path.parent_path() / to;
  }
  error = {ELOOP, std::generic_category()};
  return path;
}

inline std::filesystem::path folder_of(std::filesystem::path const& path) {
  auto const folder = path.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

/// Writes a file or a folder to the disk. A file system that cannot do it is no error.
inline std::error_code synced(int descriptor) noexcept {
  int result = 0;
  do result = ::fsync(descriptor);
  while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EROFS) return {};
  return system_error_code();
}

/// A file to write and to read. It has no name where the system permits that, so that nothing is left of it when the
/// process is killed. Otherwise its name is temporary, and it is locked, so that remove_abandoned can tell whether
/// anybody still writes it. Never throws but for memory; error() and commit() return the system's error.
class temporary_file {
 public:
  temporary_file(std::filesystem::path const& path, durability how)
      : target_(replaced_file(path, error_)), folder_(folder_of(target_)), how_(how) {
    if (!error_) open();
  }
  ~temporary_file() { discard(); }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;

  std::FILE* stream() const noexcept { return stream_; }
  std::error_code error() const noexcept { return error_; }

  /// Gives the file its name, and closes it. After an error there is no file, unless only the name could not be synced.
  std::error_code commit() noexcept try {
    if (!stream_) return error_ ? error_ : std::error_code(EBADF, std::generic_category());
    errno = 0;
    if (std::fflush(stream_) != 0 || std::ferror(stream_)) fail();
    if (!error_ && how_ == durability::synced) error_ = synced(::fileno(stream_));
    if (!error_) publish();
    if (error_) {
      discard();
      return error_;
    }
    std::fclose(std::exchange(stream_, nullptr));
    if (how_ == durability::synced) sync_folder();
    return error_;
  } catch (std::exception const&) {
    error_ = {ENOMEM, std::generic_category()};
    discard();
    return error_;
  }

  void discard() noexcept {
    if (stream_) std::fclose(std::exchange(stream_, nullptr));
    remove_name();
  }

 private:
  void fail() noexcept {
    if (!error_) error_ = system_error_code();
  }
  void remove_name() noexcept {
    if (!name_.empty()) ::unlink(name_.c_str());
    name_.clear();
  }

  void open() {
    errno = 0;
    int descriptor = open_unnamed();
    if (descriptor < 0) descriptor = open_named();
    if (descriptor < 0) return fail();
    stream_ = ::fdopen(descriptor, "w+b");
    if (stream_) return;
    fail();
    ::close(descriptor);
    remove_name();
  }

  /// Such a file can be given a name only by way of /proc.
  int open_unnamed() noexcept {
#if defined(O_TMPFILE)
    int const descriptor = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor < 0) return -1;
    std::snprintf(link_, sizeof link_, "/proc/self/fd/%d", descriptor);
    struct stat there = {};
    if (::stat(link_, &there) == 0) {
      ::flock(descriptor, LOCK_EX | LOCK_NB);  // for the moment in which it may have a temporary name
      return descriptor;
    }
    ::close(descriptor);
    link_[0] = 0;
#endif
    return -1;
  }

  /// The name has a fixed prefix, because the name of the file plus a suffix could exceed the limit of the file system.
  std::string new_name() const {
    std::random_device random;
    char text[64];
    std::snprintf(text, sizeof text, ".mbirk-%08x%08x.tmp", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    return (folder_ / text).string();
  }

  int open_named() {
    for (int attempt = 0; attempt < 8; ++attempt) {
      auto name = new_name();
      int const descriptor = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (descriptor < 0 && errno == EEXIST) continue;
      if (descriptor < 0) return -1;
      // Another process may have found it without a lock, and removed it.
      struct stat there = {};
      bool const taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      if (!taken && ::fstat(descriptor, &there) == 0 && there.st_nlink > 0) {
        name_ = std::move(name);
        return descriptor;
      }
      ::close(descriptor);
    }
    errno = EEXIST;
    return -1;
  }

  /// What stood at the name when the work began may have been replaced since.
  void publish() {
    replaced_file(target_, error_);
    if (error_) return;
    if (link_[0] != 0) {
      if (link_to(target_.string())) return;
      if (auto name = new_name(); link_to(name)) name_ = std::move(name);
      else copy_to_named();
    }
    if (error_) return;
    if (::rename(name_.c_str(), target_.c_str()) != 0) return fail();
    name_.clear();
  }
  bool link_to(std::string const& name) const noexcept {
    return ::linkat(AT_FDCWD, link_, AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }
  /// The last resort where files without a name can be made, but not be given one.
  void copy_to_named() {
    int const from = ::fileno(stream_), to = open_named();
    if (to < 0) return fail();
    char block[1 << 14];
    off_t at = 0;
    for (;;) {
      auto const there = ::pread(from, block, sizeof block, at);
      if (there < 0) fail();
      if (there <= 0) break;
      auto const done = ::write(to, block, static_cast<std::size_t>(there));
      if (done < 0) fail();
      if (done < 0) break;
      at += done;
    }
    if (!error_ && how_ == durability::synced) error_ = synced(to);
    if (::close(to) != 0) fail();
  }

  void sync_folder() noexcept {
    int const descriptor = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // a folder may be written without being read
    error_ = synced(descriptor);
    ::close(descriptor);
  }

  std::error_code error_;
  std::filesystem::path target_, folder_;
  std::string name_;  ///< empty: the file has none
  char link_[32] = {};
  durability how_;
  std::FILE* stream_ = nullptr;
};

}  // namespace detail

/// Removes what processes that were killed have left in a folder: temporary files of outputs which nobody writes any
/// more. Call it where outputs are about to be written.
///
/// @return their number
inline std::size_t remove_abandoned(std::filesystem::path const& folder) noexcept {
  auto* const entries = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!entries) return 0;
  std::size_t removed = 0;
  while (auto const* const entry = ::readdir(entries)) {
    if (!detail::is_temporary_name(entry->d_name)) continue;
    int const at = ::dirfd(entries);
    int const descriptor = ::openat(at, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat there = {};
    if (::fstat(descriptor, &there) == 0 && S_ISREG(there.st_mode) && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
        ::unlinkat(at, entry->d_name, 0) == 0)
      ++removed;
    ::close(descriptor);
  }
  ::closedir(entries);
  return removed;
}

}  // namespace mbirk
