#include "report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "mbirk/io/folder.hpp"
#include "mbirk/io/output_file.hpp"
#include "report/html_report_assets.hpp"
#include "report/html_report_sections.hpp"
#include "report/html_report_table.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;
using namespace report;

/// "20261122_070823_749" as "2026-11-22 07:08:23"; other texts are unchanged.
std::string date_of(std::string const& t) {
  bool const ours = t.size() >= 15 && t[8] == '_' &&
                    std::all_of(t.begin(), t.begin() + 8, [](char c) { return c >= '0' && c <= '9'; });
  if (!ours) return t;
  return fmt::format("{}-{}-{} {}:{}:{}", t.substr(0, 4), t.substr(4, 2), t.substr(6, 2), t.substr(9, 2),
                     t.substr(11, 2), t.substr(13, 2));
}

struct page_section {
  char const *id, *title;
};
constexpr page_section sections[] = {{"stages", "Stages"},
                                     {"columns", "Operations"},
                                     {"words", "Words"},
                                     {"rank", "Ranking"},
                                     {"roofline", "Roofline"},
                                     {"scaling", "Scaling"},
                                     {"misses", "On-chip memory"},
                                     {"timeline", "Timeline"},
                                     {"memory", "Memory"},
                                     {"files", "Files"},
                                     {"notes", "What this does not say"}};
constexpr page_section sections_of_ranks[] = {{"ranks", "All ranks, and one"},
                                              {"timeline", "Timeline"},
                                              {"messages", "Messages"},
                                              {"by-rank", "By rank"},
                                              {"files", "Files"},
                                              {"notes", "What this does not say"}};

std::string head(profile const& p, char const* program, std::string const& ranks,
                 std::span<page_section const> linked) {
  std::string sizes;
  for (auto const n : p.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
  std::string links;
  for (auto const& [id, title] : linked) links += fmt::format("<a href=\"#{}\">{}</a>", id, title);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">"
      "<title>{8} profile, {0}</title><style>{1}</style></head><body>\n"
      "<header><h1>{8} profile, {0}</h1><div class=\"soft\">{2}, {10}{3} {4} &middot; sizes {5} &middot; mbirk {6}, "
      "{7}</div><nav aria-label=\"Sections\">{9}</nav></header>\n<main>\n",
      escaped(date_of(p.timestamp)), style, escaped(p.backend == "host" ? p.cpu : p.backend + " on " + p.device),
      p.threads, p.threads == 1 ? "thread" : "threads", escaped(sizes), escaped(p.version), escaped(p.compiler),
      program, links, ranks);
}

std::string foot(profile const& p, std::string const& file) {
  return fmt::format(
      "</main>\n<footer>Made by mbirk {} from {}; <code>mbirk report</code> makes it "
      "again.</footer>\n<script>{}</script></body></html>\n",
      escaped(p.version), escaped(fs::path(file).filename().string()), script);
}

/// Percent-encodes a path, so that a name with a space, a quote or a non-ASCII letter is one link.
std::string path_as_url(fs::path const& path) {
  std::string out;
  for (char const c : path.generic_string()) {
    bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '_' || c == '-';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string html_report(nlohmann::json const& run, std::string const& file, std::vector<report_link> const& links) {
  auto const p = read_profile(run, file);
  if (run.contains("ranks")) {
    auto const of_ranks = ranks_sections(p, run, links);  // which checks the block
    auto const ranks = run["ranks"]["count"].get<index_t>();
    return head(p, "mbirk-mpi", ranks == 1 ? "1 rank of " : fmt::format("{} ranks of ", ranks), sections_of_ranks) +
           of_ranks + foot(p, file);
  }
  auto const order = by_time(p);
  std::string out = head(p, "mbirk", "", sections);
  out += answer(p, order, run);
  auto const fold = [](std::string const& title, std::string const& section) {
    return section.empty() ? section
                           : "<details class=\"fold\"><summary>" + title + "</summary>" + section + "</details>\n";
  };
  out += plan_stages(p, run);
  out += columns_table(p, run);
  out += fold("Candidates for an FPGA, with formulas, buffers and word lengths", candidates_table(p, run));
  out += words_explained();
  out += ranking(p, order);
  out += "<div class=\"pair\">" + roofline(p, order) + scaling_plot(p, order) + "</div>\n";
  out += fold("Pipelines by stage", pipelines_table(p, run));
  out += fold("On-chip memory: traffic over the size of a buffer", miss_curves(order));
  out += fold("Time by operation and size", times_table(p, order));
  out += timeline(p, order, run);
  out += fold("Memory by operation", memory_table(p, order));
  out += staged_table(p, run);
  out += fold("Graphs before and after fusion", graphs_table(p, run, links));
  out += files_section(links);
  out += notes(p, order, run);
  return out + foot(p, file);
}

void write_html_report(nlohmann::json const& run, fs::path const& run_file, fs::path const& out) {
  std::vector<report_link> links;
  auto const run_folder = fs::absolute(run_file).parent_path();
  auto const page = fs::absolute(out).lexically_normal().parent_path();
  if (auto const when = run.is_object() ? run.find("timestamp") : run.end(); when != run.end() && when->is_string()) {
    std::string const name = *when;
    // Excludes ".." and paths.
    bool const is_name = !name.empty() && name.find_first_not_of("0123456789_") == name.npos;
    for (auto const* kind : {"graphs", "traces", "memory", "tables"}) {
      if (!is_name) break;
      auto const folder = run_folder / kind / name;
      for (auto const& path : detail::paths_below(folder, fs::file_type::regular))
        links.push_back({kind, path.lexically_relative(folder).generic_string(),
                         path_as_url(path.lexically_normal().lexically_relative(page))});
    }
  }
  std::sort(links.begin(), links.end(),
            [](auto const& a, auto const& b) { return std::tie(a.kind, a.name) < std::tie(b.kind, b.name); });
  auto const text = html_report(run, run_file.string(), links);  // generated before the file is opened
  output_file file(out);
  file.write(text);
  file.commit();
}

}  // namespace mbirk::program
