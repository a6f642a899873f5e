// Emits the values of a graph as StableHLO: arithmetic, loads as slices or gathers, sums as reductions or while loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "mbirk/record/stablehlo_lines.hpp"

namespace mbirk::record::detail {

class stablehlo_values : protected stablehlo_lines {
 protected:
  stablehlo_values(graph const& g, axis_set const& sequential) : stablehlo_lines(g), sequential_(sequential) {
    for (auto const& s : g.stages)
      for (int const a : s.outer) sequential_.insert(a);
  }

  tensor const* known(int id) const {
    for (auto const& s : scopes_)
      if (auto const found = s.nodes.find(id); found != s.nodes.end()) return &found->second;
    return nullptr;
  }
  tensor emit(int id) {
    if (auto const* t = known(id)) return *t;
    return scopes_.back().nodes[id] = make(id);
  }
  tensor make(int id) {
    auto const& n = g_.at(id);
    switch (n.what) {
      case op::literal: return constant(n.literal, n.of);
      case op::axis: {
        tensor const kind{"", type::i32, {n.which}};
        return define("stablehlo.iota dim = 0 : " + text_of(kind), kind);
      }
      case op::load: return load(n);
      case op::sum: return sum(n);
      default: return elementwise(n);
    }
  }
  tensor elementwise(node const& n) {
    auto const to = dimensions(n.free);
    std::vector<tensor> in;
    for (int const i : n.in) in.push_back(broadcast(emit(i), to));
    tensor const kind{"", n.of, to};
    auto const as = text_of(kind);
    auto const unary = [&](char const* name, tensor const& x) {
      return define(std::string("stablehlo.") + name + " " + x.name + " : " + as, kind);
    };
    auto const binary = [&](char const* name, tensor const& x, tensor const& y) {
      return define(std::string("stablehlo.") + name + " " + x.name + ", " + y.name + " : " + as, kind);
    };
    auto const transcendental = [&](tensor const& t) {
      if (fresh_line_) cost_.transcendentals += elements(t);
      return t;
    };
    auto const flop = [&](tensor const& t) {
      count(t);
      return t;
    };
    auto const constant_like = [&](double x) { return broadcast(constant(x, type::f32), to); };
    auto const compare = [&](char const* direction) {
      return flop(define(std::string("stablehlo.compare ") + direction + ", " + in[0].name + ", " + in[1].name + ", " +
                             (in[0].of == type::f32 ? "FLOAT" : "SIGNED") + " : (" + text_of(in[0]) + ", " +
                             text_of(in[1]) + ") -> " + as,
                         kind));
    };
    switch (n.what) {
      case op::add: return flop(binary("add", in[0], in[1]));
      case op::sub: return flop(binary("subtract", in[0], in[1]));
      case op::mul: return flop(binary("multiply", in[0], in[1]));
      case op::div: return flop(binary("divide", in[0], in[1]));
      case op::rem: return flop(binary("remainder", in[0], in[1]));
      case op::min: return flop(binary("minimum", in[0], in[1]));
      case op::max: return flop(binary("maximum", in[0], in[1]));
      case op::both: return flop(binary("and", in[0], in[1]));
      case op::abs: return flop(unary("abs", in[0]));
      case op::floor: return flop(unary("floor", in[0]));
      case op::ceil: return flop(unary("ceil", in[0]));
      case op::sqrt: return transcendental(unary("sqrt", in[0]));
      case op::exp: return transcendental(unary("exponential", in[0]));
      case op::log: return transcendental(unary("log", in[0]));
      case op::sin: return transcendental(unary("sine", in[0]));
      case op::cos: return transcendental(unary("cosine", in[0]));
      case op::atan: return transcendental(binary("atan2", in[0], constant_like(1)));
      case op::exp2: {
        auto const scaled = flop(binary("multiply", in[0], constant_like(std::log(2.0))));
        return transcendental(unary("exponential", scaled));
      }
      case op::log2: {
        auto const natural = transcendental(unary("log", in[0]));
        return flop(binary("multiply", natural, constant_like(1 / std::log(2.0))));
      }
      case op::to_real:
      case op::to_index:
        return flop(define("stablehlo.convert " + in[0].name + " : (" + text_of(in[0]) + ") -> " + as, kind));
      case op::less: return compare("LT");
      case op::less_equal: return compare("LE");
      case op::equal: return compare("EQ");
      default:  // select
        return flop(define("stablehlo.select " + in[0].name + ", " + in[1].name + ", " + in[2].name + " : " +
                               text_of(in[0]) + ", " + as,
                           kind));
    }
  }

