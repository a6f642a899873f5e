// Evaluates a graph, array by array, in a chosen arithmetic: float32, double, or fixed point of any word length. It
// serves word-length studies and provides the expected results of hand-off programs; it is not fast, and every value
// takes memory for all points of its axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/core/difference.hpp"
#include "mbirk/record/graph.hpp"

namespace mbirk::record {

/// Fixed point with `width` bits, `whole` of which (including the sign) are before the point. Overflow wraps and bits
/// below the last one are dropped (rounding towards minus infinity), like the default of ap_fixed<W, I> (AMD UG1399).
/// Functions (sin, sqrt, exp, ...) are computed in double and rounded the same way.
struct fixed_format {
  int width = 32, whole = 16;
  int fraction() const noexcept { return width - whole; }
  friend bool operator==(fixed_format const&, fixed_format const&) = default;
};

namespace detail {

/// Reals are stored as double and rounded to Real after every operation; integers are exact.
template <class Real> struct float_arithmetic {
  using value = double;
  static double round(double x) noexcept { return static_cast<double>(static_cast<Real>(x)); }
  double real(double x) const noexcept { return round(x); }
  double whole(std::int64_t n) const noexcept { return static_cast<double>(n); }
  std::int64_t index(double x) const noexcept { return static_cast<std::int64_t>(x); }
  double to_double(double x) const noexcept { return x; }
  double to_real(double n) const noexcept { return round(n); }
  double to_index(double x) const noexcept { return std::trunc(x); }
  double add(double a, double b) const noexcept { return round(a + b); }
  double sub(double a, double b) const noexcept { return round(a - b); }
  double mul(double a, double b) const noexcept { return round(a * b); }
  double div(double a, double b) const noexcept { return round(a / b); }
  double floor(double a) const noexcept { return std::floor(a); }
  double ceil(double a) const noexcept { return std::ceil(a); }
  template <class F> double function(F const& f, double a) const noexcept {
    return static_cast<double>(f(static_cast<Real>(a)));
  }
};

struct fixed_arithmetic {
  using value = std::int64_t;
  fixed_format format;
  double one, unit;  // 2^fraction and its inverse: multiplying by them is exact, and much faster than std::ldexp

