// Output folder of an example: the program's first argument, or a temporary one that is removed when the program ends.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <system_error>

class output_folder {
 public:
  output_folder(int argc, char** argv) : path_(argc > 1 ? std::filesystem::path(argv[1]) : fresh()), keep_(argc > 1) {}
  ~output_folder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  output_folder(output_folder const&) = delete;
  output_folder& operator=(output_folder const&) = delete;
  std::filesystem::path const& path() const { return path_; }

 private:
  static std::filesystem::path fresh() {
    return std::filesystem::temp_directory_path() / ("mbirk-example-" + std::to_string(std::random_device{}()));
  }
  std::filesystem::path path_;
  bool keep_;
};
