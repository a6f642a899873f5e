// Runs the program through a shell, like a user, and makes cases to run it on.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/scratch_folder.hpp"
#include "mbirk/io/npy.hpp"

namespace mbirk::test {

using json = nlohmann::json;
namespace fs = std::filesystem;

struct outcome {
  int code;
  std::string out, err;
  std::string command;
};
inline std::ostream& operator<<(std::ostream& to, outcome const& o) {
  return to << o.command << "\nexit code " << o.code << "\nstdout: " << o.out << "\nstderr: " << o.err;
}

/// Runs a command line of words; every word is quoted.
inline outcome run_words(std::vector<std::string> const& words) {
  scratch_folder logs;
  std::string line;
  for (auto const& word : words) {
    line += line.empty() ? "'" : " '";
    for (char const c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  int const status = std::system(
      (line + " >'" + (logs / "out").string() + "' 2>'" + (logs / "err").string() + "' </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(logs / "out"), file_text(logs / "err"), line};
}
/// A failure: exit code and one line that begins with the program's name and contains `part`.
inline void expect_failure(outcome const& o, int code, std::string const& part) {
  EXPECT_EQ(o.code, code) << o;
  EXPECT_EQ(o.err.find("mbirk: "), 0u) << o;
  EXPECT_NE(o.err.find(part), std::string::npos) << "expected: " << part << '\n' << o;
  EXPECT_EQ(o.err.find('\n'), o.err.size() - 1) << o;
}

inline fs::path golden(std::string const& name) { return fs::path(MBIRK_GOLDEN_DIR) / name; }
inline std::vector<std::string> const geometry_cases{
    "parallel_32", "parallel_odd",  "cone_32",       "cone_odd",       "cone_helical_curved",
    "multiaxis_a", "multiaxis_odd", "translation_a", "translation_odd"};
inline std::vector<std::string> all_cases() {
  auto cases = geometry_cases;
  cases.push_back("utilities");
  return cases;
}

#if defined(MBIRK_PROGRAM)  // units that need no program are tested without one too
inline outcome mbirk_program(std::vector<std::string> words) {
  words.insert(words.begin(), MBIRK_PROGRAM);
  return run_words(words);
}

/// The output of a run of `mbirk profile`. Tests share one run, because measuring the machine's peak rates takes longer
/// than the rest of a short profile.
struct profiled {
  scratch_folder folder;
  outcome ran;
  fs::path file, page;
  json report;

  explicit profiled(std::vector<std::string> words) {
    words.insert(words.begin(), {"profile", "--quiet", "--out", folder.path().string()});
    ran = mbirk_program(words);
    for (auto const& entry : fs::directory_iterator(folder.path())) {
      if (entry.path().extension() == ".json") file = entry.path();
      if (entry.path().filename().string().starts_with("report_")) page = entry.path();
    }
    if (!file.empty()) report = json::parse(file_text(file));
  }
  /// Its files in all folders whose paths have this ending.
  std::vector<fs::path> files(std::string const& ending) const {
    std::vector<fs::path> found;
    for (auto const& entry : fs::recursive_directory_iterator(folder.path()))
      if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
};
/// Every operation on the host.
inline profiled const& host_profile() {
  static profiled const once({"--sizes", "16", "--runs", "3", "--graph-steps"});
  return once;
}
/// Both parallel back projections, reconstruction in parallel beam, and partitions, which run on the host.
inline profiled const& emulated_profile() {
  static profiled const once(
      {"--policy", "emulated", "--sizes", "24", "--runs", "3", "--ops", "[gp]??[_a]*[_i][bmx]*_[pr]*"});
  return once;
}

/// A copy of a reference case, to be changed and run.
struct Case : testing::Test {
  scratch_folder scratch;
  fs::path const folder = scratch / "case", out = scratch / "out";

  void copy(std::string const& name) {
    fs::copy(golden(name), folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  json read() const { return json::parse(file_text(folder / "case.json")); }
  void write(json const& j) const { write_text(folder / "case.json", j.dump(1)); }
  void change(std::function<void(json&)> const& f) const {
    auto j = read();
    f(j);
    write(j);
  }
  /// Leaves only the first entry of this operation, as entry 0.
  void keep(std::string const& op) const {
    change([&](json& j) {
      json const all = j["ops"];
      for (auto const& entry : all)
        if (entry["op"] == op) {
          j["ops"] = json::array({entry});
          return;
        }
    });
  }
  outcome run(std::vector<std::string> const& more = {}) const {
    std::vector<std::string> words{"run", folder.string(), "--out", out.string()};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
};
#endif

}  // namespace mbirk::test
