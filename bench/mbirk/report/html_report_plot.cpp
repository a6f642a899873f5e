#include "report/html_report_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "input/json_field.hpp"
#include "mbirk/record/html_text.hpp"

namespace mbirk::program::report {

std::string escaped(std::string_view text) {
  // The JSON library handles invalid UTF-8; parsing reverts its escapes of quotes and control characters.
  auto clean = json::parse(dump_text(json(text))).get<std::string>();
  for (char& c : clean)
    if (auto const u = static_cast<unsigned char>(c); u < 32 || u == 127) c = ' ';
  return record::detail::html_text(clean);
}

std::string seconds_text(double t) {
  if (!(t > 0)) return "0 s";
  if (t < 1e-3) return fmt::format("{:.3g} µs", t * 1e6);
  return t < 1 ? fmt::format("{:.3g} ms", t * 1e3) : fmt::format("{:.{}f} s", t, t < 10 ? 2 : t < 100 ? 1 : 0);
}

std::string bytes_text(double bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t u = 0;
  while (bytes >= 1000 && u + 1 < std::size(units)) {
    // "0.98 MiB" rather than "1002 KiB"
    bytes /= 1024;
    ++u;
  }
  return fmt::format("{:.{}f} {}", bytes,
                     u == 0 || bytes >= 100 || bytes == std::floor(bytes) ? 0
                     : bytes >= 10                                        ? 1
                                                                          : 2,
                     units[u]);
}

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0); }
std::string rate_text(double rate) {
  if (!(rate > 0)) return "0 ";
  char const* const units[] = {"", "k", "M", "G", "T", "P"};
  std::size_t u = 0;
  while (rate >= 1000 && u + 1 < std::size(units)) {
    rate /= 1000;
    ++u;
  }
  return fmt::format("{:.{}f} {}", rate, rate >= 100 ? 0 : rate >= 10 ? 1 : 2, units[u]);
}

std::vector<tick> decades(double low, double high, std::string (*text)(double)) {
  std::vector<tick> out;
  if (!(low > 0 && std::isfinite(low) && high > 0 && std::isfinite(high))) return out;
  auto const first = static_cast<int>(std::ceil(std::log10(low) - 1e-9)),
             last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  auto const every = std::max(1, (last - first + 7) / 7);
  for (int k = first; k <= last; ++k)
    out.push_back({std::pow(10.0, k), (k - first) % every ? "" : text(std::pow(10.0, k))});
  return out;
}

std::vector<tick> byte_ticks(double low, double high) {
  std::vector<tick> out;
  int k = 0;
  for (double b = 64; b <= high * 1.0001; b *= 4, ++k)
    if (b >= low * 0.9999) out.push_back({b, k % 2 ? bytes_text(b) : ""});
  return out;
}

log_plot::log_plot(std::string id, std::string title, std::string description, double width, double height,
                   plot_range x, plot_range y)
    : id_(std::move(id)),
      title_(std::move(title)),
      description_(std::move(description)),
      width_(width),
      height_(height),
      x_(x),
      y_(y) {}

double log_plot::px(double x) const {
  return left_ + (width_ - left_ - right_) * std::log(x / x_.low) / std::log(x_.high / x_.low);
}
double log_plot::py(double y) const {
  return height_ - bottom_ - (height_ - top_ - bottom_) * std::log(y / y_.low) / std::log(y_.high / y_.low);
}
bool log_plot::inside(double x, double y) const { return x >= x_.low && x <= x_.high && y >= y_.low && y <= y_.high; }

void log_plot::axes(std::vector<tick> const& x, std::vector<tick> const& y, std::string const& x_label,
                    std::string const& y_label) {
  auto const bottom = height_ - bottom_;
  for (auto const& t : x) {
    if (t.at < x_.low || t.at > x_.high) continue;
    body_ += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", px(t.at), top_, bottom);
    if (!t.label.empty())
      body_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", px(t.at),
                           bottom + 15, escaped(t.label));
  }
  for (auto const& t : y) {
    if (t.at < y_.low || t.at > y_.high) continue;
    body_ += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/>", left_, py(t.at), width_ - right_);
    if (!t.label.empty())
      body_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left_ - 5,
                           py(t.at) + 4, escaped(t.label));
  }
  body_ +=
      fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>", left_, top_, bottom, width_ - right_);
  body_ += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                       (left_ + width_ - right_) / 2, height_ - 8, escaped(x_label));
  body_ += fmt::format(
      "<text class=\"name\" transform=\"translate(12 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
      (top_ + bottom) / 2, escaped(y_label));
}

