// Operations that deserve an accelerator, and the savings of fusing their stages: the blocks "candidates" and "graphs"
// of a run, if present.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "input/json_field.hpp"
#include "report/html_report_plot.hpp"
#include "report/html_report_sections.hpp"
#include "report/html_report_table.hpp"

namespace mbirk::program::report {
namespace {

struct candidate {
  index_t rank = 0;
  std::string operation, target, verdict, purpose, reason, limiter, confidence, pipeline;
  bool holds = false;
  std::optional<double> measured, attainable, quality, share, buffer, calls;
  std::string words;  ///< fixed-point format
  std::vector<std::string> formulas;
};

std::optional<double> number_at(json_field const& from, std::string const& key) {
  return from.has(key) && from.at(key, "").value().is_number() ? std::optional(from.at(key, "").number())
                                                               : std::nullopt;
}

candidate candidate_of(json_field const& field) {
  auto const text = [&](char const* key) { return field.at(key, "a string").text(); };
  candidate c;
  c.operation = text("operation");
  // A disturbed operation has neither verdict nor target.
  bool const disturbed = field.has("disturbed") && field.at("disturbed", "true or false").boolean();
  c.verdict = disturbed ? "disturbed" : text("verdict");
  c.target = disturbed ? "–" : text("target");
  c.reason = text("reason");
  c.rank = field.at("rank", "a whole number").integer();
  if (field.has("for") && field.at("for", "").value().is_string()) c.purpose = text("for");
  c.holds = field.at("holds for attainable", "true or false").boolean();
  if (field.has("speed-up")) {
    c.measured = number_at(field.at("speed-up", ""), "measured");
    c.attainable = number_at(field.at("speed-up", ""), "attainable");
  }
  if (field.has("baseline")) {
    auto const baseline = field.at("baseline", "");
    c.quality = number_at(baseline, "quality");
    if (baseline.has("limiter") && !disturbed) c.limiter = baseline.at("limiter", "").text();
  }
  if (field.has("share") && field.at("share", "").value().is_object()) {
    c.share = number_at(field.at("share", ""), "value");
    if (field.at("share", "").has("of")) c.pipeline = field.at("share", "").at("of", "").text();
  }
  if (field.has("calls per transfer")) c.calls = number_at(field.at("calls per transfer", ""), "value");
  if (field.has("word length") && field.at("word length", "").value().is_object()) {
    auto const words = field.at("word length", "");
    auto const width = [&](char const* of) {
      return words.at(of, "a format").at("width", "a number of bits").integer();
    };
    if (words.at("within bound", "true or false").boolean())
      c.words = fmt::format("{} bits, {} in memory: off by {:.1e} of {:.0e} allowed, at size {}", width("arithmetic"),
                            width("data"), words.at("error", "a number").number(),
                            words.at("bound", "a number").number(), words.at("size", "a number").integer());
    else c.words = "more than 62 bits";
  } else {
    c.words = "not measured";
  }
  if (!field.has("targets")) return c;
  for (auto const& t : field.at("targets", "").elements()) {  // the target of the verdict, in float32
    if (t.at("target", "a name").text() != c.target || t.at("word", "a word").text() != "f32") continue;
    if (t.has("buffer") && t.at("buffer", "").value().is_object()) c.buffer = number_at(t.at("buffer", ""), "bytes");
    if (t.has("confidence")) c.confidence = t.at("confidence", "").text();
    if (t.has("formulas"))
      for (auto const& f : t.at("formulas", "").elements()) c.formulas.push_back(f.text());
  }
  return c;
}

struct all_candidates {
  std::vector<candidate> list;  ///< candidates of size_to_compare()
  index_t size = 0;
  std::string skipped, baseline;
  std::vector<std::string> notes;
};

std::optional<all_candidates> read(profile const& p, json const& run) {
  json_field const root(run, p.file);
  if (!root.has("candidates")) return {};
  auto const block = root.at("candidates", "");
  all_candidates all;
  if (block.has("skipped")) {
    all.skipped = block.at("skipped", "").text();
    return all;
  }
  if (block.has("baseline")) all.baseline = block.at("baseline", "").at("device", "a name").text();
  if (block.has("notes"))
    for (auto const& note : block.at("notes", "").elements()) all.notes.push_back(note.text());
  auto const entries = block.at("operations", "an array of operations").elements("an array of operations");
  std::map<index_t, std::size_t> sizes;
  for (auto const& e : entries) ++sizes[e.at("size", "a whole number").integer()];
  all.size = size_to_compare(sizes);
  for (auto const& e : entries)
    if (e.at("size", "").integer() == all.size) all.list.push_back(candidate_of(e));
  std::stable_sort(all.list.begin(), all.list.end(), [](auto const& a, auto const& b) { return a.rank < b.rank; });
  return all;
}

bool is_candidate(candidate const& c) { return c.verdict == "candidate"; }
// A time that cannot be true, or that other programs disturbed, decides nothing.
bool is_open(candidate const& c) { return c.verdict == "no verdict" || c.verdict == "disturbed"; }
bool is_none(candidate const& c) { return c.verdict.starts_with("not") || is_open(c); }

std::string times(std::optional<double> s) { return s ? fmt::format("{:.{}f} ×", *s, *s < 10 ? 1 : 0) : ""; }
std::string percent(std::optional<double> s) {
  return s ? fmt::format("{:.{}f} %", 100 * *s, *s < 0.0995 ? 1 : 0) : "";
}

}  // namespace

std::string candidates_answer(profile const& p, json const& run) {
  auto const all = read(p, run);
  if (!all) return {};
  if (!all->skipped.empty()) return "No candidates were looked for: " + escaped(all->skipped) + '.';
  if (all->list.empty()) return "No operation could be judged as a candidate.";
  // Against a tuned baseline: candidate alone (yes), or in a pipeline (resident); only against present times (present);
  // not a candidate (no).
  std::size_t yes = 0, resident = 0, present = 0, no = 0, open = 0;
  for (auto const& c : all->list)
    ++(is_open(c) ? open : is_none(c) ? no : !c.holds ? present : is_candidate(c) ? yes : resident);
  if (open == all->list.size())
    return fmt::format("None of {} operations at size {} could be judged.", open, all->size);
  auto out = fmt::format(
      "Of {} operations at size {}, <b>{}</b> deserve an FPGA on their own, also against a tuned baseline, "
      "and {} more in a pipeline that stays on the card. {} look so against the present times only; {} do not.",
      all->list.size(), all->size, yes, resident, present, no);
  if (open) out += fmt::format(" {} could not be judged.", open);
  if (auto const& first = all->list.front(); !is_none(first) && first.holds)
    out += fmt::format(" First: <b>{}</b> on {}{}.", escaped(first.operation), escaped(first.target),
                       first.attainable ? ", " + times(first.attainable) +
                                              " as fast as a baseline that reaches at least half of its roof"
                                        : "");
  return out;
}

std::string candidates_table(profile const& p, json const& run) {
  auto const all = read(p, run);
  if (!all || all->list.empty()) return {};
  table t("t-candidates", "Candidates for an FPGA",
          {{"#"},
           {"operation", true},
           {"verdict", true},
           {"why", true},
           {"speed-up, tuned", false, "resident, against the attainable time: the measured one, or half of the roof"},
           {"speed-up, now", false, "resident, against the measured time"},
           {"quality", false, "time of the nearest roof over the measured one"},
           {"limiter now", true},
           {"share", false, "of the pipeline"},
           {"buffer", false, "on the chip, at the knee"},
           {"fixed point", true, "the shortest words that keep the error below its bound, on a small problem"},
           {"calls", false, "per transfer, in a resident pipeline"},
           {"on", true},
           {"confidence", true}});
  for (auto const& c : all->list) {
    std::string const sign = is_none(c) ? "✗ " : is_candidate(c) ? "✓ " : "◦ ";
    auto const verdict =
        fmt::format("<td class=\"v\"><span class=\"{}\">{}{}</span>{}{}</td>", is_none(c) ? "no" : "ok", sign,
                    escaped(c.verdict), c.purpose.empty() || is_none(c) ? "" : ", for " + escaped(c.purpose),
                    c.holds || is_none(c) ? "" : "<br>only against present times");
    std::string why = "<td class=\"w\">" + escaped(c.reason);
    if (!c.formulas.empty()) {
      why += "<details><summary>formulas</summary>";
      for (auto const& f : c.formulas) why += escaped(f) + "<br>";
      why += "</details>";
    }
    auto share = percent(c.share);
    if (c.share && !c.pipeline.empty()) share += " of " + c.pipeline;
    t.row({number_cell(static_cast<double>(c.rank), std::to_string(c.rank)), text_cell(c.operation), verdict,
           why + "</td>", number_cell(c.attainable, times(c.attainable)), number_cell(c.measured, times(c.measured)),
           number_cell(c.quality, percent(c.quality)), text_cell(c.limiter), number_cell(c.share, share),
           number_cell(c.buffer, c.buffer ? bytes_text(*c.buffer) : ""), text_cell(c.words, true),
           number_cell(c.calls, fmt::format("{:g}", c.calls.value_or(0))), text_cell(c.target),
           text_cell(c.confidence)});
  }
  auto out = fmt::format(
      "<section id=\"candidates\"><h2>Candidates for an FPGA at size {}</h2><p class=\"note\">Against {}. Modelled, "
      "not synthesised; "
      "read the quality first: against a run far below its roof everything is a candidate, so ranks go by the tuned "
      "column",
      all->size, escaped(all->baseline.empty() ? p.device : all->baseline));
  for (auto const& note : all->notes) out += "; " + escaped(note);
  return out + ".</p>" + t.html() + "</section>\n";
}

std::string pipelines_table(profile const& p, json const& run) {
  json_field const root(run, p.file);
  if (!root.has("candidates") || !root.at("candidates", "").has("operations")) return {};
  auto const entries = root.at("candidates", "").at("operations", "").elements("an array of operations");
  index_t size = 0;
  for (auto const& e : entries) size = std::max(size, e.at("size", "a whole number").integer());
  table t("t-pipelines", "Stages of pipelines",
          {{"operation", true},
           {"stage", true},
           {"runs"},
           {"share", false, "of the time on the roofs"},
           {"traced", false, "in the traced run"},
           {"limiter", true},
           {"flops"},
           {"bytes", false, "each run reads what it needs, and writes what it makes, once"}});
  bool any = false;
  for (auto const& e : entries) {
    if (e.at("size", "").integer() != size || !e.has("stages") || !e.at("stages", "").value().is_array() ||
        e.at("stages", "").value().size() < 3)
      continue;
    for (auto const& s : e.at("stages", "").elements()) {
      auto const number = [&](char const* key, auto const& text) {
        auto const x = number_at(s, key);
        return number_cell(x, x ? text(*x) : "");
      };
      t.row({text_cell(e.at("operation", "a name").text()), text_cell(s.at("stage", "a name").text()),
             number("runs", [](double x) { return fmt::format("{:g}", x); }),
             number("share", [](double x) { return percent(x); }), number("traced seconds", seconds_text),
             text_cell(s.at("limiter", "compute or memory").text()),
             number("flops", [](double x) { return fmt::format("{:.3g}", x); }), number("bytes", bytes_text)});
      any = true;
    }
  }
  if (!any) return {};
  return fmt::format(
             "<section id=\"pipelines\"><h2>Pipelines by stage at size {}</h2><p class=\"note\">Operations of three "
             "stages and more. "
             "A *_vcd_iteration is what a long reconstruction repeats: the iteration of *_mbir_recon, timed by its "
             "traced run.</p>",
             size) +
         t.html() + "</section>\n";
}

std::string staged_table(profile const& p, json const& run) {
  json_field const root(run, p.file);
  if (!root.has("unfused")) return {};
  index_t size = 0;
  for (auto const n : p.sizes)
    if (root.at("unfused", "").has(std::to_string(n))) size = std::max(size, n);
  if (!size) return {};
  table t("t-unfused", "Fused and unfused, measured",
          {{"operation", true}, {"time"}, {"unfused"}, {"time ratio"},
           {"bytes of stages", false, "each stage reads what it needs, and writes what it makes, once"}, {"unfused"},
           {"traffic ratio", false, "bytes of the stages, unfused over fused"},
           {"accessed ratio", false, "loads and stores as the kernels issue them, unfused over fused"},
           {"difference", false, "of the results, over the largest value"}});
  for (auto const& [name, both] : root.at("unfused", "").at(std::to_string(size), "").members()) {
    std::vector<std::string> cells{text_cell(name)};
    auto const put = [&](json_field const& from, char const* key, auto const& text) {
      auto const x = number_at(from, key);
      cells.push_back(number_cell(x, x ? text(*x) : ""));
    };
    auto const as_ratio = [](double x) { return fmt::format("{:.2f}", x); };
    auto const fused = both.at("fused", "an object"), unfused = both.at("unfused", "an object");
    put(fused, "time", seconds_text);
    put(unfused, "time", seconds_text);
    put(both, "time ratio", as_ratio);
    put(fused, "stage bytes", bytes_text);
    put(unfused, "stage bytes", bytes_text);
    put(both, "traffic ratio", as_ratio);
    put(both, "accessed ratio", as_ratio);
    put(both, "difference", [](double x) { return fmt::format("{:.1e}", x); });
    t.row(cells);
  }
  return fmt::format(
             "<section id=\"unfused\"><h2>Fused and unfused, measured at size {}</h2><p class=\"note\">The operations "
             "as they are, and the same stages "
             "one after the other with all that lies between them in memory: same formulas, same results up to "
             "rounding. Nothing is fetched ahead, "
             "and the Hessian diagonal without weights is another algorithm: fused, it reads no sinogram.</p>",
             size) +
         t.html() + "</section>\n";
}

std::string graphs_table(profile const& p, json const& run, std::vector<report_link> const& links) {
  json_field const root(run, p.file);
  if (!root.has("graphs")) return {};
  index_t size = 0;
  for (auto const n : p.sizes)
    if (root.at("graphs", "").has(std::to_string(n))) size = std::max(size, n);
  if (!size) return {};
  table t("t-graphs", "Graphs before and after fusion",
          {{"operation", true},
           {"form", true},
           {"stages"},
           {"compulsory bytes"},
           {"bytes between stages"},
           {"traffic over as written"}});
  for (auto const& [name, forms] : root.at("graphs", "").at(std::to_string(size), "").members()) {
    auto const module = forms.at("as written", "a graph").at("module", "a file").text("a file");
    auto const file = std::filesystem::path(module).replace_extension(".html").string();
    auto const page =
        std::find_if(links.begin(), links.end(), [&](auto const& l) { return l.kind == "graphs" && l.name == file; });
    auto const cell_of_name = page == links.end() ? text_cell(name)
                                                  : fmt::format("<td class=\"t\"><a href=\"{}\">{}</a></td>",
                                                                escaped(page->href), escaped(name));
    auto const bytes = [](json_field const& form, char const* key) { return form.at(key, "bytes").number("bytes"); };
    auto const traffic = [&](json_field const& form) {
      return bytes(form, "bytes compulsory") + bytes(form, "bytes between stages");
    };
    auto const written = traffic(forms.at("as written", "a graph"));
    for (auto const* key : {"unfused", "as written", "fused"}) {
      if (!forms.has(key)) continue;
      auto const form = forms.at(key, "");
      auto const ratio = written > 0 ? std::optional(traffic(form) / written) : std::nullopt;
      auto const cell = [&](char const* what) { return number_cell(bytes(form, what), bytes_text(bytes(form, what))); };
      t.row({cell_of_name, text_cell(key),
             number_cell(form.at("stages", "a number").number(), fmt::format("{:g}", form.at("stages", "").number())),
             cell("bytes compulsory"), cell("bytes between stages"),
             number_cell(ratio, fmt::format("{:.2f}", ratio.value_or(0)))});
    }
  }
  return fmt::format(
             "<section id=\"graphs\"><h2>Before and after fusion at size {}</h2><p class=\"note\">Of the recorded "
             "graphs: every logical stage with its arrays, "
             "as the code is written, and with all that can be joined joined. A name opens the graph.</p>",
             size) +
         t.html() + "</section>\n";
}

}  // namespace mbirk::program::report
