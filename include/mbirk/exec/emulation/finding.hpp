// Errors that an emulated launch found in a kernel.
#pragma once

#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk::exec {

/// One error of a kernel: its location, and a text that names the block, the threads and any other locations.
struct finding {
  source_location where;
  std::string text;
};

/// Thrown by a launch after its last block. what() has one line per finding, each "file:line: text".
struct emulation_error : error {
  explicit emulation_error(std::vector<finding> found)
      : error(lines(found), found.empty() ? source_location{"", 0} : found.front().where), findings(std::move(found)) {}
  std::vector<finding> findings;

 private:
  static std::string lines(std::vector<finding> const& found) {
    std::string text =
        "emulated launch: " + std::to_string(found.size()) + (found.size() == 1 ? " finding" : " findings");
    for (finding const& f : found)
      text.append(1, '\n')
          .append(f.where.file)
          .append(1, ':')
          .append(std::to_string(f.where.line))
          .append(": ")
          .append(f.text);
    return text;
  }
};

namespace emulation {

/// Files are compared by name, because every source file has its own copy of the name of a header.
inline bool same_location(source_location a, source_location b) noexcept {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

/// Findings of one worker, in the order of its blocks. A finding on lines that were already reported is dropped.
class finding_list {
 public:
  static constexpr std::size_t max_entries = 20;
  struct entry {
    index_t turn;  // position of the block in the launch
    source_location other;    // second location of a race
    finding what;
  };

  bool full() const noexcept { return entries_.size() >= max_entries; }
  bool contains(source_location where, source_location other) const noexcept {
    for (entry const& e : entries_) {
      if (same_location(e.what.where, where) && same_location(e.other, other)) return true;
      if (same_location(e.what.where, other) && same_location(e.other, where)) return true;
    }
    return false;
  }
  void add(index_t turn, source_location where, source_location other, char const* text) {
    if (!full() && !contains(where, other)) entries_.push_back({turn, other, {where, text}});
  }
  void add(entry const& e) {
    if (!full() && !contains(e.what.where, e.other)) entries_.push_back(e);
  }
  std::vector<entry> const& entries() const noexcept { return entries_; }
  void clear() noexcept { entries_.clear(); }

 private:
  std::vector<entry> entries_;
};

}  // namespace emulation
}  // namespace mbirk::exec
