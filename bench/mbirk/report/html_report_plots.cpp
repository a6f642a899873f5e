// The roofline, times over size, and miss curves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_report_plot.hpp"
#include "report/html_report_sections.hpp"
#include "report/html_report_table.hpp"

namespace mbirk::program::report {
namespace {

/// 0: parallel beam, 1: cone beam, 2: no geometry in the name. Shape, dashes and colour depend on it.
int family(std::string const& name) { return name.starts_with("parallel_") ? 0 : name.starts_with("cone_") ? 1 : 2; }

std::string family_key(bool lines) {
  std::string out;
  char const* const names[] = {"parallel beam", "cone beam", "other"};
  char const* const marks[] = {"<circle class=\"f0\" cx=\"13\" cy=\"5.5\" r=\"4.5\"/>",
                               "<rect class=\"f1\" x=\"9\" y=\"1.5\" width=\"8\" height=\"8\"/>",
                               "<path class=\"f2\" d=\"M13 1l5 9h-10z\"/>"};
  for (int k = 0; k < 3; ++k)
    out += fmt::format("<span class=\"key\"><svg viewBox=\"0 0 26 11\" aria-hidden=\"true\">{}</svg>{}</span>",
                       lines ? fmt::format("<path class=\"l{}\" d=\"M0 5.5h26\"/>", k) : marks[k], names[k]);
  return out;
}

/// Formats a power of ten: "10 G".
std::string decade_text(double rate) {
  char const* const units[] = {"", " k", " M", " G", " T", " P"};
  std::size_t u = 0;
  while (rate >= 999 && u + 1 < std::size(units)) {
    rate /= 1000;
    ++u;
  }
  return fmt::format("{:.3g}{}", rate, units[u]);
}
struct roof_point {
  std::size_t rank;
  operation const* op;
  double intensity, rate;
};

}  // namespace

std::string roofline(profile const& p, ranked const& order) {
  std::vector<roof_point> points;
  std::size_t without = 0;
  double fastest = 0, widest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const c = order[k]->costs.find(p.largest);
    auto const& time = order[k]->times.at(p.largest);
    auto const t = time.trusted() ? time.median : 0;
    if (c == order[k]->costs.end() || !(t > 0) || !(c->second.flops > 0) || !(c->second.compulsory.value_or(0) > 0)) {
      ++without;
      continue;
    }
    points.push_back({k + 1, order[k], c->second.flops / *c->second.compulsory, c->second.flops / t});
    fastest = std::max(fastest, points.back().rate);
    widest = std::max(widest, *c->second.compulsory / t);
  }
  std::string out = fmt::format("<section id=\"roofline\"><h2>Roofline at size {}</h2>", p.largest);
  if (points.empty())
    return out + "<p>No operation with a time has counted flops and bytes at this size.</p></section>";
  double const top = p.roofs ? p.roofs->flops_per_second : fastest;
  auto const least_x = std::min_element(points.begin(), points.end(), [](auto const& a, auto const& b) {
                         return a.intensity < b.intensity;
                       })->intensity;
  auto const most_x = std::max_element(points.begin(), points.end(), [](auto const& a, auto const& b) {
                        return a.intensity < b.intensity;
                      })->intensity;
  auto const least_y = std::min_element(points.begin(), points.end(), [](auto const& a, auto const& b) {
                         return a.rate < b.rate;
                       })->rate;
  plot_range const x{least_x / 2, std::max(most_x * 2, 10 * least_x)}, y{least_y / 2, std::max(top, fastest) * 1.8};
  log_plot plot("roof", "Roofline",
                fmt::format("Flops per second over flops per compulsory byte, {} operations at size {}; the numbers are "
                            "in the ranking table.",
                            points.size(), p.largest),
                540, 400, x, y);
  plot.axes(decades(x.low, x.high, decade_text), decades(y.low, y.high, decade_text),
            "flop per byte that any implementation must move", "FLOP/s");
  auto const slope = [&](double bytes_per_second, std::string const& css, std::string const& name, double dy) {
    double const low = std::max(x.low, y.low / bytes_per_second), knee = std::min(x.high, top / bytes_per_second);
    if (!(knee > low)) return;
    plot.line({{low, low * bytes_per_second}, {knee, knee * bytes_per_second}}, css, name);
    plot.text(low, low * bytes_per_second, name, "roofname", "start", 8, dy);
  };
  double ridge = top / widest;
  if (p.roofs) {
    for (auto const& level : p.roofs->reads)
      slope(level.bytes_per_second, "roof thin", fmt::format("{} {}B/s", level.name, rate_text(level.bytes_per_second)),
            -3);
    ridge = top / p.roofs->reads.front().bytes_per_second;
  } else {
    slope(widest, "roof guess", "fastest measured: " + rate_text(widest) + "B/s", -3);
  }
  plot.line({{std::clamp(ridge, x.low, x.high), top}, {x.high, top}}, p.roofs ? "roof" : "roof guess");
  plot.text(
      x.high, top,
      p.roofs ? fmt::format("FMA {}FLOP/s", rate_text(top)) : fmt::format("fastest measured: {}FLOP/s", rate_text(top)),
      "roofname", "end", -4, -5);
  for (auto const& q : points) {
    auto const f = family(q.op->name);
    plot.mark(q.intensity, q.rate, f, "f" + std::to_string(f),
              fmt::format("{}. {}: {}FLOP/s at {:.3g} compulsory flop/byte", q.rank, q.op->name, rate_text(q.rate),
                          q.intensity));
  }
  constexpr std::size_t labelled = 14;
  for (auto const& q : points)
    if (q.rank <= labelled) plot.label(q.intensity, q.rate, std::to_string(q.rank));
  out += "<figure>" + plot.svg() + "<figcaption>" + family_key(false);
  out += p.roofs ? "Lines: what this machine does at most, measured in the same run: reading from each level of "
                   "memory, and multiply-adds from registers. "
                 : "Dashed lines: the fastest of these operations, because no usable ceilings of the machine are in "
                   "this file; they are no roof. ";
  out += fmt::format(
      "Numbers: ranks of the first {}. Data that fit into a cache may lie above the line of a farther level.",
      labelled);
  if (without) out += fmt::format(" {} without flops or bytes, or disturbed, left out.", without);
  return out + "</figcaption></figure></section>\n";
}

