// Runs the stages of a graph in an arithmetic: each node for all points of its axes at once, in loops that are planned
// once for each stage.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/record/graph.hpp"

namespace mbirk::record::detail {

/// A loop over the points of some axes, the last one fastest, and where in each of some operands it goes.
struct point_loop {
  std::vector<index_t> extents;         ///< axes along which no operand changes its stride are one
  std::vector<std::ptrdiff_t> strides;  ///< of an axis: one for each operand
  std::size_t operands = 0;
  index_t points = 1;

  /// @param operand_axes  axes of each operand, whose elements are in row-major order. Those that are not among `axes`
  ///                      stay at their first point.
  point_loop(graph const& g, std::vector<int> const& axes, std::vector<std::vector<int> const*> const& operand_axes)
      : operands(operand_axes.size()) {
    auto const extent_of = [&](int a) { return g.axis_at(a).extent; };
    std::vector<std::ptrdiff_t> all(axes.size() * operands);
    for (std::size_t t = 0; t < operands; ++t) {
      std::ptrdiff_t step = 1;
      for (std::size_t k = operand_axes[t]->size(); k-- > 0;) {
        int const axis = (*operand_axes[t])[k];
        auto const at = static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
        if (at < axes.size()) all[at * operands + t] = step;
        step *= extent_of(axis);
      }
    }
    for (std::size_t d = 0; d < axes.size(); ++d) {
      index_t const extent = extent_of(axes[d]);
      points *= extent;
      auto const* const here = all.data() + d * operands;
      if (joins_last(here, extent)) {
        extents.back() *= extent;
        std::copy_n(here, operands, strides.end() - static_cast<std::ptrdiff_t>(operands));
      } else {
        extents.push_back(extent);
        strides.insert(strides.end(), here, here + operands);
      }
    }
    if (extents.empty()) {  // one point
      extents.push_back(1);
      strides.resize(operands);
    }
  }

  /// Whether an axis goes on where the last one of its rows ends, in all operands.
  bool joins_last(std::ptrdiff_t const* axis_strides, index_t extent) const noexcept {
    if (extents.empty()) return false;
    return std::equal(axis_strides, axis_strides + operands, row_strides(),
                      [&](auto inner, auto outer) { return outer == inner * extent; });
  }
  index_t row() const noexcept { return extents.back(); }
  std::ptrdiff_t const* row_strides() const noexcept { return strides.data() + strides.size() - operands; }

