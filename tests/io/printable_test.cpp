// Messages stay on one line and steer no terminal, whatever a file contains.
#include "mbirk/io/printable.hpp"

#include <gtest/gtest.h>

namespace {

using mbirk::printable;

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("params.delta_voxel is 3"), "params.delta_voxel is 3");
  EXPECT_EQ(printable("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(Printable, ReplacesWhatATerminalInterprets) {
  EXPECT_EQ(printable("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(printable("\x1b[31mred\x7f"), "?[31mred?");
  EXPECT_EQ(printable("\xc2\x9b" "31m"), "??31m") << "a control character of two bytes";
  EXPECT_EQ(printable("\xe2\x80\xa8\xe2\x80\xae"), "??????") << "a line separator and a mark of the direction";
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("\xc0\x80\xe0\x80\x80"), "?????") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80\xf5\x80\x80\x80"), "???????") << "a surrogate, and beyond Unicode";
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "?x");
}

TEST(Printable, CutsLongText) {
  EXPECT_EQ(printable("0123456789", 10), "0123456789");
  EXPECT_EQ(printable("0123456789a", 10), "0123456...");
  EXPECT_EQ(printable("012345\xe2\x82\xac" "89", 10), "012345...") << "not within a character";
}

}  // namespace