  tensor sum(node const& n) {
    if (sequential_.contains(n.which)) return sum_in_turn(n);
    axis_set over;
    int inner = -1;
    double times = 1;
    for (auto const* at = &n;; at = &g_.at(inner)) {  // nested sums become one
      inner = at->in[0];
      if (g_.at(inner).free.contains(at->which))
        over.insert(at->which);
      else
        times *= static_cast<double>(g_.axis_at(at->which).extent);
      if (g_.at(inner).what != op::sum || sequential_.contains(g_.at(inner).which) || known(inner)) break;
    }
    auto const total = reduce(emit(inner), over);
    if (times == 1) return total;
    tensor const factor = broadcast(constant(times, type::f32), total.axes);
    auto const r = define("stablehlo.multiply " + total.name + ", " + factor.name + " : " + text_of(total),
                          tensor{"", type::f32, total.axes});
    count(r);
    return r;
  }
  tensor sum_in_turn(node const& n) {
    prepare(n.in[0], n.which);
    tensor const total{"", type::f32, dimensions(n.free)};
    auto const start = constant(0, type::f32, extents(total));
    auto const carried =
        loop(n.which, {{start.name, type::f32, total.axes, start.shape}}, [&](std::vector<tensor> const& now) {
          auto const term = broadcast(emit(n.in[0]), total.axes);
          auto const more = define("stablehlo.add " + now[0].name + ", " + term.name + " : " + text_of(term),
                                   tensor{"", type::f32, total.axes});
          count(more);
          return std::vector<tensor>{more};
        });
    return {carried[0].name, type::f32, total.axes};
  }
  /// Emits the nodes that do not depend on an axis before its loop begins.
  void prepare(int id, int over) {
    if (known(id)) return;
    if (!g_.at(id).free.contains(over)) {
      if (g_.at(id).what != op::literal && available(id)) emit(id);
      return;
    }
    for (int const i : g_.at(id).in) prepare(i, over);
  }
  /// Whether a node can be computed here: every axis that it needs is known, and every array that it loads has a value.
  bool available(int id) const {
    auto const& n = g_.at(id);
    if (n.what == op::load && !arrays_.contains(n.which)) return false;
    return std::all_of(n.in.begin(), n.in.end(), [&](int i) { return known(i) || available(i); });
  }