void log_plot::line(std::vector<std::pair<double, double>> const& points, std::string const& css,
                    std::string const& hint) {
  std::string d;
  for (auto const& [x, y] : points)
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", px(std::clamp(x, x_.low, x_.high)),
                     py(std::clamp(y, y_.low, y_.high)));
  body_ += fmt::format("<path class=\"{}\" d=\"{}\">", css, d) +
           (hint.empty() ? "" : "<title>" + escaped(hint) + "</title>") + "</path>";
}

void log_plot::steps(std::vector<double> const& x, std::vector<double> const& y, std::string const& css) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (k) points.emplace_back(x[k], y[k - 1]);
    points.emplace_back(x[k], y[k]);
  }
  line(points, css);
}

void log_plot::mark(double x, double y, int shape, std::string const& css, std::string const& hint) {
  if (!inside(x, y)) return;
  double const a = px(x), b = py(y);
  auto const title = "<title>" + escaped(hint) + "</title>";
  if (shape == 0)
    body_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\">{}</circle>", css, a, b, title);
  else if (shape == 1)
    body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\">{}</rect>", css, a - 4,
                         b - 4, title);
  else body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l5 9h-10z\">{}</path>", css, a, b - 5.5, title);
  taken_.push_back({a - 5, b - 5, 10, 10});
}

bool log_plot::is_free(box const& b) const {
  if (b.x < left_ || b.y < top_ || b.x + b.w > width_ - 1 || b.y + b.h > height_ - bottom_) return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](box const& o) {
    return b.x < o.x + o.w && o.x < b.x + b.w && b.y < o.y + o.h && o.y < b.y + b.h;
  });
}

void log_plot::label(double x, double y, std::string const& text, std::string const& css) {
  if (!inside(x, y)) return;
  double const a = px(x), b = py(y), w = 7.0 * static_cast<double>(text.size()) + 2, h = 13;
  box best{a + 7, b - h / 2, w, h};
  for (double r = 6; r < 60; r += 6) {  // the nearest free place, to the right first
    bool found = false;
    for (int k = 0; k < 12 && !found; ++k) {
      double const angle = (k % 2 ? -1 : 1) * (k + 1) / 2 * 3.14159265 / 6, cx = a + (r + w / 2) * std::cos(angle),
                   cy = b + (r + h / 2) * std::sin(angle);
      if (box const at{cx - w / 2, cy - h / 2, w, h}; is_free(at)) {
        best = at;
        found = true;
      }
    }
    if (!found) continue;
    if (r > 12)
      body_ += fmt::format("<path class=\"lead\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", a, b, best.x + w / 2,
                           best.y + h / 2);
    break;
  }
  taken_.push_back(best);
  body_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", css,
                       best.x + w / 2, best.y + 10.5, escaped(text));
}

void log_plot::text(double x, double y, std::string const& what, std::string const& css, std::string_view anchor,
                    double dx, double dy) {
  body_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", css, px(x) + dx,
                       py(y) + dy, anchor, escaped(what));
  double const w = 6.2 * static_cast<double>(what.size());
  taken_.push_back({px(x) + dx - (anchor == "end" ? w : anchor == "middle" ? w / 2 : 0), py(y) + dy - 10, w, 13});
}

std::string log_plot::svg() const {
  return fmt::format(
      "<svg role=\"img\" aria-labelledby=\"{0}-t {0}-d\" viewBox=\"0 0 {1:.0f} {2:.0f}\"><title "
      "id=\"{0}-t\">{3}</title><desc id=\"{0}-d\">{4}</desc>{5}</svg>",
      escaped(id_), width_, height_, escaped(title_), escaped(description_), body_);
}

}  // namespace mbirk::program::report
