#include "mbirk/exec/instruction_set.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "exec/own_lanes.hpp"

namespace {

using namespace mbirk;

/// Sets the variable during a test.
struct wanted_set {
  explicit wanted_set(char const* name) { setenv("MBIRK_INSTRUCTION_SET", name, 1); }
  ~wanted_set() { unsetenv("MBIRK_INSTRUCTION_SET"); }
};

constexpr std::array<std::string_view, 3> three{"least", "middle", "greatest"};

std::string_view choose(std::string_view lacking = "") {
  return detail::choose_instruction_set(three, [&](std::string_view set) { return set != lacking; });
}

TEST(InstructionSet, IsTheGreatestThatTheProcessorHas) {
  EXPECT_EQ(choose(), "greatest");
  EXPECT_EQ(choose("greatest"), "middle");
}

TEST(InstructionSet, IsTheOneThatTheVariableNames) {
  wanted_set const set("least");
  EXPECT_EQ(choose(), "least");
}

TEST(InstructionSet, AnEmptyVariableNamesNone) {
  wanted_set const set("");
  EXPECT_EQ(choose(), "greatest");
}

TEST(InstructionSet, OneThatIsNotThereIsAnError) {
  auto const what = [](char const* name, std::string_view lacking) -> std::string {
    wanted_set const set(name);
    try {
      return std::string(choose(lacking));
    } catch (parameter_error const& e) {
      return e.what();
    }
  };
  EXPECT_EQ(
      what("x", ""),
      "MBIRK_INSTRUCTION_SET is \"x\", expected what this build and this processor have: least, middle, greatest");
  EXPECT_EQ(what("greatest", "greatest"),
            "MBIRK_INSTRUCTION_SET is \"greatest\", expected what this build and this processor have: least, middle");
  EXPECT_THROW(
      detail::choose_instruction_set(std::array<std::string_view, 1>{"x"}, [](std::string_view) { return false; }),
      parameter_error);
}

TEST(InstructionSet, PartsOfAProgramThatAreCompiledForDifferentVectorsRunTheirOwnKernels) {
  EXPECT_EQ(test::lanes_that_run(exec::host{1}), simd::native_lanes);
#if defined(__x86_64__)
  EXPECT_EQ(test::lanes_of_least_processor(), 4);
#endif
}

}  // namespace