  enum class reach { plain, shifted, scalar, column };
  struct place {
    reach how;
    int axis = -1;
    index_t shift = 0;
  };
  /// How each index of an access runs through its dimension. A plain or shifted index is an axis that no other index
  /// uses, covering the whole dimension or a part of it.
  std::vector<place> places(std::vector<int> const& index, array const& a, bool clamped) const {
    std::vector<place> all;
    for (std::size_t d = 0; d < index.size(); ++d) {
      auto const& n = g_.at(index[d]);
      auto const base = [&]() -> place {
        if (n.what == op::axis) return {reach::plain, n.which, 0};
        if (n.what == op::add)
          for (std::size_t k = 0; k < 2; ++k)
            if (g_.at(n.in[k]).what == op::axis && g_.at(n.in[1 - k]).what == op::literal)
              return {reach::shifted, g_.at(n.in[k]).which, static_cast<index_t>(g_.at(n.in[1 - k]).literal)};
        return {reach::column};
      };
      auto p = base();
      if (p.axis >= 0) {
        bool alone = !is_bound(p.axis);
        for (std::size_t e = 0; e < index.size(); ++e)
          alone = alone && (e == d || !g_.at(index[e]).free.contains(p.axis));
        index_t const extent = g_.axis_at(p.axis).extent, size = a.shape[d];
        if (p.how == reach::plain && extent != size) p.how = reach::shifted;
        bool const fits = p.shift >= 0 && p.shift + extent <= size,
                   turns = clamped && extent == size && std::abs(p.shift) < size;
        if (!alone || (p.how == reach::shifted && !fits && !turns)) p = {reach::column};
      }
      if (p.how == reach::column && dimensions(n.free).empty()) p.how = reach::scalar;
      all.push_back(p);
    }
    return all;
  }
  /// The elements shift, shift + 1, ... of dimension d; outside the array the border elements repeat.
  tensor shifted(tensor const& t, std::size_t d, place const& p) {
    index_t const extent = g_.axis_at(p.axis).extent, size = t.shape[d];
    index_t const first = std::clamp<index_t>(p.shift, 0, size - 1), last = std::min(p.shift + extent, size);
    auto const cut = [&](index_t from, index_t to) {
      tensor kind{"", t.of, {}, t.shape};
      kind.shape[d] = to - from;
      if (from == 0 && to == size) return t;
      std::string ranges;
      for (std::size_t e = 0; e < t.shape.size(); ++e)
        ranges += (e ? ", " : "") +
                  (e == d ? std::to_string(from) + ":" + std::to_string(to) : "0:" + std::to_string(t.shape[e]));
      return define("stablehlo.slice " + t.name + " [" + ranges + "] : (" + text_of(t) + ") -> " + text_of(kind), kind);
    };
    std::vector<tensor> parts;
    for (index_t k = p.shift; k < 0; ++k) parts.push_back(cut(0, 1));
    parts.push_back(cut(first, last));
    for (index_t k = last; k < p.shift + extent; ++k) parts.push_back(cut(size - 1, size));
    return concatenate(parts, d);
  }
  tensor concatenate(std::vector<tensor> const& parts, std::size_t d) {
    if (parts.size() == 1) return parts[0];
    std::string names, kinds;
    tensor kind{"", parts[0].of, {}, extents(parts[0])};
    kind.shape[d] = 0;
    for (auto const& p : parts) {
      names += (names.empty() ? "" : ", ") + p.name;
      kinds += (kinds.empty() ? "" : ", ") + text_of(p);
      kind.shape[d] += extents(p)[d];
    }
    return define(
        "stablehlo.concatenate " + names + ", dim = " + std::to_string(d) + " : (" + kinds + ") -> " + text_of(kind),
        kind);
  }
  /// Index table (batch..., columns), as gather and scatter require it.
  tensor index_table(std::vector<int> const& columns, std::vector<int> const& batch) {
    std::vector<tensor> parts;
    for (int const c : columns) {
      auto const t = broadcast(emit(c), batch);
      tensor kind{"", type::i32, {}, extents(t)};
      kind.shape.push_back(1);
      parts.push_back(reshape(t, kind));
    }
    return concatenate(parts, batch.size());
  }
  axis_set free_of(std::vector<int> const& ids) const {
    axis_set s;
    for (int const i : ids) s = s | g_.at(i).free;
    return s;
  }

