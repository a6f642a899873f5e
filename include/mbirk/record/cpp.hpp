// Prints a graph as plain C++: one function of loops with fixed bounds over flat arrays. It serves hand-off and
// word-length studies (`real` is a template parameter).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/record/text.hpp"

namespace mbirk::record {

/// Directives for a synthesis tool in the printed loops.
struct hls_directives {
  int lanes = 1;  ///< independent results at a time
};

namespace detail {

class cpp_writer {
 public:
  explicit cpp_writer(graph const& g, hls_directives const* hls = nullptr) : g_(g), hls_(hls), done_(g.nodes.size()) {}

  std::string write() {
    std::string parameters;
    for (auto const& a : g_.arrays)
      if (a.use != array_use::temporary)
        parameters += (parameters.empty() ? "" : ", ") + std::string(a.use == array_use::input ? "const " : "") +
                      stored(a) + "* " + a.name;
    text_ = "// " + g_.name + ":";
    for (auto const& a : g_.arrays)
      text_ += " " + std::string(use_name(a.use)) + " " + a.name + shape_text(a.shape) + ";";
    text_.back() = '.';
    text_ += "\ntemplate <class real, class data = real> void " + g_.name + "(" + parameters + ") {\n";
    depth_ = 1;
    bool const stages_meet =
        std::any_of(g_.arrays.begin(), g_.arrays.end(), [](auto const& a) { return a.use == array_use::temporary; });
    if (hls_ && stages_meet && g_.stages.size() > 1) directive("DATAFLOW");
    for (std::size_t n = 0; n < g_.arrays.size(); ++n) {
      auto const& a = g_.arrays[n];
      if (a.use == array_use::temporary) {
        line("static " + std::string(element(a.element)) + " " + a.name + "[" +
             std::to_string(std::max<index_t>(a.size(), 1)) + "];");
        if (hls_ && a.size() > 1)
          directive("ARRAY_PARTITION variable=" + a.name + " cyclic dim=1 factor=" +
                    std::to_string(std::min<index_t>(hls_->lanes, a.size())));
      }
      if (a.use == array_use::output || g_.accumulates(static_cast<int>(n)))
        line("for (int k = 0; k < " + std::to_string(a.size()) + "; ++k) " + a.name + "[k] = real(0);");
    }
    g_.each_run([&](std::size_t first, std::size_t last) {
      std::vector<int> roots;
      for (auto k = first; k < last; ++k)
        for (auto const& st : g_.stages[k].statements) st.add_roots(roots);
      nest(g_.stages[first].outer, 0, {}, roots, "stages in turn", [&](axis_set const& open) {
        for (auto k = first; k < last; ++k) write_stage(g_.stages[k], open);
      });
    });
    return text_ + "}\n";
  }

