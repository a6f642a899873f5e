// Text from files and file names as one line of a message. C++ standard library only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mbirk {

namespace detail {

/// Number of bytes of the UTF-8 character that `text` begins with; 0 if there is none, or if a terminal would interpret
/// or hide it: control characters, line and paragraph separators, marks of the writing direction.
constexpr std::size_t printable_bytes(std::string_view text) noexcept {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned char>(k < text.size() ? text[k] : 0); };
  unsigned const first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  unsigned code = first & (0x7fu >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (byte(k) & 0x3fu);
  }
  bool const overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  bool const surrogate = code >= 0xd800 && code < 0xe000;
  bool const control = code < 0xa0 || code == 0x2028 || code == 0x2029 || code == 0x200e || code == 0x200f ||
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || surrogate || control || code > 0x10ffff ? 0 : bytes;
}

}  // namespace detail

/// The text as valid UTF-8 on one line, at most `most` bytes long: bytes that are not printable become '?', and "..."
/// stands for the rest of a longer text.
inline std::string printable(std::string_view text, std::size_t most = 2000) {
  std::string line;
  while (!text.empty()) {
    auto const bytes = detail::printable_bytes(text);
    if (line.size() + bytes + 3 > most && line.size() + text.size() > most) return line + "...";
    if (bytes > 0) line += text.substr(0, bytes);
    else line += text[0] == '\n' || text[0] == '\t' || text[0] == '\r' ? ' ' : '?';
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return line;
}

}  // namespace mbirk
