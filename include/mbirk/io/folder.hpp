// Lists what is in folders. POSIX only.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mbirk::detail {

struct close_folder {
  void operator()(DIR* entries) const noexcept { ::closedir(entries); }
};

/// Names of the entries of a folder, sorted, without "." and "..".
///
/// Directory iterators of libstdc++ 12 are not used anywhere: they allocate in functions that are `noexcept`, so
/// running out of memory there ends the process, where std::bad_alloc is expected.
///
/// @param[out] failed  why the folder could not be read (to its end)
inline std::vector<std::string> names_in(std::filesystem::path const& folder, std::error_code& failed) {
  std::vector<std::string> names;
  errno = 0;
  std::unique_ptr<DIR, close_folder> const entries(::opendir(folder.c_str()));
  while (entries) {
    errno = 0;
    auto const* const entry = ::readdir(entries.get());
    if (!entry) break;
    std::string_view const name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  failed.assign(errno, std::generic_category());
  std::sort(names.begin(), names.end());
  return names;
}

/// Paths of all files or folders below a folder, at any depth: those whose type, behind links, is `wanted`. Folders
/// behind links are not entered, and folders that cannot be read have no entries.
inline std::vector<std::filesystem::path> paths_below(std::filesystem::path const& folder,
                                                      std::filesystem::file_type wanted) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found, folders{folder};
  for (std::size_t k = 0; k < folders.size(); ++k) {
    auto const at = folders[k];
    std::error_code ignored;
    for (auto const& name : names_in(at, ignored)) {
      auto path = at / name;
      if (fs::symlink_status(path, ignored).type() == fs::file_type::directory) folders.push_back(path);
      if (fs::status(path, ignored).type() == wanted) found.push_back(std::move(path));
    }
  }
  return found;
}

}  // namespace mbirk::detail
