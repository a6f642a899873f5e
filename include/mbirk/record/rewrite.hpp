// Rewrites of a graph by substitution: fusing a stage into the stages that read its result, or cutting a named value
// out into a stage of its own.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/record/graph.hpp"

namespace mbirk::record {

namespace detail {

/// Copies nodes of one graph into another, substituting given nodes for some axes and some nodes.
class copier {
 public:
  copier(graph const& from, graph& to) : from_(from), to_(to) {}

  std::map<int, int> axes = {};   ///< axis of `from` -> node of `to` that replaces it
  std::map<int, int> nodes = {};  ///< node of `from` -> node of `to`
  bool fresh_sums = false;        ///< sums get axes of their own
  /// Array that is not in `to`: its loads become `load(copied indices)`, and later arrays move up by one.
  int replaced_array = -1;
  std::function<int(node const&, std::vector<int>)> load = {};

  int operator()(int id) {
    if (auto const known = nodes.find(id); known != nodes.end()) return known->second;
    node n = from_.at(id);
    int const a = n.which;
    if (n.what == op::axis) {
      if (auto const other = axes.find(a); other != axes.end()) return nodes[id] = other->second;
    }
    if (n.what == op::sum && fresh_sums) {
      auto const& x = from_.axis_at(a);
      n.which = to_.add_axis(x.name.c_str(), x.extent, x.kind);
      axes[a] = to_.add_node({op::axis, type::i32, 0, n.which});
    }
    for (int& i : n.in) i = (*this)(i);
    if (n.what == op::load && n.which == replaced_array) return nodes[id] = load(n, n.in);
    if (n.what == op::load) n.which = moved(n.which);
    n.free = {};
    return nodes[id] = to_.add_node(std::move(n));
  }
  statement operator()(statement st) {
    for (int& i : st.index) i = (*this)(i);
    st.value = (*this)(st.value);
    st.array = moved(st.array);
    return st;
  }

 private:
  int moved(int array) const noexcept { return replaced_array >= 0 && array > replaced_array ? array - 1 : array; }

