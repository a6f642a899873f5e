// An excerpt of the traced run, drawn as nested bars.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "input/json_field.hpp"
#include "report/html_report_plot.hpp"
#include "report/html_report_sections.hpp"

namespace mbirk::program::report {
namespace {

struct span {
  std::string name;
  double begin, end;
  std::size_t depth = 0;
};

struct excerpt {
  std::vector<span> spans;
  index_t left_out = 0;
};

excerpt read_excerpt(json_field const& from) {
  excerpt e;
  for (auto const& s : from.at("spans", "an array of spans").elements("an array of spans")) {
    span one{s.at("name", "a name").text(), s.at("begin", "seconds").number("seconds"),
             s.at("end", "seconds").number("seconds")};
    if (!(one.begin >= 0 && one.end >= one.begin)) s.wrong("0 <= begin <= end");
    e.spans.push_back(one);
  }
  e.left_out = from.at("left out", "a whole number").integer();
  // Outer spans come first; the depth of a span is the number of previous spans that are still open.
  std::stable_sort(e.spans.begin(), e.spans.end(),
                   [](span const& a, span const& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  std::vector<double> open;
  for (auto& s : e.spans) {
    while (!open.empty() && open.back() <= s.begin && !(s.begin == s.end && open.back() == s.end)) open.pop_back();
    s.depth = open.size();
    open.push_back(s.end);
  }
  return e;
}

}  // namespace

std::string timeline(profile const& p, ranked const& order, nlohmann::json const& run) {
  std::string out = "<section id=\"timeline\"><h2>Timeline excerpt</h2>";
  json_field const root(run, p.file);
  for (auto const* op : order) {  // the slowest operation that has an excerpt
    for (auto const& m : root.at("measurements", "an array").elements()) {
      if (!m.has("timeline") || m.value()["operation"] != op->name || m.value()["volume_size"] != p.largest) continue;
      auto const e = read_excerpt(m.at("timeline", ""));
      double end = 0;
      std::size_t depth = 0;
      for (auto const& s : e.spans) {
        end = std::max(end, s.end);
        depth = std::max(depth, s.depth);
      }
      if (!(end > 0)) continue;
      constexpr double width = 1080, height = 22;
      std::string body;
      for (auto const& s : e.spans) {
        double const x = width * s.begin / end, w = std::max(0.8, width * (s.end - s.begin) / end),
                     y = static_cast<double>(s.depth) * (height + 2);
        body += fmt::format(
            "<g><title>{0}: {1}, from {2}</title><rect class=\"t{3} span\" x=\"{4:.2f}\" y=\"{5:.0f}\" "
            "width=\"{6:.2f}\" height=\"{7:.0f}\"/>",
            escaped(s.name), seconds_text(s.end - s.begin), seconds_text(s.begin), s.depth % 3, x, y, w, height);
        if (w > 7.5 * static_cast<double>(s.name.size()) + 8)
          body += fmt::format("<text class=\"on\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x + 4, y + 15, escaped(s.name));
        body += "</g>";
      }
      out += fmt::format(
          "<p class=\"note\">The traced call of {} at size {}: {} spans in {}, outer ones above. {}</p><div "
          "class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"Timeline\">"
          "<svg class=\"wide\" role=\"img\" aria-label=\"Timeline of {}\" viewBox=\"0 0 {:.0f} {:.0f}\">{}</svg></div>",
          escaped(op->name), p.largest, e.spans.size(), seconds_text(end),
          e.left_out ? fmt::format("{} later spans are left out here; the trace has them.", e.left_out)
                     : "All of its spans are shown.",
          escaped(op->name), width, static_cast<double>(depth + 1) * (height + 2), body);
      return out + "</section>\n";
    }
  }
  return out + "<p>No spans are in this file; the traces of the run have them.</p></section>\n";
}

}  // namespace mbirk::program::report
