// Log-log plots as inline SVG, and text for HTML. Colours and font sizes are classes of the report's style sheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mbirk::program::report {

/// Escapes text for an element or a quoted attribute; control characters become spaces, and bytes that are not UTF-8
/// the replacement character.
std::string escaped(std::string_view text);

std::string seconds_text(double t);    ///< "1.23 ms"
std::string bytes_text(double bytes);  ///< "96.0 KiB"
std::string rate_text(double rate);    ///< per second, without unit: "12.3 G"
std::string percent(double share);     ///< "12 %", "1.2 %"

struct tick {
  double at;
  std::string label;  ///< empty: a line without a label
};
/// Ticks 10^k in [low, high], with at most about seven labels.
std::vector<tick> decades(double low, double high, std::string (*text)(double));
/// Ticks at powers of 4 times 64 bytes; every second one has a label.
std::vector<tick> byte_ticks(double low, double high);

struct plot_range {
  double low, high;
};

/// Both axes are logarithmic. `line` clips points outside to the edge; `mark` omits them.
class log_plot {
 public:
  /// @param title, description  texts for screen readers
  log_plot(std::string id, std::string title, std::string description, double width, double height, plot_range x,
           plot_range y);

  void axes(std::vector<tick> const& x, std::vector<tick> const& y, std::string const& x_label,
            std::string const& y_label);
  void line(std::vector<std::pair<double, double>> const& points, std::string const& css, std::string const& hint = {});
  /// Step function: the value holds from its x to the next one.
  void steps(std::vector<double> const& x, std::vector<double> const& y, std::string const& css);
  /// shape 0: circle, 1: square, 2: triangle. A label is placed next to it where no earlier label or mark is covered.
  void mark(double x, double y, int shape, std::string const& css, std::string const& hint);
  void label(double x, double y, std::string const& text, std::string const& css = "lab");
  /// Text to the left or right of a point.
  void text(double x, double y, std::string const& what, std::string const& css, std::string_view anchor = "start",
            double dx = 0, double dy = 0);
  std::string svg() const;

 private:
  struct box {
    double x, y, w, h;
  };
  double px(double x) const;
  double py(double y) const;
  bool inside(double x, double y) const;
  bool is_free(box const& b) const;

  std::string id_, title_, description_, body_;
  double width_, height_, left_ = 58, right_ = 14, top_ = 10, bottom_ = 42;
  plot_range x_, y_;
  std::vector<box> taken_;
};

}  // namespace mbirk::program::report