  explicit fixed_arithmetic(fixed_format const& f)
      : format(f), one(std::ldexp(1.0, f.fraction())), unit(std::ldexp(1.0, -f.fraction())) {}
  std::int64_t wrap(__int128 x) const noexcept {
    int const unused = 64 - format.width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << unused) >> unused;
  }
  std::int64_t real(double x) const noexcept { return wrap(static_cast<__int128>(std::floor(x * one))); }
  std::int64_t whole(std::int64_t n) const noexcept { return n; }
  std::int64_t index(std::int64_t x) const noexcept { return x; }
  double to_double(std::int64_t x) const noexcept { return static_cast<double>(x) * unit; }
  std::int64_t to_real(std::int64_t n) const noexcept { return wrap(static_cast<__int128>(n) << format.fraction()); }
  std::int64_t to_index(std::int64_t x) const noexcept { return x >> format.fraction(); }
  std::int64_t add(std::int64_t a, std::int64_t b) const noexcept { return wrap(static_cast<__int128>(a) + b); }
  std::int64_t sub(std::int64_t a, std::int64_t b) const noexcept { return wrap(static_cast<__int128>(a) - b); }
  std::int64_t mul(std::int64_t a, std::int64_t b) const noexcept {
    return wrap((static_cast<__int128>(a) * b) >> format.fraction());
  }
  std::int64_t div(std::int64_t a, std::int64_t b) const noexcept {
    if (b == 0) return 0;
    __int128 const x = static_cast<__int128>(a) << format.fraction();
    __int128 const q = x / b;
    return wrap(q - ((x % b != 0 && (x < 0) != (b < 0)) ? 1 : 0));
  }
  std::int64_t floor(std::int64_t a) const noexcept { return a >> format.fraction() << format.fraction(); }
  std::int64_t ceil(std::int64_t a) const noexcept { return wrap(-static_cast<__int128>(floor(-a))); }
  template <class F> std::int64_t function(F const& f, std::int64_t a) const noexcept { return real(f(to_double(a))); }
};

template <class Arithmetic> class evaluator {
 public:
  using V = typename Arithmetic::value;
  evaluator(graph const& g, Arithmetic const& a) : g_(g), a_(a), arrays_(g.arrays.size()), bound_(g.axes.size(), -1) {
    for (std::size_t k = 0; k < g.arrays.size(); ++k)
      arrays_[k].assign(static_cast<std::size_t>(g.arrays[k].size()), V{});
  }
  std::vector<V>& array(int id) { return arrays_[static_cast<std::size_t>(id)]; }
  double largest() const noexcept { return largest_; }

  void run() {
    g_.each_run([&](std::size_t first, std::size_t last) { in_turn(first, last, 0); });
  }

 private:
  struct tensor {
    std::vector<int> axes;
    std::vector<V> data;
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
      known_.clear();
      for (auto const& st : g_.stages[k].statements) write(g_.stages[k], st);
    }
  }
  std::vector<int> free_axes(axis_set const& s) const {
    auto all = s.members();
    std::erase_if(all, [&](int a) { return bound_[static_cast<std::size_t>(a)] >= 0; });
    return all;
  }
  /// Calls f(point, offsets) for every point of the axes, the last axis fastest; offsets[t] is the element of tensor t
  /// at that point.
  template <class F> void each(std::vector<int> const& axes, std::vector<tensor const*> const& of, F const& f) const {
    std::size_t const rank = axes.size(), n = of.size();
    std::vector<index_t> extent(rank), at(rank);
    std::vector<std::size_t> offset(n);
    std::vector<std::size_t> stride(rank * n);
    for (std::size_t t = 0; t < n; ++t) {
      std::size_t step = 1;
      for (std::size_t d = of[t]->axes.size(); d-- > 0;) {
        auto const place = std::find(axes.begin(), axes.end(), of[t]->axes[d]) - axes.begin();
        stride[static_cast<std::size_t>(place) * n + t] = step;
        step *= static_cast<std::size_t>(g_.axis_at(of[t]->axes[d]).extent);
      }
    }
    std::size_t points = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      extent[d] = g_.axis_at(axes[d]).extent;
      points *= static_cast<std::size_t>(extent[d]);
    }
    for (std::size_t p = 0; p < points; ++p) {
      f(p, offset);
      for (std::size_t d = rank; d-- > 0;) {
        for (std::size_t t = 0; t < n; ++t) offset[t] += stride[d * n + t];
        if (++at[d] < extent[d]) break;
        for (std::size_t t = 0; t < n; ++t) offset[t] -= stride[d * n + t] * static_cast<std::size_t>(extent[d]);
        at[d] = 0;
      }
    }
  }
  tensor const& value(int id) {
    if (auto const found = known_.find(id); found != known_.end()) return found->second;
    for (int const i : g_.at(id).in) value(i);
    return known_[id] = make(g_.at(id));
  }
  tensor make(node const& n) {
    tensor t{free_axes(n.free), {}};
    std::size_t points = 1;
    for (int const a : t.axes) points *= static_cast<std::size_t>(g_.axis_at(a).extent);
    t.data.resize(points);
    std::vector<tensor const*> in;
    for (int const i : n.in) in.push_back(&known_.at(i));
    switch (n.what) {
      case op::literal:
        t.data[0] = n.of == type::f32 ? a_.real(n.literal) : a_.whole(static_cast<std::int64_t>(n.literal));
        break;
      case op::axis:
        for (std::size_t k = 0; k < points; ++k)
          t.data[k] =
              a_.whole(t.axes.empty() ? bound_[static_cast<std::size_t>(n.which)] : static_cast<std::int64_t>(k));
        break;
      case op::load: {
        auto const& a = g_.array_at(n.which);
        auto const& from = arrays_[static_cast<std::size_t>(n.which)];
        each(t.axes, in, [&](std::size_t p, std::vector<std::size_t> const& o) {
          t.data[p] = from[element(a, n.clamped, [&](std::size_t d) { return a_.index(in[d]->data[o[d]]); })];
        });
        break;
      }
      case op::sum: {
        auto inner = t.axes;
        inner.push_back(n.which);
        index_t const terms = g_.axis_at(n.which).extent;
        each(inner, in, [&](std::size_t p, std::vector<std::size_t> const& o) {
          auto& total = t.data[p / static_cast<std::size_t>(terms)];
          total = a_.add(total, in[0]->data[o[0]]);
        });
        break;
      }
      default: {
        bool const reals = g_.at(n.in[0]).of == type::f32 && n.what != op::select;
        each(t.axes, in, [&](std::size_t p, std::vector<std::size_t> const& o) {
          auto const x = [&](std::size_t k) { return in[k]->data[o[k]]; };
          t.data[p] = reals ? of_reals(n.what, x) : of_whole(n.what, x);
        });
      }
    }
    if (n.of == type::f32) {
      V least{}, most{};
      for (auto const x : t.data) {
        least = std::min(least, x);
        most = std::max(most, x);
      }
      note_size(least);
      note_size(most);
    }
    return t;
  }
  template <class I> std::size_t element(struct array const& a, bool clamped, I const& index) const {
    index_t at = 0;
    for (std::size_t d = 0; d < a.shape.size(); ++d) {
      index_t i = index(d);
      if (clamped) i = std::clamp<index_t>(i, 0, a.shape[d] - 1);
      require<error>(i >= 0 && i < a.shape[d], [&] {
        return "evaluate: " + a.name + " is read at " + std::to_string(i) + " of " + std::to_string(a.shape[d]);
      });
      at = at * a.shape[d] + i;
    }
    return static_cast<std::size_t>(at);
  }
  template <class X> V of_reals(op what, X const& x) const {
    switch (what) {
      case op::add: return a_.add(x(0), x(1));
      case op::sub: return a_.sub(x(0), x(1));
      case op::mul: return a_.mul(x(0), x(1));
      case op::div: return a_.div(x(0), x(1));
      case op::min: return x(1) < x(0) ? x(1) : x(0);
      case op::max: return x(0) < x(1) ? x(1) : x(0);
      case op::abs: return x(0) < 0 ? a_.sub(V{}, x(0)) : x(0);
      case op::floor: return a_.floor(x(0));
      case op::ceil: return a_.ceil(x(0));
      case op::sqrt: return a_.function([](auto v) { return std::sqrt(v); }, x(0));
      case op::exp: return a_.function([](auto v) { return std::exp(v); }, x(0));
      case op::log: return a_.function([](auto v) { return std::log(v); }, x(0));
      case op::exp2: return a_.function([](auto v) { return std::exp2(v); }, x(0));
      case op::log2: return a_.function([](auto v) { return std::log2(v); }, x(0));
      case op::sin: return a_.function([](auto v) { return std::sin(v); }, x(0));
      case op::cos: return a_.function([](auto v) { return std::cos(v); }, x(0));
      case op::atan: return a_.function([](auto v) { return std::atan(v); }, x(0));
      case op::to_index: return a_.to_index(x(0));
      case op::less: return a_.whole(x(0) < x(1));
      case op::less_equal: return a_.whole(x(0) <= x(1));
      default: return a_.whole(x(0) == x(1));
    }
  }
  template <class X> V of_whole(op what, X const& x) const {
    auto const i = [&](std::size_t k) { return a_.index(x(k)); };
    switch (what) {
      case op::add: return a_.whole(i(0) + i(1));
      case op::sub: return a_.whole(i(0) - i(1));
      case op::mul: return a_.whole(i(0) * i(1));
      case op::div: return a_.whole(i(0) / i(1));
      case op::rem: return a_.whole(i(0) % i(1));
      case op::min: return a_.whole(std::min(i(0), i(1)));
      case op::max: return a_.whole(std::max(i(0), i(1)));
      case op::abs: return a_.whole(std::abs(i(0)));
      case op::both: return a_.whole(i(0) & i(1));
      case op::less: return a_.whole(i(0) < i(1));
      case op::less_equal: return a_.whole(i(0) <= i(1));
      case op::equal: return a_.whole(i(0) == i(1));
      case op::to_real: return a_.to_real(x(0));
      default: return i(0) != 0 ? x(1) : x(2);  // select
    }
  }
  void write(stage const& s, statement const& st) {
    auto const& a = g_.array_at(st.array);
    auto axes = s.axes;
    axes.insert(axes.end(), st.loops.begin(), st.loops.end());
    std::vector<tensor const*> in{&value(st.value)};
    for (int const i : st.index) value(i);
    in[0] = &known_.at(st.value);
    for (int const i : st.index) in.push_back(&known_.at(i));
    auto& to = arrays_[static_cast<std::size_t>(st.array)];
    each(axes, in, [&](std::size_t, std::vector<std::size_t> const& o) {
      index_t at = 0;
      for (std::size_t d = 0; d < a.shape.size(); ++d) {
        index_t const i = a_.index(in[d + 1]->data[o[d + 1]]);
        if (i < 0 || i >= a.shape[d]) return;
        at = at * a.shape[d] + i;
      }
      auto& cell = to[static_cast<std::size_t>(at)];
      cell = st.adds ? a_.add(cell, in[0]->data[o[0]]) : in[0]->data[o[0]];
      note_size(cell);
    });
  }
  void note_size(V x) { largest_ = std::max(largest_, std::abs(a_.to_double(x))); }

  graph const& g_;
  Arithmetic a_;
  std::vector<std::vector<V>> arrays_;
  std::vector<index_t> bound_;
  std::map<int, tensor> known_;
  double largest_ = 0;
};

}  // namespace detail

