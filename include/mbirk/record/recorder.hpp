// The recorder runs a definition once, with symbols instead of numbers, and produces its graph. A definition
// that branches on a value does not compile with it, because a recorded flag cannot be converted to bool.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <map>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/definition/interpreter.hpp"
#include "mbirk/record/graph.hpp"

namespace mbirk::record {

/// A recorded value: a node of a graph, or a literal that does not yet belong to a graph. Literals are folded in
/// float32, as a plain float run would compute them.
template <type Type> struct value {
  using number = std::conditional_t<Type == type::f32, float, index_t>;
  graph* in = nullptr;
  int id = -1;
  number literal = 0;

  value() = default;
  value(graph* g, int node) : in(g), id(node) {}
  explicit value(double x) requires(Type == type::f32) : literal(static_cast<float>(x)) {}
  template <std::integral N>
  requires(Type == type::i32) value(N n) : literal(static_cast<index_t>(n)) {}  // NOLINT: every integer is an index

  int node_in(graph* g) const { return in ? id : g->add_node({op::literal, Type, static_cast<double>(literal)}); }
};
using real = value<type::f32>;
using index = value<type::i32>;
using flag = value<type::i1>;

namespace detail {

template <class A, class... More> graph* graph_of(A const& a, More const&... more) {
  if (a.in) return a.in;
  if constexpr (sizeof...(More) > 0)
    return graph_of(more...);
  else
    return nullptr;
}
/// Adds a node with operation `what`; if all arguments are literals, returns the literal that `fold` computes.
template <class R, class Fold, class... A> R apply(op what, Fold const& fold, A const&... a) {
  graph* const g = graph_of(a...);
  if (!g) return R(fold(a.literal...));
  constexpr type of = std::is_same_v<R, real> ? type::f32 : std::is_same_v<R, index> ? type::i32 : type::i1;
  node n{what, of};
  n.in = {a.node_in(g)...};
  return {g, g->add_node(std::move(n))};
}
template <class A> bool is_literal(A const& a, int n) {
  return !a.in && a.literal == static_cast<typename A::number>(n);
}

}  // namespace detail

/// 0 + x is x, except for the sign of a zero.
inline real operator+(real const& a, real const& b) {
  if (detail::is_literal(a, 0)) return b;
  if (detail::is_literal(b, 0)) return a;
  return detail::apply<real>(
      op::add, [](float x, float y) { return x + y; }, a, b);
}
inline real operator-(real const& a, real const& b) {
  return detail::apply<real>(
      op::sub, [](float x, float y) { return x - y; }, a, b);
}
/// 1 * x is x, bit for bit.
inline real operator*(real const& a, real const& b) {
  if (detail::is_literal(a, 1)) return b;
  if (detail::is_literal(b, 1)) return a;
  return detail::apply<real>(
      op::mul, [](float x, float y) { return x * y; }, a, b);
}
inline real operator/(real const& a, real const& b) {
  return detail::apply<real>(
      op::div, [](float x, float y) { return x / y; }, a, b);
}
inline real min(real const& a, real const& b) {
  return detail::apply<real>(
      op::min, [](float x, float y) { return std::min(x, y); }, a, b);
}
inline real max(real const& a, real const& b) {
  return detail::apply<real>(
      op::max, [](float x, float y) { return std::max(x, y); }, a, b);
}
inline real fma(real const& a, real const& b, real const& c) { return a * b + c; }
inline real abs(real const& a) {
  return detail::apply<real>(
      op::abs, [](float x) { return std::fabs(x); }, a);
}
inline real floor(real const& a) {
  return detail::apply<real>(
      op::floor, [](float x) { return std::floor(x); }, a);
}
inline real ceil(real const& a) {
  return detail::apply<real>(
      op::ceil, [](float x) { return std::ceil(x); }, a);
}
inline real sqrt(real const& a) {
  return detail::apply<real>(
      op::sqrt, [](float x) { return std::sqrt(x); }, a);
}
inline real exp(real const& a) {
  return detail::apply<real>(
      op::exp, [](float x) { return std::exp(x); }, a);
}
inline real log(real const& a) {
  return detail::apply<real>(
      op::log, [](float x) { return std::log(x); }, a);
}
inline real exp2(real const& a) {
  return detail::apply<real>(
      op::exp2, [](float x) { return std::exp2(x); }, a);
}
inline real log2(real const& a) {
  return detail::apply<real>(
      op::log2, [](float x) { return std::log2(x); }, a);
}
inline real sin(real const& a) {
  return detail::apply<real>(
      op::sin, [](float x) { return std::sin(x); }, a);
}
inline real cos(real const& a) {
  return detail::apply<real>(
      op::cos, [](float x) { return std::cos(x); }, a);
}
inline real atan(real const& a) {
  return detail::apply<real>(
      op::atan, [](float x) { return std::atan(x); }, a);
}

inline index operator+(index const& a, index const& b) {
  if (detail::is_literal(a, 0)) return b;
  return detail::is_literal(b, 0) ? a
                                  : detail::apply<index>(
                                        op::add, [](index_t x, index_t y) { return x + y; }, a, b);
}
inline index operator-(index const& a, index const& b) {
  if (!b.in) return a + index(-b.literal);
  return detail::apply<index>(
      op::sub, [](index_t x, index_t y) { return x - y; }, a, b);
}
inline index operator*(index const& a, index const& b) {
  return detail::apply<index>(
      op::mul, [](index_t x, index_t y) { return x * y; }, a, b);
}
/// Truncates like integer division in C++.
inline index operator/(index const& a, index const& b) {
  return detail::apply<index>(
      op::div, [](index_t x, index_t y) { return x / y; }, a, b);
}
inline index operator%(index const& a, index const& b) {
  return detail::apply<index>(
      op::rem, [](index_t x, index_t y) { return x % y; }, a, b);
}

namespace detail {
template <class V> flag compare(op what, V const& a, V const& b) {
  require<error>(a.in || b.in, [] { return "record: a comparison of two literals; compare host numbers instead"; });
  return apply<flag>(
      what, [](auto, auto) { return flag(); }, a, b);
}
}  // namespace detail
template <type T>
requires(T != type::i1) flag operator<(value<T> const& a, value<T> const& b) { return detail::compare(op::less, a, b); }
template <type T>
requires(T != type::i1) flag operator>(value<T> const& a, value<T> const& b) { return detail::compare(op::less, b, a); }
template <type T>
requires(T != type::i1) flag operator<=(value<T> const& a, value<T> const& b) {
  return detail::compare(op::less_equal, a, b);
}
template <type T>
requires(T != type::i1) flag operator>=(value<T> const& a, value<T> const& b) {
  return detail::compare(op::less_equal, b, a);
}
template <type T>
requires(T != type::i1) flag operator==(value<T> const& a, value<T> const& b) {
  return detail::compare(op::equal, a, b);
}
inline flag operator&(flag const& a, flag const& b) {
  return {a.in, a.in->add_node({op::both, type::i1, 0, -1, false, {a.id, b.id}})};
}
template <type T> value<T> select(flag const& c, value<T> const& a, value<T> const& b) {
  return {c.in, c.in->add_node({op::select, T, 0, -1, false, {c.id, a.node_in(c.in), b.node_in(c.in)}})};
}

/// Converts an integer to a real, or a real that has been rounded to an integer.
template <std::same_as<real> T> T as(index const& n) {
  return detail::apply<real>(
      op::to_real, [](index_t x) { return static_cast<float>(x); }, n);
}
inline index as_index(real const& x) {
  return detail::apply<index>(
      op::to_index, [](float y) { return static_cast<index_t>(y); }, x);
}

/// An array of reals or integers that a definition reads.
template <class V> struct source {
  graph* in;
  int id;
  template <class... I> V at(I const&... i) const { return load(false, i...); }
  template <class... I> V clamped(I const&... i) const { return load(true, i...); }

 private:
  template <class... I> V load(bool clamped, I const&... i) const {
    require<error>(sizeof...(I) == in->array_at(id).shape.size(),
                   [&] { return "record: " + in->array_at(id).name + " is read with a wrong number of indices"; });
    node n{op::load, std::is_same_v<V, real> ? type::f32 : type::i32, 0, id, clamped};
    n.in = {index(i).node_in(in)...};
    return {in, in->add_node(std::move(n))};
  }
};
/// An array that a definition writes.
struct target {
  graph* in;
  int id;
};

/// Records into a graph, which must outlive the recorder. Declare the arrays, then call the definition once.
class recorder {
 public:
  using real = record::real;
  using index = record::index;

