#include "report/html_report_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "report/html_report_plot.hpp"
#include "report/html_report_table.hpp"

namespace mbirk::program::report {
namespace {

cost const* cost_at(operation const& op, index_t n) {
  auto const it = op.costs.find(n);
  return it == op.costs.end() ? nullptr : &it->second;
}
std::optional<nearest_roof> roof_at(profile const& p, operation const& op) {
  auto const* c = cost_at(op, p.largest);
  auto const& time = op.times.at(p.largest);
  return c && time.trusted() ? roof_of(p.roofs, *c, time.median) : std::nullopt;
}

std::string bold(std::string const& name) { return "<b>" + escaped(name) + "</b>"; }

/// A sentence about the roofs for the significant operations: those with at least 2 % of the time.
std::string roof_sentence(profile const& p, ranked const& order, double total) {
  if (!p.beaten.empty())
    return "The ceilings in this file are wrong, because " + escaped(p.beaten) +
           ": something else ran while they were measured. They are not used; profile again on a quiet machine.";
  if (!p.roofs)
    return "No ceilings of the machine are in this file, so how far these times are from what it can do is not known.";
  operation const *nearest = nullptr, *farthest = nullptr;
  std::optional<nearest_roof> high, low;
  for (auto const* op : order) {
    if (op->times.at(p.largest).best_guess() < 0.02 * total) continue;
    auto const r = roof_at(p, *op);
    if (!r) continue;
    if (!high || r->share > high->share) {
      high = r;
      nearest = op;
    }
    if (!low || r->share < low->share) {
      low = r;
      farthest = op;
    }
  }
  if (!high) return "";
  auto out = fmt::format("Against what this machine can do, {} is nearest to a roof ({} of {})", bold(nearest->name),
                         percent(high->share), escaped(high->name));
  if (farthest != nearest)
    out += fmt::format(", {} farthest ({} of {}) of those that take 2 % of the time or more", bold(farthest->name),
                       percent(low->share), escaped(low->name));
  return out + ".";
}

struct noise_summary {
  std::optional<double> middle, worst;
  operation const* of = nullptr;
  std::size_t single = 0;  ///< number of operations with one call
};
noise_summary noise_of(profile const& p, ranked const& order) {
  noise_summary s;
  std::vector<double> all;
  for (auto const* op : order) {
    auto const& time = op->times.at(p.largest);
    auto const noise = time.noise();
    if (!noise) s.single += time.calls == 1;
    else if (all.push_back(*noise); !s.worst || *noise > *s.worst) {
      s.worst = noise;
      s.of = op;
    }
  }
  if (!all.empty()) {
    std::sort(all.begin(), all.end());
    s.middle = all[all.size() / 2];
  }
  return s;
}

struct source_counts {
  std::size_t counted = 0, modelled = 0;
};
source_counts sources(profile const& p) {
  source_counts s;
  for (auto const& op : p.operations)
    for (auto const& [n, c] : op.costs) ++(c.source == "counted" ? s.counted : s.modelled);
  return s;
}

std::string median_cell(timing const& t) {
  if (t.trusted()) return number_cell(t.median, seconds_text(t.median));
  return "<td data-v=\"\" class=\"no\" title=\"" + escaped(t.disturbed) + "\">disturbed</td>";
}
/// Sorted by the width of the interval relative to the median.
std::string range_cell(timing const& t) {
  if (!t.trusted() || !t.range) return number_cell({}, "");
  return number_cell((t.range->high - t.range->low) / t.median,
                     seconds_text(t.range->low) + " to " + seconds_text(t.range->high));
}

std::string tile(std::string const& value, std::string const& what) {
  return "<li><b>" + escaped(value) + "</b><span>" + escaped(what) + "</span></li>";
}

}  // namespace

ranked by_time(profile const& p) {
  ranked order;
  for (auto const& op : p.operations)
    if (op.times.contains(p.largest)) order.push_back(&op);
  std::stable_sort(order.begin(), order.end(), [&](auto const* a, auto const* b) {
    return a->times.at(p.largest).best_guess() > b->times.at(p.largest).best_guess();
  });
  return order;
}

double total_time(profile const& p, ranked const& order) {
  return std::accumulate(order.begin(), order.end(), 0.0,
                         [&](double sum, auto const* op) { return sum + op->times.at(p.largest).best_guess(); });
}

std::string answer(profile const& p, ranked const& order, nlohmann::json const& run) {
  std::string out = "<section class=\"answer\" aria-label=\"Summary\">";
  double const total = total_time(p, order);
  auto const plan = plan_answer(p, run);
  auto const decision = plan.empty() ? candidates_answer(p, run) : plan;
  if (!p.disturbed.empty()) out += "<p class=\"lead no\">" + escaped(p.disturbed) + ".</p>";
  if (!p.impossible.empty()) out += "<p class=\"no\">" + escaped(growth_text(p.impossible)) + ".</p>";
  if (!plan.empty()) out += plan;
  else if (!decision.empty()) out += "<p class=\"lead\">" + decision + "</p>";
  if (order.empty() || !(total > 0)) {
    out += "<p class=\"lead\">Nothing was timed.</p>";
  } else if (plan.empty() && order.front()->times.at(p.largest).trusted()) {
    auto const& first = *order.front();
    double const seconds = first.times.at(p.largest).best_guess();
    std::size_t many = 0;
    for (double sum = 0; many < order.size() && sum < 0.8 * total; ++many)
      sum += order[many]->times.at(p.largest).best_guess();
    out += decision.empty() ? "<p class=\"lead\">" : "<p>";
    out += fmt::format("{} takes the most time: {} a call at size {}, {} of the sum of all {}.", bold(first.name),
                       seconds_text(seconds), p.largest, percent(seconds / total), order.size());
    if (many > 1) out += fmt::format(" The first {} take 80 %.", many);
    out += "</p><p>" + roof_sentence(p, order, total) + "</p>";
  }
  if (decision.empty())
    out +=
        "<p>No candidate analysis is in this file, so operations are ranked by their share of the time. That says "
        "where time goes, not what an accelerator would save.</p>";
  if (!p.failures.empty())
    out += fmt::format("<p><span class=\"no\">{} failed</span>: {} at {}{}; see <a href=\"#notes\">the notes</a>.</p>",
                       p.failures.size(), escaped(p.failures.front().operation), p.failures.front().size,
                       p.failures.size() > 1 ? ", ..." : "");
  out += "</section>\n<ul class=\"tiles\">";
  auto const noise = noise_of(p, order);
  auto const made = sources(p);
  index_t lost = 0;
  if (p.dropped)
    for (auto const& [n, events] : *p.dropped) lost += events;
  out += tile(fmt::format("{} × {}", p.operations.size(), p.sizes.size()), "operations × sizes");
  out += tile(noise.middle ? percent(*noise.middle) : "unknown",
              noise.middle ? "noise: median over the fastest call, half of the operations below"
                           : "noise: too few undisturbed calls");
  out += tile(fmt::format("{} of {}", made.counted, made.counted + made.modelled),
              "costs counted exactly, the rest modelled");
  out += tile(p.dropped ? std::to_string(lost) : "not stated", "trace events dropped");
  out += tile(std::to_string(p.failures.size()), "failures");
  return out + "</ul>\n";
}

std::string ranking(profile const& p, ranked const& order) {
  nlohmann::json const none;
  double const total = total_time(p, order);
  table t("t-rank", "Operations ranked by time",
          {{"#"},
           {"operation", true},
           {"min", false, "fastest call"},
           {"median", false, "of the calls that no other program disturbed"},
           {"95 %", false, "interval of the median, from 6 calls on"},
           {"share", false, "of the sum of the medians in this table"},
           {"FLOP/s"},
           {"bytes/s", false, "loads and stores of all arrays but scratch, as the kernels issue them"},
           {"compulsory flop/byte", false, "flops over the bytes that must move once"},
           {"× minimal", false, "flops over the least that the formulas ask for"},
           {"nearest roof", true},
           {"of it", false, "the least time that this roof allows, over the median"},
           {"cost", true}});
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const& op = *order[k];
    auto const& time = op.times.at(p.largest);
    auto const* c = cost_at(op, p.largest);
    auto const roof = roof_at(p, op);
    auto const per_second = [&](double x) {
      return c && time.trusted() && time.median > 0 ? std::optional(x / time.median) : std::nullopt;
    };
    auto const flops = per_second(c ? c->flops : 0), bytes = per_second(c ? c->accessed : 0);
    std::optional<double> intensity, excess;
    if (c && c->compulsory.value_or(0) > 0) intensity = c->flops / *c->compulsory;
    if (c && c->minimal_flops.value_or(0) > 0) excess = c->flops / *c->minimal_flops;
    t.row({number_cell(static_cast<double>(k + 1), std::to_string(k + 1)), text_cell(op.name),
           number_cell(time.least, seconds_text(time.least)), median_cell(time), range_cell(time),
           total > 0 && time.trusted() ? number_cell(time.median / total, percent(time.median / total))
                                       : number_cell({}, ""),
           number_cell(flops, rate_text(flops.value_or(0))), number_cell(bytes, rate_text(bytes.value_or(0))),
           number_cell(intensity, fmt::format("{:.3g}", intensity.value_or(0))),
           number_cell(excess, fmt::format("{:.2f}", excess.value_or(0))), text_cell(roof ? roof->name : "–"),
           number_cell(roof ? std::optional(roof->share) : std::nullopt, percent(roof ? roof->share : 0)),
           text_cell(c ? c->source : "–")});
  }
  std::string out = "<section id=\"rank\">";
  return out +
         fmt::format(
             "<h2>Operations by time at size {}</h2><p class=\"note\">Reconstructions contain projections and filters, "
             "which also stand on their own. "
             "Press a heading to sort.</p>",
             p.largest) +
         t.html() + "</section>\n";
}

