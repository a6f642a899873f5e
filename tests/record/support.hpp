// Shared by the tests of graphs of composed operations: a scan of each geometry, inputs by name, comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mbirk/record/evaluate.hpp"
#include "projector/cases.hpp"

namespace mbirk::test {

inline geometry_case case_called(std::vector<geometry_case> const& cases, std::string const& name) {
  return *std::find_if(cases.begin(), cases.end(), [&](geometry_case const& c) { return c.name == name; });
}
/// A scan with odd extents of each geometry.
inline std::vector<geometry_case> one_of_each_geometry() {
  std::vector<geometry_case> cases;
  auto const all = all_cases();
  for (char const* name : {"parallel_odd", "cone_odd", "multiaxis_odd", "translation_long_rows", "general_odd"})
    cases.push_back(case_called(all, name));
  return cases;
}

inline std::vector<double> numbers(std::vector<float> const& data) { return {data.begin(), data.end()}; }
inline double largest(std::vector<double> const& v) {
  double m = 0;
  for (double const x : v) m = std::max(m, std::abs(x));
  return m;
}
/// Within a tolerance relative to the largest element.
inline void expect_near(std::vector<double> const& found, std::vector<double> const& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) ASSERT_NEAR(found[k], expected[k], tolerance * largest(expected)) << k;
}

/// The views of a scan as inputs of a graph, and the list of pixels.
template <class Scan> record::named_arrays inputs_of(Scan const& s, pixel_list const& pixels) {
  record::named_arrays in{{"pixel_indices", {pixels.begin(), pixels.end()}}};
  s.views().each([&](char const* name, auto const& list) { in[name].assign(list.begin(), list.end()); });
  return in;
}

}  // namespace mbirk::test