  /// Calls f(point, offsets) for the first point of each row, which goes along the last axis.
  template <class F> void each_row(F const& f) const {
    std::vector<index_t> at(extents.size());
    std::vector<std::ptrdiff_t> offsets(operands);
    for (index_t p = 0; p < points; p += row()) {
      f(p, offsets.data());
      for (std::size_t d = extents.size() - 1; d-- > 0;) {
        auto const* const stride = strides.data() + d * operands;
        for (std::size_t t = 0; t < operands; ++t) offsets[t] += stride[t];
        if (++at[d] < extents[d]) break;
        for (std::size_t t = 0; t < operands; ++t) offsets[t] -= stride[t] * extents[d];
        at[d] = 0;
      }
    }
  }
};

template <class Arithmetic> class evaluator {
 public:
  using V = typename Arithmetic::value;
  evaluator(graph const& g, Arithmetic const& a)
      : g_(g), a_(a), arrays_(g.arrays.size()), bound_(g.axes.size(), -1) {
    for (std::size_t k = 0; k < g.arrays.size(); ++k)
      arrays_[k].assign(static_cast<std::size_t>(g.arrays[k].size()), V{});
    planner plans(g);
    for (auto const& s : g.stages) {
      plans_.push_back(plans.plan(s));
      values_.resize(std::max(values_.size(), plans.used()));
    }
  }
  std::vector<V>& array(int id) { return arrays_[static_cast<std::size_t>(id)]; }
  double largest() const noexcept { return largest_; }

  void run() {
    g_.each_run([&](std::size_t first, std::size_t last) { in_turn(first, last, 0); });
  }

 private:
  /// Computes a node for all points of its axes. Values are kept in numbered places, which the next stage uses again:
  /// a place keeps the memory of the largest array that it had.
  struct step {
    node const* of;
    std::size_t place;
    std::vector<std::size_t> inputs;  ///< places of its inputs
    point_loop loop;                  ///< over its points
    std::ptrdiff_t term_stride = 0;   ///< of a sum: from one term to the next
  };
  /// The values that a statement needs and that no earlier statement of the stage has computed, and its own loop over
  /// value and indices.
  struct statement_plan {
    std::vector<step> steps;
    statement const* of;
    std::vector<std::size_t> inputs;
    point_loop loop;
  };
  using stage_plan = std::vector<statement_plan>;

  static constexpr std::size_t nowhere = ~std::size_t{0};

  /// Plans one stage: where its values are and over which axes each of them goes.
  class planner {
   public:
    explicit planner(graph const& g) : g_(g), places_(g.nodes.size(), nowhere), axes_(g.nodes.size()) {}

    stage_plan plan(stage const& s) {
      std::fill(places_.begin(), places_.end(), nowhere);
      used_ = 0;
      outer_ = {};
      for (int const a : s.outer) outer_.insert(a);
      stage_plan all;
      for (auto const& st : s.statements) {
        std::vector<int> roots;
        st.add_roots(roots);
        std::vector<step> steps;
        for (int const r : roots) add_steps(steps, r);
        auto axes = s.axes;
        axes.insert(axes.end(), st.loops.begin(), st.loops.end());
        all.push_back({std::move(steps), &st, places_of(roots), loop_over(axes, roots)});
      }
      return all;
    }
    std::size_t used() const noexcept { return used_; }

   private:
    void add_steps(std::vector<step>& steps, int id) {
      auto const at = static_cast<std::size_t>(id);
      if (places_[at] != nowhere) return;
      node const& n = g_.at(id);
      for (int const i : n.in) add_steps(steps, i);
      axes_[at] = (n.free - outer_).members();
      places_[at] = used_++;
      steps.push_back({&n, places_[at], places_of(n.in), loop_over(axes_[at], n.in)});
      if (n.what == op::sum) steps.back().term_stride = term_stride(axes_[static_cast<std::size_t>(n.in[0])], n.which);
    }
    std::vector<std::size_t> places_of(std::vector<int> const& ids) const {
      std::vector<std::size_t> found;
      for (int const i : ids) found.push_back(places_[static_cast<std::size_t>(i)]);
      return found;
    }
    point_loop loop_over(std::vector<int> const& axes, std::vector<int> const& ids) const {
      std::vector<std::vector<int> const*> of;
      for (int const i : ids) of.push_back(&axes_[static_cast<std::size_t>(i)]);
      return {g_, axes, of};
    }
    std::ptrdiff_t term_stride(std::vector<int> const& axes, int which) const {
      std::ptrdiff_t stride = 1;
      for (std::size_t k = axes.size(); k-- > 0; stride *= g_.axis_at(axes[k]).extent)
        if (axes[k] == which) return stride;
      return 0;  // all terms are the same
    }

    graph const& g_;
    std::vector<std::size_t> places_;
    std::vector<std::vector<int>> axes_;
    std::size_t used_ = 0;
    axis_set outer_;
  };

  void in_turn(std::size_t first, std::size_t last, std::size_t depth) {
    auto const& outer = g_.stages[first].outer;
    if (depth < outer.size()) {
      auto const axis = static_cast<std::size_t>(outer[depth]);
      for (index_t i = 0; i < g_.axes[axis].extent; ++i) {
        bound_[axis] = i;
        in_turn(first, last, depth + 1);
      }
      bound_[axis] = -1;
      return;
    }
    for (auto k = first; k < last; ++k) {
      for (auto const& st : plans_[k]) {
        for (auto const& s : st.steps) compute(s);
        write(st);
      }
    }
  }

  void compute(step const& s) {
    node const& n = *s.of;
    auto& to = values_[s.place];
    to.resize(static_cast<std::size_t>(s.loop.points));
    switch (n.what) {
      case op::literal:
        to[0] = n.of == type::f32 ? a_.real(n.literal) : a_.whole(static_cast<std::int64_t>(n.literal));
        break;
      case op::axis: {
        index_t const bound = bound_[static_cast<std::size_t>(n.which)];
        for (std::size_t k = 0; k < to.size(); ++k) to[k] = a_.whole(bound >= 0 ? bound : static_cast<index_t>(k));
        break;
      }
      case op::load: load(s); break;
      case op::sum: sum(s); break;
      default:
        if (g_.at(n.in[0]).of == type::f32 && n.what != op::select) of_reals(s);
        else of_whole(s);
    }
    if (n.of == type::f32) note_sizes(to);
  }

  void load(step const& s) {
    auto const& a = g_.array_at(s.of->which);
    auto const& from = arrays_[static_cast<std::size_t>(s.of->which)];
    auto& to = values_[s.place];
    auto const* const stride = s.loop.row_strides();
    s.loop.each_row([&](index_t p, std::ptrdiff_t const* offset) {
      for (index_t k = 0; k < s.loop.row(); ++k) {
        index_t at = 0;
        for (std::size_t d = 0; d < a.shape.size(); ++d) {
          index_t i = a_.index(values_[s.inputs[d]][static_cast<std::size_t>(offset[d] + k * stride[d])]);
          if (s.of->clamped) i = std::clamp<index_t>(i, 0, a.shape[d] - 1);
          require<error>(i >= 0 && i < a.shape[d], [&] {
            return "evaluate: " + a.name + " is read at " + std::to_string(i) + " of " + std::to_string(a.shape[d]);
          });
          at = at * a.shape[d] + i;
        }
        to[static_cast<std::size_t>(p + k)] = from[static_cast<std::size_t>(at)];
      }
    });
  }

  void sum(step const& s) {
    index_t const terms = g_.axis_at(s.of->which).extent;
    auto const stride = s.loop.row_strides()[0];
    V const* const from = values_[s.inputs[0]].data();
    V* const to = values_[s.place].data();
    s.loop.each_row([&](index_t p, std::ptrdiff_t const* offset) {
      for (index_t k = 0; k < s.loop.row(); ++k) {
        V const* const x = from + offset[0] + k * stride;
        V total{};
        for (index_t t = 0; t < terms; ++t) total = a_.add(total, x[t * s.term_stride]);
        to[p + k] = total;
      }
    });
  }

  /// Sets each point of a step to f(its first N inputs).
  template <std::size_t N, class F> void map(step const& s, F const& f) {
    std::array<V const*, N> from;
    std::array<std::ptrdiff_t, N> stride;
    for (std::size_t t = 0; t < N; ++t) {
      from[t] = values_[s.inputs[t]].data();
      stride[t] = s.loop.row_strides()[t];
    }
    V* const to = values_[s.place].data();
    index_t const row = s.loop.row();
    s.loop.each_row([&](index_t p, std::ptrdiff_t const* offset) {
      for (index_t k = 0; k < row; ++k) {
        auto const x = [&](std::size_t t) { return from[t][offset[t] + k * stride[t]]; };
        if constexpr (N == 1) to[p + k] = f(x(0));
        if constexpr (N == 2) to[p + k] = f(x(0), x(1));
        if constexpr (N == 3) to[p + k] = f(x(0), x(1), x(2));
      }
    });
  }

  void of_reals(step const& s) {
    auto const one = [&](auto const& f) { map<1>(s, f); };
    auto const two = [&](auto const& f) { map<2>(s, f); };
    auto const function = [&](auto const& f) { one([&](V x) { return a_.function(f, x); }); };
    switch (s.of->what) {
      case op::add: return two([&](V x, V y) { return a_.add(x, y); });
      case op::sub: return two([&](V x, V y) { return a_.sub(x, y); });
      case op::mul: return two([&](V x, V y) { return a_.mul(x, y); });
      case op::div: return two([&](V x, V y) { return a_.div(x, y); });
      case op::min: return two([](V x, V y) { return y < x ? y : x; });
      case op::max: return two([](V x, V y) { return x < y ? y : x; });
      case op::abs: return one([&](V x) { return x < 0 ? a_.sub(V{}, x) : x; });
      case op::floor: return one([&](V x) { return a_.floor(x); });
      case op::ceil: return one([&](V x) { return a_.ceil(x); });
      case op::sqrt: return function([](auto v) { return std::sqrt(v); });
      case op::exp: return function([](auto v) { return std::exp(v); });
      case op::log: return function([](auto v) { return std::log(v); });
      case op::exp2: return function([](auto v) { return std::exp2(v); });
      case op::log2: return function([](auto v) { return std::log2(v); });
      case op::sin: return function([](auto v) { return std::sin(v); });
      case op::cos: return function([](auto v) { return std::cos(v); });
      case op::atan: return function([](auto v) { return std::atan(v); });
      case op::to_index: return one([&](V x) { return a_.to_index(x); });
      case op::less: return two([&](V x, V y) { return a_.whole(x < y); });
      case op::less_equal: return two([&](V x, V y) { return a_.whole(x <= y); });
      default: return two([&](V x, V y) { return a_.whole(x == y); });
    }
  }
  void of_whole(step const& s) {
    auto const two = [&](auto const& f) {
      map<2>(s, [&](V x, V y) { return a_.whole(f(a_.index(x), a_.index(y))); });
    };
    using I = std::int64_t;
    switch (s.of->what) {
      case op::add: return two([](I x, I y) { return x + y; });
      case op::sub: return two([](I x, I y) { return x - y; });
      case op::mul: return two([](I x, I y) { return x * y; });
      case op::div: return two([](I x, I y) { return x / y; });
      case op::rem: return two([](I x, I y) { return x % y; });
      case op::min: return two([](I x, I y) { return std::min(x, y); });
      case op::max: return two([](I x, I y) { return std::max(x, y); });
      case op::abs: return map<1>(s, [&](V x) { return a_.whole(std::abs(a_.index(x))); });
      case op::both: return two([](I x, I y) { return x & y; });
      case op::less: return two([](I x, I y) { return I{x < y}; });
      case op::less_equal: return two([](I x, I y) { return I{x <= y}; });
      case op::equal: return two([](I x, I y) { return I{x == y}; });
      case op::to_real: return map<1>(s, [&](V x) { return a_.to_real(x); });
      default: return map<3>(s, [&](V which, V x, V y) { return a_.index(which) != 0 ? x : y; });  // select
    }
  }

  void write(statement_plan const& s) {
    auto const& a = g_.array_at(s.of->array);
    auto& to = arrays_[static_cast<std::size_t>(s.of->array)];
    auto const* const stride = s.loop.row_strides();
    auto const value = [&](std::size_t t, std::ptrdiff_t const* offset, index_t k) {
      return values_[s.inputs[t]][static_cast<std::size_t>(offset[t] + k * stride[t])];
    };
    V least{}, most{};
    s.loop.each_row([&](index_t, std::ptrdiff_t const* offset) {
      for (index_t k = 0; k < s.loop.row(); ++k) {
        index_t at = 0;
        bool inside = true;
        for (std::size_t d = 0; d < a.shape.size(); ++d) {
          index_t const i = a_.index(value(d + 1, offset, k));
          inside = i >= 0 && i < a.shape[d];
          if (!inside) break;
          at = at * a.shape[d] + i;
        }
        if (!inside) continue;
        auto& cell = to[static_cast<std::size_t>(at)];
        cell = s.of->adds ? a_.add(cell, value(0, offset, k)) : value(0, offset, k);
        least = std::min(least, cell);
        most = std::max(most, cell);
      }
    });
    note_size(least);
    note_size(most);
  }

  void note_sizes(std::vector<V> const& values) {
    V least{}, most{};
    for (auto const x : values) {
      least = std::min(least, x);
      most = std::max(most, x);
    }
    note_size(least);
    note_size(most);
  }
  void note_size(V x) { largest_ = std::max(largest_, std::abs(a_.to_double(x))); }

  graph const& g_;
  Arithmetic a_;
  std::vector<std::vector<V>> arrays_;
  std::vector<index_t> bound_;       ///< position along each sequence axis whose loop runs, otherwise -1
  std::vector<stage_plan> plans_;
  std::vector<std::vector<V>> values_;  ///< of the stage that runs, by place
  double largest_ = 0;
};

}  // namespace mbirk::record::detail
