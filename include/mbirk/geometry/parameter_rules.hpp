// Admissible values of parameters and options: a rule is a text for messages and a test.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "mbirk/core/index.hpp"
#include "mbirk/geometry/mask.hpp"

namespace mbirk::detail {

/// Admissible values of a parameter, as text and as a test.
template <class Test> struct parameter_rule {
  char const* expected;
  Test test;
  index_t per_view = 1;  ///< of a list with one entry per view: the numbers of an entry
};
template <class Test> parameter_rule(char const*, Test, index_t = 1) -> parameter_rule<Test>;

/// Whether test(x) for all x. Not std::ranges::all_of, which takes much longer to compile.
template <class List, class Test> constexpr bool each_passes(List const& list, Test const& test) {
  for (auto const& x : list)
    if (!test(x)) return false;
  return true;
}

namespace rules {

inline constexpr parameter_rule flag{"true or false", [](bool) { return true; }};
inline constexpr parameter_rule text{"text", [](std::string const&) { return true; }};
inline constexpr parameter_rule finite_number{"a number", [](double x) { return std::isfinite(x); }};
inline constexpr parameter_rule positive_number{"a positive number",
                                                [](double x) { return x > 0 && std::isfinite(x); }};
inline constexpr parameter_rule distance{"a positive number or infinity", [](double x) { return x > 0; }};
inline constexpr parameter_rule power{"a number from 1 to 2", [](double x) { return x >= 1 && x <= 2; }};
inline constexpr parameter_rule not_negative{"a number >= 0", [](auto x) {
  if constexpr (std::is_unsigned_v<decltype(x)>) return true;  // nvcc warns of comparing these with 0
  else return x >= 0;
}};
inline constexpr parameter_rule level{"a whole number >= 0", [](index_t x) { return x >= 0; }};
inline constexpr parameter_rule sizes{"three whole numbers >= 0", [](auto const& v) {
  return each_passes(v, [](index_t n) { return n >= 0; });
}};
inline constexpr parameter_rule numbers{"a list of numbers", [](auto const& v) {
  return each_passes(v, [](double x) { return std::isfinite(x); });
}};
inline constexpr parameter_rule pairs{"two numbers per view", [](auto const& v) {
  return v.size() % 2 == 0 && each_passes(v, [](double x) { return std::isfinite(x); });
}, 2};
inline constexpr parameter_rule vectors{"three numbers per view", [](auto const& v) {
  return v.size() % 3 == 0 && each_passes(v, [](double x) { return std::isfinite(x); });
}, 3};
inline constexpr parameter_rule view_rows{"twelve numbers per view", [](auto const& v) {
  return v.size() % 12 == 0 && each_passes(v, [](double x) { return std::isfinite(x); });
}, 12};
inline constexpr parameter_rule fractions{"one or two numbers >= 0", [](std::vector<double> const& v) {
  return (v.size() == 1 || v.size() == 2) && each_passes(v, [](double x) { return x >= 0 && std::isfinite(x); });
}};
inline constexpr parameter_rule weights{"three numbers >= 0, not all 0", [](std::array<double, 3> const& v) {
  return each_passes(v, [](double x) { return x >= 0 && std::isfinite(x); }) && v[0] + v[1] + v[2] > 0;
}};
inline constexpr parameter_rule counts{"one or more whole numbers >= 1", [](std::vector<index_t> const& v) {
  return !v.empty() && each_passes(v, [](index_t n) { return n >= 1; });
}};
inline constexpr parameter_rule positions{"one or more whole numbers >= 0", [](std::vector<index_t> const& v) {
  return !v.empty() && each_passes(v, [](index_t n) { return n >= 0; });
}};
inline constexpr parameter_rule mask{"true, false or an array of 0 and 1", [](mask_setting const& m) {
  auto const* a = std::get_if<mask_array>(&m);
  return !a || (a->shape[0] >= 0 && a->shape[1] >= 0 &&
                a->values.size() == static_cast<std::size_t>(a->shape[0] * a->shape[1]) &&
                each_passes(a->values, [](auto x) { return x <= 1; }));
}};

}  // namespace rules

}  // namespace mbirk::detail