std::string times_table(profile const& p, ranked const& order) {
  std::vector<column> columns{{"#"}, {"operation", true}};
  for (auto const n : p.sizes) columns.push_back({fmt::format("N = {}", n)});
  columns.push_back({"time ~ N^", false, "exponent of the least-squares line through the logarithms of all sizes"});
  columns.push_back({"flops ~ N^", false, "the same of the counted flops"});
  table t("t-times", "Median times by operation and size", columns);
  auto const exponent = [](std::optional<double> e) { return number_cell(e, fmt::format("{:.2f}", e.value_or(0))); };
  auto const add = [&](operation const& op, std::optional<double> rank) {
    std::vector<std::string> cells{number_cell(rank, fmt::format("{:g}", rank.value_or(0))), text_cell(op.name)};
    for (auto const n : p.sizes) {
      auto const at = op.times.find(n);
      cells.push_back(at == op.times.end() ? number_cell({}, "") : median_cell(at->second));
    }
    bool const impossible =
        std::any_of(p.impossible.begin(), p.impossible.end(), [&](auto const& g) { return g.operation == op.name; });
    auto const e = op.time_exponent();
    cells.push_back(impossible ? fmt::format("<td data-v=\"{}\" class=\"no\">{:.2f}, impossible</td>", *e, *e)
                               : exponent(e));
    cells.push_back(exponent(op.flop_exponent()));
    t.row(cells);
  };
  for (std::size_t k = 0; k < order.size(); ++k) add(*order[k], static_cast<double>(k + 1));
  for (auto const& op : p.operations)
    if (!op.times.contains(p.largest)) add(op, {});
  return "<section id=\"times\"><h2>Time by operation and size</h2><p class=\"note\">A time exponent below that of the "
         "flops says that small sizes pay overhead; one above it, that large "
         "sizes fall out of caches; one above it by more than 1 is impossible, and the times are wrong. Disturbed "
         "times do not count. Fewer than three sizes are a slope, not a law.</p>" +
         t.html() + "</section>\n";
}