  explicit recorder(graph& into) : into_(&into) {}

  source<real> reals(char const* name, std::vector<index_t> shape) {
    return {into_, declare(name, type::f32, std::move(shape), array_use::input)};
  }
  source<index> indices(char const* name, std::vector<index_t> shape) {
    return {into_, declare(name, type::i32, std::move(shape), array_use::input)};
  }
  target output(char const* name, std::vector<index_t> shape) {
    return {into_, declare(name, type::f32, std::move(shape), array_use::output)};
  }
  target temporary(char const* name, std::vector<index_t> shape) {
    return {into_, declare(name, type::f32, std::move(shape), array_use::temporary)};
  }

  /// Input that belongs to a scan: declared once, when a definition first asks for it.
  template <class E, int Rank> auto input(view<E, Rank> v, char const* name) {
    std::vector<index_t> shape;
    for (int d = 0; d < Rank; ++d) shape.push_back(v.extent(d));
    using number = std::conditional_t<std::integral<std::remove_const_t<E>>, index, real>;
    auto const [known, fresh] = of_scan_.try_emplace({v.data(), name}, 0);
    if (fresh)
      known->second =
          declare(name, std::is_same_v<number, index> ? type::i32 : type::f32, std::move(shape), array_use::input);
    return source<number>{into_, known->second};
  }
  source<real> input(target written) const { return {written.in, written.id}; }

