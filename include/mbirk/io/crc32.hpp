// The checksum of checkpoints. Not for users.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mbirk::detail {

/// CRC-32 of IEEE 802.3, eight bytes at a time (Kounavis and Berry 2008).
class crc32 {
 public:
  /// @param before  value() of the data before
  explicit crc32(std::uint32_t before = 0) noexcept : state_(~before) {}
  void add(void const* data, std::size_t bytes) noexcept {
    auto const* p = static_cast<unsigned char const*>(data);
    for (; bytes >= 8; bytes -= 8, p += 8) {
      std::uint32_t const low = state_ ^ word(p), high = word(p + 4);
      state_ = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
               tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; bytes > 0; --bytes, ++p) state_ = state_ >> 8 ^ tables[0][(state_ ^ *p) & 255];
  }
  std::uint32_t value() const noexcept { return ~state_; }
  /// Last line of a checkpoint.
  std::string line() const {
    char text[sizeof "crc32 89abcdef\n"];
    std::snprintf(text, sizeof text, "crc32 %08x\n", static_cast<unsigned>(value()));
    return text;
  }

 private:
  static std::uint32_t word(unsigned char const* p) noexcept {
    return p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16 |
           static_cast<std::uint32_t>(p[3]) << 24;
  }
  static constexpr auto tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0u);
      t[0][i] = c;
    }
    for (std::size_t n = 1; n < 8; ++n)
      for (std::size_t i = 0; i < 256; ++i) t[n][i] = t[n - 1][i] >> 8 ^ t[0][t[n - 1][i] & 255];
    return t;
  }();

  std::uint32_t state_ = ~0u;
};

}  // namespace mbirk::detail
