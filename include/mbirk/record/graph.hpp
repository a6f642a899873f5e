// The graph of an operation as its definition wrote it: stages over named axes, and the arithmetic inside them. It is
// data only: recorder.hpp builds it, and the writers beside it turn it into text, DOT, StableHLO and C++.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk::record {

enum class type : std::uint8_t { f32, i32, i1 };
inline char const* type_name(type t) noexcept { return t == type::f32 ? "f32" : t == type::i32 ? "i32" : "i1"; }
enum class op : std::uint8_t {
  literal,
  axis,
  load,
  sum,
  add,
  sub,
  mul,
  div,
  rem,
  min,
  max,
  abs,
  floor,
  ceil,
  sqrt,
  exp,
  log,
  exp2,
  log2,
  sin,
  cos,
  atan,
  to_real,
  to_index,
  less,
  less_equal,
  equal,
  both,
  select
};
inline char const* op_name(op o) noexcept {
  static constexpr char const* names[] = {
      "literal", "axis", "load",    "sum",      "add",  "sub",        "mul",   "div",  "rem",   "min",
      "max",     "abs",  "floor",   "ceil",     "sqrt", "exp",        "log",   "exp2", "log2",  "sin",
      "cos",     "atan", "to_real", "to_index", "less", "less_equal", "equal", "and",  "select"};
  return names[static_cast<int>(o)];
}

inline bool is_symmetric(op o) noexcept {
  return o == op::add || o == op::mul || o == op::min || o == op::max || o == op::both || o == op::equal;
}

/// Set of axes, identified by number.
class axis_set {
 public:
  static constexpr int capacity = 256;
  void insert(int a) noexcept { word(a) |= bit(a); }
  void erase(int a) noexcept { word(a) &= ~bit(a); }
  bool contains(int a) const noexcept { return (words_[static_cast<std::size_t>(a / 64)] & bit(a)) != 0; }
  bool empty() const noexcept { return *this == axis_set{}; }
  friend axis_set operator|(axis_set a, axis_set const& b) noexcept {
    for (std::size_t k = 0; k < a.words_.size(); ++k) a.words_[k] |= b.words_[k];
    return a;
  }
  friend axis_set operator-(axis_set a, axis_set const& b) noexcept {
    for (std::size_t k = 0; k < a.words_.size(); ++k) a.words_[k] &= ~b.words_[k];
    return a;
  }
  friend axis_set operator&(axis_set const& a, axis_set const& b) noexcept { return a - (a - b); }
  friend bool operator==(axis_set const&, axis_set const&) = default;
  /// Members in ascending order.
  std::vector<int> members() const {
    std::vector<int> all;
    for (int a = 0; a < capacity; ++a)
      if (contains(a)) all.push_back(a);
    return all;
  }

 private:
  static std::uint64_t bit(int a) noexcept { return std::uint64_t{1} << (a % 64); }
  std::uint64_t& word(int a) noexcept { return words_[static_cast<std::size_t>(a / 64)]; }
  std::array<std::uint64_t, capacity / 64> words_{};
};

/// Kind of a loop: independent iterations (space); terms of a sum; a small, fixed number of terms or statements, such
/// as footprint taps (small); stages that run one after the other (sequence).
enum class axis_kind : std::uint8_t { space, sum, small, sequence };
struct axis {
  std::string name;
  index_t extent;
  axis_kind kind;
};

enum class array_use : std::uint8_t { input, output, temporary };
struct array {
  std::string name;
  type element;
  std::vector<index_t> shape;
  array_use use;
  axis_set varies = {};  ///< sequence axes along which the array is rewritten

  index_t size() const noexcept {
    index_t n = 1;
    for (auto const e : shape) n *= e;
    return n;
  }
  index_t bytes() const noexcept { return 4 * size(); }
  /// True for inputs of samples or voxels, whose word length determines the cost of memory; false for index lists and
  /// for inputs with one number per view.
  bool is_data() const noexcept { return use == array_use::input && element == type::f32 && shape.size() > 1; }
};

/// One value for each point of its free axes: a node runs once per point, wherever the text places it.
struct node {
  op what;
  type of;
  double literal = 0;    ///< value, for op::literal
  int which = -1;        ///< axis of `axis` and `sum`, array of `load`
  bool clamped = false;  ///< for a load: indices are clamped to the array; otherwise they must be inside it
  std::vector<int> in = {};
  axis_set free = {};
  std::string label = {};  ///< name given by let()
};

/// array[index...] = value, or += (elements outside the array are dropped).
struct statement {
  bool adds;
  int array;
  std::vector<int> index;
  int value;
  std::vector<int> loops = {};  ///< small axes inside the stage along which the statement is repeated

