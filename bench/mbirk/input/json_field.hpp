// Strict reading of JSON files: every error is one line with the file, the field, what was expected and what was found.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/json.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk::program {

using json = nlohmann::json;

/// Python writes Infinity and NaN, which are not JSON. They become the strings "inf", "-inf" and "nan", so that a field
/// can accept or reject them.
inline std::string python_numbers_quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    auto const replaced = [&](std::string_view token, std::string_view by) {
      if (in_string || text.substr(i, token.size()) != token) return false;
      out += by;
      i += token.size();
      return true;
    };
    if (replaced("-Infinity", "\"-inf\"") || replaced("Infinity", "\"inf\"") || replaced("NaN", "\"nan\"")) continue;
    if (in_string && text[i] == '\\' && i + 1 < text.size()) out += text[i++];
    else if (text[i] == '"') in_string = !in_string;
    out += text[i++];
  }
  return out;
}

/// JSON as text; bytes that are not UTF-8, as in file names, are replaced.
inline std::string dump_text(json const& j, int indent = -1) {
  return j.dump(indent, ' ', false, json::error_handler_t::replace);
}

/// Parses JSON as Python writes it. @throws io_error, as mbirk::parse_json
inline json parse_python_json(std::string_view text, std::string const& name) {
  return parse_json(python_numbers_quoted(text), name);
}
/// @throws io_error when the file is missing, is not JSON, has a key twice, or exceeds the limits of mbirk::parse_json.
inline json read_json(std::filesystem::path const& path) {
  return parse_python_json(mbirk::detail::read_text(path, json_limits{}.bytes), path.string());
}

/// The whole number that the text is; nothing for any other text and beyond 64 bits.
inline std::optional<index_t> whole_number(std::string_view text) {
  index_t value = 0;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A value with its place in the file. It refers to the json and the file name owned by the caller.
class json_field {
 public:
  json_field(json const& value, std::string const& file, std::string path = {})
      : value_(&value), file_(&file), path_(std::move(path)) {}

  json const& value() const noexcept { return *value_; }
  std::string const& path() const noexcept { return path_; }

  /// Place for messages: "cases/x/case.json: params.delta_voxel".
  std::string place() const { return path_.empty() ? *file_ : *file_ + ": " + path_; }
  [[noreturn]] void wrong(std::string const& expected, source_location w = source_location::current()) const {
    throw io_error(place() + (path_.empty() ? " holds " : " is ") + found() + ", expected " + expected, w);
  }

  bool has(std::string const& key) const { return object().contains(key); }
  /// The required member `key`; `expected` describes it for the error message.
  json_field at(std::string const& key, std::string const& expected) const {
    auto const it = object().find(key);
    require<io_error>(it != value_->end(),
                      [&] { return *file_ + ": " + name(key) + " is missing, expected " + expected; });
    return {*it, *file_, name(key)};
  }
  json_field at(std::size_t index) const {
    return {value_->at(index), *file_, path_ + '[' + std::to_string(index) + ']'};
  }
  std::vector<std::pair<std::string, json_field>> members() const {
    std::vector<std::pair<std::string, json_field>> all;
    for (auto const& [key, value] : object().items()) all.emplace_back(key, json_field{value, *file_, name(key)});
    return all;
  }

  json const& object() const {
    if (!value_->is_object()) wrong("an object");
    return *value_;
  }
  std::vector<json_field> elements(std::string const& expected = "an array") const {
    if (!value_->is_array()) wrong(expected);
    std::vector<json_field> all;
    for (std::size_t i = 0; i < value_->size(); ++i) all.push_back(at(i));
    return all;
  }
  double number(std::string const& expected = "a number") const {
    if (!value_->is_number()) wrong(expected);
    return value_->get<double>();
  }
  /// A number that float32 can hold.
  float single(std::string const& expected = "a number of float32") const {
    double const value = number(expected);
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) wrong(expected);
    return static_cast<float>(value);
  }
  index_t integer(std::string const& expected = "a whole number") const {
    if (!value_->is_number_integer() || (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX))
      wrong(expected);
    return value_->get<index_t>();
  }
  bool boolean(std::string const& expected = "true or false") const {
    if (!value_->is_boolean()) wrong(expected);
    return value_->get<bool>();
  }
  std::string text(std::string const& expected = "a string") const {
    if (!value_->is_string()) wrong(expected);
    return value_->get<std::string>();
  }

 private:
  std::string name(std::string const& key) const {
    return (path_.empty() ? "" : path_ + '.') + mbirk::detail::json_key(key);
  }
  /// The value for messages, shortened; structures appear only if they are short and flat.
  std::string found() const {
    if (value_->is_object()) return "an object";
    if (value_->is_array()) {
      bool flat = value_->size() <= 8;
      for (auto const& v : *value_) flat = flat && v.is_primitive();
      if (!flat) return "an array of " + std::to_string(value_->size()) + " elements";
    }
    return printable(value_->dump(), 80);
  }

  json const* value_;
  std::string const* file_;
  std::string path_;
};

}  // namespace mbirk::program
