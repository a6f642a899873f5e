// The lines of a StableHLO module under construction: tensors whose dimensions are axes, values that already exist, and
// the cost that XLA will count.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mbirk/record/graph.hpp"

namespace mbirk::record {

/// Operations that XLA's cost analysis counts in a text. The condition and the body of a while loop count once,
/// whatever its trip count.
struct xla_cost {
  std::uint64_t flops = 0, transcendentals = 0;
  friend bool operator==(xla_cost const&, xla_cost const&) = default;
};

namespace detail {

/// A tensor in the text. Its dimensions are axes in the writer's order, or those of an array.
struct tensor {
  std::string name;
  type of = type::f32;
  std::vector<int> axes = {};  ///< also empty for an array, whose extents are in `shape`
  std::vector<index_t> shape = {};
};

class stablehlo_lines {
 protected:
  explicit stablehlo_lines(graph const& g) : g_(g), scopes_(1) {}

  struct scope {
    std::map<int, tensor> nodes;               // values of nodes
    std::map<std::string, std::string> lines;  // existing right-hand sides and their names
    std::vector<int> bound;                    // axes whose index is a loop counter here
  };

  static std::string join(std::vector<index_t> const& v, char const* between = ", ") {
    std::string s;
    for (auto const e : v) s += (s.empty() ? "" : between) + std::to_string(e);
    return s;
  }
  std::vector<index_t> extents(tensor const& t) const {
    if (t.axes.empty()) return t.shape;
    std::vector<index_t> e;
    for (int const a : t.axes) e.push_back(g_.axis_at(a).extent);
    return e;
  }
  static std::string kind_of(std::vector<index_t> const& shape, type t) {
    return "tensor<" + join(shape, "x") + (shape.empty() ? "" : "x") + type_name(t) + ">";
  }
  std::string text_of(tensor const& t) const { return kind_of(extents(t), t.of); }
  std::uint64_t elements(tensor const& t) const {
    std::uint64_t n = 1;
    for (auto const e : extents(t)) n *= static_cast<std::uint64_t>(e);
    return n;
  }
  std::string fresh() { return "%" + std::to_string(names_++); }
  void line(std::string const& text) {
    body_.append(static_cast<std::size_t>(2 * (depth_ + 2)), ' ').append(text) += '\n';
  }
  /// Defines a name for `right`, or returns the existing one.
  std::string define(std::string const& right) {
    for (auto const& s : scopes_)
      if (auto const known = s.lines.find(right); known != s.lines.end()) return known->second;
    auto const name = fresh();
    line(name + " = " + right);
    return scopes_.back().lines[right] = name;
  }
  tensor define(std::string const& right, tensor kind) {
    auto const before = names_;
    kind.name = define(right);
    fresh_line_ = names_ != before;
    return kind;
  }
  void count(tensor const& t) {
    if (fresh_line_) cost_.flops += elements(t);
  }
  static std::string number(double x) {
    char buffer[32];
    auto const end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific, 9).ptr;
    return std::string(buffer, end);
  }
  tensor constant(double x, type t, std::vector<index_t> shape = {}) {
    tensor k{"", t, {}, std::move(shape)};
    auto const digits = t == type::f32 ? number(x) : std::to_string(static_cast<index_t>(x));
    return define("stablehlo.constant dense<" + digits + "> : " + text_of(k), k);
  }
  tensor zeros(array const& a) { return constant(0, a.element, a.shape); }
  tensor scalar_index(index_t n) { return constant(static_cast<double>(n), type::i32); }

  bool is_bound(int a) const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [&](auto const& s) { return std::find(s.bound.begin(), s.bound.end(), a) != s.bound.end(); });
  }
  /// Axes of sums come before the others, so that slices stay together.
  bool before(int a, int b) const {
    auto const inner = [&](int x) { return g_.axis_at(x).kind == axis_kind::space; };
    return inner(a) != inner(b) ? inner(b) : a < b;
  }
  std::vector<int> dimensions(axis_set const& free) const {
    auto all = free.members();
    std::erase_if(all, [&](int a) { return is_bound(a); });
    std::sort(all.begin(), all.end(), [&](int a, int b) { return before(a, b); });
    return all;
  }
  static axis_set set_of(std::vector<int> const& axes) {
    axis_set s;
    for (int const a : axes) s.insert(a);
    return s;
  }
  tensor broadcast(tensor const& t, std::vector<int> const& to) {
    if (t.axes == to) return t;
    std::vector<index_t> places;
    for (int const a : t.axes) places.push_back(std::find(to.begin(), to.end(), a) - to.begin());
    tensor const kind{"", t.of, to};
    return define("stablehlo.broadcast_in_dim " + t.name + ", dims = [" + join(places) + "] : (" + text_of(t) +
                      ") -> " + text_of(kind),
                  kind);
  }
  /// Renames or reorders dimensions: dimension d of the result is dimension from[d] of t.
  tensor transpose(tensor const& t, std::vector<index_t> const& from, tensor kind) {
    bool identity = true;
    for (std::size_t d = 0; d < from.size(); ++d) identity = identity && from[d] == static_cast<index_t>(d);
    if (identity) {
      kind.name = t.name;
      return kind;
    }
    return define(
        "stablehlo.transpose " + t.name + ", dims = [" + join(from) + "] : (" + text_of(t) + ") -> " + text_of(kind),
        kind);
  }
  tensor reshape(tensor const& t, tensor kind) {
    if (extents(t) == extents(kind)) {
      kind.name = t.name;
      return kind;
    }
    return define("stablehlo.reshape " + t.name + " : (" + text_of(t) + ") -> " + text_of(kind), kind);
  }

  /// Sums over some dimensions of t.
  tensor reduce(tensor const& t, axis_set const& over) {
    std::vector<index_t> places;
    tensor kind{"", t.of};
    for (std::size_t d = 0; d < t.axes.size(); ++d) {
      if (over.contains(t.axes[d]))
        places.push_back(static_cast<index_t>(d));
      else
        kind.axes.push_back(t.axes[d]);
    }
    if (places.empty()) return t;
    auto const zero = constant(0, t.of);
    auto const r =
        define("stablehlo.reduce(" + t.name + " init: " + zero.name + ") applies stablehlo.add across dimensions = [" +
                   join(places) + "] : (" + text_of(t) + ", " + text_of(zero) + ") -> " + text_of(kind),
               kind);
    if (fresh_line_) cost_.flops += elements(t) - elements(r);
    return r;
  }
  graph const& g_;
  std::vector<scope> scopes_;
  std::string body_;
  int names_ = 0, depth_ = 0;
  bool fresh_line_ = false;  // whether the last define() added a line
  xla_cost cost_;
};

}  // namespace detail

}  // namespace mbirk::record