std::string scaling_plot(profile const& p, ranked const& order) {
  std::string out = "<section id=\"scaling\"><h2>Time over size</h2>";
  std::vector<std::size_t> shown;
  double least = INFINITY, most = 0;
  index_t from = p.largest;
  for (std::size_t k = 0; k < order.size() && shown.size() < 10; ++k) {
    auto const& at = order[k]->times;
    if (at.size() < 2 || !std::all_of(at.begin(), at.end(), [](auto const& t) { return t.second.trusted(); })) continue;
    shown.push_back(k);
    for (auto const& [n, t] : at)
      if (t.median > 0) {
        least = std::min(least, t.median);
        most = std::max(most, t.median);
        from = std::min(from, n);
      }
  }
  if (shown.empty() || !(most > 0))
    return out + "<p>No operation has undisturbed times at two sizes, so there is nothing to compare.</p></section>\n";
  plot_range const x{static_cast<double>(from) / 1.15, static_cast<double>(p.largest) * 1.25}, y{least / 2, most * 2};
  log_plot plot(
      "scale", "Time over size",
      fmt::format("Median times of the {} slowest operations over the size N; the numbers are in the table of times.",
                  shown.size()),
      540, 400, x, y);
  std::vector<tick> sizes;
  for (auto const n : p.sizes) sizes.push_back({static_cast<double>(n), std::to_string(n)});
  plot.axes(sizes, decades(y.low, y.high, seconds_text), "size N (volume N × N × N, N/2 views)", "time of a call");
  double const a = static_cast<double>(from), b = static_cast<double>(p.largest);
  // Growth of volumes (N^3) and projections (N^4), drawn through the lowest point.
  for (int const power : {3, 4}) {
    double const end = std::min(b, a * std::pow(y.high / least, 1.0 / power));
    plot.line({{a, least}, {end, least * std::pow(end / a, power)}}, "guide", fmt::format("N^{}", power));
    plot.text(std::sqrt(a * end), least * std::pow(end / a, power / 2.0), power == 3 ? "N³" : "N⁴", "roofname", "start",
              4, 12);
  }
  for (auto const k : shown) {
    auto const f = family(order[k]->name);
    std::vector<std::pair<double, double>> points;
    for (auto const& [n, t] : order[k]->times)
      if (t.median > 0) points.emplace_back(n, t.median);
    plot.line(points, "l" + std::to_string(f), fmt::format("{}. {}", k + 1, order[k]->name));
    for (auto const& [n, t] : points)
      plot.mark(n, t, f, "f" + std::to_string(f),
                fmt::format("{}. {}: {} at {:g}", k + 1, order[k]->name, seconds_text(t), n));
  }
  for (auto const k : shown) plot.label(b, order[k]->times.at(p.largest).median, std::to_string(k + 1));
  out += "<figure>" + plot.svg() + "<figcaption>" + family_key(true) +
         fmt::format("The {} slowest, numbered by rank. Fitted exponents are in the table of times.", shown.size());
  return out + "</figcaption></figure></section>\n";
}

