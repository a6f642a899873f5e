// The sections of the HTML report, in the order of the page. Each returns complete elements.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/html_report.hpp"
#include "report/html_report_run.hpp"

namespace mbirk::program::report {

/// Operations with a time at the largest size, slowest first: the rank is the index in this list plus one.
using ranked = std::vector<operation const*>;

ranked by_time(profile const& p);
/// Sum of the medians at the largest size.
double total_time(profile const& p, ranked const& order);

std::string answer(profile const& p, ranked const& order, nlohmann::json const& run);
std::string ranking(profile const& p, ranked const& order);
std::string roofline(profile const& p, ranked const& order);
std::string scaling_plot(profile const& p, ranked const& order);
std::string miss_curves(ranked const& order);
std::string times_table(profile const& p, ranked const& order);
std::string timeline(profile const& p, ranked const& order, nlohmann::json const& run);
std::string memory_table(profile const& p, ranked const& order);
std::string files_section(std::vector<report_link> const& links);
std::string notes(profile const& p, ranked const& order, nlohmann::json const& run);

/// The plan for whole reconstructions: a headline, why, and the devices side by side; empty if the run has none.
std::string plan_answer(profile const& p, nlohmann::json const& run);
/// The stages of whole reconstructions, and what an FPGA would do for each.
std::string plan_stages(profile const& p, nlohmann::json const& run);
/// Every operation on host, GPU and FPGA.
std::string columns_table(profile const& p, nlohmann::json const& run);
/// The words of the page, folded.
std::string words_explained();

/// Savings of fusion in the graphs of the run, with links to their pages; empty without graphs.
std::string graphs_table(profile const& p, nlohmann::json const& run, std::vector<report_link> const& links);
/// Measured times of operations and of their unfused forms; empty if the run has none.
std::string staged_table(profile const& p, nlohmann::json const& run);
/// The candidates of the run as a table; empty when the run has none. @throws io_error when they are malformed.
std::string candidates_table(profile const& p, nlohmann::json const& run);
/// The stages of the operations among the candidates; empty if none has three.
std::string pipelines_table(profile const& p, nlohmann::json const& run);
/// All sections about a run of mbirk-mpi. @throws io_error when its block "ranks" is malformed
std::string ranks_sections(profile const& p, nlohmann::json const& run, std::vector<report_link> const& links);
/// One sentence about the candidates, in HTML; empty if the run has none.
std::string candidates_answer(profile const& p, nlohmann::json const& run);

}  // namespace mbirk::program::report