 private:
  /// Inputs of two or more dimensions have their own type, because their word length determines the cost of memory.
  static char const* stored(array const& a) {
    return a.is_data() ? "data" : element(a.element);
  }
  static char const* element(type t) { return t == type::i32 ? "int" : "real"; }
  void directive(std::string const& what) { text_ += "#pragma HLS " + what + '\n'; }
  /// Whether a value needs a sum over many terms, which is a loop of its own.
  bool sums(std::vector<int> const& roots) const {
    auto const needed = g_.reached(roots);
    for (std::size_t k = 0; k < g_.nodes.size(); ++k)
      if (needed[k] && g_.nodes[k].what == op::sum && g_.axis_at(g_.nodes[k].which).kind != axis_kind::small)
        return true;
    return false;
  }
  /// The innermost loop over many terms is a pipeline. Around a sum, independent results share its pipeline as lanes.
  void direct(int a, bool last, std::vector<int> const& roots, char const* how) {
    if (!hls_) return;
    auto const& axis = g_.axis_at(a);
    if (axis.kind == axis_kind::small) return directive("UNROLL");
    if (!last) return;
    bool const independent = std::string_view(how) == "independent";
    if (independent && sums(roots)) {
      directive("UNROLL factor=" + std::to_string(std::min<index_t>(hls_->lanes, axis.extent)));
    } else {
      directive("PIPELINE II=1");
      if (independent && hls_->lanes > 1)
        directive("UNROLL factor=" + std::to_string(std::min<index_t>(hls_->lanes, axis.extent)));
    }
  }
  void line(std::string const& s) { text_.append(static_cast<std::size_t>(2 * depth_), ' ').append(s) += '\n'; }
  std::string axis_name(int a) const { return g_.axis_at(a).name + std::to_string(a); }
  std::string of(int id) const {
    auto const& n = g_.at(id);
    if (n.what == op::axis) return identifier(axis_name(n.which));
    if (n.what == op::literal)
      return n.of == type::f32 ? "real(" + literal_text(n) +
                                     (literal_text(n).find_first_of(".e") == std::string::npos ? ".0f)" : "f)")
                               : literal_text(n);
    return "t" + std::to_string(id);
  }
  static std::string identifier(std::string s) {
    std::replace_if(
        s.begin(), s.end(),
        [](char c) { return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')); }, '_');
    return s;
  }

  /// Opens the loops axes[k...], nested; before each loop it emits the nodes that do not depend on its axis.
  template <class Body> void nest(std::vector<int> const& axes, std::size_t k, axis_set open,
                                  std::vector<int> const& roots, char const* how, Body const& body) {
    emit(roots, open);
    if (k == axes.size()) return body(open);
    auto const kept = done_;
    open_loop(axes[k], how);
    direct(axes[k], k + 1 == axes.size(), roots, how);
    open.insert(axes[k]);
    nest(axes, k + 1, open, roots, how, body);
    close_loop();
    done_ = kept;
  }
  void open_loop(int a, char const* how) {
    auto const i = identifier(axis_name(a));
    line("for (int " + i + " = 0; " + i + " < " + std::to_string(g_.axis_at(a).extent) + "; ++" + i + ") {  // " +
         g_.axis_at(a).name + ": trips " + std::to_string(g_.axis_at(a).extent) + ", " + how);
    ++depth_;
  }
  void close_loop() {
    --depth_;
    line("}");
  }
  void write_stage(stage const& s, axis_set const& open) {
    line("// stage " + s.name + " (" + s.file + ":" + std::to_string(s.line) + ")");
    nest(s.axes, 0, open, s.roots(), carried(s) ? "carried: sums at computed places" : "independent",
         [&](axis_set const& in) {
           for (auto const& st : s.statements) {
             std::vector<int> own;
             st.add_roots(own);
             nest(st.loops, 0, in, own, "UNROLL", [&](axis_set const&) { write_statement(st); });
           }
         });
  }
  bool carried(stage const& s) const {
    for (auto const& st : s.statements) {
      if (!st.adds) continue;
      for (int const i : st.index)
        if (g_.at(i).what != op::axis) return true;
    }
    return false;
  }
  std::string place(array const& a, std::vector<int> const& index, bool clamped) const {
    std::string s;
    for (std::size_t d = 0; d < index.size(); ++d) {
      auto const& n = g_.at(index[d]);
      auto i = of(index[d]);
      bool const inside = n.what == op::axis && g_.axis_at(n.which).extent <= a.shape[d];
      if (clamped && !inside)
        i = "(" + i + " < 0 ? 0 : " + i + " > " + std::to_string(a.shape[d] - 1) + " ? " +
            std::to_string(a.shape[d] - 1) + " : " + i + ")";
      s = d == 0 ? i : "(" + s + ") * " + std::to_string(a.shape[d]) + " + " + i;
    }
    return a.name + "[" + s + "]";
  }
  void write_statement(statement const& st) {
    auto const& a = g_.array_at(st.array);
    std::string guard;
    for (std::size_t d = 0; d < st.index.size(); ++d) {
      auto const& n = g_.at(st.index[d]);
      if (n.what == op::axis && g_.axis_at(n.which).extent <= a.shape[d]) continue;
      auto const i = of(st.index[d]);
      guard += (guard.empty() ? "if (" : " && ") + i + " >= 0 && " + i + " < " + std::to_string(a.shape[d]);
    }
    line(guard + (guard.empty() ? "" : ") ") + place(a, st.index, false) +
         (st.adds ? " = " + place(a, st.index, false) + " + " : " = ") + of(st.value) + ";");
  }

  /// Writes every node below the roots that can be computed with these loops open.
  void emit(std::vector<int> const& roots, axis_set const& open) {
    std::vector<bool> needed(g_.nodes.size());
    for (int const r : roots) needed[static_cast<std::size_t>(r)] = true;
    for (std::size_t k = needed.size(); k-- > 0;)
      if (needed[k] && !done_[k])
        for (int const i : g_.nodes[k].in) needed[static_cast<std::size_t>(i)] = true;
    for (std::size_t k = 0; k < needed.size(); ++k)
      if (needed[k] && !done_[k] && (g_.nodes[k].free - open).empty()) define(static_cast<int>(k), open);
  }
  void define(int id, axis_set const& open) {
    auto const& n = g_.at(id);
    if (n.what != op::literal && n.what != op::axis) {
      if (n.what == op::sum) {
        auto const t = of(id);
        line("real " + t + " = real(0);");
        nest({n.which}, 0, open, n.in, g_.axis_at(n.which).kind == axis_kind::small ? "UNROLL" : "carried: sum",
             [&](axis_set const&) { line(t + " = " + t + " + " + of(n.in[0]) + ";"); });
      } else {
        line(std::string("const ") + (n.of == type::i1 ? "bool" : element(n.of)) + " " + of(id) + " = " +
             expression(n) + ";");
      }
    }
    done_[static_cast<std::size_t>(id)] = true;
  }
  std::string expression(node const& n) const {
    auto const in = [&](std::size_t k) { return of(n.in[k]); };
    auto const call = [&](char const* f) {
      std::string s = std::string(f) + "(" + in(0);
      for (std::size_t k = 1; k < n.in.size(); ++k) s += ", " + in(k);
      return s + ")";
    };
    auto const infix = [&](char const* o) { return in(0) + " " + o + " " + in(1); };
    switch (n.what) {
      case op::load: {
        auto const& a = g_.array_at(n.which);
        auto const at = place(a, n.in, n.clamped);
        return std::string_view(stored(a)) == "data" ? "real(" + at + ")" : at;
      }
      case op::add: return infix("+");
      case op::sub: return infix("-");
      case op::mul: return infix("*");
      case op::div: return infix("/");
      case op::rem: return infix("%");
      case op::less: return infix("<");
      case op::less_equal: return infix("<=");
      case op::equal: return infix("==");
      case op::both: return infix("&");
      case op::min: return in(1) + " < " + in(0) + " ? " + in(1) + " : " + in(0);
      case op::max: return in(0) + " < " + in(1) + " ? " + in(1) + " : " + in(0);
      case op::select: return in(0) + " ? " + in(1) + " : " + in(2);
      case op::to_real: return "real(" + in(0) + ")";
      case op::to_index: return "int(" + in(0) + ")";
      default: return call(op_name(n.what));
    }
  }

  graph const& g_;
  hls_directives const* hls_;
  std::vector<bool> done_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace detail

/// Prints `template <class real, class data = real> void NAME(const data* input, ..., real* output)` with the arrays in
/// the order of declaration. Arrays are dense, the last index varies fastest. Functions of real numbers (floor, sqrt,
/// exp, ...) are found by argument-dependent lookup, so plain numbers need `using std::floor` and the like before the
/// function.
inline std::string to_cpp(graph const& g) { return detail::cpp_writer(g).write(); }
/// The same with directives for synthesis, which a C++ compiler ignores.
inline std::string to_cpp(graph const& g, hls_directives const& hls) { return detail::cpp_writer(g, &hls).write(); }

}  // namespace mbirk::record