std::string miss_curves(ranked const& order) {
  index_t size = 0;  // largest size with curves
  for (auto const* op : order)
    for (auto const& [n, c] : op->costs)
      if (c.curve) size = std::max(size, n);
  std::string out = "<h2 id=\"misses\">On-chip memory: traffic over its size</h2>";
  if (!size) return out + "<p>No reuse distances are in this file; mbirk profile counts them up to size 128.</p>\n";
  out += fmt::format(
      "<p>Bytes that cross the edge of an on-chip memory, at size {}, as a fully associative LRU memory would have it. "
      "Dotted upright line: the knee, the smallest memory within 10 % of the least traffic. Dashed: compulsory bytes "
      "of arguments and results; temporaries come on top.</p>\n",
      size);
  std::vector<std::pair<std::size_t, cost const*>> kept;
  std::vector<std::pair<std::string, std::string>> same;
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const c = order[k]->costs.find(size);
    if (c == order[k]->costs.end() || !c->second.curve) continue;
    auto const twin =
        std::find_if(kept.begin(), kept.end(), [&](auto const& q) { return *q.second->curve == *c->second.curve; });
    if (twin != kept.end()) same.emplace_back(order[k]->name, order[twin->first]->name);
    else kept.emplace_back(k, &c->second);
  }
  constexpr std::size_t plots = 6;
  out += "<div class=\"many\">";
  for (std::size_t i = 0; i < std::min(plots, kept.size()); ++i) {
    auto const& [k, c] = kept[i];
    auto const& curve = *c->curve;
    auto const [low, high] = std::minmax_element(curve.traffic.begin(), curve.traffic.end());
    double const floor = std::max(1.0, std::min(*low, c->compulsory.value_or(*low)));
    plot_range const x{curve.bytes.front(), std::max(curve.bytes.back(), 4 * curve.bytes.front())},
        y{floor / 1.6, std::max(*high, 2 * floor) * 1.5};
    log_plot plot(
        "miss" + std::to_string(k + 1), "Traffic over on-chip memory, " + order[k]->name,
        fmt::format("From {} with {} to {} with {}.", bytes_text(curve.traffic.front()),
                    bytes_text(curve.bytes.front()), bytes_text(curve.traffic.back()), bytes_text(curve.bytes.back())),
        330, 230, x, y);
    std::vector<tick> traffic;
    int step = 0;
    for (double b = 1024; b < y.high; b *= 4, ++step) traffic.push_back({b, b >= y.low ? bytes_text(b) : ""});
    std::erase_if(traffic, [&](tick const& t) { return t.at < y.low; });
    if (traffic.size() > 5)
      for (std::size_t t = 1; t < traffic.size(); t += 2) traffic[t].label.clear();
    plot.axes(byte_ticks(x.low, x.high), traffic, "on-chip memory", "traffic");
    if (c->compulsory)
      plot.line({{x.low, *c->compulsory}, {x.high, *c->compulsory}}, "least",
                "compulsory " + bytes_text(*c->compulsory));
    double const knee = curve.knee();
    plot.line({{knee, y.low}, {knee, y.high}}, "knee", "knee at " + bytes_text(knee));
    plot.steps(curve.bytes, curve.traffic, "curve");
    out += fmt::format("<figure>{}<figcaption><b>{}. {}</b><br>knee at {}</figcaption></figure>\n", plot.svg(), k + 1,
                       escaped(order[k]->name), bytes_text(knee));
  }
  out += "</div>\n<p></p>\n";
  std::vector<column> columns{{"operation", true},
                              {"knee", false, "smallest on-chip memory within 10 % of the least traffic"}};
  std::vector<double> const memories{32e0 * 1024, 1024.0 * 1024, 8 * 1024.0 * 1024};
  for (auto const m : memories) columns.push_back({"traffic at " + bytes_text(m)});
  columns.insert(columns.end(), {{"least traffic", false, "of the largest memory that was simulated"},
                                 {"compulsory", false, "of arguments and results"}});
  table t("t-misses", "Traffic by size of the on-chip memory", columns);
  for (auto const* op : order) {
    auto const c = op->costs.find(size);
    if (c == op->costs.end() || !c->second.curve) continue;
    auto const& curve = *c->second.curve;
    auto const bytes = [](double b) { return number_cell(b, bytes_text(b)); };
    std::vector<std::string> cells{text_cell(op->name), bytes(curve.knee())};
    for (auto const m : memories) cells.push_back(bytes(curve.at(m)));
    cells.push_back(bytes(curve.traffic.back()));
    cells.push_back(number_cell(c->second.compulsory, bytes_text(c->second.compulsory.value_or(0))));
    t.row(cells);
  }
  out += "<details><summary>Traffic of every operation</summary>" + t.html() + "</details>\n";
  if (!same.empty()) {
    out += "<p class=\"note\">The same curve: ";
    for (std::size_t k = 0; k < same.size(); ++k)
      out += escaped((k ? "; " : "") + same[k].first + " as " + same[k].second);
    out += ".</p>\n";
  }
  return out;
}

}  // namespace mbirk::program::report