/// Arrays by name, either the inputs or the outputs of a graph. Integers are stored as double, too.
using named_arrays = std::map<std::string, std::vector<double>>;

struct evaluation {
  named_arrays outputs;
  double largest = 0;  ///< largest magnitude of any real, intermediate values included
};

namespace detail {

template <class Arithmetic, class Convert> evaluation evaluate_with(graph const& g, named_arrays const& inputs,
                                                                    Arithmetic const& arithmetic,
                                                                    Convert const& convert) {
  evaluator<Arithmetic> e(g, arithmetic);
  for (std::size_t k = 0; k < g.arrays.size(); ++k) {
    auto const& a = g.arrays[k];
    if (a.use != array_use::input) continue;
    auto const found = inputs.find(a.name);
    require<error>(found != inputs.end() && static_cast<index_t>(found->second.size()) == a.size(), [&] {
      return "evaluate: the input " + a.name + " needs " + std::to_string(a.size()) + " elements, " +
             (found == inputs.end() ? "none" : std::to_string(found->second.size())) + " are given";
    });
    auto& to = e.array(static_cast<int>(k));
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = a.element == type::f32 ? convert(a, found->second[i])
                                     : arithmetic.whole(static_cast<std::int64_t>(found->second[i]));
  }
  e.run();
  evaluation result{{}, e.largest()};
  for (std::size_t k = 0; k < g.arrays.size(); ++k) {
    if (g.arrays[k].use != array_use::output) continue;
    auto& out = result.outputs[g.arrays[k].name];
    for (auto const x : e.array(static_cast<int>(k))) out.push_back(arithmetic.to_double(x));
  }
  return result;
}

}  // namespace detail

