// StableHLO of a graph. Each axis that a value depends on is a dimension of its tensor, so nothing is vectorised by
// hand; sequential axes become while loops. The cost that XLA will estimate for the text is predicted alongside.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "mbirk/record/stablehlo_values.hpp"

namespace mbirk::record {

struct stablehlo_text {
  std::string module;
  xla_cost cost;
};

namespace detail {

class stablehlo_writer : stablehlo_values {
 public:
  stablehlo_writer(graph const& g, axis_set const& sequential) : stablehlo_values(g, sequential) {}

  stablehlo_text write() {
    std::string arguments, results, kinds;
    for (std::size_t k = 0; k < g_.arrays.size(); ++k) {
      auto const& a = g_.arrays[k];
      int const id = static_cast<int>(k);
      if (a.use == array_use::input) {
        tensor const t{"%arg" + std::to_string(inputs_++), a.element, {}, a.shape};
        arguments +=
            (arguments.empty() ? "" : ", ") + t.name + ": " + text_of(t) + " {mbirk.name = \"" + a.name + "\"}";
        arrays_[id] = t;
      } else if (a.use == array_use::output) {
        arrays_[id] = zeros(a);
      }
    }
    g_.each_run([&](std::size_t first, std::size_t last) { write_stages(first, last); });
    std::string names;
    for (std::size_t k = 0; k < g_.arrays.size(); ++k) {
      if (g_.arrays[k].use != array_use::output) continue;
      auto const& t = arrays_[static_cast<int>(k)];
      names += (names.empty() ? "" : ", ") + t.name;
      kinds += (kinds.empty() ? "" : ", ") + text_of(t);
    }
    return {"module @" + g_.name + " {\n  func.func public @main(" + arguments + ") -> (" + kinds + ") {\n" + body_ +
                "    return " + names + " : " + kinds + "\n  }\n}\n",
            cost_};
  }

 private:
  void write_statement(stage const& s, statement const& st) {
    auto const& a = g_.array_at(st.array);
    auto const at = places(st.index, a, false);
    auto const reached = free_of(st.index);
    tensor value = emit(st.value);
    axis_set scope = set_of(s.axes) | set_of(st.loops);
    require<error>(st.adds || dimensions(scope - reached).empty(),
                   [&] { return "StableHLO: " + a.name + " is stored more than once in an element"; });
    double times = 1;
    for (int const x : dimensions(scope - reached))
      if (!g_.at(st.value).free.contains(x)) times *= static_cast<double>(g_.axis_at(x).extent);
    value = reduce(value, set_of(value.axes) - reached);
    if (times != 1) {
      auto const factor = broadcast(constant(times, type::f32), value.axes);
      value = define("stablehlo.multiply " + value.name + ", " + factor.name + " : " + text_of(value),
                     tensor{"", type::f32, value.axes});
      count(value);
    }
    bool const lookup = std::any_of(at.begin(), at.end(),
                                    [](auto const& p) { return p.how == reach::column || p.how == reach::shifted; });
    bool const part = std::any_of(at.begin(), at.end(), [](auto const& p) { return p.how == reach::scalar; });
    if (!arrays_.contains(st.array) && (lookup || part || st.adds)) arrays_[st.array] = zeros(a);
    arrays_[st.array] = lookup ? scattered(st, at, value) : stored(st, at, value, part);
  }
  tensor sum_of(tensor const& x, tensor const& y) {
    tensor const kind{"", x.of, x.axes, x.shape};
    auto const r = define("stablehlo.add " + x.name + ", " + y.name + " : " + text_of(kind), kind);
    count(r);
    return r;
  }
  /// Stores a value into the whole array, or into the part at scalar indices.
  tensor stored(statement const& st, std::vector<place> const& at, tensor const& value, bool part) {
    auto const& a = g_.array_at(st.array);
    std::vector<int> order;
    tensor window{"", a.element, {}, a.shape};
    std::string starts, kinds;
    for (std::size_t d = 0; d < at.size(); ++d) {
      bool const one = at[d].how == reach::scalar;
      if (one)
        window.shape[d] = 1;
      else
        order.push_back(at[d].axis);
      starts += ", " + (part ? one ? emit(st.index[d]) : scalar_index(0) : tensor{}).name;
      kinds += ", tensor<i32>";
    }
    auto const sorted = dimensions(set_of(order));
    auto const all = broadcast(value, sorted);
    tensor dense{"", a.element, {}, {}};
    for (int const x : order) dense.shape.push_back(g_.axis_at(x).extent);
    auto const update = reshape(transpose(all, positions(order, sorted), dense), window);
    if (!part) return st.adds ? sum_of(arrays_.at(st.array), update) : update;
    auto const& now = arrays_.at(st.array);
    auto add = update;
    if (st.adds) {
      auto const old = define("stablehlo.dynamic_slice " + now.name + starts + ", sizes = [" + join(window.shape) +
                                  "] : (" + text_of(now) + kinds + ") -> " + text_of(window),
                              window);
      add = sum_of(old, update);
    }
    return define("stablehlo.dynamic_update_slice " + now.name + ", " + add.name + starts + " : (" + text_of(now) +
                      ", " + text_of(window) + kinds + ") -> " + text_of(now),
                  tensor{"", a.element, {}, a.shape});
  }
  /// Stores at computed indices. XLA drops updates outside the array, which is what the definitions require.
  tensor scattered(statement const& st, std::vector<place> const& at, tensor const& value) {
    auto const& a = g_.array_at(st.array);
    std::vector<int> columns, windows;
    std::vector<index_t> looked_up, offsets;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (at[d].how == reach::plain)
        windows.push_back(at[d].axis);
      else {
        columns.push_back(st.index[d]);
        looked_up.push_back(static_cast<index_t>(d));
      }
    }
    auto order = dimensions(free_of(columns));
    auto const batch = order.size();
    auto const table = index_table(columns, order);
    for (std::size_t k = 0; k < windows.size(); ++k) offsets.push_back(static_cast<index_t>(batch + k));
    order.insert(order.end(), windows.begin(), windows.end());
    auto const sorted = dimensions(set_of(order));
    auto const updates = transpose(broadcast(value, sorted), positions(order, sorted), tensor{"", a.element, order});
    auto const& now = arrays_.at(st.array);
    auto const x = fresh(), y = fresh(), z = fresh();
    auto const cell = std::string(": tensor<") + type_name(a.element) + ">";
    std::string const combine =
        st.adds ? z + " = stablehlo.add " + x + ", " + y + " " + cell + " stablehlo.return " + z + " " + cell
                : "stablehlo.return " + y + " " + cell;
    tensor const kind{"", a.element, {}, a.shape};
    auto const r = define(
        "\"stablehlo.scatter\"(" + now.name + ", " + table.name + ", " + updates.name + ") ({ ^bb0(" + x + cell + ", " +
            y + cell + "): " + combine + " }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" +
            join(offsets) + "], inserted_window_dims = [" + join(looked_up) + "], scatter_dims_to_operand_dims = [" +
            join(looked_up) + "], index_vector_dim = " + std::to_string(batch) +
            ">, indices_are_sorted = false, unique_indices = false} : (" + text_of(now) + ", " + text_of(table) + ", " +
            text_of(updates) + ") -> " + text_of(kind),
        kind);
    if (fresh_line_ && st.adds) cost_.flops += elements(updates);
    return r;
  }

