// The answer of the page: the plan for whole reconstructions, and every operation on the host, a GPU and an FPGA.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fpga/plan_text.hpp"
#include "input/json_field.hpp"
#include "report/html_report_plot.hpp"
#include "report/html_report_sections.hpp"
#include "report/html_report_table.hpp"

namespace mbirk::program::report {
namespace {

/// The plan of the run; null if it has none.
json const* plan_of(json const& run) {
  json::json_pointer const at("/candidates/plan");
  return run.contains(at) ? &run.at(at) : nullptr;
}

std::string times_text(double x) { return fmt::format("{:.2g} ×", x); }
std::string joules_text(double x) {
  return x >= 1      ? fmt::format("{:.3g} J", x)
         : x >= 1e-3 ? fmt::format("{:.3g} mJ", 1e3 * x)
                     : fmt::format("{:.3g} µJ", 1e6 * x);
}

/// An interval [low, nominal, high] of a JSON field.
struct interval {
  std::optional<double> low, nominal, high;
};
interval interval_at(json_field const& from, char const* key) {
  auto const ends = from.at(key, "three numbers").elements("three numbers");
  if (ends.size() != 3) from.at(key, "").wrong("three numbers");
  auto const one = [](json_field const& f) { return f.value().is_number() ? std::optional(f.number()) : std::nullopt; };
  return {one(ends[0]), one(ends[1]), one(ends[2])};
}
template <class Text> std::string cell(interval const& i, Text const& text) {
  if (!i.nominal) return number_cell({}, "");
  auto hint = i.low && i.high && *i.low < *i.high ? fmt::format("<br><span class=\"soft\">{} to {}</span>",
                                                                escaped(text(*i.low)), escaped(text(*i.high)))
                                                  : std::string();
  return fmt::format("<td data-v=\"{}\">{}{}</td>", *i.nominal, escaped(text(*i.nominal)), hint);
}
std::string joules_cell(json_field const& from) {
  if (!from.has("joules") || !from.at("joules", "").value().is_number()) return number_cell({}, "");
  double const x = from.at("joules", "").number();
  return number_cell(x, joules_text(x));
}

/// The devices for one reconstruction, the fastest of each kind first; the rest folded away.
std::string devices_table(json_field const& recon, std::string const& id) {
  auto const columns = recon.at("columns", "an array of devices").elements("an array of devices");
  auto const name = recon.at("operation", "a name").text();
  auto const rows_of = [&](bool fastest) {
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> kinds;
    for (auto const& c : columns) {
      auto const kind = c.at("kind", "a kind").text();
      bool const is_first = std::ranges::find(kinds, kind) == kinds.end();
      kinds.push_back(kind);
      if (is_first != fastest) continue;
      bool const best = c.at("device", "a name").text() == recon.at("best", "a name").text();
      rows.push_back(
          {fmt::format("<td class=\"w\">{}{}</td>", kind == "host" ? "this host: " : "",
                       best ? "<b>" + escaped(c.at("device", "").text()) + "</b>" : escaped(c.at("device", "").text())),
           cell(interval_at(c, "seconds"), seconds_text), joules_cell(c),
           text_cell(c.at("source", "a source").text(), true)});
    }
    return rows;
  };
  std::vector<column> const heads{{"device", true}, {"time"}, {"energy"}, {"how known", true}};
  auto const caption = fmt::format("{} iterations, {}, {}³", recon.at("iterations", "a number").integer(),
                                   geometry_title(name), recon.at("size", "a number").integer());
  table t(id, caption, heads);
  for (auto const& row : rows_of(true)) t.row(row);
  auto out = "<h3>" + escaped(caption) + "</h3>" + t.html();
  if (auto const more = rows_of(false); !more.empty()) {
    table rest(id + "-more", "more devices", heads);
    for (auto const& row : more) rest.row(row);
    out += fmt::format("<details><summary>{} more devices</summary>{}</details>", more.size(), rest.html());
  }
  return out;
}

}  // namespace

std::string plan_answer(profile const& p, json const& run) {
  auto const* plan = plan_of(run);
  if (!plan) return {};
  json_field const root(*plan, p.file, "candidates.plan");
  std::string out = "<p class=\"lead\">" + escaped(root.at("headline", "a sentence").text()) + "</p>";
  for (auto const& sentence : root.at("why", "an array of sentences").elements("an array of sentences"))
    out += "<p>" + escaped(sentence.text()) + "</p>";
  auto const all = root.at("reconstructions", "an array of reconstructions").elements("an array of reconstructions");
  if (all.empty()) return out;
  auto const tables = [&](std::size_t first, std::size_t last) {
    std::string some = "<div class=\"pair\">";
    for (auto k = first; k < last; ++k)
      some += "<div>" + devices_table(all[k], fmt::format("t-plan{}", k + 1)) + "</div>";
    return some + "</div>";
  };
  auto const shown = std::min<std::size_t>(all.size(), 2);  // they fit on a screen
  out += tables(0, shown);
  if (auto const more = all.size() - shown)
    out += fmt::format("<details><summary>{} more {}</summary>{}</details>", more,
                       more == 1 ? "geometry" : "geometries", tables(shown, all.size()));
  return out;
}

std::string plan_stages(profile const& p, json const& run) {
  auto const* plan = plan_of(run);
  if (!plan) return {};
  json_field const root(*plan, p.file, "candidates.plan");
  auto const all = root.at("reconstructions", "an array of reconstructions").elements("an array of reconstructions");
  if (all.empty()) return {};
  std::string out =
      "<section id=\"stages\"><h2>Where the time of a reconstruction goes, and what an FPGA would do for it</h2>"
      "<p class=\"note\">Shares of all iterations, measured stage by stage on this host, and of the best device. An "
      "FPGA takes over one kind of stage beside that device, so what the stage reads and writes crosses the link in "
      "every run. <i>Needs</i> is how many times faster its kernel would have to be for 1.5 times the speed; "
      "<i>whole</i> is how much faster the reconstruction becomes (Amdahl).</p>";
  int k = 0;
  for (auto const& recon : all) {
    auto const name = recon.at("operation", "a name").text(), best = recon.at("best", "a name").text();
    table t(fmt::format("t-stages{}", ++k), "Stages of " + name,
            {{"stage", true},
             {"host"},
             {"share"},
             {"best device", false, best},
             {"share there"},
             {"FPGA beside it", false, "kernel and transfers"},
             {"faster", false, "with the interval"},
             {"less energy"},
             {"whole", false, "how much faster the reconstruction becomes"},
             {"needs", false, "times faster for 1.5 times the speed"},
             {"limited by", true}});
    for (auto const& g : recon.at("groups", "an array of stages").elements("an array of stages")) {
      double const host = g.at("host seconds", "a number").number(), share = g.at("host share", "a number").number();
      std::vector<std::string> cells{text_cell(g.at("group", "a name").text(), true),
                                     number_cell(host, seconds_text(host)), number_cell(share, percent(share)),
                                     cell(interval_at(g, "seconds"), seconds_text)};
      auto const f = g.at("fpga", "an object or null");
      if (f.value().is_null()) {
        for (int n = 0; n < 6; ++n) cells.push_back(number_cell({}, ""));
        cells.push_back(text_cell("no arithmetic", true));
      } else {
        double const there = f.at("share", "a number").number(),
                     seconds =
                         f.at("kernel seconds", "a number").number() + f.at("transfer seconds", "a number").number(),
                     whole = f.at("reconstruction faster", "a number").number();
        auto const needed = f.at("times faster needed", "a number or null");
        cells.push_back(number_cell(there, percent(there)));
        cells.push_back(number_cell(seconds, seconds_text(seconds)));
        cells.push_back(cell(interval_at(f, "speed-up"), times_text));
        cells.push_back(cell(interval_at(f, "energy ratio"), times_text));
        cells.push_back(number_cell(whole, fmt::format("{:.2f} ×", whole)));
        cells.push_back(needed.value().is_number() ? number_cell(needed.number(), times_text(needed.number()))
                                                   : "<td data-v=\"1e300\">never: link</td>");
        cells.push_back(text_cell(fmt::format("{}, {} ({})", f.at("bounded by", "a name").text(),
                                              f.at("access", "a class").text(), f.at("target", "a name").text()),
                                  true));
      }
      t.row(cells);
    }
    out += fmt::format("<h3>{}, beside {}</h3>", escaped(geometry_title(name)), escaped(best)) + t.html();
  }
  return out + "</section>\n";
}

/// The devices that the verdicts compare with, as they were asked for.
std::string compared_devices(json_field const& root) {
  auto const candidates = root.at("candidates", "");
  if (!candidates.value().contains("against")) return "host";
  std::string names;
  for (auto const& name : candidates.at("against", "").elements()) names += (names.empty() ? "" : ", ") + name.text();
  return names;
}

std::string columns_table(profile const& p, json const& run) {
  json_field const root(run, p.file);
  if (!root.has("candidates") || !root.at("candidates", "").has("operations")) return {};
  auto const entries = root.at("candidates", "").at("operations", "").elements("an array of operations");
  index_t size = 0;
  for (auto const& e : entries) size = std::max(size, e.at("size", "a whole number").integer());
  table t("t-columns", "Operations on host, GPU and FPGA",
          {{"operation", true},
           {"host", false, "measured"},
           {"energy"},
           {"best GPU"},
           {"energy"},
           {"which, how known", true},
           {"best FPGA", false, "modelled, without transfers"},
           {"energy"},
           {"which", true},
           {"verdict", true}});
  bool any = false;
  for (auto const& e : entries) {
    if (e.at("size", "").integer() != size || !e.has("columns")) continue;
    any = true;
    auto const columns = e.at("columns", "an object");
    std::vector<std::string> cells{text_cell(e.at("operation", "a name").text())};
    auto const none = [&](int many) {
      for (int k = 0; k < many; ++k) cells.push_back(number_cell({}, ""));
    };
    auto const host = columns.at("host", "an object or null");
    if (host.value().is_null() || host.has("disturbed")) none(2);
    else {
      auto const s = interval_at(host, "seconds");
      cells.push_back(number_cell(s.nominal, seconds_text(s.nominal.value_or(0))));
      cells.push_back(joules_cell(host));
    }
    auto const fastest = [](std::vector<json_field> const& all) {
      return std::min_element(all.begin(), all.end(), [](auto const& a, auto const& b) {
        return interval_at(a, "seconds").nominal.value_or(HUGE_VAL) <
               interval_at(b, "seconds").nominal.value_or(HUGE_VAL);
      });
    };
    for (auto const* kind : {"gpu", "fpga"}) {
      auto const all = columns.at(kind, "an array").elements("an array");
      if (all.empty()) {
        none(3);
        continue;
      }
      auto const& one = *fastest(all);
      cells.push_back(cell(interval_at(one, "seconds"), seconds_text));
      cells.push_back(joules_cell(one));
      cells.push_back(text_cell(
          one.at("device", "a name").text() + ", " +
              (kind == std::string("gpu") ? one.at("source", "a source").text() : one.at("word", "a word").text()),
          true));
    }
    auto const verdict = e.at("verdict", "a verdict");
    bool const yes = verdict.value().is_string() && verdict.text().starts_with("candidate");
    cells.push_back(fmt::format("<td class=\"w\"><span class=\"{}\">{}</span></td>", yes ? "ok" : "no",
                                escaped(verdict.value().is_string() ? verdict.text() : "disturbed")));
    t.row(cells);
  }
  if (!any) return {};
  return fmt::format(
             "<section id=\"columns\"><h2>Every operation on host, GPU and FPGA at size {}</h2><p class=\"note\">Data "
             "resident on each device, with launches, without transfers. The verdict is against the fastest of what is "
             "compared ({}), with transfers.</p>",
             size, escaped(compared_devices(root))) +
         t.html() + "</section>\n";
}

std::string words_explained() {
  static constexpr char const* const words[][2] = {
      {"measured", "timed on this machine by this run"},
      {"predicted",
       "for mbirk's own kernels, from their code and the rates of a GPU, within 0.6 and 1.6 times; never run"},
      {"estimated from counts",
       "counted work over the data sheet of a GPU: 5 times the nearest roof, between once and 15 times"},
      {"measured (MBIRJAX), published", "times that mbirk report was given: a profile of MBIRJAX on a GPU, or a file"},
      {"modelled", "by the FPGA model of docs/fpga.md; nothing has been through synthesis"},
      {"lane", "a unit of an FPGA that takes one item of work a clock"},
      {"roof", "the shortest time that one resource of a machine allows: work over its best rate"},
      {"resident", "arrays stay on the card for all iterations, so transfers are paid once"},
      {"flips on", "the assumption that would change the verdict first, if it were wrong"},
      {"streamed, reduced, strided, gathered, scattered",
       "how an operation meets its arrays in memory, from the best to the worst"},
      {"compulsory flop/byte, issued flop/byte",
       "flops over the bytes that must move once, and over all loads and stores of the kernels"},
      {"knee", "the smallest buffer with at most 1.1 times the least traffic"}};
  std::string out = "<section id=\"words\"><details><summary>Words on this page</summary><dl>";
  for (auto const& [word, meaning] : words)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(word), escaped(meaning));
  return out + "</dl></details></section>\n";
}

}  // namespace mbirk::program::report