std::string memory_table(profile const& p, ranked const& order) {
  double most = 0;
  for (auto const* op : order)
    if (auto const* c = cost_at(*op, p.largest)) most = std::max(most, c->peak);
  table t("t-memory", "Bytes by operation",
          {{"operation", true}, {"arguments"}, {"results"}, {"temporaries"}, {"sum"}, {"", true}});
  auto const bytes = [](double b) { return number_cell(b, bytes_text(b)); };
  for (auto const* op : order) {
    auto const* c = cost_at(*op, p.largest);
    if (!c) continue;
    std::string bar = fmt::format("<td class=\"t\" data-v=\"{}\"><div class=\"bar\" aria-hidden=\"true\">", c->peak);
    int k = 0;
    for (double const part : {c->argument, c->output, c->temporary})
      bar += fmt::format("<i class=\"b{}\" style=\"width:{:.1f}%\"></i>", k++, most > 0 ? 100 * part / most : 0);
    t.row({text_cell(op->name), bytes(c->argument), bytes(c->output), bytes(c->temporary), bytes(c->peak),
           bar + "</div></td>"});
  }
  return fmt::format(
             "<section id=\"memory\"><h2>Memory at size {}</h2><p class=\"note\">Temporaries with scratch for every "
             "thread, all that were made during a call taken together, "
             "so the sum is a bound of the peak. Bars: arguments, results, temporaries (hatched).</p>",
             p.largest) +
         t.html() + "</section>\n";
}

