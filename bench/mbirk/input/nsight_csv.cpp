#include "input/nsight_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "input/json_field.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk::program {
namespace {

using cells = std::vector<std::string>;

[[noreturn]] void fail(std::string const& file, std::size_t line, std::string const& what,
                       source_location w = source_location::current()) {
  throw io_error(file + (line ? " line " + std::to_string(line) : "") + ": " + what, w);
}

/// A line of text takes up to 30 times its size when it is split.
constexpr std::size_t largest_csv = std::size_t{1} << 28;

/// Splits a line according to RFC 4180: quotes around commas, two quotes for one.
cells split(std::string_view line) {
  cells out(1);
  bool quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    char const c = line[k];
    if (quoted && c == '"' && k + 1 < line.size() && line[k + 1] == '"') out.back() += line[++k];
    else if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string const& text) {
  std::vector<std::string_view> out;
  for (std::string_view rest = text; !rest.empty();) {
    auto const end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// Parses "1,234.5", with commas between groups of three digits as written by ncu. Returns nothing for text that is not
/// a finite number, such as "n/a".
std::optional<double> number(std::string const& cell) {
  std::string plain;
  for (char const c : cell)
    if (c != ',') plain += c;
  double value = 0;
  auto const [end, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  bool const whole = code == std::errc() && end == plain.data() + plain.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Header of a table: the positions of its columns.
class columns {
 public:
  explicit columns(cells names) : names_(std::move(names)) {}
  std::optional<std::size_t> find(std::string_view name) const {
    auto const at = std::find(names_.begin(), names_.end(), name);
    return at == names_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - names_.begin()));
  }
  bool has(std::string_view name) const { return find(name).has_value(); }
  cells const& names() const noexcept { return names_; }

 private:
  cells names_;
};

/// The operations of a profile, and the assignment of names to them.
class known_operations {
 public:
  explicit known_operations(json const& profile) {
    for (auto const& m : profile.at("measurements")) {
      names_.insert(m.at("operation").get<std::string>());
      sizes_.insert(m.at("volume_size").get<index_t>());
    }
    for (auto const& [size, costs] : profile.at("cost_analysis").items())
      for (auto const& [name, cost] : costs.items()) {
        names_.insert(name);
        if (auto const number = whole_number(size)) sizes_.insert(*number);
      }
  }
  struct place {
    json operation = nullptr, size = nullptr;
    bool known() const { return !operation.is_null(); }
  };
  place of_range(std::string const& range) const {
    auto const mark = range.rfind("_v");
    if (mark != std::string::npos && names_.contains(range.substr(0, mark)))
      if (auto const size = whole_number(range.substr(mark + 2))) return {range.substr(0, mark), *size};
    return names_.contains(range) ? place{range, only_size()} : place{};
  }
  /// @param kernel  as demangled by c++filt: "void
  /// mbirk::exec::detail::run_block<mbirk::kernel::on_warps<mbirk::kernel::parallel_back<...>, ...>>(...)"
  place of_kernel(std::string const& kernel) const {
    constexpr std::string_view ours = "mbirk::kernel::";
    constexpr std::array<std::string_view, 4> around{"on_warps", "no_scratch", "worker_scratch", "watched_scratch"};
    std::string name;
    for (auto at = kernel.find(ours); at != std::string::npos && name.empty(); at = kernel.find(ours, at + 1)) {
      auto const begin = at + ours.size(), end = kernel.find_first_of("<>(),: ", begin);
      auto const found = kernel.substr(begin, end == std::string::npos ? end : end - begin);
      if (std::find(around.begin(), around.end(), found) == around.end()) name = found;
    }
    if (name.empty()) return {};
    if (names_.size() == 1) return {*names_.begin(), only_size()};
    auto const first = names_.lower_bound(name);
    auto const begins = [&](auto at) { return at != names_.end() && at->starts_with(name); };
    return begins(first) && !begins(std::next(first)) ? place{*first, only_size()} : place{};
  }

 private:
  json only_size() const { return sizes_.size() == 1 ? json(*sizes_.begin()) : json(); }
  std::set<std::string> names_;
  std::set<index_t> sizes_;
};

/// Name of a range "mbirk:<name>"; empty for ranges of other programs.
std::string our_range(std::string const& range) {
  constexpr std::string_view domain = "mbirk:";
  return range.starts_with(domain) ? range.substr(domain.size()) : "";
}

// Nsight Systems.

enum class table { ranges, kernels_of_ranges, kernels, other };
table kind_of(columns const& c) {
  if (c.has("NVTX Range") && c.has("Kernel Name")) return table::kernels_of_ranges;
  if (c.has("Range") && c.has("Style")) return table::ranges;
  return c.has("Name") && c.has("Instances") ? table::kernels : table::other;
}
/// Whether the line is the header of a table; some tables have none.
bool is_header(cells const& c) {
  auto const has = [&](std::string_view name) { return std::find(c.begin(), c.end(), name) != c.end(); };
  return c.size() > 2 && (has("Time (%)") || has("Range") || has("NVTX Range") || (has("Name") && has("Instances")));
}

void read_nsys(std::string const& file, known_operations const& operations, json& ranges, json& kernels) {
  auto const text = mbirk::detail::read_text(file, largest_csv);
  std::optional<columns> c;
  table kind = table::other;
  bool any = false;
  std::size_t line_number = 0;
  for (auto const line : lines_of(text)) {
    ++line_number;
    auto const row = split(line);
    if (is_header(row)) {
      c.emplace(row);
      kind = kind_of(*c);
      auto const* const count = kind == table::kernels_of_ranges ? "Kern Inst" : "Instances";
      for (auto const* const name : {"Total Time (ns)", count})
        if (kind != table::other && !c->has(name))
          fail(file, line_number,
               "has no column '" + std::string(name) + "', expected the CSV of nsys stats in nanoseconds");
      any = any || kind != table::other;
      continue;
    }
    if (!c || kind == table::other || row.size() != c->names().size()) {
      if (row.size() == 1) c.reset();  // an empty line ends a table
      continue;
    }
    auto const cell = [&](char const* name) { return row[*c->find(name)]; };
    auto const value = [&](char const* name) {
      auto const v = number(cell(name));
      if (!v)
        fail(file, line_number,
             "column '" + std::string(name) + "' is '" + printable(cell(name), 80) + "', expected a number");
      return *v;
    };
    json one{{"source", file}, {"total_time", value("Total Time (ns)") * 1e-9}};
    for (auto const& [column, field] : {std::pair{"Avg (ns)", "mean_time"},
                                        {"Med (ns)", "median_time"},
                                        {"Min (ns)", "min_time"},
                                        {"Max (ns)", "max_time"}})
      if (c->has(column)) one[field] = value(column) * 1e-9;
    if (kind == table::ranges) {
      auto const name = our_range(cell("Range"));
      if (name.empty()) continue;
      auto const at = operations.of_range(name);
      one.update(
          {{"range", name}, {"count", value("Instances")}, {"operation", at.operation}, {"volume_size", at.size}});
      ranges.push_back(std::move(one));
    } else {
      bool const of_range = kind == table::kernels_of_ranges;
      auto const kernel = cell(of_range ? "Kernel Name" : "Name");
      auto const range = of_range ? our_range(cell("NVTX Range")) : "";
      auto at = operations.of_range(range);
      if (range.empty()) at = operations.of_kernel(kernel);
      one.update({{"kernel", kernel},
                  {"range", range.empty() ? json() : json(range)},
                  {"launches", value(of_range ? "Kern Inst" : "Instances")},
                  {"operation", at.operation},
                  {"volume_size", at.size}});
      kernels.push_back(std::move(one));
    }
  }
  if (!any)
    fail(file, 0,
         "has no table that is known, expected the CSV of nsys stats --format csv --report nvtx_sum, nvtx_kern_sum or "
         "cuda_gpu_kern_sum");
}

// Nsight Compute.

/// Factor and name of a unit without prefix: "Gbyte/second" is 1e9 "byte/second", "us" is 1e-6 "second".
std::pair<double, std::string> base_unit(std::string const& unit) {
  static std::map<std::string, std::pair<double, char const*>, std::less<>> const times{
      {"ns", {1e-9, "second"}}, {"us", {1e-6, "second"}}, {"ms", {1e-3, "second"}}, {"s", {1, "second"}}};
  static std::map<char, double> const prefixes{{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'K', 1e3},
                                               {'M', 1e6},  {'G', 1e9},  {'T', 1e12}};
  auto const slash = unit.find('/');
  auto const below = slash == std::string::npos ? "" : unit.substr(slash), above = unit.substr(0, slash);
  if (auto const time = times.find(above); time != times.end())
    return {time->second.first, time->second.second + below};
  if (above.size() > 1)
    if (auto const prefix = prefixes.find(above.front()); prefix != prefixes.end())
      for (auto const* const base : {"byte", "second", "sector", "hz", "inst", "request", "cycle"})
        if (above.substr(1) == base) return {prefix->second, base + below};
  return {1, unit};
}

/// A launch may be inside several ranges, `7 "mbirk:a:none:..." "mbirk:b:..."`; selects the outermost one that belongs
/// to an operation.
known_operations::place place_of(std::string const& stack, known_operations const& operations, std::string& range) {
  constexpr std::string_view ours = "\"mbirk:";
  for (auto at = stack.find(ours); at != std::string::npos; at = stack.find(ours, at + 1)) {
    auto const begin = at + ours.size();
    auto const name = stack.substr(begin, stack.find_first_of(":\"", begin) - begin);
    if (range.empty()) range = name;
    if (auto const place = operations.of_range(name); place.known()) {
      range = name;
      return place;
    }
  }
  return {};
}

struct metric {
  double sum = 0;
  int launches = 0;
  std::string unit;
};
struct kernel_metrics {
  known_operations::place place;
  int launches = 0;
  std::map<std::string, metric> metrics;
};

/// Values derived from the available metrics: rates of the DRAM, of FP32 instructions, and the deviation of launches
/// from perfect coalescing.
json derived(std::map<std::string, metric> const& metrics) {
  auto const mean = [&](std::string const& name) -> std::optional<double> {
    auto const m = metrics.find(name);
    return m == metrics.end() ? std::nullopt : std::optional(m->second.sum / m->second.launches);
  };
  json out = json::object();
  auto const time = mean("gpu__time_duration.sum");
  std::string const fp32 = "smsp__sass_thread_inst_executed_op_";
  auto const add = mean(fp32 + "fadd_pred_on.sum"), multiply = mean(fp32 + "fmul_pred_on.sum"),
             both = mean(fp32 + "ffma_pred_on.sum");
  auto const read = mean("dram__bytes_read.sum"), written = mean("dram__bytes_write.sum");
  bool const flops = add && multiply && both, bytes = read && written;
  if (time && *time > 0) {
    if (flops) out["flops per second"] = (*add + *multiply + 2 * *both) / *time;
    if (bytes) out["dram bytes per second"] = (*read + *written) / *time;
  }
  if (flops && bytes && *read + *written > 0)
    out["arithmetic intensity dram"] = (*add + *multiply + 2 * *both) / (*read + *written);
  for (auto const* const what : {"ld", "st"}) {
    std::string const on = std::string("_pipe_lsu_mem_global_op_") + what + ".sum";
    auto const sectors = mean("l1tex__t_sectors" + on), requests = mean("l1tex__t_requests" + on);
    if (sectors && requests && *requests > 0) out[std::string("sectors per request ") + what] = *sectors / *requests;
  }
  return out;
}

void read_ncu(std::string const& file, known_operations const& operations, json& kernels) {
  auto const text = mbirk::detail::read_text(file, largest_csv);
  std::optional<columns> c;
  std::size_t name = 0, id = 0, line_number = 0;
  std::optional<std::size_t> ranges;
  cells units;
  std::map<std::pair<std::string, std::string>, kernel_metrics> found;  // keyed by range and kernel
  std::set<std::string> const identity{"ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Context",
                                       "Stream", "Block Size", "Grid Size",    "Device",    "CC"};
  for (auto const line : lines_of(text)) {
    ++line_number;
    if (!line.starts_with('"')) continue;  // output of the tool or the program
    auto const row = split(line);
    if (!c) {
      if (row.front() != "ID") continue;
      c.emplace(row);
      if (c->has("Metric Name"))
        fail(file, line_number, "is the details page of ncu, with a line for each metric, expected that of --page raw");
      if (!c->has("Kernel Name"))
        fail(file, line_number, "has no column 'Kernel Name', expected the CSV of ncu --csv --page raw");
      name = *c->find("Kernel Name");
      id = *c->find("ID");
      auto const stack =
          std::find_if(row.begin(), row.end(), [](auto const& n) { return n.find("Push/Pop_Range") != n.npos; });
      if (stack != row.end()) ranges = static_cast<std::size_t>(stack - row.begin());
      continue;
    }
    if (row.size() != c->names().size())
      fail(file, line_number,
           "has " + std::to_string(row.size()) + " columns, expected " + std::to_string(c->names().size()) +
               " as in the line of names");
    if (row[id].empty()) {
      units = row;
      continue;
    }
    if (units.empty())
      fail(file, line_number, "has a kernel before the line of units, expected the CSV of ncu --csv --page raw");
    std::string range;
    auto place = ranges ? place_of(row[*ranges], operations, range) : known_operations::place{};
    if (!place.known()) place = operations.of_kernel(row[name]);
    auto& k = found[{range, row[name]}];
    k.place = place;
    ++k.launches;
    for (std::size_t m = 0; m < row.size(); ++m) {
      auto const& metric_name = c->names()[m];
      if (identity.contains(metric_name) || metric_name.find("_Range:") != std::string::npos) continue;
      auto const value = number(row[m]);
      if (!value) continue;
      auto const [scale, unit] = base_unit(units[m]);
      auto& to = k.metrics[metric_name];
      to.sum += *value * scale;
      ++to.launches;
      to.unit = unit;
    }
  }
  if (!c) fail(file, 0, "has no table of kernels, expected the CSV of ncu --csv --page raw, which begins with \"ID\"");
  for (auto const& [key, k] : found) {
    json metrics = json::object();
    for (auto const& [metric_name, m] : k.metrics)
      metrics[metric_name] = {{"value", m.sum / m.launches}, {"unit", m.unit}};
    kernels.push_back({{"source", file},
                       {"kernel", key.second},
                       {"range", key.first.empty() ? json() : json(key.first)},
                       {"launches", k.launches},
                       {"operation", k.place.operation},
                       {"volume_size", k.place.size},
                       {"metrics", metrics},
                       {"derived", derived(k.metrics)}});
  }
}

}  // namespace

void merge_nsight(json& profile, std::vector<std::string> const& nsys_files,
                  std::vector<std::string> const& ncu_files) {
  known_operations const operations(profile);
  json ranges = json::array(), kernels = json::array(), files = json::array();
  for (auto const& file : nsys_files) {
    read_nsys(file, operations, ranges, kernels);
    files.push_back({{"tool", "nsys"}, {"file", file}});
  }
  for (auto const& file : ncu_files) {
    read_ncu(file, operations, kernels);
    files.push_back({{"tool", "ncu"}, {"file", file}});
  }
  profile["nsight"] = {{"files", std::move(files)}, {"ranges", std::move(ranges)}, {"kernels", std::move(kernels)}};
}

}  // namespace mbirk::program
