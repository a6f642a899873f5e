// JSON fragments for traces, without a dependency.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace mbirk::profile::detail {

/// Length of the well-formed UTF-8 character at the front; 0 if there is none.
inline std::size_t utf8_length(std::string_view s) {
  auto const at = [&](std::size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  auto const follows = [&](std::size_t k, unsigned least = 0x80, unsigned most = 0xbf) {
    return at(k) >= least && at(k) <= most;
  };
  unsigned const first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef)
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

/// A JSON string. Viewers expect names on one line, so control characters become spaces; bytes that are not UTF-8
/// become U+FFFD.
inline std::string json_string(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    auto const length = utf8_length(s);
    if (length == 0) out += "\xef\xbf\xbd";
    else if (static_cast<unsigned char>(s[0]) < 0x20) out += ' ';
    else {
      if (s[0] == '"' || s[0] == '\\') out += '\\';
      out += s.substr(0, length);
    }
    s.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

/// Nanoseconds as microseconds with three decimals, exactly: a double would print 2214.7690000000002.
inline std::string microseconds(std::int64_t ns) {
  char text[32];
  auto const size = ns < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::snprintf(text, sizeof text, "%s%llu.%03u", ns < 0 ? "-" : "", static_cast<unsigned long long>(size / 1000),
                static_cast<unsigned>(size % 1000));
  return text;
}

/// The "args" of an event.
class json_args {
 public:
  json_args& add(std::string_view key, std::int64_t value) { return add_raw(key, std::to_string(value)); }
  json_args& add(std::string_view key, std::string_view value) { return add_raw(key, json_string(value)); }
  json_args& add_known(std::string_view key, std::int64_t value) { return value != 0 ? add(key, value) : *this; }
  /// "regs:40 grid:512,1,1": adds each key with its value; text without a colon is a single value.
  void add_detail(std::string_view text) {
    static constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"regs", "registers"},
        {"static_shared", "static shared bytes"},
        {"dynamic_shared", "dynamic shared bytes"},
        {"occ_pct", "occupancy %"}};
    while (!text.empty()) {
      auto const word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), word.size() + 1));
      auto const colon = word.find(':');
      if (word.empty()) continue;
      auto key = colon == word.npos ? "detail" : word.substr(0, colon);
      auto const value = colon == word.npos ? word : word.substr(colon + 1);
      for (auto const& [from, to] : names)
        if (key == from) key = to;
      bool const number = !value.empty() && value.size() < 19 && (value[0] != '0' || value.size() == 1) &&
                          value.find_first_not_of("0123456789") == value.npos;
      if (number) add_raw(key, std::string(value));
      else add(key, value);
    }
  }
  std::string text() const { return text_.empty() ? "" : ",\"args\":{" + text_ + '}'; }

 private:
  json_args& add_raw(std::string_view key, std::string const& value) {
    text_ += (text_.empty() ? "" : ",") + json_string(key) + ':' + value;
    return *this;
  }
  std::string text_;
};

}  // namespace mbirk::profile::detail
