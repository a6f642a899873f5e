// Tables of the HTML report: cells contain the full number, for sorting and for programs that read the page.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "report/html_report_plot.hpp"

namespace mbirk::program::report {

struct column {
  std::string name;
  bool text = false;     ///< left-aligned
  std::string hint = {};
};

/// <td> with a number; without a number it shows a dash and sorts last.
inline std::string number_cell(std::optional<double> value, std::string const& text) {
  if (!value) return "<td data-v=\"\">–</td>";
  // The attribute is the shortest text that reads back as the same number.
  return fmt::format("<td data-v=\"{}\">{}</td>", *value, escaped(text));
}
inline std::string text_cell(std::string const& text, bool wraps = false) {
  return fmt::format("<td class=\"{}\">{}</td>", wraps ? "w" : "t", escaped(text));
}

class table {
 public:
  table(std::string id, std::string caption, std::vector<column> const& columns) {
    out_ =
        fmt::format("<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table id=\"{}\"><thead><tr>",
                    escaped(caption), id);
    for (auto const& c : columns)
      out_ +=
          fmt::format("<th scope=\"col\"{}{}><button type=\"button\">{}</button></th>", c.text ? " class=\"t\"" : "",
                      c.hint.empty() ? "" : " title=\"" + escaped(c.hint) + "\"", escaped(c.name));
    out_ += "</tr></thead><tbody>\n";
  }
  /// @param cells  complete <td> elements
  void row(std::vector<std::string> const& cells) {
    out_ += "<tr>";
    for (auto const& c : cells) out_ += c;
    out_ += "</tr>\n";
  }
  std::string html() const { return out_ + "</tbody></table></div>\n"; }

 private:
  std::string out_;
};

}  // namespace mbirk::program::report
