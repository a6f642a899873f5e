// A graph as text, with one line for each live node, for reading, grep and diff; and as DOT, for Graphviz.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/record/graph.hpp"

namespace mbirk::record {

namespace detail {

inline char const* use_name(array_use u) noexcept {
  return u == array_use::input ? "input" : u == array_use::output ? "output" : "temporary";
}
inline char const* kind_name(axis_kind k) noexcept {
  static constexpr char const* names[] = {"space", "sum", "small", "sequence"};
  return names[static_cast<int>(k)];
}
inline std::string shape_text(std::vector<index_t> const& shape) {
  std::string s = "[";
  for (auto const e : shape) s += (s.size() > 1 ? ", " : "") + std::to_string(e);
  return s + "]";
}
/// The shortest text that parses to the same float32.
inline std::string literal_text(node const& n) {
  char buffer[32];
  if (n.of != type::f32) return std::to_string(static_cast<index_t>(n.literal));
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(n.literal)).ptr};
}

/// Names that do not change when something unrelated does: live nodes are numbered in order, and axes keep their names,
/// with a number appended where several share one.
class names {
 public:
  /// @param kept  numbers of nodes in earlier graphs, by the expression they compute: equal expressions get the same
  /// name.
  explicit names(graph const& g, std::map<std::string, int>* kept = nullptr) : g_(g), number_(g.nodes.size(), -1) {
    for (std::size_t a = 0; a < g.axes.size(); ++a) {
      int same = 0;
      for (std::size_t b = 0; b < a; ++b) same += g.axes[b].name == g.axes[a].name;
      axes_.push_back(g.axes[a].name + (same ? "'" + std::to_string(same) : ""));
    }
    auto const live = g.live();
    int next = 0;
    for (std::size_t k = 0; k < live.size(); ++k) {
      if (!live[k]) continue;
      auto const fresh = kept ? static_cast<int>(kept->size()) : next++;
      number_[k] = kept ? kept->try_emplace(expression(static_cast<int>(k)) + " : " + type_name(g.nodes[k].of), fresh)
                              .first->second
                        : fresh;
    }
  }
  int number(int node) const { return number_[static_cast<std::size_t>(node)]; }
  std::string of(int node) const { return '%' + std::to_string(number(node)); }
  std::string const& axis(int a) const { return axes_[static_cast<std::size_t>(a)]; }
  std::string axes(axis_set const& s) const {
    std::string text;
    for (int const a : s.members()) text += (text.empty() ? "" : ", ") + axis(a);
    return "[" + text + "]";
  }
  /// The expression of a node, without its name: "div %3 %4", "load sinogram[%1, %2]", "sum view %9".
  std::string expression(int id) const {
    auto const& n = g_.at(id);
    switch (n.what) {
      case op::literal: return literal_text(n);
      case op::axis: return "axis " + axis(n.which);
      case op::load: return std::string(n.clamped ? "clamped " : "load ") + g_.array_at(n.which).name + list(n.in);
      case op::sum: return "sum " + axis(n.which) + " " + of(n.in[0]);
      default: {
        auto in = n.in;
        if (is_symmetric(n.what) && number(in[0]) > number(in[1])) std::swap(in[0], in[1]);
        std::string s = op_name(n.what);
        for (int const i : in) s.append(" ").append(of(i));
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

/// Prints arrays, axes, then the stages with their nodes. A node is printed in the first stage that uses it, with its
/// type and the axes that it depends on.
/// @param kept  names from earlier calls, so that the texts of successive forms of an operation differ only where the
/// graphs do.
inline std::string to_text(graph const& g, std::map<std::string, int>* kept = nullptr) {
  detail::names const name(g, kept);
  std::string text = "graph " + g.name + "\n";
  for (auto const& a : g.arrays)
    text += std::string(detail::use_name(a.use)) + " " + a.name + " " + type_name(a.element) + " " +
            detail::shape_text(a.shape) + " " + std::to_string(a.bytes()) + " bytes\n";
  auto const used = g.live_axes();
  for (std::size_t a = 0; a < g.axes.size(); ++a)
    if (used.contains(static_cast<int>(a)))
      text += "axis " + name.axis(static_cast<int>(a)) + " " + std::to_string(g.axes[a].extent) + " " +
              detail::kind_name(g.axes[a].kind) + "\n";
  auto const first = g.first_stages();
  for (std::size_t stage = 0; stage < g.stages.size(); ++stage) {
    auto const& s = g.stages[stage];
    text += "stage " + s.name;
    for (auto const* axes : {&s.outer, &s.axes})
      for (int const a : *axes) text.append(axes == &s.outer ? " in " : " ").append(name.axis(a));
    text += " (" + s.file + ":" + std::to_string(s.line) + ")\n";
    std::map<int, int> fresh;  // number -> node; inputs have smaller numbers than their users
    for (std::size_t k = 0; k < g.nodes.size(); ++k)
      if (first[k] == static_cast<int>(stage)) fresh.emplace(name.number(static_cast<int>(k)), static_cast<int>(k));
    for (auto const& [number, k] : fresh) {
      auto const& n = g.at(k);
      text += "  " + name.of(k) + " = " + name.expression(k) + " : " + type_name(n.of) + " " + name.axes(n.free);
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

/// Boxes are arrays (dashed: temporaries), ellipses are stages, and arrows are labelled with the bytes that a stage
/// reads or writes once. Ids are names, so that two graphs of an operation can be compared.
inline std::string to_dot(graph const& g) {
  auto const quoted = [](std::string const& s) {
    std::string text = "\"";
    for (char const c : s) text += c == '"' ? std::string("\\\"") : std::string(1, c);
    return text + "\"";
  };
  std::map<std::string, int> taken;
  auto const id = [&](std::string const& name) {
    int const same = taken[name]++;
    return quoted(name + (same ? "'" + std::to_string(same) : ""));
  };
  std::string text = "digraph " + quoted(g.name) + " {\n  rankdir=LR;\n";
  std::vector<std::string> arrays;
  for (auto const& a : g.arrays) {
    arrays.push_back(id("array " + a.name));
    text += "  " + arrays.back() + " [shape=box" + (a.use == array_use::temporary ? ",style=dashed" : "") + ",label=" +
            quoted(a.name + "\\n" + type_name(a.element) + " " + detail::shape_text(a.shape)) + "];\n";
  }
  for (auto const& s : g.stages) {
    auto const stage = id("stage " + s.name);
    std::string label = s.name;
    for (auto const* axes : {&s.outer, &s.axes})
      for (int const a : *axes) label += "\\n" + g.axis_at(a).name + " " + std::to_string(g.axis_at(a).extent);
    text += "  " + stage + " [label=" + quoted(label) + "];\n";
    std::vector<bool> read(g.arrays.size()), made(g.arrays.size());
    for (auto const& st : s.statements) made[static_cast<std::size_t>(st.array)] = true;
    auto const needed = g.reached(s.roots());
    for (std::size_t n = 0; n < g.nodes.size(); ++n)
      if (needed[n] && g.nodes[n].what == op::load) read[static_cast<std::size_t>(g.nodes[n].which)] = true;
    for (std::size_t a = 0; a < g.arrays.size(); ++a) {
      auto const edge = [&](std::string const& from, std::string const& to) {
        text += "  " + from + " -> " + to + " [label=\"" + std::to_string(g.arrays[a].bytes()) + " B\"];\n";
      };
      if (read[a]) edge(arrays[a], stage);
      if (made[a]) edge(stage, arrays[a]);
    }
  }
  return text + "}\n";
}

}  // namespace mbirk::record
