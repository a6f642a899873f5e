// Reads protocol buffers by field number, independently of the writer under test.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mbirk::testing {

/// A message; a missing field is 0 or empty.
class wire_message {
 public:
  explicit wire_message(std::string_view bytes) {
    while (!bytes.empty()) {
      auto const tag = varint(bytes);
      auto& field = fields_[static_cast<int>(tag >> 3)].emplace_back();
      switch (tag & 7) {
        case 0: field.number = varint(bytes); break;
        case 1: field.number = fixed64(bytes); break;
        case 2: field.text = take(bytes, varint(bytes)); break;
        default: throw std::runtime_error("wire type " + std::to_string(tag & 7));
      }
    }
  }
  bool has(int field) const { return fields_.contains(field); }
  std::size_t count(int field) const { return has(field) ? fields_.at(field).size() : 0; }
  std::int64_t number(int field) const {
    return has(field) ? static_cast<std::int64_t>(fields_.at(field).back().number) : 0;
  }
  double real(int field) const { return std::bit_cast<double>(static_cast<std::uint64_t>(number(field))); }
  std::string text(int field) const { return has(field) ? fields_.at(field).back().text : ""; }
  wire_message message(int field, std::size_t k = 0) const { return wire_message(fields_.at(field).at(k).text); }
  std::vector<wire_message> messages(int field) const {
    std::vector<wire_message> all;
    for (std::size_t k = 0; k < count(field); ++k) all.push_back(message(field, k));
    return all;
  }
  std::vector<std::string> texts(int field) const {
    std::vector<std::string> all;
    for (std::size_t k = 0; k < count(field); ++k) all.push_back(fields_.at(field)[k].text);
    return all;
  }
  std::vector<std::int64_t> packed(int field) const {
    std::vector<std::int64_t> all;
    if (!has(field)) return all;
    for (std::string_view bytes = fields_.at(field).back().text; !bytes.empty();)
      all.push_back(static_cast<std::int64_t>(varint(bytes)));
    return all;
  }

 private:
  struct value {
    std::uint64_t number = 0;
    std::string text;
  };
  static std::string take(std::string_view& bytes, std::uint64_t n) {
    if (bytes.size() < n) throw std::runtime_error("the message ends within a field");
    std::string const taken(bytes.substr(0, n));
    bytes.remove_prefix(n);
    return taken;
  }
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto const c = static_cast<unsigned char>(take(bytes, 1)[0]);
      n |= static_cast<std::uint64_t>(c & 127) << shift;
      if (c < 128) return n;
    }
    throw std::runtime_error("a number of more than 64 bits");
  }
  static std::uint64_t fixed64(std::string_view& bytes) {
    auto const eight = take(bytes, 8);
    std::uint64_t n = 0;
    for (int k = 7; k >= 0; --k) n = n << 8 | static_cast<unsigned char>(eight[static_cast<std::size_t>(k)]);
    return n;
  }

  std::map<int, std::vector<value>> fields_;
};

}  // namespace mbirk::testing
