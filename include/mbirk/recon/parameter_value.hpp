// A value of any model parameter, with its conversions from and to numbers, lists and text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/geometry/mask.hpp"

namespace mbirk {
namespace detail {

template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;

/// Entry of a list such as {1, 2.5}; the list is integral if all entries are.
struct list_entry {
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  list_entry(T x) : whole(true), integer(static_cast<index_t>(x)), real(static_cast<double>(x)) {}
  template <std::floating_point T> list_entry(T x) : whole(false), integer(0), real(static_cast<double>(x)) {}
  bool whole = true;
  index_t integer = 0;
  double real = 0;
};

}  // namespace detail

/// A value of any parameter, constructed from numbers, lists ({1, 2, 4}, vectors, arrays), text, booleans or masks;
/// setting a parameter checks whether it fits.
class parameter_value {
 public:
  using storage =
      std::variant<bool, index_t, double, std::vector<index_t>, std::vector<double>, mask_array, std::string>;

  // A template, because pointers convert to bool implicitly.
  template <std::same_as<bool> T> parameter_value(T x) : value_(x) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  parameter_value(T x) : value_(static_cast<index_t>(x)) {}
  template <std::floating_point T> parameter_value(T x) : value_(static_cast<double>(x)) {}
  parameter_value(char const* text) : value_(std::string(text)) {}
  parameter_value(std::string text) : value_(std::move(text)) {}
  parameter_value(std::string_view text) : value_(std::string(text)) {}
  parameter_value(mask_array mask) : value_(std::move(mask)) {}
  parameter_value(mask_setting const& mask) {
    if (auto const* inscribed = std::get_if<bool>(&mask)) value_ = *inscribed;
    else value_ = std::get<mask_array>(mask);
  }
  parameter_value(std::initializer_list<detail::list_entry> list) {
    bool whole = true;
    for (auto const& x : list) whole = whole && x.whole;
    if (whole) value_ = convert_list<index_t>(list, [](auto const& x) { return x.integer; });
    else value_ = convert_list<double>(list, [](auto const& x) { return x.real; });
  }
  template <class T> parameter_value(std::vector<T> const& list) : parameter_value(std::span<T const>(list)) {}
  template <class T, std::size_t N>
  parameter_value(std::array<T, N> const& list) : parameter_value(std::span<T const>(list)) {}
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  parameter_value(std::span<T const> list) {
    if constexpr (std::integral<T>) value_ = std::vector<index_t>(list.begin(), list.end());
    else value_ = std::vector<double>(list.begin(), list.end());
  }

  storage const& value() const noexcept { return value_; }

  /// Value converted to T; empty if the conversion would change it. Integers convert to floating-point numbers, and a
  /// number to a list of one.
  template <class T> std::optional<T> as() const {
    std::optional<T> result;
    // Not std::visit, which takes longer to compile.
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      static_cast<void>(((value_.index() == K && (result = convert<T>(std::get<K>(value_)), true)) || ...));
    }(std::make_index_sequence<std::variant_size_v<storage>>{});
    return result;
  }

  /// Text for messages and lists: 0.7, true, (1, 2, 4), "ALU"; long lists are shortened.
  std::string text() const {
    if (auto const* x = std::get_if<bool>(&value_)) return number(*x);
    if (auto const* x = std::get_if<index_t>(&value_)) return number(*x);
    if (auto const* x = std::get_if<double>(&value_)) return number(*x);
    if (auto const* x = std::get_if<std::string>(&value_)) return '"' + *x + '"';
    if (auto const* x = std::get_if<mask_array>(&value_)) return "a mask of shape " + detail::shape_text(x->shape);
    if (auto const* x = std::get_if<std::vector<index_t>>(&value_)) return list(*x);
    return list(std::get<std::vector<double>>(value_));
  }

  friend bool operator==(parameter_value const&, parameter_value const&) = default;

 private:
  template <class T, class V> static std::optional<T> convert(V const& v) {
    if constexpr (std::same_as<T, V>) {
      return v;
    } else if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool> && std::same_as<V, index_t>) {
      if constexpr (std::floating_point<T>) return static_cast<T>(v);
      else if (std::in_range<T>(v)) return static_cast<T>(v);
    } else if constexpr (std::same_as<T, mask_setting> && (std::same_as<V, bool> || std::same_as<V, mask_array>)) {
      return T{v};
    } else if constexpr (std::same_as<T, std::vector<double>> &&
                         (std::same_as<V, double> || std::same_as<V, index_t>)) {
      return T{static_cast<double>(v)};
    } else if constexpr (std::same_as<T, std::vector<index_t>> && std::same_as<V, index_t>) {
      return T(1, v);
    } else if constexpr (detail::is_vector<T> && detail::is_vector<V>) {
      using element = typename T::value_type;
      T list;
      if (std::integral<element> && !std::same_as<V, std::vector<index_t>> && !v.empty()) return {};
      for (auto const x : v) list.push_back(static_cast<element>(x));
      return list;
    } else if constexpr (detail::is_vector<V> && requires(T t) {
                           std::tuple_size<T>::value;
                           t[0];
                         }) {
      using element = typename T::value_type;
      if (v.size() != std::tuple_size_v<T> || (std::integral<element> && !std::same_as<V, std::vector<index_t>>))
        return {};
      T list;
      for (std::size_t k = 0; k < v.size(); ++k) list[k] = static_cast<element>(v[k]);
      return list;
    }
    return {};
  }
  template <class T>
  static std::vector<T> convert_list(std::initializer_list<detail::list_entry> list, auto const& member) {
    std::vector<T> v;
    for (auto const& x : list) v.push_back(member(x));
    return v;
  }
  template <class T> static std::string list(std::vector<T> const& v) {
    std::string s;
    for (std::size_t k = 0; k < std::min<std::size_t>(v.size(), 8); ++k) {
      if (k > 0) s += ", ";
      s += number(v[k]);
    }
    return '(' + s + (v.size() > 8 ? detail::message(", ... ", v.size(), " values)") : ")");
  }
  static std::string number(bool x) { return x ? "true" : "false"; }
  static std::string number(index_t x) { return std::to_string(x); }
  static std::string number(double x) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
  }

  storage value_;
};

}  // namespace mbirk