  /// Appends the nodes that the statement needs: its value and its indices.
  void add_roots(std::vector<int>& roots) const {
    roots.push_back(value);
    roots.insert(roots.end(), index.begin(), index.end());
  }
};
struct stage {
  std::string name, file;
  int line = 0;
  std::vector<int> outer = {}, axes = {};  ///< sequence axes around the stage, and its own axes
  std::vector<statement> statements = {};

  std::vector<int> roots() const {
    std::vector<int> all;
    for (auto const& st : statements) st.add_roots(all);
    return all;
  }
};

struct graph {
  explicit graph(std::string called) : name(std::move(called)) {}

  std::string name;
  std::vector<axis> axes;
  std::vector<array> arrays;
  std::vector<node> nodes;  ///< inputs precede their users
  std::vector<stage> stages;

  int add_axis(char const* called, index_t extent, axis_kind kind) {
    require<error>(axes.size() < static_cast<std::size_t>(axis_set::capacity),
                   [&] { return "record: " + name + " has more than 256 axes"; });
    axes.push_back({called, extent, kind});
    return static_cast<int>(axes.size()) - 1;
  }
  /// Adds a node, or returns the equal one that already exists.
  int add_node(node n) {
    if (is_symmetric(n.what) && n.in[0] > n.in[1]) std::swap(n.in[0], n.in[1]);
    key const k{n.what, n.of, n.literal, n.which, n.clamped, n.in};
    if (auto const known = known_.find(k); known != known_.end()) return known->second;
    for (int const i : n.in) n.free = n.free | nodes[static_cast<std::size_t>(i)].free;
    if (n.what == op::axis) n.free.insert(n.which);
    if (n.what == op::sum) n.free.erase(n.which);
    if (n.what == op::load) n.free = n.free | arrays[static_cast<std::size_t>(n.which)].varies;
    nodes.push_back(std::move(n));
    return known_[k] = static_cast<int>(nodes.size()) - 1;
  }
  node const& at(int id) const { return nodes[static_cast<std::size_t>(id)]; }
  axis const& axis_at(int id) const { return axes[static_cast<std::size_t>(id)]; }
  array const& array_at(int id) const { return arrays[static_cast<std::size_t>(id)]; }

  /// Number of points of a set of axes.
  index_t points(axis_set const& s) const {
    index_t n = 1;
    for (int const a : s.members()) n *= axis_at(a).extent;
    return n;
  }
  /// Marks the roots and all nodes that they depend on.
  std::vector<bool> reached(std::vector<int> const& roots) const {
    std::vector<bool> seen(nodes.size());
    for (int const r : roots) seen[static_cast<std::size_t>(r)] = true;
    for (std::size_t k = nodes.size(); k-- > 0;)
      if (seen[k])
        for (int const i : nodes[k].in) seen[static_cast<std::size_t>(i)] = true;
    return seen;
  }
  /// Marks the nodes that some statement needs.
  std::vector<bool> live() const {
    std::vector<int> roots;
    for (auto const& s : stages)
      for (auto const& st : s.statements) st.add_roots(roots);
    return reached(roots);
  }
  /// The first stage that needs each node; -1 for nodes that no stage needs.
  std::vector<int> first_stages() const {
    std::vector<int> first(nodes.size(), -1);
    for (std::size_t s = stages.size(); s-- > 0;) {
      auto const needed = reached(stages[s].roots());
      for (std::size_t k = 0; k < nodes.size(); ++k)
        if (needed[k]) first[k] = static_cast<int>(s);
    }
    return first;
  }
  /// Axes of the stages, of their statements, and of the sums that statements use. Rewrites leave unused axes behind.
  axis_set live_axes() const {
    axis_set used;
    auto const alive = live();
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (alive[k] && (nodes[k].what == op::sum || nodes[k].what == op::axis)) used.insert(nodes[k].which);
    for (auto const& s : stages) {
      for (auto const* list : {&s.outer, &s.axes})
        for (int const a : *list) used.insert(a);
      for (auto const& st : s.statements)
        for (int const a : st.loops) used.insert(a);
    }
    return used;
  }
  /// Whether an array is a temporary that stages add to and none rewrites in a sequence loop: it must be zero at first.
  bool accumulates(int array) const {
    if (array_at(array).use != array_use::temporary || !array_at(array).varies.empty()) return false;
    for (auto const& s : stages)
      for (auto const& st : s.statements)
        if (st.array == array && st.adds) return true;
    return false;
  }
  /// Calls f(first, last) for each run of consecutive stages [first, last) that share their sequence loops.
  template <class F> void each_run(F const& f) const {
    for (std::size_t first = 0; first < stages.size();) {
      std::size_t last = first + 1;
      while (last < stages.size() && !stages[first].outer.empty() && stages[last].outer == stages[first].outer) ++last;
      f(first, last);
      first = last;
    }
  }

 private:
  using key = std::tuple<op, type, double, int, bool, std::vector<int>>;
  std::map<key, int> known_;
};

}  // namespace mbirk::record
