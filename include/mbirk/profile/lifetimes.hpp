// The table of lifetimes of a traced run: for each array of each operation and stage, how often it was allocated, its
// size, its lifetime, and its share of the peak. It shows which arrays determine the memory requirement, and which live
// longer than necessary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "mbirk/profile/heap.hpp"

namespace mbirk::profile {

/// Arrays of one name that were allocated at one place. Times are nanoseconds since the trace began; an array that was
/// never released lives until the end of the table.
struct lifetime_row {
  std::vector<std::string> stack;  ///< operations and stages, outermost first, then the array
  std::int64_t arrays = 0, bytes = 0, largest = 0;  ///< number of arrays, their total bytes, bytes of the largest one
  std::int64_t first = 0, last = 0;  ///< time of the first allocation and of the last release
  std::int64_t longest = 0, lived = 0;  ///< longest lifetime, and sum of all lifetimes
  std::int64_t at_peak = 0;  ///< bytes live at the peak of the table
  double share = 0;  ///< share of the peak
  std::int64_t unreleased = 0;  ///< number of arrays never released
};

struct lifetime_table {
  std::int64_t begin = 0, end = 0;
  std::int64_t peak_bytes = 0, peak_time = 0;
  std::uint64_t dropped = 0;  ///< events dropped from the whole trace: if not 0, arrays may be missing
  std::vector<lifetime_row> rows;  ///< sorted by bytes at the peak (descending), then by bytes, then by stack
};

/// Lifetimes of the arrays that were live at some time in [begin, end], both inclusive; the lifetimes may extend beyond
/// it.
inline lifetime_table lifetimes(heap_history const& history, std::int64_t begin, std::int64_t end) {
  lifetime_table table{begin, end, 0, history.peak_time(begin, end), history.dropped(), {}};
  std::map<std::vector<std::string>, lifetime_row> rows;
  for (auto const& a : history.arrays()) {
    if (a.begin > end || a.end < begin) continue;
    bool const released = a.end != heap_array::never_released;
    auto const last = released ? a.end : end;
    auto& row = rows[a.stack];
    row.first = row.arrays == 0 ? a.begin : std::min(row.first, a.begin);
    row.last = row.arrays == 0 ? last : std::max(row.last, last);
    ++row.arrays;
    row.bytes += a.bytes;
    row.unreleased += !released;
    row.largest = std::max(row.largest, a.bytes);
    row.longest = std::max(row.longest, last - a.begin);
    row.lived += last - a.begin;
    if (a.begin <= table.peak_time && a.end > table.peak_time) {
      row.at_peak += a.bytes;
      table.peak_bytes += a.bytes;
    }
  }
  for (auto& [stack, row] : rows) {
    row.stack = stack;
    if (table.peak_bytes > 0) row.share = static_cast<double>(row.at_peak) / static_cast<double>(table.peak_bytes);
    table.rows.push_back(std::move(row));
  }
  std::sort(table.rows.begin(), table.rows.end(), [](auto const& a, auto const& b) {
    return a.at_peak != b.at_peak ? a.at_peak > b.at_peak : a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
  });
  return table;
}
/// Lifetimes over a whole trace.
inline lifetime_table lifetimes(instrument::trace_buffer const& trace) {
  return lifetimes(heap_history(trace), 0, trace.now());
}

/// Report as text: the peak, and one line per site. Times are milliseconds since the beginning of the table, negative
/// for earlier allocations.
inline std::string to_text(lifetime_table const& table) {
  char line[192];
  auto const ms = [&](std::int64_t t) { return static_cast<double>(t) * 1e-6; };
  std::snprintf(line, sizeof line, "peak %lld bytes at %.3f of %.3f ms\n", static_cast<long long>(table.peak_bytes),
                ms(table.peak_time - table.begin), ms(table.end - table.begin));
  std::string text = line;
  if (table.dropped > 0)
    text += "INCOMPLETE: the trace dropped " + std::to_string(table.dropped) + " events, so arrays may be missing\n";
  std::snprintf(line, sizeof line, "%7s %14s %7s %14s %14s %12s %12s %12s %12s  %s\n", "share", "at peak", "arrays",
                "largest", "bytes", "first ms", "last ms", "longest ms", "mean ms", "allocated by");
  text += line;
  for (auto const& r : table.rows) {
    std::snprintf(line, sizeof line, "%6.1f%% %14lld %7lld %14lld %14lld %12.3f %12.3f %12.3f %12.3f  ", 100 * r.share,
                  static_cast<long long>(r.at_peak), static_cast<long long>(r.arrays),
                  static_cast<long long>(r.largest), static_cast<long long>(r.bytes), ms(r.first - table.begin),
                  ms(r.last - table.begin), ms(r.longest), ms(r.lived) / static_cast<double>(r.arrays));
    text += line;
    for (auto const& name : r.stack) text += (&name == &r.stack.front() ? "" : " / ") + name;
    if (r.unreleased > 0) text += " (" + std::to_string(r.unreleased) + " never released)";
    text += '\n';
  }
  return text;
}

}  // namespace mbirk::profile
