// Agreement between a counted run and its cost model.
#pragma once

#include <gtest/gtest.h>

#include "mbirk/instrument/ledger.hpp"

namespace mbirk::test {

/// Every integer of two records, stage by stage and array by array, and no access outside of an array.
inline void expect_same_counts(instrument::operation_record const& a, instrument::operation_record const& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.items, b.items);
  EXPECT_EQ(a.operations, b.operations);
  EXPECT_EQ(a.launches, b.launches);
  EXPECT_EQ(a.allocations, b.allocations);
  ASSERT_EQ(a.arrays.size(), b.arrays.size());
  for (std::size_t k = 0; k < a.arrays.size(); ++k) {
    SCOPED_TRACE(a.arrays[k].name);
    EXPECT_EQ(a.arrays[k].name, b.arrays[k].name);
    EXPECT_EQ(a.arrays[k].role, b.arrays[k].role);
    EXPECT_EQ(a.arrays[k].elements, b.arrays[k].elements);
    EXPECT_EQ(a.arrays[k].counts, b.arrays[k].counts);
    EXPECT_EQ(a.arrays[k].outside, 0u);
    EXPECT_EQ(b.arrays[k].outside, 0u);
  }
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (std::size_t k = 0; k < a.stages.size(); ++k) {
    auto const &s = a.stages[k], &t = b.stages[k];
    SCOPED_TRACE(s.name);
    EXPECT_EQ(s.name, t.name);
    EXPECT_EQ(s.operations, t.operations);
    ASSERT_EQ(s.arrays.size(), t.arrays.size());
    for (std::size_t i = 0; i < s.arrays.size(); ++i)
      EXPECT_EQ(s.arrays[i].counts, t.arrays[i].counts) << s.arrays[i].name;
  }
}

}  // namespace mbirk::test
