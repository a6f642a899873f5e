// The bytes of protocol buffers, against examples from their specification (protobuf.dev, "Encoding").
#include "mbirk/profile/wire.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using mbirk::profile::wire;

std::string bytes(std::vector<int> const& values) { return {values.begin(), values.end()}; }

TEST(Wire, Numbers) {
  wire w;
  w.number(1, 150);
  EXPECT_EQ(w.bytes(), bytes({0x08, 0x96, 0x01}));
  wire zero;
  zero.number(2, 0);
  EXPECT_EQ(zero.bytes(), bytes({0x10, 0x00}));
  wire minus;
  minus.number(1, -2);
  EXPECT_EQ(minus.bytes(), bytes({0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));
  wire far;
  far.number(16, 1);
  EXPECT_EQ(far.bytes(), bytes({0x80, 0x01, 0x01})) << "a field above 15 takes two bytes";
}

TEST(Wire, Reals) {
  wire w;
  w.real(3, 1.0);
  EXPECT_EQ(w.bytes(), bytes({0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
}

TEST(Wire, TextsAndMessages) {
  wire w;
  w.text(2, "testing");
  EXPECT_EQ(w.bytes(), bytes({0x12, 0x07}) + "testing");
  wire inner, outer;
  inner.number(1, 150);
  outer.message(3, inner);
  EXPECT_EQ(outer.bytes(), bytes({0x1a, 0x03, 0x08, 0x96, 0x01}));
  wire longer;
  longer.text(1, std::string(300, 'x'));
  EXPECT_EQ(longer.bytes(), bytes({0x0a, 0xac, 0x02}) + std::string(300, 'x'));
}

TEST(Wire, PackedNumbers) {
  wire w;
  w.packed(6, std::vector<std::int64_t>{3, 270, 86942});
  EXPECT_EQ(w.bytes(), bytes({0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05}));
  wire none;
  none.packed(6, {});
  EXPECT_EQ(none.bytes(), bytes({0x32, 0x00}));
}

}  // namespace