/// Evaluates in float32 (float) or double, rounding after every operation.
template <class Real> evaluation evaluate(graph const& g, named_arrays const& inputs) {
  detail::float_arithmetic<Real> const a;
  return detail::evaluate_with(g, inputs, a, [&](array const&, double x) { return a.real(x); });
}

/// Evaluates in fixed point.
/// @param data  format of inputs with two or more dimensions (samples, voxels); one-dimensional inputs (angles) use the
/// format of the arithmetic.
inline evaluation evaluate(graph const& g, named_arrays const& inputs, fixed_format const& format,
                           fixed_format const& data) {
  detail::fixed_arithmetic const a(format), d(data);
  return detail::evaluate_with(
      g, inputs, a, [&](array const& of, double x) { return a.real(of.is_data() ? d.to_double(d.real(x)) : x); });
}

/// Largest difference of any output relative to its largest magnitude; NaN when a value is not finite.
inline double relative_error(evaluation const& result, evaluation const& reference) {
  double worst = 0;
  for (auto const& [name, expected] : reference.outputs) {
    double const error = mbirk::detail::relative_difference(result.outputs.at(name), expected);
    if (!mbirk::detail::is_finite(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

/// Word lengths that keep the error of the outputs below a bound.
struct word_lengths {
  fixed_format arithmetic, data;
  double error = 0;    ///< error with both formats
  bool found = false;  ///< whether any width up to 62 bits meets the bound
};

/// Finds the shortest arithmetic that keeps the error within half of the bound on every set of inputs, then the
/// shortest data format within all of it. The bits before the point follow from the largest magnitude of a run in
/// double, plus one guard bit. Each width is tried on these inputs only, so other inputs may need more: give sets that
/// differ in what the data may do, with small weights beside large ones. Costs about 40 evaluations of each set, fewer
/// where the first set already refuses a width.
inline word_lengths find_word_lengths(graph const& g, std::vector<named_arrays> const& sets, double bound) {
  require<error>(!sets.empty(), [] { return std::string("find_word_lengths: no inputs, expected a set or more"); });
  std::vector<evaluation> references;
  double largest_input = 0, largest_value = 0;
  for (auto const& inputs : sets) {
    references.push_back(evaluate<double>(g, inputs));
    largest_value = std::max(largest_value, references.back().largest);
    for (auto const& a : g.arrays)
      if (a.is_data())
        for (double const x : inputs.at(a.name)) largest_input = std::max(largest_input, std::abs(x));
  }
  auto const bits_of = [](double largest) {
    return static_cast<int>(std::ceil(std::log2(std::max(largest, 1.0)))) + 2;
  };
  int const whole = bits_of(std::max(largest_value, largest_input)),
            data_whole = static_cast<int>(std::floor(std::log2(largest_input > 0 ? largest_input : 1.0))) + 2;
  constexpr int longest = 62;
  // Stops at the first set that is off by more than the limit.
  auto const error_of = [&](fixed_format const& f, fixed_format const& d, double limit) {
    double worst = 0;
    for (std::size_t k = 0; k < sets.size() && worst <= limit; ++k) {
      double const error = relative_error(evaluate(g, sets[k], f, d), references[k]);
      worst = mbirk::detail::is_finite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
    }
    return worst;
  };
  double const no_limit = std::numeric_limits<double>::infinity();
  word_lengths w;
  fixed_format exact{longest, whole};
  exact.whole = std::min(whole, longest - 1);
  // The error falls with every bit, so bisection finds the smallest width.
  auto const min_width = [&](int low, int high, double limit, auto const& error) {
    while (low < high) {
      int const middle = (low + high) / 2;
      if (error(middle) <= limit)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  auto const arithmetic_of = [&](int width) { return fixed_format{width, exact.whole}; };
  auto const data_of = [&](int width) { return fixed_format{width, data_whole}; };
  int const data_longest = std::min(longest, std::max(40, data_whole + 24));
  int const width = min_width(exact.whole + 1, longest, bound / 2,
                          [&](int n) { return error_of(arithmetic_of(n), data_of(data_longest), bound / 2); });
  w.arithmetic = arithmetic_of(width);
  w.data = data_of(min_width(std::max(2, data_whole + 1), data_longest, bound,
                         [&](int n) { return error_of(w.arithmetic, data_of(n), bound); }));
  w.error = error_of(w.arithmetic, w.data, no_limit);
  w.found = w.error <= bound;
  return w;
}
inline word_lengths find_word_lengths(graph const& g, named_arrays const& inputs, double bound) {
  return find_word_lengths(g, std::vector{inputs}, bound);
}

}  // namespace mbirk::record
