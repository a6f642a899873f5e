// draw_geometry FILE.svg: the picture of docs/conventions.md. Axes, pixels, rays and footprints are placed by the functions that the projectors use, so
// the picture cannot disagree with them.
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <regex>
#include <string>
#include <vector>

#include "mbirk/definition/footprint.hpp"

namespace {

using namespace mbirk;

constexpr double pi = std::numbers::pi;
std::string const ink = "#222222", beam = "#f3ead2", grid_color = "#3b6ea8", detector_color = "#2f7d4f", hit = "#c4452d", light = "#e3f1e8";

struct point { double x, y; };
point operator+(point a, point b) { return {a.x + b.x, a.y + b.y}; }

/// To a tenth of a unit of the page.
std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::round(x * 10) / 10 + 0.0);
  return text;
}

struct pen { std::string color = ink; double width = 1.3; std::string dash = "none"; };
struct type { std::string anchor = "start", color = ink; int size = 16; bool bold = false, halo = false; };

class page {
 public:
  /// `attributes` are names and values in turn.
  void shape(std::string const& tag, std::vector<std::string> const& attributes) {
    body_ += "<" + tag;
    for (std::size_t k = 0; k + 1 < attributes.size(); k += 2) body_ += " " + attributes[k] + "=\"" + attributes[k + 1] + "\"";
    body_ += "/>\n";
  }
  void line(point a, point b, pen const& p = {}, bool end = false, bool start = false) {
    std::vector<std::string> all{"x1", number(a.x), "y1", number(a.y), "x2", number(b.x), "y2", number(b.y), "stroke", p.color,
                                 "stroke-width", number(p.width), "stroke-dasharray", p.dash};
    if (start) all.insert(all.end(), {"marker-start", head(p.color)});
    if (end) all.insert(all.end(), {"marker-end", head(p.color)});
    shape("line", all);
  }
  void polygon(std::vector<point> const& points, std::string const& fill, std::string const& stroke = "none") {
    std::string text;
    for (auto const& p : points) text += (text.empty() ? "" : " ") + number(p.x) + "," + number(p.y);
    shape("polygon", {"points", text, "fill", fill, "stroke", stroke, "stroke-width", "1"});
  }
  void circle(point p, double r, std::string const& fill, std::string const& stroke = "none", std::string const& dash = "none") {
    shape("circle", {"cx", number(p.x), "cy", number(p.y), "r", number(r), "fill", fill, "stroke", stroke, "stroke-width", "1.5", "stroke-dasharray", dash});
  }
  /// Angles from the page's right, clockwise, as y of the page points down.
  void arc(point c, double r, double begin, double end, std::string const& color = ink, bool arrow = true) {
    auto const at = [&](double t) { return number(c.x + r * std::cos(t)) + " " + number(c.y + r * std::sin(t)); };
    std::vector<std::string> all{"d", "M" + at(begin) + " A" + number(r) + " " + number(r) + " 0 0 " + (end > begin ? "1 " : "0 ") + at(end),
                                 "fill", "none", "stroke", color, "stroke-width", "1.3"};
    if (arrow) all.insert(all.end(), {"marker-end", head(color)});
    shape("path", all);
  }
  /// `*a*` is italic, `_a` or `_{ab}` a subscript.
  void text(point p, std::string words, type const& t = {}) {
    static std::regex const italic(R"(\*([^*]+)\*)"), below(R"(_(?:\{([^}]*)\}|(\w)))");
    words = std::regex_replace(words, italic, "<tspan font-style=\"italic\">$1</tspan>");
    words = std::regex_replace(words, below, "<tspan dy=\"4\" font-size=\"" + number(t.size * 0.72) + "\">$1$2</tspan><tspan dy=\"-4\">&#8203;</tspan>");
    std::string const glow = t.halo ? " stroke=\"white\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\"" : "";
    body_ += "<text x=\"" + number(p.x) + "\" y=\"" + number(p.y) + "\" text-anchor=\"" + t.anchor + "\" fill=\"" + t.color + "\" font-size=\"" +
             number(t.size) + "\" font-weight=\"" + (t.bold ? "bold" : "normal") + "\"" + glow + ">" + words + "</text>\n";
  }
  /// A dimension: a line with an arrow head at both ends.
  void measure(point a, point b, std::string const& words, point at, std::string const& anchor = "middle") {
    line(a, b, {}, true, true);
    text(at, words, {.anchor = anchor, .halo = true});
  }
  void source(point p, point words) {
    circle(p, 6, hit);
    text(words, "X-ray source");
  }
  /// An axis that points into the page, or out of it.
  void across(point p, bool into) {
    circle(p, 8, "white", ink);
    if (!into) return circle(p, 2.2, ink);
    line(p + point{-5, -5}, p + point{5, 5});
    line(p + point{-5, 5}, p + point{5, -5});
  }
  std::string svg(int width, int height) const {
    std::string heads;
    for (auto const& c : {ink, grid_color, detector_color, hit})
      heads += "<marker id=\"" + c.substr(1) + "\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" "
               "markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path d=\"M0 1 L10 5 L0 9 Z\" fill=\"" + c + "\"/></marker>";
    auto const w = std::to_string(width), h = std::to_string(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + w + " " + h + "\" width=\"" + w + "\" height=\"" + h +
           "\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n<title>Cone beam geometry: axes, indices, angles, distances and offsets</title>\n"
           "<defs>" + heads + "</defs>\n<rect width=\"" + w + "\" height=\"" + h + "\" fill=\"white\"/>\n" + body_ + "</svg>\n";
  }

 private:
  static std::string head(std::string const& color) { return "url(#" + color.substr(1) + ")"; }
  std::string body_;
};

pen const central{ink, 1, "7 4"}, thin{ink, 1}, dashed{ink, 1, "3 3"}, axis{ink, 2}, grid_line{grid_color, 1};

/// A length on the detector for a position in cells, the inverse of definition::detector_cell.
double on_detector(double cell, double offset, double pitch, index_t cells) {
  return (cell - 0.5 * static_cast<double>(cells - 1)) * pitch - offset;
}

/// Seen from above: x to the right, y down the page, z into it; a recon slice lies as an image of it is shown.
void plan(page& out) {
  double const d = 480, d0 = 262, theta = pi * 24 / 180, o_c = 22;
  auto const g = make_geometry(cone_parameters{.sinogram_shape = {1, 1, 12}, .angles = {static_cast<float>(theta)}, .source_detector_dist = d, .source_iso_dist = d0,
                                               .delta_det_channel = 36, .det_channel_offset = o_c, .delta_voxel = 27, .recon_shape = {{7, 7, 1}}});
  auto const n = static_cast<double>(g.recon_cols), last = static_cast<double>(g.channels) - 1;
  point const c{300, 352};  // the rotation axis on the page
  auto const at = [&](double x, double y) { return c + point{x, y}; };
  auto const turned = [&](double x, double y) { return at(std::cos(theta) * x - std::sin(theta) * y, std::sin(theta) * x + std::cos(theta) * y); };
  auto const grid = [&](double i, double j) { return turned(definition::column_x(g, j), definition::row_y(g, i)); };
  auto const cell = [&](double channel, double up = 0) { return at(on_detector(channel, o_c, g.delta_det_channel, g.channels), d0 - d - up); };
  out.text({c.x, 30}, "Seen from above, along +*z*", {.anchor = "middle", .size = 19, .bold = true});

  out.polygon({at(0, d0), cell(-0.5), cell(last + 0.5)}, beam);
  out.line(at(0, d0), at(0, d0 - d), central);
  for (double k = 0; k <= n; ++k) {  // the grid of pixels and its mask
    out.line(grid(k - 0.5, -0.5), grid(k - 0.5, n - 0.5), grid_line);
    out.line(grid(-0.5, k - 0.5), grid(n - 0.5, k - 0.5), grid_line);
  }
  out.circle(c, g.delta_x * (n - 1) / 2, "none", grid_color, "3 3");
  double const i = 1, j = 4;
  out.polygon({grid(i - 0.5, j - 0.5), grid(i - 0.5, j + 0.5), grid(i + 0.5, j + 0.5), grid(i + 0.5, j - 0.5)}, hit, hit);
  auto const x_tip = turned(g.delta_x * (n / 2 + 2.3), 0), y_tip = turned(0, g.delta_y * (n / 2 + 1.5));
  out.line(c, x_tip, {grid_color, 2}, true);
  out.text(x_tip + point{14, 8}, "*x̃*, column *j*", {.color = grid_color, .halo = true});
  out.line(c, y_tip, {grid_color, 2}, true);
  out.text(y_tip + point{-10, 16}, "*ỹ*, row *i*", {.anchor = "end", .color = grid_color, .halo = true});
  out.line(c, at(178, 0), dashed);  // where the columns point at angle 0
  out.arc(c, 140, 0, theta - 0.04);
  out.text(at(148, 34), "*θ*", {.halo = true});
  out.text(grid(0, 0) + point{-12, -8}, "(0, 0)", {.anchor = "end", .color = grid_color, .size = 14});
  out.circle(c, 4, ink);
  out.line(at(-240, 0), c, thin);
  out.text(at(-238, -7), "rotation axis", {.size = 14});

  auto const f = definition::make_cone_footprint(g, std::cos(theta), std::sin(theta), definition::column_x(g, j), definition::row_y(g, i));
  auto const foot = cell(f.channel.centre);
  out.line(at(0, d0), foot, {hit, 1.5});
  out.arc(at(0, d0), 118, -pi / 2, -pi / 2 + std::atan2(foot.x - c.x, d), hit, false);
  out.text(at(24, d0 - 124), "*β*", {.color = hit, .halo = true});
  for (double m = 0; m <= last; ++m) out.polygon({cell(m - 0.5), cell(m + 0.5), cell(m + 0.5, 15), cell(m - 0.5, 15)}, light, detector_color);
  out.line(cell(f.channel.centre - f.channel.width / 2), cell(f.channel.centre + f.channel.width / 2), {hit, 5});
  out.text(foot + point{8, 24}, "*u* = *g·x*", {.color = hit, .halo = true});
  out.text(cell(0, 24), "0", {.anchor = "middle", .color = detector_color, .size = 14});
  out.text(cell(last, 24), "*C*−1", {.anchor = "middle", .color = detector_color, .size = 14});
  out.line(cell(3, 46), cell(8, 46), {detector_color, 2}, true);
  out.text(cell(5.5, 54), "channel *n*, *u*", {.anchor = "middle", .color = detector_color});
  out.text(cell(last + 0.5, 2) + point{8, 0}, "detector", {.color = detector_color});
  out.line(cell(last / 2, 15), cell(last / 2, -34), {detector_color, 1, "3 3"});  // the middle of the detector and its offset
  out.line(cell(last / 2, -29) + point{-26, 0}, cell(last / 2, -29), {}, true);
  out.line(at(26, d0 - d + 29), at(0, d0 - d + 29), {}, true);
  out.text(cell(last / 2, -34) + point{-30, 0}, "*o*_c", {.anchor = "end", .halo = true});

  double const left = -272;
  for (double const y : {d0, 0.0, d0 - d}) out.line(at(left - 8, y), at(left + 14, y), thin);
  out.measure(at(left, d0), at(left, 0), "*D*_0", at(left + 8, d0 / 2), "start");
  out.measure(at(left, 0), at(left, d0 - d), "*D* − *D*_0", at(left + 8, (d0 - d) / 2), "start");
  out.source(at(0, d0), at(14, d0 + 8));

  auto const lab = at(178, d0 - 62);  // axes of the laboratory
  out.line(lab, lab + point{62, 0}, axis, true);
  out.line(lab, lab + point{0, 62}, axis, true);
  out.text(lab + point{70, 5}, "*x*");
  out.text(lab + point{10, 66}, "*y*, to the source");
  out.across(lab, true);
  out.text(lab + point{-14, 6}, "*z*", {.anchor = "end"});
}

/// Seen from the +x side at angle 0: y to the left, z down the page.
void side(page& out) {
  double const d = 372, d0 = 205, o_r = 20, shift = 22, pitch = 24;
  auto const g = make_geometry(cone_parameters{.sinogram_shape = {1, 9, 1}, .angles = {0.0f}, .source_detector_dist = d, .source_iso_dist = d0, .delta_det_row = 36,
                                               .det_row_offset = o_r, .delta_voxel = pitch, .voxel_slice_aspect = 20 / pitch,
                                               .recon_shape = {{6, 6, 8}}, .recon_slice_offset = shift});
  auto const slices = static_cast<double>(g.slices), depth = static_cast<double>(g.recon_rows), last = static_cast<double>(g.rows) - 1;
  point const c{680, 318};  // the source on the page
  auto const at = [&](double y, double z) { return c + point{d0 - y, z}; };
  auto const cell = [&](double row, double right = 0) { return at(d0 - d - right, on_detector(row, o_r, g.delta_det_row, g.rows)); };
  auto const z_of = [&](double k) { return definition::slice_z(g, k, 0.0); };
  out.text({c.x + d / 2 + 10, 30}, "Seen from the side, along −*x*", {.anchor = "middle", .size = 19, .bold = true});

  out.polygon({c, cell(-0.5), cell(last + 0.5)}, beam);
  out.line(c, at(d0 - d - 54, 0), central);
  out.line(at(0, -190), at(0, 205), {grid_color, 2}, true);
  out.text(at(-8, 206), "*z*, slice *k*", {.color = grid_color});
  out.text(at(0, -198), "rotation axis", {.anchor = "middle", .size = 14});
  for (double i = 0; i <= depth; ++i) {
    double const y = definition::row_y(g, i - 0.5);
    out.line(at(y, z_of(-0.5)), at(y, z_of(slices - 0.5)), grid_line);
  }
  double const near = definition::row_y(g, depth - 0.5), far = definition::row_y(g, -0.5);
  for (double k = 0; k <= slices; ++k) out.line(at(near, z_of(k - 0.5)), at(far, z_of(k - 0.5)), grid_line);
  out.text(at(near + 7, z_of(0) + 5), "0", {.anchor = "end", .color = grid_color, .size = 14});
  out.text(at(near + 7, z_of(slices - 1) + 5), "*S*−1", {.anchor = "end", .color = grid_color, .size = 14});

  double const i = 4, k = 5;  // the ray through a voxel
  auto const y_of = [&](double row) { return definition::row_y(g, row); };
  out.polygon({at(y_of(i - 0.5), z_of(k - 0.5)), at(y_of(i + 0.5), z_of(k - 0.5)), at(y_of(i + 0.5), z_of(k + 0.5)), at(y_of(i - 0.5), z_of(k + 0.5))}, hit, hit);
  auto const f = definition::make_cone_footprint(g, 1.0, 0.0, 0.0, y_of(i));
  double const m = definition::detector_row(g, f.magnification, z_of(k));
  auto const foot = cell(m);
  out.line(c, foot, {hit, 1.5});
  out.arc(c, 92, 0, std::atan2(foot.y - c.y, d), hit, false);
  out.text(c + point{112, 21}, "*φ*", {.anchor = "end", .color = hit, .halo = true});
  for (double row = 0; row <= last; ++row) out.polygon({cell(row - 0.5), cell(row + 0.5), cell(row + 0.5, 15), cell(row - 0.5, 15)}, light, detector_color);
  out.line(cell(m - f.row_width / 2), cell(m + f.row_width / 2), {hit, 5});
  out.text(foot + point{-9, 26}, "*v* = *g·z*_k", {.anchor = "end", .color = hit, .halo = true});
  out.text(cell(0, 22) + point{0, 5}, "0", {.color = detector_color, .size = 14});
  out.text(cell(last, 22) + point{0, 5}, "*R*−1", {.color = detector_color, .size = 14});
  out.line(cell(1, 34), cell(3, 34) + point{0, -6}, {detector_color, 2}, true);
  out.text(cell(2, 44) + point{0, -2}, "row *m*,", {.color = detector_color});
  out.text(cell(2, 44) + point{0, 18}, "*v*", {.color = detector_color});
  out.text(cell(-0.5, 8) + point{0, -10}, "detector", {.anchor = "middle", .color = detector_color});
  out.line(cell(last / 2, 15), cell(last / 2, 54), {detector_color, 1, "3 3"});  // the middle of the detector and its offset
  out.line(cell(last / 2, 47) + point{0, -26}, cell(last / 2, 47), {}, true);
  out.line(at(d0 - d - 47, 26), at(d0 - d - 47, 0), {}, true);
  out.text(at(d0 - d - 58, -o_r / 2 + 5), "*o*_r", {.halo = true});

  double const x = far - 44;  // the middle of the grid and its offset
  out.line(at(0, z_of((slices - 1) / 2)), at(x - 8, z_of((slices - 1) / 2)), {grid_color, 1.6, "3 3"});
  out.line(at(x, -26), at(x, 0), {}, true);
  out.line(at(x, shift + 26), at(x, shift), {}, true);
  out.text(at(x + 8, -32), "*o*_z − *ζ*_v", {.anchor = "middle", .halo = true});

  double const low = 268;
  for (double const y : {d0, 0.0, d0 - d}) out.line(at(y, low - 14), at(y, low + 8), thin);
  out.measure(at(d0, low), at(0, low), "*D*_0", at(d0 / 2, low - 10));
  out.measure(at(0, low), at(d0 - d, low), "*D* − *D*_0", at((d0 - d) / 2, low - 10));
  out.source(c, c + point{-8, -16});

  auto const lab = c + point{74, -190};
  out.line(lab, lab + point{-62, 0}, axis, true);
  out.line(lab, lab + point{0, 62}, axis, true);
  out.text(lab + point{-70, 5}, "*y*", {.anchor = "end"});
  out.text(lab + point{10, 66}, "*z*");
  out.across(lab, false);
  out.text(lab + point{14, -4}, "*x*");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: draw_geometry FILE.svg\n"), 2;
  page out;
  plan(out);
  side(out);
  std::ofstream file(argv[1]);
  return file << out.svg(1180, 645) ? 0 : 1;
}
