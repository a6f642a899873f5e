// Evaluates a graph, array by array, in a chosen arithmetic: float32, double, or fixed point of any word length. It
// serves word-length studies and provides the expected results of hand-off programs. Every value takes memory for all
// points of its axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "mbirk/core/difference.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/record/arithmetic.hpp"
#include "mbirk/record/evaluator.hpp"
#include "mbirk/record/graph.hpp"

namespace mbirk::record {

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
