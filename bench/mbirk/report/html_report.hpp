// One HTML page of a run of mbirk profile: answer, ranking, plots, tables and what they do not say. It needs no network and no other file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mbirk::program {

/// A file of the run, as the page links it.
struct report_link {
  std::string kind;  ///< "graphs", "traces", "memory", "tables"
  std::string name;  ///< below the folder of its kind
  std::string href;  ///< relative to the page
};

/// @param run   what mbirk profile wrote
/// @param file  its name, for messages and the page
/// @throws io_error, one line, when the run lacks a field, or has it of another kind.
std::string html_report(nlohmann::json const& run, std::string const& file, std::vector<report_link> const& links = {});

/// The page of run_file at `out`, with links to the folders of the same time stamp that lie beside run_file. Nothing is left there when it fails.
/// @throws io_error when the run is malformed or the page cannot be written.
void write_html_report(nlohmann::json const& run, std::filesystem::path const& run_file, std::filesystem::path const& out);

}  // namespace mbirk::program
