// The one way in which mbirk reads JSON: with limits, without repeated keys, and with errors of one line. Requires
// nlohmann-json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk {

/// Limits on a JSON text. A parsed text takes up to 30 times its size; functions that visit its values call themselves
/// once per level.
struct json_limits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t depth = 64;  ///< arrays and objects inside each other
};

namespace detail {

/// Message for text that is not JSON: nlohmann-json's, without the number in brackets that it begins with.
inline std::string not_json(std::string_view what) {
  if (auto const end = what.find("] "); what.starts_with('[') && end != what.npos) what.remove_prefix(end + 2);
  return "is not valid JSON: " + printable(what, 200);
}

/// A key in the path to a value: as it is if it is a plain word, else quoted and escaped.
inline std::string json_key(std::string const& key) {
  bool plain = !key.empty() && key.size() <= 80;
  for (unsigned char const c : key) plain = plain && c >= ' ' && c < 127 && c != '"' && c != '\\';
  return plain ? key
               : printable(nlohmann::json(key).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), 80);
}

/// Builds a document from the events of nlohmann-json's parser.
class json_builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using json = nlohmann::json;

  json_builder(std::string const& name, json_limits const& limits) : name_(name), limits_(limits) {}

  json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, string_t const&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in text
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& text) override {
    auto& top = open_.back();
    auto const [at, is_new] = top.value->get_ref<json::object_t&>().try_emplace(text);
    top.key = &at->first;
    top.next = &at->second;
    if (!is_new) fail(path() + " is there twice, expected once");
    return true;
  }
  bool parse_error(std::size_t, std::string const&, json::exception const& e) override { fail(not_json(e.what())); }

 private:
  struct level {
    json* value;
    std::string const* key = nullptr;  ///< the latest key and its value, if this is an object
    json* next = nullptr;
  };

  [[noreturn]] void fail(std::string const& what, source_location w = source_location::current()) const {
    throw io_error(name_ + ": " + what, w);
  }
  /// Path to the latest value: "ops[2].inputs.recon".
  std::string path() const {
    std::string text;
    for (auto const& l : open_)
      if (l.key) text += (text.empty() ? "" : ".") + json_key(*l.key);
      else if (!l.value->empty()) text += '[' + std::to_string(l.value->size() - 1) + ']';
    return text;
  }
  template <class T> json* add(T&& value) {
    if (open_.empty()) {
      root_ = std::forward<T>(value);
      return &root_;
    }
    auto& top = open_.back();
    if (top.value->is_array()) return &top.value->get_ref<json::array_t&>().emplace_back(std::forward<T>(value));
    *top.next = std::forward<T>(value);
    return top.next;
  }
  template <class T> bool put(T&& value) {
    add(std::forward<T>(value));
    return true;
  }
  bool open(json&& empty) {
    if (open_.size() == limits_.depth)
      fail("has more than " + std::to_string(limits_.depth) + " arrays and objects inside each other");
    open_.push_back({add(std::move(empty))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string const& name_;
  json_limits const& limits_;
  json root_;
  std::vector<level> open_;
};

}  // namespace detail

/// Parses one JSON document.
///
/// @param name  name of the text in error messages: its file.
/// @throws io_error "<name>: ..." of one line when the text is not JSON, has a key twice in one object, or exceeds a
///         limit.
inline nlohmann::json parse_json(std::string_view text, std::string const& name, json_limits const& limits = {}) {
  require<io_error>(text.size() <= limits.bytes, [&] {
    return name + ": has " + std::to_string(text.size()) + " bytes of JSON, expected at most " +
           std::to_string(limits.bytes);
  });
  detail::json_builder builder(name, limits);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace mbirk
