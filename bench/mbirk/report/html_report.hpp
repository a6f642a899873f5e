// HTML report of a run of mbirk profile on one page: answer, ranking, plots, tables and their limitations. It needs no
// network and no other file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mbirk::program {

/// A file of the run, as linked by the page.
struct report_link {
  std::string kind;  ///< "graphs", "traces", "memory", "tables"
  std::string name;  ///< relative to the folder of its kind
  std::string href;  ///< relative to the page
};

/// @param run   document of mbirk profile
/// @param file  its name, for messages and the page
/// @throws io_error, in one line, when a field is missing or of another kind.
std::string html_report(nlohmann::json const& run, std::string const& file, std::vector<report_link> const& links = {});

/// Writes the page of run_file to `out`, with links to the folders of the same time stamp next to run_file. On failure
/// no file is left.
/// @throws io_error when the run is malformed or the page cannot be written.
void write_html_report(nlohmann::json const& run, std::filesystem::path const& run_file,
                       std::filesystem::path const& out);

}  // namespace mbirk::program
