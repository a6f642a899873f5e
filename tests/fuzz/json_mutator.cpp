// Mutations of JSON texts that mostly leave them JSON, so that inputs get beyond the parser.
#include <algorithm>
#include <cstring>
#include <random>

#include "reader.hpp"

namespace mbirk::fuzz {
namespace {

struct part {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};
struct parts {
  std::vector<part> values, members, keys, scalars;
};

/// Finds the parts of a text without recursion; in a text that is not JSON, of what looks like it.
parts parts_of(std::string_view text) {
  struct level {
    std::size_t begin, key;
  };
  constexpr auto none = std::string_view::npos;
  parts p;
  std::vector<level> open{{0, none}};
  auto const end_value = [&](std::size_t begin, std::size_t end) {
    p.values.push_back({begin, end});
    if (open.back().key != none) p.members.push_back({open.back().key, end});
    open.back().key = none;
  };
  for (std::size_t i = 0; i < text.size();) {
    char const c = text[i];
    if (c == '{' || c == '[') {
      open.push_back({i++, none});
    } else if (c == '}' || c == ']') {
      ++i;
      if (open.size() == 1) continue;
      auto const begin = open.back().begin;
      open.pop_back();
      end_value(begin, i);
    } else if (c == '"') {
      auto const begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      auto const next = text.find_first_not_of(" \t\r\n", i);
      if (next != none && text[next] == ':') {
        p.keys.push_back({begin, i});
        open.back().key = begin;
      } else {
        p.scalars.push_back({begin, i});
        end_value(begin, i);
      }
    } else if (std::strchr(" \t\r\n,:", c)) {
      ++i;
    } else {
      auto const begin = i;
      while (i < text.size() && !std::strchr(" \t\r\n,:{}[]\"", text[i])) ++i;
      if (i == begin) ++i;
      p.scalars.push_back({begin, i});
      end_value(begin, i);
    }
  }
  return p;
}

constexpr std::string_view interesting[] = {"0",
                                            "-0.0",
                                            "1",
                                            "-1",
                                            "2",
                                            "3",
                                            "0.5",
                                            "1e-320",
                                            "1e-30",
                                            "1e39",
                                            "-1e39",
                                            "3.4e38",
                                            "1.7e308",
                                            "-1.7e308",
                                            "1e400",
                                            "127",
                                            "128",
                                            "255",
                                            "256",
                                            "32767",
                                            "32768",
                                            "65535",
                                            "65536",
                                            "2147483647",
                                            "2147483648",
                                            "-2147483648",
                                            "4294967295",
                                            "4294967296",
                                            "1073741824",
                                            "1073741825",
                                            "6148914691236517206",
                                            "9223372036854775807",
                                            "9223372036854775808",
                                            "-9223372036854775808",
                                            "18446744073709551615",
                                            "18446744073709551616",
                                            "1e18",
                                            "NaN",
                                            "Infinity",
                                            "-Infinity",
                                            "\"inf\"",
                                            "\"-inf\"",
                                            "\"nan\"",
                                            "null",
                                            "true",
                                            "false",
                                            "\"\"",
                                            "\"a\\nb\"",
                                            "\"\\u0000\"",
                                            "\"\\u001b[31m\"",
                                            "\"\\ud800\"",
                                            "\"../x.npy\"",
                                            "\"angles.npy\"",
                                            "\"mask.npy\"",
                                            "\"image.npy\"",
                                            "\"/\"",
                                            "[]",
                                            "{}",
                                            "[[]]",
                                            "[0,0,0]",
                                            "[1,1,1]",
                                            "[4,3,5]",
                                            "[2147483648,2147483648,2147483648]",
                                            "[4294967296,4294967296,4294967296]",
                                            "{\"start\":0,\"stop\":3,\"num\":4}",
                                            "{\"start\":0,\"stop\":3,\"num\":1073741824,\"endpoint\":true}",
                                            "{\"shape\":[2,3],\"rows\":[\"010\",\"111\"]}",
                                            "{\"value\":1,\"mark\":\"m\",\"source\":\"x\"}"};

}  // namespace

std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  if (below(5) == 0) return mutate_bytes(data, size, most);
  std::string text(reinterpret_cast<char const*>(data), size);
  for (auto rounds = below(8) == 0 ? 1 + below(4) : 1; rounds > 0; --rounds) {
    auto const p = parts_of(text);
    if (p.values.empty()) {
      text = "{}";
      break;
    }
    auto const any = [&](std::vector<part> const& all) { return all[below(all.size())]; };
    auto const replace = [&](part at, std::string by) { text.replace(at.begin, at.size(), by); };
    auto const of = [&](part at) { return text.substr(at.begin, at.size()); };
    switch (below(10)) {
      case 0:
      case 1:
        replace(any(p.scalars.empty() ? p.values : p.scalars), std::string(interesting[below(std::size(interesting))]));
        break;
      case 2: replace(any(p.values), std::string(interesting[below(std::size(interesting))])); break;
      case 3: replace(any(p.values), of(any(p.values))); break;
      case 4:
        if (!p.members.empty()) {  // a key that is there twice
          auto const at = any(p.members);
          text.insert(at.end, ", " + of(any(p.members)));
        }
        break;
      case 5: {  // without a member or an element
        auto at = any(p.members.empty() || below(2) ? p.values : p.members);
        auto const next = text.find_first_not_of(" \t\r\n", at.end);
        if (next != text.npos && text[next] == ',') {
          at.end = next + 1;
        } else if (auto const before = text.find_last_not_of(" \t\r\n", at.begin ? at.begin - 1 : 0);
                   before != text.npos && before < at.begin && text[before] == ',') {
          at.begin = before;
        }
        replace(at, "");
        break;
      }
      case 6: {  // one element more
        auto const at = any(p.values);
        text.insert(at.end, "," + of(below(2) ? at : any(p.values)));
        break;
      }
      case 7:
        if (!p.scalars.empty()) {  // bytes of a number or a string
          auto const at = any(p.scalars);
          std::vector<std::uint8_t> bytes(text.begin() + static_cast<std::ptrdiff_t>(at.begin),
                                          text.begin() + static_cast<std::ptrdiff_t>(at.end));
          bytes.resize(bytes.size() + 16);
          bytes.resize(mutate_bytes(bytes.data(), at.size(), bytes.size()));
          replace(at, std::string(bytes.begin(), bytes.end()));
        }
        break;
      case 8:
        if (!p.keys.empty()) replace(any(p.keys), of(any(below(4) || p.scalars.empty() ? p.keys : p.scalars)));
        break;
      default: {
        auto const at = any(p.values);
        auto const depth = std::size_t{1} << below(12);
        bool const array = below(2) == 0;
        std::string nested;
        for (std::size_t k = 0; k < depth; ++k) nested += array ? "[" : "{\"a\":";
        nested += of(at);
        for (std::size_t k = 0; k < depth; ++k) nested += array ? "]" : "}";
        replace(at, nested);
      }
    }
  }
  if (text.size() > most) return mutate_bytes(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace mbirk::fuzz
