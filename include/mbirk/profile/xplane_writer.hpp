// Writes one plane of an XSpace (tsl/profiler/protobuf/xplane.proto): lines of events, with names and texts stored
// once. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/profile/wire.hpp"

namespace mbirk::profile::detail {

/// A text that is used repeatedly and stored once.
struct shared_text { std::string text; };
struct raw_bytes { std::string bytes; };

/// Readers treat a value of an unexpected type as 0, so the type is part of the format.
using stat_value = std::variant<double, std::uint64_t, std::int64_t, std::string, raw_bytes, shared_text>;
using stat_list = std::vector<std::pair<char const*, stat_value>>;

class xplane_writer {
 public:
  xplane_writer(std::int64_t id, std::string name) : id_(id), name_(std::move(name)) {}

  class line {
   public:
    std::int64_t id;
    std::string name;

   private:
    friend class xplane_writer;
    struct event {
      std::int64_t begin, duration;
      std::size_t number;
      wire bytes;
    };
    std::vector<event> events_;
  };
  /// The returned reference remains valid.
  line& add_line(std::int64_t id, std::string name) {
    auto& fresh = lines_.emplace_back();
    fresh.id = id;
    fresh.name = std::move(name);
    return fresh;
  }
  void stat(char const* name, stat_value const& value) { stats_.message(6, encode(name, value)); }

  /// Returns the id of the metadata shared by several events.
  /// @param key  distinguishes entries of the same name
  std::int64_t metadata(std::string const& name, std::string const& key = {}, std::string const& display_name = {},
                        stat_list const& stats = {}) {
    auto const [found, fresh] = metadata_.try_emplace({name, key}, static_cast<std::int64_t>(metadata_.size()) + 1);
    if (!fresh) return found->second;
    wire inner, entry;
    inner.number(1, found->second);
    inner.text(2, utf8_line(name));
    if (!display_name.empty()) inner.text(4, utf8_line(display_name));
    for (auto const& [what, value] : stats) inner.message(5, encode(what, value));
    entry.number(1, found->second);
    entry.message(2, inner);
    metadata_bytes_.message(4, entry);
    return found->second;
  }
  /// Adds an event; times in picoseconds.
  void event(line& in, std::int64_t of, std::int64_t begin, std::int64_t duration, stat_list const& stats = {}) {
    wire e;
    e.number(1, of);
    e.number(2, begin);
    e.number(3, duration);
    for (auto const& [what, value] : stats) e.message(4, encode(what, value));
    in.events_.push_back({begin, duration, in.events_.size(), std::move(e)});
  }

  wire bytes() {
    wire out;
    out.number(1, id_);
    out.text(2, name_);
    for (auto& l : lines_) {
      // Enclosing events come first: of two with the same times it is the one written later.
      std::sort(l.events_.begin(), l.events_.end(), [](line::event const& a, line::event const& b) {
        if (a.begin != b.begin) return a.begin < b.begin;
        return a.duration != b.duration ? a.duration > b.duration : a.number > b.number;
      });
      wire inner;
      inner.number(1, l.id);
      inner.text(2, utf8_line(l.name));
      for (auto const& e : l.events_) inner.message(4, e.bytes);
      out.message(3, inner);
    }
    out.append(metadata_bytes_);
    for (auto const& [name, id] : names_) {
      wire inner, entry;
      inner.number(1, id);
      inner.text(2, utf8_line(name));
      entry.number(1, id);
      entry.message(2, inner);
      out.message(5, entry);
    }
    out.append(stats_);
    return out;
  }

 private:
  std::int64_t name_id(std::string_view name) {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, static_cast<std::int64_t>(names_.size()) + 1).first;
    return found->second;
  }
  wire encode(char const* name, stat_value const& value) {
    wire s;
    s.number(1, name_id(name));
    if (auto const* real = std::get_if<double>(&value)) s.real(2, *real);
    else if (auto const* natural = std::get_if<std::uint64_t>(&value)) s.number(3, static_cast<std::int64_t>(*natural));
    else if (auto const* integer = std::get_if<std::int64_t>(&value)) s.number(4, *integer);
    else if (auto const* text = std::get_if<std::string>(&value)) s.text(5, utf8_line(*text));
    else if (auto const* raw = std::get_if<raw_bytes>(&value)) s.text(6, raw->bytes);
    else s.number(7, name_id(std::get<shared_text>(value).text));
    return s;
  }

  std::int64_t id_;
  std::string name_;
  std::deque<line> lines_;
  std::map<std::pair<std::string, std::string>, std::int64_t> metadata_;
  std::map<std::string, std::int64_t, std::less<>> names_;
  wire metadata_bytes_, stats_;
};

}  // namespace mbirk::profile::detail