  graph const& from_;
  graph& to_;
};

/// The axes and arrays of a graph, without its nodes and stages.
inline graph empty_copy(graph const& g) {
  graph fresh(g.name);
  fresh.axes = g.axes;
  fresh.arrays = g.arrays;
  return fresh;
}

}  // namespace detail

/// Reason why a temporary cannot be fused into its readers; empty when it can.
inline std::string why_not_fused(graph const& g, int array) {
  auto const& a = g.array_at(array);
  if (a.use != array_use::temporary) return a.name + " is not a temporary";
  int writers = 0;
  for (auto const& s : g.stages)
    for (auto const& st : s.statements) {
      if (st.array != array) continue;
      ++writers;
      if (st.adds) return a.name + " is added to, not stored";
      if (s.statements.size() > 1) return "the stage " + s.name + " writes other arrays too";
      for (std::size_t d = 0; d < st.index.size(); ++d) {
        auto const& n = g.at(st.index[d]);
        if (n.what != op::axis || g.axis_at(n.which).extent != a.shape[d]) return a.name + " is not stored as a whole";
      }
    }
  return writers == 1 ? std::string() : a.name + " has " + std::to_string(writers) + " writers, expected one";
}

/// The graph without a temporary, whose value is recomputed at each read. This saves bytes and often costs arithmetic:
/// see cost_of().
/// @throws error with why_not_fused()
inline graph fuse(graph const& g, int array) {
  auto const reason = why_not_fused(g, array);
  require<error>(reason.empty(), [&] { return "fuse: " + reason; });
  stage const* producer = nullptr;
  for (auto const& s : g.stages)
    if (s.statements.front().array == array) producer = &s;
  auto const& made = producer->statements.front();
  graph fused = detail::empty_copy(g);
  fused.arrays.erase(fused.arrays.begin() + array);
  for (auto const& s : g.stages) {
    if (&s == producer) continue;
    detail::copier copy(g, fused);
    copy.replaced_array = array;
    copy.load = [&](node const& n, std::vector<int> index) {
      detail::copier value(g, fused);
      value.fresh_sums = true;
      value.replaced_array = array;
      for (std::size_t d = 0; d < index.size(); ++d) {
        auto const& at = fused.at(index[d]);
        index_t const last = g.array_at(array).shape[d] - 1;
        bool const inside = at.what == op::axis && fused.axis_at(at.which).extent <= last + 1;
        if (n.clamped && !inside) {
          auto const number = [&](index_t x) {
            return fused.add_node({op::literal, type::i32, static_cast<double>(x)});
          };
          auto const two = [&](op what, int x, int y) {
            return fused.add_node({what, type::i32, 0, -1, false, {x, y}});
          };
          index[d] = two(op::max, two(op::min, index[d], number(last)), number(0));
        }
        value.axes[g.at(made.index[d]).which] = index[d];
      }
      return value(made.value);
    };
    stage kept = s;
    for (auto& st : kept.statements) st = copy(st);
    fused.stages.push_back(std::move(kept));
  }
  return fused;
}

/// Fuses every temporary that can be fused.
inline graph fuse_all(graph g) {
  for (int a = 0; a < static_cast<int>(g.arrays.size());) {
    if (why_not_fused(g, a).empty()) {
      g = fuse(g, a);
      a = 0;
    } else
      ++a;
  }
  return g;
}

/// Names given by let(), in the order of their first use.
inline std::vector<std::string> labels(graph const& g) {
  std::vector<std::string> all;
  auto const live = g.live();
  for (std::size_t k = 0; k < g.nodes.size(); ++k)
    if (live[k] && !g.nodes[k].label.empty() && std::find(all.begin(), all.end(), g.nodes[k].label) == all.end())
      all.push_back(g.nodes[k].label);
  return all;
}

/// The graph with every value of a name stored in an array: a stage over the axes that the value depends on writes it,
/// and its users load it.
inline graph cut(graph const& g, std::string const& label) {
  graph result = detail::empty_copy(g);
  std::map<int, int> array_of;  // node of g -> temporary of result
  int count = 0;
  for (auto const& s : g.stages) {
    axis_set outer;
    for (int const a : s.outer) outer.insert(a);
    detail::copier copy(g, result);
    auto const needed = g.reached(s.roots());
    for (std::size_t k = 0; k < needed.size(); ++k) {
      auto const& n = g.nodes[k];
      if (!needed[k] || n.label != label) continue;
      auto const over = (n.free - outer).members();
      if (over.empty()) continue;  // constant within the stage
      auto const known = array_of.find(static_cast<int>(k));
      int made = known == array_of.end() ? -1 : known->second;
      if (made < 0) {
        array a{label + (count ? " " + std::to_string(count) : ""), n.of, {}, array_use::temporary, n.free & outer};
        std::replace(a.name.begin(), a.name.end(), ' ', '_');
        ++count;
        stage fresh{label, s.file, s.line, s.outer};
        detail::copier value(g, result);
        statement store{false, static_cast<int>(result.arrays.size()), {}, -1};
        for (int const x : over) {
          a.shape.push_back(g.axis_at(x).extent);
          int const own = result.add_axis(g.axis_at(x).name.c_str(), g.axis_at(x).extent, axis_kind::space);
          fresh.axes.push_back(own);
          store.index.push_back(value.axes[x] = result.add_node({op::axis, type::i32, 0, own}));
        }
        store.value = value(static_cast<int>(k));
        fresh.statements.push_back(std::move(store));
        made = array_of[static_cast<int>(k)] = static_cast<int>(result.arrays.size());
        result.arrays.push_back(std::move(a));
        result.stages.push_back(std::move(fresh));
      }
      node read{op::load, n.of, 0, made};
      for (int const x : over) read.in.push_back(result.add_node({op::axis, type::i32, 0, x}));
      copy.nodes[static_cast<int>(k)] = result.add_node(std::move(read));
    }
    stage kept = s;
    for (auto& st : kept.statements) st = copy(st);
    result.stages.push_back(std::move(kept));
  }
  return result;
}

/// Stores every named value in an array: the form before any fusion.
inline graph cut_all(graph g) {
  for (auto const& label : labels(g)) g = cut(g, label);
  return g;
}

/// A graph and the name of the step that led to it from the previous one.
struct lowering_step {
  std::string name;
  graph g;
};

/// Steps from the form before any fusion to the fully fused one, one array at a time: "unfused", "fuse_channel_weight",
/// ... The arrays that were cut out are fused first, so that the form as written is among the steps.
inline std::vector<lowering_step> lowering_steps(graph const& g) {
  std::vector<lowering_step> steps{{"unfused", cut_all(g)}};
  for (int a = static_cast<int>(steps.back().g.arrays.size()); a-- > 0;) {
    auto const& last = steps.back().g;
    if (!why_not_fused(last, a).empty()) continue;
    auto const name = "fuse_" + last.array_at(a).name;
    auto fused = fuse(last, a);
    a = static_cast<int>(fused.arrays.size());  // start again: a fusion can make others possible
    steps.push_back({name, std::move(fused)});
  }
  return steps;
}

/// A graph before fusion, as written, and after fusion; a form that equals the one as written is left out.
struct fusion_form {
  char const* name;  ///< "unfused", "as written", "fused"
  graph g;
};
inline std::vector<fusion_form> fusion_forms(graph const& g) {
  std::vector<fusion_form> forms;
  if (auto unfused = cut_all(g); unfused.stages.size() > g.stages.size())
    forms.push_back({"unfused", std::move(unfused)});
  forms.push_back({"as written", g});
  if (auto fused = fuse_all(g); fused.stages.size() < g.stages.size()) forms.push_back({"fused", std::move(fused)});
  return forms;
}

}  // namespace mbirk::record
