#include "commands/profile_folders.hpp"

#include <fmt/chrono.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "commands/command_files.hpp"
#include "mbirk/io/folder.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk::program {

std::string timestamp() {
  auto const now = std::chrono::system_clock::now();
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y%m%d_%H%M%S}_{:03}", fmt::localtime(std::chrono::system_clock::to_time_t(now)), ms);
}

std::filesystem::path made_folder(std::string const& name) {
  std::error_code code;
  std::filesystem::create_directories(name, code);
  require<io_error>(!code && std::filesystem::is_directory(name),
                    [&] { return name + ": cannot create this folder: " + (code ? code.message() : "it is a file"); });
  return name;
}

std::filesystem::path checked_result(std::filesystem::path const& result, profile_options const& options) {
  command_files files;
  for (auto const& name : options.judged.devices) files.reads(name);
  files.writes(result);
  files.writes(options.monitor.file);
  files.check();
  // Earlier profiles have folders of their own.
  for (auto const* kind : {"traces", "memory", "graphs", "tables", "handoff"})
    for (auto const& folder : detail::paths_below(result.parent_path() / kind, std::filesystem::file_type::directory))
      remove_abandoned(folder);
  return result;
}

}  // namespace mbirk::program
