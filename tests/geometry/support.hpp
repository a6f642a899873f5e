// Shared by the geometry tests: small valid parameters, and a check of error messages.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "mbirk/geometry/scan.hpp"

namespace mbirk::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

inline parallel_parameters good_parallel() { return {.sinogram_shape = {3, 4, 5}, .angles = {0.0f, 0.5f, 1.0f}}; }
inline cone_parameters good_cone() {
  return {.sinogram_shape = {3, 4, 5}, .angles = {0.0f, 0.5f, 1.0f}, .source_detector_dist = 40, .source_iso_dist = 20};
}

/// Making a scan throws Error and the message has every one of the words.
template <class Geometry, class Error = parameter_error>
void expect_refused(typename Geometry::parameters const& p, std::initializer_list<std::string> words) {
  try {
    scan<Geometry> const s(p);
    ADD_FAILURE() << "accepted";
  } catch (Error const& e) {
    for (auto const& word : words)
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << "no '" << word << "' in: " << e.what();
  }
}

/// A change that both geometries must refuse, applied to the parameters of each.
template <class Change> void expect_refused_in_both(Change const& change, std::initializer_list<std::string> words) {
  auto parallel = good_parallel();
  auto cone = good_cone();
  change(parallel), change(cone);
  {
    SCOPED_TRACE("parallel");
    expect_refused<parallel_geometry>(parallel, words);
  }
  SCOPED_TRACE("cone");
  expect_refused<cone_geometry>(cone, words);
}

}  // namespace mbirk::test
