// Cost of a graph, computed from its extents alone: a node runs once for each point of the axes that it depends on.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "mbirk/record/graph.hpp"

namespace mbirk::record {

/// Number of accesses to one array, counted as the text writes them.
struct array_cost {
  std::uint64_t loads = 0, stores = 0;
};
struct graph_cost {
  /// Counts by operation and type of the result (for comparisons, type of the operands).
  std::map<std::pair<op, type>, std::uint64_t> operations;
  std::vector<array_cost> arrays;                           ///< in the order of graph::arrays
  std::uint64_t bytes_compulsory = 0;                       ///< every input read once, every output written once
  std::uint64_t bytes_between = 0;  ///< temporaries: one write and one read each time they are made

  std::uint64_t of(op o, type t = type::f32) const {
    auto const found = operations.find({o, t});
    return found == operations.end() ? 0 : found->second;
  }
  /// Additions, subtractions and multiplications of reals, including the additions inside sums.
  std::uint64_t flops() const { return of(op::add) + of(op::sub) + of(op::mul); }
  std::uint64_t transcendentals() const {
    std::uint64_t n = 0;
    for (op const o : {op::sqrt, op::exp, op::log, op::exp2, op::log2, op::sin, op::cos, op::atan}) n += of(o);
    return n;
  }
};

namespace detail {

inline void add_cost_of_node(graph_cost& c, graph const& g, int id) {
  auto const& n = g.at(id);
  auto const times = static_cast<std::uint64_t>(g.points(n.free));
  switch (n.what) {
    case op::literal:
    case op::axis: break;
    case op::load: c.arrays[static_cast<std::size_t>(n.which)].loads += times; break;
    case op::sum:
      c.operations[{op::add, n.of}] += times * static_cast<std::uint64_t>(g.axis_at(n.which).extent - 1);
      break;
    default: {
      bool const compares = n.what == op::less || n.what == op::less_equal || n.what == op::equal;
      c.operations[{n.what, compares ? g.at(n.in[0]).of : n.of}] += times;
    }
  }
}
inline void add_cost_of_statements(graph_cost& c, graph const& g, stage const& s) {
  for (auto const& st : s.statements) {
    axis_set all;
    for (auto const* axes : {&s.outer, &s.axes, &st.loops})
      for (int const a : *axes) all.insert(a);
    auto const times = static_cast<std::uint64_t>(g.points(all));
    auto& a = c.arrays[static_cast<std::size_t>(st.array)];
    a.stores += times;
    if (st.adds) {
      a.loads += times;
      c.operations[{op::add, type::f32}] += times;
    }
  }
}

}  // namespace detail

/// Counts the operations and accesses of a graph. A sum over n terms counts n - 1 additions, an `add` statement one for
/// each term.
inline graph_cost cost_of(graph const& g) {
  graph_cost c;
  c.arrays.resize(g.arrays.size());
  auto const live = g.live();
  for (std::size_t k = 0; k < g.nodes.size(); ++k)
    if (live[k]) detail::add_cost_of_node(c, g, static_cast<int>(k));
  for (auto const& s : g.stages) detail::add_cost_of_statements(c, g, s);
  for (auto const& a : g.arrays) {
    auto const bytes = static_cast<std::uint64_t>(a.bytes());
    if (a.use == array_use::temporary)
      c.bytes_between += 2 * bytes * static_cast<std::uint64_t>(g.points(a.varies));
    else
      c.bytes_compulsory += bytes;
  }
  return c;
}

/// Cost of each stage, without bytes. Nodes shared by two stages are counted in the first of them, so the stages add up
/// to the graph.
inline std::vector<graph_cost> costs_by_stage(graph const& g) {
  std::vector<graph_cost> costs(g.stages.size());
  auto const first = g.first_stages();
  for (auto& c : costs) c.arrays.resize(g.arrays.size());
  for (std::size_t k = 0; k < g.nodes.size(); ++k)
    if (first[k] >= 0) detail::add_cost_of_node(costs[static_cast<std::size_t>(first[k])], g, static_cast<int>(k));
  for (std::size_t k = 0; k < g.stages.size(); ++k) detail::add_cost_of_statements(costs[k], g, g.stages[k]);
  return costs;
}

}  // namespace mbirk::record