std::string files_section(std::vector<report_link> const& links) {
  std::string out = "<section id=\"files\"><h2>Graphs and other files of this run</h2>";
  if (links.empty()) return out + "<p>There are none next to the JSON file.</p></section>\n";
  char const* const kinds[][2] = {{"graphs", "Graphs"},
                                  {"traces", "Traces (trace.perfetto.json.gz: Perfetto; .xplane.pb: XProf)"},
                                  {"memory", "Heap profiles (go tool pprof)"},
                                  {"tables", "Tables"}};
  for (auto const& [kind, title] : kinds) {
    std::string items, stem;
    std::size_t many = 0;
    for (auto const& link : links) {
      if (link.kind != kind) continue;
      ++many;
      auto const slash = link.name.rfind('/');
      auto const dot = link.name.find('.', slash == std::string::npos ? 0 : slash + 1);
      auto const base = link.name.substr(0, dot);
      if (many == 1 || base != stem) items += (items.empty() ? "<li>" : "</li>\n<li>") + escaped(base) + ':';
      stem = base;
      items += fmt::format(" <a href=\"{}\">{}</a>", escaped(link.href),
                           escaped(dot == std::string::npos ? "open" : link.name.substr(dot + 1)));
    }
    if (many)
      out += fmt::format("<details{}><summary>{}: {}</summary><ul class=\"plain\">{}</li></ul></details>\n",
                         many <= 12 ? " open" : "", escaped(title), many, items);
  }
  return out + "</section>\n";
}

std::string notes(profile const& p, ranked const& order, nlohmann::json const& run) {
  std::string items;
  auto const item = [&](std::string const& html) { items += "<li>" + html + "</li>\n"; };
  auto const noise = noise_of(p, order);
  for (auto const& op : p.operations)
    for (auto const& [n, t] : op.times)
      if (!t.trusted())
        item(fmt::format("<span class=\"no\">Disturbed</span>: {} at {}: {}", escaped(op.name), n,
                         escaped(t.disturbed)));
  if (noise.worst)
    item(fmt::format(
        "Noise: at size {}, {} is the noisiest, its median {} above its fastest call. Differences below that are none.",
        p.largest, bold(noise.of->name), percent(*noise.worst)));
  if (noise.single)
    item(fmt::format("{} of {} operations have one timed call at size {}, so nothing is known of their noise.",
                     noise.single, order.size(), p.largest));
  std::size_t warm = 0;
  for (auto const* op : order) warm += !op->times.at(p.largest).timing_runs;
  if (warm) item(fmt::format("{} times are those of the warm-up, because there was no timing-only run.", warm));
  else item("Times are medians of the timing-only runs; warm-up and traced runs are left out.");
  auto const made = sources(p);
  if (made.modelled) {
    std::set<index_t> sizes;
    for (auto const& op : p.operations)
      for (auto const& [n, c] : op.costs)
        if (c.source == "model") sizes.insert(n);
    item(fmt::format("Costs of {} of {} are modelled, not counted: those at size {}.", made.modelled,
                     made.counted + made.modelled, fmt::join(sizes, ", ")));
  } else {
    item("All costs were counted in the kernels, one by one; none is modelled.");
  }
  if (p.backend != "host")
    item("Costs are those of the host's kernels; the times are of " + escaped(p.backend) + " on " + escaped(p.device) +
         ".");
  if (!p.dropped) {
    item("The file does not say whether trace events were dropped.");
  } else {
    std::string lost;
    for (auto const& [n, events] : *p.dropped)
      if (events) lost += fmt::format("{}{} at size {}", lost.empty() ? "" : ", ", events, n);
    item(lost.empty() ? "No trace event was dropped."
                      : "Trace events dropped: " + lost + ". Timelines of these sizes have gaps.");
  }
  if (p.roofs)
    item(
        "Roofs are the best of several tries on a machine that other programs may have used; the fabric of caches may "
        "give a single operation more or less.");
  item(
      "Miss curves are those of the kernels as one core runs them, in order, on lines of 64 bytes. A buffer that is "
      "managed by hand can do better.");
  if (auto const merged = run.find("environments"); merged != run.end() && merged->is_array() && merged->size() > 1)
    item(fmt::format(
        "Merged from {} runs; medians are of all of them together, and the environment below is the first one's.",
        merged->size()));
  for (auto const& text : left_out_texts(json_field(run, p.file)))
    item("Left out, predicted to take too long: " + escaped(text) + '.');
  for (auto const& f : p.failures)
    item(fmt::format("<span class=\"no\">Failed</span>: {} at {}: {}", escaped(f.operation), f.size, escaped(f.error)));
  table t("t-environment", "Environment", {{"environment", true}, {"", true}});
  for (auto const& [name, value] : p.environment) t.row({text_cell(name), text_cell(value, true)});
  t.row({text_cell("runs of each"), text_cell(std::to_string(p.runs), true)});
  return "<section id=\"notes\"><h2>What this does not say</h2><ul class=\"plain\">" + items + "</ul>" + t.html() +
         "</section>\n";
}

}  // namespace mbirk::program::report
