// Checks of error messages.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <typeinfo>
#include <vector>

namespace mbirk::test {

/// The message of the Error that f throws; fails if nothing is thrown.
template <class Error, class F> std::string message_of(F const& f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "nothing was thrown";
}

/// f throws an Error, and no type derived from it, whose message has all these parts.
template <class Error, class F> void expect_error(F&& f, std::vector<std::string> const& parts) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown, expected: " << parts.at(0);
  } catch (Error const& e) {
    EXPECT_EQ(typeid(e), typeid(Error)) << e.what();
    for (auto const& part : parts)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << "'" << part << "' is not in: " << e.what();
  } catch (std::exception const& e) {
    ADD_FAILURE() << "another type of error: " << e.what();
  }
}

}  // namespace mbirk::test