  /// Runs stages in a loop that updates arrays; tensors made inside the loop are discarded when it ends.
  template <class Body> void loop_over_arrays(int a, std::size_t first, std::size_t last, Body const& body) {
    for (auto k = first; k < last; ++k)
      for (auto const& st : g_.stages[k].statements)
        if (!arrays_.contains(st.array) && g_.accumulates(st.array))
          arrays_[st.array] = zeros(g_.array_at(st.array));
    auto const before = arrays_;
    std::vector<int> changed;
    std::vector<tensor> start;
    for (auto k = first; k < last; ++k)
      for (auto const& st : g_.stages[k].statements) {
        prepare(st.value, a);
        for (int const i : st.index) prepare(i, a);
        if (before.contains(st.array) && std::find(changed.begin(), changed.end(), st.array) == changed.end()) {
          changed.push_back(st.array);
          start.push_back(before.at(st.array));
        }
      }
    auto const end = loop(a, start, [&](std::vector<tensor> const& now) {
      for (std::size_t k = 0; k < changed.size(); ++k) arrays_[changed[k]] = now[k];
      body();
      std::vector<tensor> after;
      for (int const c : changed) after.push_back(arrays_.at(c));
      return after;
    });
    arrays_ = before;
    for (std::size_t k = 0; k < changed.size(); ++k) arrays_[changed[k]] = end[k];
  }
  void write_stages(std::size_t first, std::size_t last, std::size_t depth = 0) {
    auto const& outer = g_.stages[first].outer;
    if (depth < outer.size())
      return loop_over_arrays(outer[depth], first, last, [&] { write_stages(first, last, depth + 1); });
    for (auto k = first; k < last; ++k) write_stage(k);
  }
  void write_stage(std::size_t k) {
    auto const& s = g_.stages[k];
    for (int const a : s.axes)
      if (sequential_.contains(a) && !is_bound(a)) {
        for (auto const& st : s.statements)
          if (!arrays_.contains(st.array)) arrays_[st.array] = zeros(g_.array_at(st.array));
        return loop_over_arrays(a, k, k + 1, [&] { write_stage(k); });
      }
    for (auto const& st : s.statements) write_statement(s, st);
  }

  int inputs_ = 0;
};

}  // namespace detail

/// A larger tensor should not be made at once; use a while loop over the views instead.
inline constexpr std::uint64_t largest_tensor_at_once = std::uint64_t{64} << 20;

/// Size in bytes of the largest tensor that to_stablehlo would name.
inline std::uint64_t largest_tensor_bytes(graph const& g, axis_set const& sequential) {
  std::uint64_t most = 0;
  auto const live = g.live();
  axis_set in_turn = sequential;
  for (auto const& s : g.stages)
    for (int const a : s.outer) in_turn.insert(a);
  for (std::size_t k = 0; k < g.nodes.size(); ++k)
    if (live[k]) most = std::max(most, 4 * static_cast<std::uint64_t>(g.points(g.nodes[k].free - in_turn)));
  return most;
}
inline axis_set axes_called(graph const& g, std::string const& name) {
  axis_set s;
  for (std::size_t a = 0; a < g.axes.size(); ++a)
    if (g.axes[a].name == name) s.insert(static_cast<int>(a));
  return s;
}

/// The module, whose main function takes the inputs and returns the outputs in the order of their declaration.
/// @param sequential  axes that become while loops, in addition to those of m.loop() around stages. Tensors extend over
/// all other axes.
inline stablehlo_text to_stablehlo(graph const& g, axis_set const& sequential = {}) {
  return detail::stablehlo_writer(g, sequential).write();
}

}  // namespace mbirk::record