  tensor load(node const& n) {
    auto const& a = g_.array_at(n.which);
    require<error>(arrays_.contains(n.which), [&] { return "StableHLO: " + a.name + " is read before it is written"; });
    auto t = arrays_.at(n.which);
    auto const at = places(n.in, a, n.clamped);
    for (std::size_t d = 0; d < at.size(); ++d)
      if (at[d].how == reach::shifted) t = shifted(t, d, at[d]);
    if (std::any_of(at.begin(), at.end(), [](auto const& p) { return p.how == reach::scalar; })) {
      tensor slice{"", t.of, {}, t.shape}, kept{"", t.of};
      std::string starts, kinds;
      for (std::size_t d = 0; d < at.size(); ++d) {
        bool const one = at[d].how == reach::scalar;
        starts += ", " + (one ? emit(n.in[d]) : scalar_index(0)).name;
        kinds += ", tensor<i32>";
        if (one)
          slice.shape[d] = 1;
        else
          kept.shape.push_back(t.shape[d]);
      }
      auto const cut = define("stablehlo.dynamic_slice " + t.name + starts + ", sizes = [" + join(slice.shape) +
                                  "] : (" + text_of(t) + kinds + ") -> " + text_of(slice),
                              slice);
      t = reshape(cut, kept);
    }
    // Remaining dimensions: indices to look up, and the axes of the result in the order of the gather.
    std::vector<int> columns, order;
    std::vector<index_t> looked_up, sizes;
    std::vector<int> windows;
    std::size_t d = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      if (at[k].how == reach::scalar) continue;
      if (at[k].how == reach::column) {
        columns.push_back(n.in[k]);
        looked_up.push_back(static_cast<index_t>(d));
        sizes.push_back(1);
      } else {
        windows.push_back(at[k].axis);
        sizes.push_back(t.shape[d]);
      }
      ++d;
    }
    if (!columns.empty()) {
      order = dimensions(free_of(columns));
      auto const table = index_table(columns, order);
      std::vector<index_t> offsets;
      for (std::size_t k = 0; k < windows.size(); ++k) offsets.push_back(static_cast<index_t>(order.size() + k));
      auto const batch = static_cast<index_t>(order.size());
      order.insert(order.end(), windows.begin(), windows.end());
      tensor const kind{"", t.of, order};
      t = define("\"stablehlo.gather\"(" + t.name + ", " + table.name +
                     ") {dimension_numbers = #stablehlo.gather<offset_dims = [" + join(offsets) +
                     "], collapsed_slice_dims = [" + join(looked_up) + "], start_index_map = [" + join(looked_up) +
                     "], index_vector_dim = " + std::to_string(batch) +
                     ">, indices_are_sorted = false, slice_sizes = array<i64: " + join(sizes) + ">} : (" + text_of(t) +
                     ", " + text_of(table) + ") -> " + text_of(kind),
                 kind);
    } else {
      order = windows;
    }
    tensor const kind{"", t.of, dimensions(set_of(order))};
    return transpose(t, positions(kind.axes, order), kind);
  }
  static std::vector<index_t> positions(std::vector<int> const& of, std::vector<int> const& in) {
    std::vector<index_t> p;
    for (int const a : of) p.push_back(std::find(in.begin(), in.end(), a) - in.begin());
    return p;
  }

  int axis_node(int a) const {
    for (std::size_t k = 0; k < g_.nodes.size(); ++k)
      if (g_.nodes[k].what == op::axis && g_.nodes[k].which == a) return static_cast<int>(k);
    return -1;
  }
  /// while (axis < extent): the loop state begins as `start`, and each iteration replaces it by body(state).
  template <class Body> std::vector<tensor> loop(int a, std::vector<tensor> const& start, Body const& body) {
    auto const zero = scalar_index(0), one = scalar_index(1), extent = scalar_index(g_.axis_at(a).extent);
    auto const result = fresh(), counter = fresh();
    std::vector<tensor> now, end;
    std::string head = counter + " = " + zero.name, kinds = "tensor<i32>";
    for (auto const& t : start) {
      auto inside = t;
      inside.name = fresh();
      head += ", " + inside.name + " = " + t.name;
      kinds += ", " + text_of(t);
      now.push_back(inside);
    }
    line(result + ":" + std::to_string(start.size() + 1) + " = stablehlo.while(" + head + ") : " + kinds);
    auto const go_on = fresh(), next = fresh();
    line("cond {");
    line("  " + go_on + " = stablehlo.compare LT, " + counter + ", " + extent.name +
         ", SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>");
    line("  stablehlo.return " + go_on + " : tensor<i1>");
    line("} do {");
    ++depth_;
    scopes_.emplace_back();
    scopes_.back().bound = {a};
    if (int const n = axis_node(a); n >= 0) scopes_.back().nodes[n] = {counter, type::i32};
    auto const after = body(now);
    line(next + " = stablehlo.add " + counter + ", " + one.name + " : tensor<i32>");
    cost_.flops += 2;
    std::string names = next;
    for (auto const& t : after) names += ", " + t.name;
    line("stablehlo.return " + names + " : " + kinds);
    scopes_.pop_back();
    --depth_;
    line("}");
    for (std::size_t k = 0; k < start.size(); ++k) {
      auto t = start[k];
      t.name = result + "#" + std::to_string(k + 1);
      end.push_back(t);
    }
    return end;
  }
  axis_set sequential_;
  std::map<int, tensor> arrays_;  // current values of the arrays
};

}  // namespace mbirk::record::detail
