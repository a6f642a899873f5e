// Names of the files that a command reads and writes, so that no output destroys an input or another output.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mbirk::program {

/// Register every file before the work begins, inputs that other inputs name included; then check.
class command_files {
 public:
  /// An empty name is no file.
  void reads(std::filesystem::path const& name);
  void writes(std::filesystem::path const& name);

  /// Files are the same when they have the same device and inode, which tells of links, or the same name in the same
  /// folder, once links and other spellings are resolved. Removes what killed processes left where outputs are written.
  /// @throws io_error when an output is one of the inputs, another output, or not a regular file.
  void check() const;
  /// Does what check() does, and makes sure that each output can be opened now.
  /// @throws io_error
  void check_and_open() const;

 private:
  struct file {
    std::string name;             ///< as the user gave it
    std::filesystem::path place;  ///< the folder without links, and the name in it
    std::optional<std::pair<::dev_t, ::ino_t>> id;
    bool is(file const& other) const { return place == other.place || (id && id == other.id); }
  };
  static file found(std::filesystem::path const& name);

  std::vector<file> read_, written_;
};

}  // namespace mbirk::program