  template <class F> void each(char const* name, definition::axis a, F const& f,
                               std::source_location at = std::source_location::current()) {
    in_stage(name, at, [&](auto const& over) { f(over(a)); });
  }
  template <class F> void each(char const* name, definition::axis a, definition::axis b, F const& f,
                               std::source_location at = std::source_location::current()) {
    in_stage(name, at, [&](auto const& over) {
      auto const i = over(a);
      f(i, over(b));
    });
  }
  template <class F> void each(char const* name, definition::axis a, definition::axis b, definition::axis c, F const& f,
                               std::source_location at = std::source_location::current()) {
    in_stage(name, at, [&](auto const& over) {
      auto const i = over(a), j = over(b);
      f(i, j, over(c));
    });
  }
  template <class F> real sum(char const* name, index_t extent, F const& f) {
    return device_reduce(name, extent, axis_kind::sum, f);
  }
  template <class F> real taps(char const* name, index_t extent, F const& f) {
    return device_reduce(name, extent, axis_kind::small, f);
  }
  template <class F> void loop(char const* name, index_t extent, F const& f) {
    bool const inside = open_ >= 0;
    int const a = into_->add_axis(name, extent, inside ? axis_kind::small : axis_kind::sequence);
    (inside ? loops_ : outer_).push_back(a);
    f(axis_value(a));
    (inside ? loops_ : outer_).pop_back();
  }
  real let(char const* label, real const& x) {
    if (x.in && x.in->nodes[static_cast<std::size_t>(x.id)].label.empty())
      x.in->nodes[static_cast<std::size_t>(x.id)].label = label;
    return x;
  }
  template <class... I> void store(target to, real const& x, I const&... i) { state(false, to, x, i...); }
  template <class... I> void add(target to, real const& x, I const&... i) { state(true, to, x, i...); }

 private:
  /// Appends _2, _3, ... to a name that the graph already has: both projections of a subset update have a temporary
  /// `columns`.
  int declare(std::string const& name, type element, std::vector<index_t> shape, array_use use) {
    auto const taken = [&](std::string const& s) {
      return std::any_of(into_->arrays.begin(), into_->arrays.end(), [&](auto const& a) { return a.name == s; });
    };
    std::string unique = name;
    for (int n = 2; taken(unique); ++n) unique = name + '_' + std::to_string(n);
    into_->arrays.push_back({unique, element, std::move(shape), use});
    return static_cast<int>(into_->arrays.size()) - 1;
  }
  index axis_value(int a) { return {into_, into_->add_node({op::axis, type::i32, 0, a})}; }

  template <class F> void in_stage(char const* name, std::source_location const& at, F const& f) {
    require<error>(open_ < 0, [&] { return std::string("record: stage ") + name + " is inside another stage"; });
    std::string const file = at.file_name();
    into_->stages.push_back({name, file.substr(file.rfind('/') + 1), static_cast<int>(at.line()), outer_});
    open_ = static_cast<int>(into_->stages.size()) - 1;
    f([&](definition::axis a) {
      int const fresh = into_->add_axis(a.name, a.extent, axis_kind::space);
      here().axes.push_back(fresh);
      return axis_value(fresh);
    });
    open_ = -1;
  }
  stage& here() { return into_->stages[static_cast<std::size_t>(open_)]; }

  template <class F> real device_reduce(char const* name, index_t extent, axis_kind kind, F const& f) {
    if (extent == 0) return real(0.0);
    int const a = into_->add_axis(name, extent, kind);
    node n{op::sum, type::f32, 0, a};
    n.in = {f(axis_value(a)).node_in(into_)};
    return {into_, into_->add_node(std::move(n))};
  }
  template <class... I> void state(bool adds, target to, real const& x, I const&... i) {
    require<error>(open_ >= 0,
                   [&] { return "record: " + into_->array_at(to.id).name + " is written outside of a stage"; });
    auto& a = into_->arrays[static_cast<std::size_t>(to.id)];
    require<error>(a.use != array_use::input, [&] { return "record: " + a.name + " is an input and is written"; });
    if (!adds)
      for (int const o : outer_) a.varies.insert(o);
    here().statements.push_back({adds, to.id, {index(i).node_in(into_)...}, x.node_in(into_), loops_});
  }

  graph* into_;
  int open_ = -1;
  std::vector<int> outer_, loops_;
  std::map<std::pair<void const*, std::string>, int> of_scan_;
};

}  // namespace mbirk::record
