#include "mbirk/core/error.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/messages.hpp"
#include "mbirk/core/view.hpp"

namespace {

using namespace mbirk;
using mbirk::test::message_of;

TEST(Error, EveryTypeIsAnErrorWithItsTextAndPlace) {
  auto const check = []<class E>(E const& thrown) {
    error const& e = thrown;
    EXPECT_STREQ(e.what(), "text");
    EXPECT_STREQ(e.where.file, "file.hpp");
    EXPECT_EQ(e.where.line, 7);
    EXPECT_NE(dynamic_cast<std::runtime_error const*>(&e), nullptr);
  };
  source_location const place{"file.hpp", 7};
  check(shape_error("text", place));
  check(parameter_error("text", place));
  check(index_error("text", place));
  check(io_error("text", place));
  check(allocation_error("text", place));
}

TEST(Error, RequireThrowsWhatItIsTold) {
  EXPECT_THROW(require(false, [] { return "x"; }), parameter_error) << "the default";
  EXPECT_THROW(require<shape_error>(false, [] { return "x"; }), shape_error);
  EXPECT_THROW(require<index_error>(false, [] { return "x"; }), index_error);
  EXPECT_NO_THROW(require(true, [] { return "x"; }));
}

TEST(Error, TheGoodPathMakesNoMessage) {
  int made = 0;
  auto const message = [&] { return ++made, std::string("x"); };
  require(true, message);
  EXPECT_EQ(made, 0);
  EXPECT_THROW(require(false, message), parameter_error);
  EXPECT_EQ(made, 1);
}

TEST(Error, RequireNotesItsCallersPlace) {
  int const line = __LINE__ + 2;
  try {
    require(false, [] { return "x"; });
    FAIL();
  } catch (error const& e) {
    EXPECT_STREQ(e.where.file, __FILE__);
    EXPECT_EQ(e.where.line, line);
  }
}

TEST(Error, ShapesAndNumbersAsText) {
  EXPECT_EQ(detail::shape_text(std::array<index_t, 3>{16, 32, 8}), "(16, 32, 8)");
  EXPECT_EQ(detail::shape_text(std::array<index_t, 1>{5}), "(5)");
  EXPECT_EQ(detail::number_text(0.7), "0.7");
  EXPECT_EQ(detail::number_text(-3), "-3");
}

TEST(RequireShape, AcceptsTheShapeWithPaddedRows) {
  std::vector<float> data(100);
  EXPECT_NO_THROW(require_shape(view<float, 2>(data.data(), {3, 4}), {3, 4}, "op", "x", "(a, b)"));
  EXPECT_NO_THROW(require_shape(view<float, 2>(data.data(), {3, 4}, {10, 1}), {3, 4}, "op", "x", "(a, b)"));
}

TEST(RequireShape, NamesOperationArrayFoundAxesExpected) {
  std::vector<float> data(100);
  auto const text = message_of<shape_error>(
      [&] { require_shape(view<float, 2>(data.data(), {3, 4}), {3, 5}, "forward_project", "recon", "(rows, cols)"); });
  EXPECT_EQ(text, "forward_project: recon has shape (3, 4), expected (rows, cols) = (3, 5)");
}

TEST(RequireShape, WantsDataUnlessEmpty) {
  EXPECT_EQ(message_of<shape_error>([] {
              require_shape(view<float, 2>(nullptr, {3, 4}), {3, 4}, "op", "x", "(a, b)");
            }),
            "op: x has no data");
  EXPECT_NO_THROW(require_shape(view<float, 2>(nullptr, {0, 4}), {0, 4}, "op", "x", "(a, b)"));
  EXPECT_NO_THROW(require_extents(view<float, 2>(nullptr, {3, 4}), {3, 4}, "op", "x", "(a, b)"))
      << "extents alone need no data";
}

TEST(RequireShape, WantsAContiguousLastAxis) {
  std::vector<float> data(100);
  EXPECT_EQ(message_of<shape_error>([&] {
              require_shape(view<float, 2>(data.data(), {3, 4}, {8, 2}), {3, 4}, "op", "x", "(a, b)");
            }),
            "op: x has stride 2 along its last axis, expected contiguous elements");
  EXPECT_NO_THROW(require_shape(view<float, 2>(data.data(), {3, 1}, {8, 2}), {3, 1}, "op", "x", "(a, b)"))
      << "one element has no stride";
}

}  // namespace
