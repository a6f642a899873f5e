// A temporary folder for a test, removed with everything in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace mbirk::test {

class scratch_folder {
 public:
  scratch_folder()
      : path_(std::filesystem::path(::testing::TempDir()) / ("mbirk-test-" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directories(path_);
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;

  std::filesystem::path const& path() const { return path_; }
  std::filesystem::path operator/(std::filesystem::path const& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string file_text(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::vector<char> block(1 << 16);  // not by iterators, which take seconds for megabytes without optimisation
  do {
    file.read(block.data(), std::ssize(block));
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  return text;
}
inline void write_text(std::filesystem::path const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Number of files (not folders) below a folder, hidden ones too; 0 if it does not exist.
inline int file_count(std::filesystem::path const& folder) {
  int n = 0;
  if (std::filesystem::is_directory(folder))
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) n += entry.is_regular_file();
  return n;
}

}  // namespace mbirk::test
