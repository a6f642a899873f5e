#include "output/index_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mbirk/io/folder.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

struct folder_kind {
  char const *name, *what, *opened_by;
};
constexpr folder_kind kinds[] = {
    {"traces", "when each kernel and stage ran",
     "trace.perfetto.json.gz: ui.perfetto.dev; the folder above plugins: XProf"},
    {"graphs", "what each operation computes, before and after fusion",
     "*.html: a browser; *.mlir: XLA; *.dot: Graphviz"},
    {"memory", "who holds memory, before, during and after each operation", "go tool pprof -symbolize=none"},
    {"tables", "measurements and kernels as tables", "pandas.read_csv"},
    {"handoff", "the kernels of the first candidates as C++ for synthesis, with testbenches",
     "sh build.sh; README.md in each"}};

bool is_run(std::string const& name) {
  return name.starts_with("mbirk_profile_") && name.ends_with(".json") &&
         name.substr(14, name.size() - 19).find_first_not_of("0123456789_") == std::string::npos;
}

}  // namespace

void write_index(fs::path const& folder) {
  std::vector<std::string> runs;
  std::error_code failed;
  auto const names = detail::names_in(folder, failed);
  require<io_error>(!failed, [&] { return folder.string() + ": cannot be read: " + failed.message(); });
  for (auto const& name : names)
    if (is_run(name)) runs.push_back(name.substr(14, name.size() - 19));
  std::sort(runs.rbegin(), runs.rend());
  std::string body;
  for (auto const& when : runs) {
    body += fmt::format(
        "<h2>{0}</h2><p><a href=\"report_{0}.html\"><b>The answer</b></a>, and "
        "<a href=\"mbirk_profile_{0}.json\">all numbers</a> of it as JSON "
        "(Python: mbirk.profile.read).</p><table>",
        when);
    for (auto const& kind : kinds)
      if (auto const many = detail::paths_below(folder / kind.name / when, fs::file_type::regular).size(); many > 0)
        body +=
            fmt::format("<tr><td><a href=\"{0}/{1}/\">{0}/{1}</a></td><td>{2} files</td><td>{3}</td><td>{4}</td></tr>",
                        kind.name, when, many, kind.what, kind.opened_by);
    body += "</table>";
  }
  output_file file(folder / "index.html");
  file.write(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>Profiles of mbirk</title><style>"
      ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:20px auto;"
      "padding:0 12px;overflow-wrap:anywhere}td{padding:3px 10px 3px 0;vertical-align:top}</style></head><body>"
      "<h1>Profiles of mbirk in this folder</h1>" +
      body + "</body></html>\n");
  file.commit();
}

}  // namespace mbirk::program
