// Command-line options of mbirk_gpu_cells, and its report as JSON.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/geometry/list.hpp"

namespace mbirk::cells {

using shape_3 = std::array<index_t, 3>;

inline constexpr char const* usage =
    "mbirk_gpu_cells [--cells VxRxC,...] [--geometry parallel,cone] [--ops NAME,...] [--warm 3] [--repeats 5] "
    "[--budget SECONDS]\n"
    "                [--op-budget SECONDS] [--plan] --out FILE\n"
    "  --cells      sinograms: views x rows x channels (200x208x160,512x448x384,513x449x385,1024x1008x992)\n"
    "  --ops        forward_project, back_project, sparse_forward_project, sparse_back_project, hessian_diagonal, "
    "direct_filter\n"
    "  --warm       calls before the clock counts, at least 1\n"
    "  --repeats    calls that are timed at least; 9 below 5 ms, more while they are short; fewer than that when "
    "--op-budget does not allow them\n"
    "  --budget     seconds after which no further operation is begun (no limit): it is in `skipped`\n"
    "  --op-budget  seconds of one operation (60), a single call excepted\n"
    "  --plan       shapes and sizes only: needs no device\n"
    "Exit code: 0 done, 1 something is in `errors`, 2 bad usage, 3 no device.\n";

inline std::vector<std::string> const all_ops{"forward_project",     "back_project",     "sparse_forward_project",
                                       "sparse_back_project", "hessian_diagonal", "direct_filter"};
// number of subsets of the pixel partition; the sparse operations take subset 0
inline constexpr index_t subsets = 128;

struct options {
  std::vector<shape_3> cells{{200, 208, 160}, {512, 448, 384}, {513, 449, 385}, {1024, 1008, 992}};
  // The geometries that published times of other programs are for.
  std::vector<std::string> geometries{"parallel", "cone"}, ops = all_ops;
  int warm = 3, repeats = 5;
  double budget = 1e9, op_budget = 60;
  bool plan = false;
  std::string out;
};

[[noreturn]] inline void bad_usage(std::string const& why) {
  std::fprintf(stderr, "mbirk_gpu_cells: %s\n", why.c_str());
  std::exit(2);
}

inline std::vector<std::string> split(std::string const& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

inline std::vector<std::string> names(std::string const& option, std::string const& text,
                                      std::vector<std::string> const& known) {
  auto const found = split(text, ',');
  if (found.empty()) bad_usage(option + ": expected at least one name");
  for (auto const& name : found) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string all;
    for (auto const& k : known) all += (all.empty() ? "" : ", ") + k;
    bad_usage(option + ": unknown name '" + name + "', expected some of " + all);
  }
  return found;
}

inline double number(std::string const& option, std::string const& text, double least) {
  char* end = nullptr;
  double const x = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(x >= least))
    bad_usage(option + ": expected a number, at least " + mbirk::detail::number_text(least) + ", got '" + text + "'");
  return x;
}

inline shape_3 cell_shape(std::string const& text) {
  auto const parts = split(text, 'x');
  shape_3 shape{};
  bool ok = parts.size() == 3;
  for (std::size_t k = 0; ok && k < 3; ++k) {
    ok = !parts[k].empty() && parts[k].size() < 6 && parts[k].find_first_not_of("0123456789") == std::string::npos;
    if (!ok) break;
    shape[k] = std::stoi(parts[k]);
    ok = shape[k] > 0;
  }
  if (!ok) bad_usage("--cells: expected VIEWSxROWSxCHANNELS such as 200x208x160, got '" + text + "'");
  return shape;
}

inline options read_options(int argc, char** argv) {
  options o;
  for (int k = 1; k < argc; ++k) {
    std::string const name = argv[k];
    if (name == "--help" || name == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (name == "--plan") {
      o.plan = true;
      continue;
    }
    static std::vector<std::string> const with_value{"--cells",   "--geometry", "--ops",       "--warm",
                                                     "--repeats", "--budget",   "--op-budget", "--out"};
    if (std::find(with_value.begin(), with_value.end(), name) == with_value.end())
      bad_usage("unknown option '" + name + "'; --help lists them");
    if (k + 1 == argc) bad_usage(name + ": expected a value");
    std::string const value = argv[++k];
    if (name == "--cells") {
      o.cells.clear();
      for (auto const& text : split(value, ',')) o.cells.push_back(cell_shape(text));
      if (o.cells.empty()) bad_usage("--cells: expected at least one");
    } else if (name == "--geometry") {
      o.geometries = names(name, value, mbirk::geometries::names());
    } else if (name == "--ops") {
      o.ops = names(name, value, all_ops);
    } else if (name == "--warm") {
      o.warm = static_cast<int>(number(name, value, 1));
    } else if (name == "--repeats") {
      o.repeats = static_cast<int>(number(name, value, 1));
    } else if (name == "--budget") {
      o.budget = number(name, value, 0);
    } else if (name == "--op-budget") {
      o.op_budget = number(name, value, 0);
    } else {
      o.out = value;
    }
  }
  if (o.out.empty()) bad_usage("--out is required");
  return o;
}

// A minimal JSON writer.

inline std::string quoted(std::string const& text) {
  std::string s = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') (s += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20) s += ' ';
    else s += c;
  }
  return s + "\"";
}
inline std::string number_json(double x) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}
inline std::string shape_json(shape_3 const& s) {
  return "[" + std::to_string(s[0]) + ", " + std::to_string(s[1]) + ", " + std::to_string(s[2]) + "]";
}

class object {
 public:
  object& add(char const* key, std::string const& json) {
    text_ += (text_.empty() ? "" : ", ") + quoted(key) + ": " + json;
    return *this;
  }
  object& add(char const* key, double x) { return add(key, number_json(x)); }
  object& add(char const* key, index_t x) { return add(key, std::to_string(x)); }
  std::string json() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

/// Results so far.
struct report {
  std::string file, environment = "{}", ops = "[]", running = "null";
  std::vector<std::string> results, errors, skipped;

  void write() const {
    std::string const partial = file + ".partial";
    std::FILE* const out = std::fopen(partial.c_str(), "w");
    if (!out) bad_usage("--out: " + file + " cannot be written: " + std::strerror(errno));
    std::string text = "{\"environment\": " + environment + ",\n \"ops\": " + ops + ",\n \"running\": " + running;
    for (auto const& [name, list] : {std::pair<char const*, std::vector<std::string> const*>{"results", &results},
                                     {"errors", &errors},
                                     {"skipped", &skipped}}) {
      text += ",\n " + quoted(name) + ": [";
      for (auto const& entry : *list) text += (&entry == list->data() ? "\n  " : ",\n  ") + entry;
      text += "]";
    }
    text += "}\n";
    bool const written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if ((std::fclose(out) != 0) || !written || std::rename(partial.c_str(), file.c_str()) != 0)
      bad_usage("--out: " + file + " cannot be written");
  }
};

}  // namespace mbirk::cells
