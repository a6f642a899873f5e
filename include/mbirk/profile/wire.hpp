// Writes protocol buffers as bytes, for files of other tools. Few messages are needed, so field numbers are written in
// place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mbirk::profile {

/// The text as one line of UTF-8: readers reject a whole file for one text that is not.
inline std::string utf8_line(std::string_view text) {
  std::string clean;
  for (std::size_t k = 0; k < text.size();) {
    auto const first = static_cast<unsigned char>(text[k]);
    std::size_t const length = first < 0x80                    ? 1
                               : first >= 0xc2 && first < 0xe0 ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    bool good = length > 0 && k + length <= text.size() && first >= 32 && first != 127;
    for (std::size_t j = 1; good && j < length; ++j) good = (static_cast<unsigned char>(text[k + j]) & 0xc0) == 0x80;
    if (good && length == 3) {  // no overlong form, no UTF-16 surrogates
      auto const second = static_cast<unsigned char>(text[k + 1]);
      good = !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second >= 0xa0);
    }
    if (good && length == 4) {
      auto const second = static_cast<unsigned char>(text[k + 1]);
      good = !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second >= 0x90);
    }
    clean += good ? text.substr(k, length) : first < 32 || first == 127 ? std::string_view(" ") : std::string_view("?");
    k += good ? length : 1;
  }
  return clean;
}

/// A message built field by field. Fields may come in any order, and repeated fields any number of times.
class wire {
 public:
  std::string const& bytes() const noexcept { return bytes_; }

  /// Field of type int64, uint64, enum or bool; a negative int64 is stored as its two's complement.
  void number(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void real(int field, double value) {
    tag(field, 1);
    for (auto bits = std::bit_cast<std::uint64_t>(value), k = std::uint64_t{0}; k < 8; ++k, bits >>= 8)
      bytes_ += static_cast<char>(bits & 255);
  }
  /// Field of type string or bytes.
  void text(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(int field, wire const& inner) { text(field, inner.bytes_); }
  /// Appends the fields of another message.
  void append(wire const& more) { bytes_ += more.bytes_; }
  /// Packed repeated numbers.
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
