// JSON with limits: what is read is what nlohmann-json reads, except that depth, size and repeated keys are refused.
#include "mbirk/io/json.hpp"

#include <gtest/gtest.h>

#include "core/messages.hpp"

namespace {

using namespace mbirk;
using nlohmann::json;

std::string refusal(std::string const& text, json_limits const& limits = {}) {
  return test::message_of<io_error>([&] { parse_json(text, "f.json", limits); });
}
std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, IsThatOfTheParser) {
  for (std::string const text :
       {"null", "-3", "18446744073709551615", "2.5e-300", "\"a\\u00e9\\n\"", "[]", "{}", "[[], {}, [1, [2, 3]], true]",
        "{\"a\": {\"b\": [1, {\"c\": false}], \"d\": \"e\"}, \"\": null}"})
    EXPECT_EQ(parse_json(text, "f.json"), json::parse(text)) << text;
}

TEST(Json, DepthIsLimited) {
  EXPECT_EQ(parse_json(nested(64), "f.json"), json::parse(nested(64)));
  EXPECT_EQ(refusal(nested(65)), "f.json: has more than 64 arrays and objects inside each other");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), "f.json: has more than 64 arrays and objects inside each other");
  std::string objects;
  for (int k = 0; k < 100'000; ++k) objects += "{\"a\":";
  EXPECT_EQ(refusal(objects), "f.json: has more than 64 arrays and objects inside each other");
}

TEST(Json, SizeIsLimited) {
  EXPECT_NO_THROW(parse_json("[1, 2]", "f.json", {.bytes = 6}));
  EXPECT_EQ(refusal("[1, 2] ", {.bytes = 6}), "f.json: has 7 bytes of JSON, expected at most 6");
}

TEST(Json, KeysAreUnique) {
  EXPECT_EQ(refusal("{\"a\": 1, \"b\": 2, \"a\": 1}"), "f.json: a is there twice, expected once");
  EXPECT_EQ(refusal("{\"x\": [0, {\"y\": {}}, {\"a\": 1, \"a\": 2}]}"),
            "f.json: x[2].a is there twice, expected once");
  EXPECT_EQ(refusal("{\"\\u001b[31m\\n\": 1, \"\\u001b[31m\\n\": 2}"),
            "f.json: \"\\u001b[31m\\n\" is there twice, expected once");
  EXPECT_NO_THROW(parse_json("[{\"a\": 1}, {\"a\": {\"a\": 2}}]", "f.json"));
}

TEST(Json, ErrorsAreShortLines) {
  for (std::string const text : {"", "{", "[1 2]", "{\"a\"}", "nul", "[1] x", "\"\xff\"", "\"\x01\"", "1e999"}) {
    auto const said = refusal(text);
    EXPECT_TRUE(said.starts_with("f.json: is not valid JSON: ")) << said;
    EXPECT_EQ(said, printable(said));
  }
  EXPECT_LT(refusal('"' + std::string(100'000, 'x')).size(), 300u);
}

}  // namespace
