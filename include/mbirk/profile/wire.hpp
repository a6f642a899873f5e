// Writes protocol buffers as bytes, for the files of other tools: their messages are few, so their field numbers stand where they are written.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mbirk::profile {

/// A message that grows field by field. Fields may come in any order, and repeated ones again and again.
class wire {
 public:
  std::string const& bytes() const noexcept { return bytes_; }

  /// int64, uint64, enum or bool; a negative int64 as its two's complement.
  void number(int field, std::int64_t value) { tag(field, 0), varint(static_cast<std::uint64_t>(value)); }
  void real(int field, double value) {
    tag(field, 1);
    for (auto bits = std::bit_cast<std::uint64_t>(value), k = std::uint64_t{0}; k < 8; ++k, bits >>= 8) bytes_ += static_cast<char>(bits & 255);
  }
  /// string or bytes.
  void text(int field, std::string_view value) { tag(field, 2), varint(value.size()), bytes_ += value; }
  void message(int field, wire const& inner) { text(field, inner.bytes_); }
  /// Repeated numbers in one field.
  void packed(int field, std::span<std::int64_t const> values) {
    wire inner;
    for (auto const v : values) inner.varint(static_cast<std::uint64_t>(v));
    message(field, inner);
  }

 private:
  void tag(int field, unsigned type) { varint(static_cast<std::uint64_t>(field) << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace mbirk::profile
