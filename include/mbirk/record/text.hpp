// A graph as text, one line for each node that is used, for people, grep and diff; and as DOT, for Graphviz.
#pragma once

#include <charconv>
#include <string>
#include <vector>

#include "mbirk/record/graph.hpp"

namespace mbirk::record {

namespace detail {

inline char const* use_name(array_use u) noexcept { return u == array_use::input ? "input" : u == array_use::output ? "output" : "temporary"; }
inline char const* kind_name(axis_kind k) noexcept {
  static constexpr char const* names[] = {"space", "sum", "small", "sequence"};
  return names[static_cast<int>(k)];
}
inline std::string shape_text(std::vector<index_t> const& shape) {
  std::string s = "[";
  for (auto const e : shape) s += (s.size() > 1 ? ", " : "") + std::to_string(e);
  return s + "]";
}
/// The shortest text that reads back as the same float32.
inline std::string literal_text(node const& n) {
  char buffer[32];
  if (n.of != type::f32) return std::to_string(static_cast<index_t>(n.literal));
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(n.literal)).ptr};
}

/// Names that do not change when something unrelated does: live nodes are numbered in their order, axes by name, with the stage's number where
/// needed.
class names {
 public:
  explicit names(graph const& g) : g_(g), number_(g.nodes.size(), -1) {
    auto const live = g.live();
    int next = 0;
    for (std::size_t k = 0; k < live.size(); ++k)
      if (live[k]) number_[k] = next++;
    for (std::size_t a = 0; a < g.axes.size(); ++a) {
      int same = 0;
      for (std::size_t b = 0; b < a; ++b) same += g.axes[b].name == g.axes[a].name;
      axes_.push_back(g.axes[a].name + (same ? "'" + std::to_string(same) : ""));
    }
  }
  std::string of(int node) const { return '%' + std::to_string(number_[static_cast<std::size_t>(node)]); }
  std::string const& axis(int a) const { return axes_[static_cast<std::size_t>(a)]; }
  std::string axes(axis_set const& s) const {
    std::string text;
    for (int const a : s.members()) text += (text.empty() ? "" : ", ") + axis(a);
    return "[" + text + "]";
  }
  /// What a node does, without its name: "div %3 %4", "load sinogram[%1, %2]", "sum view %9".
  std::string expression(int id) const {
    auto const& n = g_.at(id);
    switch (n.what) {
      case op::literal: return literal_text(n);
      case op::axis: return "axis " + axis(n.which);
      case op::load: return std::string(n.clamped ? "clamped " : "load ") + g_.array_at(n.which).name + list(n.in);
      case op::sum: return "sum " + axis(n.which) + " " + of(n.in[0]);
      default: {
        std::string s = op_name(n.what);
        for (int const i : n.in) s.append(" ").append(of(i));
        return s;
      }
    }
  }
  std::string list(std::vector<int> const& ids) const {
    std::string s;
    for (int const i : ids) s += (s.empty() ? "" : ", ") + of(i);
    return "[" + s + "]";
  }

 private:
  graph const& g_;
  std::vector<int> number_;
  std::vector<std::string> axes_;
};

}  // namespace detail

/// Arrays, axes, then the stages with what they compute; a node stands in the first stage that uses it, with its type and the axes that it depends
/// on.
inline std::string to_text(graph const& g) {
  detail::names const name(g);
  std::string text = "graph " + g.name + "\n";
  for (auto const& a : g.arrays)
    text += std::string(detail::use_name(a.use)) + " " + a.name + " " + type_name(a.element) + " " + detail::shape_text(a.shape) + " " +
            std::to_string(a.bytes()) + " bytes\n";
  for (std::size_t a = 0; a < g.axes.size(); ++a)
    text += "axis " + name.axis(static_cast<int>(a)) + " " + std::to_string(g.axes[a].extent) + " " + detail::kind_name(g.axes[a].kind) + "\n";
  std::vector<bool> written(g.nodes.size());
  for (auto const& s : g.stages) {
    text += "stage " + s.name;
    for (auto const* axes : {&s.outer, &s.axes})
      for (int const a : *axes) text.append(axes == &s.outer ? " in " : " ").append(name.axis(a));
    text += " (" + s.file + ":" + std::to_string(s.line) + ")\n";
    auto const needed = g.reached(s.roots());
    for (std::size_t k = 0; k < g.nodes.size(); ++k) {
      if (!needed[k] || written[k]) continue;
      written[k] = true;
      auto const& n = g.nodes[k];
      text += "  " + name.of(static_cast<int>(k)) + " = " + name.expression(static_cast<int>(k)) + " : " + type_name(n.of) + " " +
              name.axes(n.free);
      text += n.label.empty() ? "\n" : "  \"" + n.label + "\"\n";
    }
    for (auto const& st : s.statements) {
      text += "  " + g.array_at(st.array).name + name.list(st.index) + (st.adds ? " += " : " = ") + name.of(st.value);
      for (int const a : st.loops) text += " for " + name.axis(a);
      text += "\n";
    }
  }
  return text;
}

/// Boxes are arrays (dashed: temporaries), ellipses stages, arrows bytes that a stage reads or writes once.
inline std::string to_dot(graph const& g) {
  std::string text = "digraph \"" + g.name + "\" {\n  rankdir=LR;\n";
  for (std::size_t k = 0; k < g.arrays.size(); ++k) {
    auto const& a = g.arrays[k];
    text += "  a" + std::to_string(k) + " [shape=box" + (a.use == array_use::temporary ? ",style=dashed" : "") + ",label=\"" + a.name + "\\n" +
            type_name(a.element) + " " + detail::shape_text(a.shape) + "\"];\n";
  }
  for (std::size_t k = 0; k < g.stages.size(); ++k) {
    auto const& s = g.stages[k];
    std::string label = s.name;
    for (auto const* axes : {&s.outer, &s.axes})
      for (int const a : *axes) label += "\\n" + g.axis_at(a).name + " " + std::to_string(g.axis_at(a).extent);
    text += "  s" + std::to_string(k) + " [label=\"" + label + "\"];\n";
    std::vector<bool> read(g.arrays.size()), made(g.arrays.size());
    for (auto const& st : s.statements) made[static_cast<std::size_t>(st.array)] = true;
    auto const needed = g.reached(s.roots());
    for (std::size_t n = 0; n < g.nodes.size(); ++n)
      if (needed[n] && g.nodes[n].what == op::load) read[static_cast<std::size_t>(g.nodes[n].which)] = true;
    for (std::size_t a = 0; a < g.arrays.size(); ++a) {
      auto const edge = [&](std::string const& from, std::string const& to) {
        text += "  " + from + " -> " + to + " [label=\"" + std::to_string(g.arrays[a].bytes()) + " B\"];\n";
      };
      if (read[a]) edge("a" + std::to_string(a), "s" + std::to_string(k));
      if (made[a]) edge("s" + std::to_string(k), "a" + std::to_string(a));
    }
  }
  return text + "}\n";
}

}  // namespace mbirk::record
