// mbirk report, and the tables that mbirk profile writes.
#include <algorithm>

#include "program.hpp"

namespace mbirk::test {
namespace {

struct Report : testing::Test {
  scratch_folder scratch;

  static json cost(int flops) {
    return {{"flops", flops},      {"bytes accessed", 8},        {"items", 4}, {"arithmetic intensity", 0.5},
            {"source", "counted"}, {"memory", {{"peak", flops}}}};
  }
  static json run(std::string const& version, std::vector<std::pair<std::string, double>> const& times) {
    json j{{"timestamp", "20260101_000000_" + std::to_string(times.size())},
           {"volume_sizes", {8}},
           {"runs_per_size", 3},
           {"environment",
            {{"backend", "host"},
             {"devices", {"a processor"}},
             {"mbirk_version", version},
             {"cpu", "a processor"},
             {"threads", 2},
             {"vector_lanes", 8}}},
           {"measurements", json::array()},
           {"cost_analysis", {{"8", json::object()}}},
           {"errors", json::array()}};
    for (auto const& [name, time] : times) {
      j["measurements"].push_back(
          {{"operation", name}, {"volume_size", 8}, {"run", 3}, {"time", time}, {"traced", false}});
      j["cost_analysis"]["8"][name] = cost(16);
    }
    return j;
  }
  std::string file(std::string const& name, json const& j) const {
    write_text(scratch / name, j.dump());
    return (scratch / name).string();
  }
  outcome report(std::vector<std::string> words, std::string const& out = "merged.json") const {
    words.insert(words.begin(), "report");
    words.insert(words.end(), {"--out", (scratch / out).string()});
    return mbirk_program(words);
  }
  json merged() const { return json::parse(file_text(scratch / "merged.json")); }
};

TEST_F(Report, SizesAreWholeNumbers) {
  auto j = run("1.0", {{"x", 1}});
  j["cost_analysis"]["eight"] = j["cost_analysis"]["8"];
  expect_failure(report({file("a.json", j)}), 2,
                 "a.json: cost_analysis.eight is not the costs of a size, expected a whole number as its name");
  j = run("1.0", {{"x", 1}});
  j["environments"] = 5;  // of another kind than a merged run has
  auto const odd = report({file("a.json", j), file("b.json", run("1.0", {{"x", 1}}))});
  EXPECT_EQ(odd.err.find("json.exception"), std::string::npos) << odd;
}

TEST_F(Report, MergesRuns) {
  auto const a = file("a.json", run("1.0", {{"x", 1}, {"y", 4}}));
  auto other = run("1.0", {{"x", 3}});
  other["cost_analysis"]["8"]["x"]["memory"]["peak"] = 99;  // for another number of threads
  other["volume_sizes"] = {8, 16};
  auto const b = file("b.json", other);
  auto const done = report({a, b});
  ASSERT_EQ(done.code, 0) << done;
  EXPECT_NE(done.out.find("2.000 s"), std::string::npos) << "the median of x\n" << done;
  EXPECT_EQ(done.out.find("different versions"), std::string::npos) << done;
  auto const m = merged();
  ASSERT_EQ(m["measurements"].size(), 3u);
  EXPECT_EQ(m["measurements"][1]["source"], a);
  EXPECT_EQ(m["measurements"][2]["source"], b);
  EXPECT_EQ(m["measurements"][2]["time"], 3);
  EXPECT_EQ(m["volume_sizes"], json({8, 16}));
  EXPECT_EQ(m["cost_analysis"]["8"]["x"], cost(16));
  ASSERT_EQ(m["environments"].size(), 2u);
  EXPECT_EQ(m["environments"][1]["source"], b);
  EXPECT_TRUE(m["errors"].empty());
  EXPECT_EQ(mbirk_program({"compare", (scratch / "merged.json").string(), (scratch / "merged.json").string()}).code, 0)
      << "a merged run is a run";

  auto const again = mbirk_program({"report", (scratch / "merged.json").string(),
                                    file("c.json", run("2.0", {{"z", 1}})), "--out", (scratch / "all.json").string()});
  ASSERT_EQ(again.code, 0) << again;
  EXPECT_NE(again.out.find("different versions of mbirk: 1.0, 2.0"), std::string::npos) << again;
  auto const all = json::parse(file_text(scratch / "all.json"));
  EXPECT_EQ(all["environments"].size(), 3u);
  EXPECT_EQ(all["measurements"][0]["source"], a) << "runs keep their names";
}

TEST_F(Report, CostsThatDisagreeAreErrors) {
  auto wrong = run("1.0", {{"x", 1}});
  wrong["cost_analysis"]["8"]["x"]["flops"] = 17;
  auto const a = file("a.json", run("1.0", {{"x", 1}})), b = file("b.json", wrong);
  auto const done = report({a, b});
  EXPECT_EQ(done.code, 1) << done;
  EXPECT_NE(done.out.find("flops is 16 and 17"), std::string::npos) << done;
  auto const m = merged();
  ASSERT_EQ(m["errors"].size(), 1u);
  EXPECT_EQ(m["errors"][0]["operation"], "x");
  EXPECT_EQ(m["errors"][0]["source"], b);
  EXPECT_EQ(m["cost_analysis"]["8"]["x"]["flops"], 16) << "that of the first run";
}

TEST_F(Report, ReuseDistancesMayBeLeftOut) {
  auto complete = run("1.0", {{"x", 1}});
  complete["cost_analysis"]["8"]["x"]["reuse"] = {{"line bytes", 64}};
  auto const done = report({file("a.json", run("1.0", {{"x", 1}})), file("b.json", complete)});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_TRUE(merged()["cost_analysis"]["8"]["x"].contains("reuse"));
}

TEST_F(Report, WhatEveryRunLeftOutIsLeftOut) {
  auto const part = [](char const* what, char const* operation, int size) {
    return json{{"operation", operation},
                {"volume_size", size},
                {"part", what},
                {"predicted seconds", 100.0},
                {"limit seconds", 60.0}};
  };
  auto hasty = run("1.0", {{"parallel_x", 1}});
  hasty["left_out"] = {part("times", "parallel_y", 8), part("times", "parallel_y", 16), part("operations", "cone_*", 8),
                       part("operations", "translation_*", 8), part("counts", "parallel_y", 8),
                       part("counts", "cone_x", 16), part("reuse distances", "parallel_x", 8),
                       part("reuse distances", "parallel_y", 8), part("whole reconstruction", "parallel_z", 8)};
  auto complete = run("1.0", {{"parallel_x", 1}, {"parallel_y", 1}, {"cone_x", 1}});
  complete["cost_analysis"]["8"]["parallel_x"]["reuse"] = {{"line bytes", 64}};
  complete["left_out"] = {part("times", "parallel_y", 16)};
  complete["left_out"][0]["predicted seconds"] = 99.0;
  auto const b = file("b.json", complete);
  auto const done = report({file("a.json", hasty), b});
  ASSERT_EQ(done.code, 0) << done;
  EXPECT_EQ(merged()["left_out"], json({part("times", "parallel_y", 16), part("operations", "cone_*", 8),
                                        part("operations", "translation_*", 8), part("counts", "cone_x", 16),
                                        part("reuse distances", "parallel_y", 8)}));
  hasty["left_out"][0].erase("part");
  expect_failure(report({file("a.json", hasty), b}), 2, "a.json: left_out[0]");
}

/// The formats themselves are tested next to merge_nsight.
TEST_F(Report, ExportsOfNsight) {
  auto const a = file("a.json", run("1.0", {{"parallel_back_project", 1}}));
  auto const csv = (scratch / "nsys.csv").string();
  write_text(csv,
             "Time (%),Total Time (ns),Instances,Style,Range\n100.0,6000,3,PushPop,mbirk:parallel_back_project_v8\n");
  auto const done = report({a, "--nsys", csv});
  ASSERT_EQ(done.code, 0) << done;
  auto const range = merged()["nsight"]["ranges"].at(0);
  EXPECT_EQ(range["operation"], "parallel_back_project");
  EXPECT_EQ(range["volume_size"], 8);
  EXPECT_EQ(range["count"], 3);
  expect_failure(report({a, "--ncu", csv}, "other.json"), 2, "nsys.csv: has no table of kernels");
  EXPECT_FALSE(fs::exists(scratch / "other.json"));
}

TEST_F(Report, BadFilesAndNames) {
  auto const good = file("a.json", run("1.0", {{"x", 1}}));
  auto const fails = [&](json const& j, std::string const& part) {
    expect_failure(report({good, file("bad.json", j)}), 2, part);
  };
  fails({{"measurements", json::array()}}, "bad.json: timestamp is missing, expected a report of mbirk profile");
  auto j = run("1.0", {{"x", 1}});
  j["measurements"][0]["time"] = -1;
  fails(j, "measurements[0].time is -1, expected seconds >= 0");
  j = run("1.0", {{"x", 1}});
  j["cost_analysis"]["8"]["x"].erase("items");
  fails(j, "cost_analysis.8.x.items is missing");
  j = run("1.0", {{"x", 1}});
  j["environment"]["devices"] = json::array();
  fails(j, "environment.devices is []");
  fails(json::array(), "bad.json");
  write_text(scratch / "text", "hello");
  expect_failure(report({good, (scratch / "text").string()}), 2, "is not valid JSON");
  expect_failure(report({good, (scratch / "none").string()}), 2, "none: no such file");
  expect_failure(report({good, good}), 2, "is given twice");
  expect_failure(report({good}, "report.txt"), 2, "report.txt, expected a name that ends in .html or .json");
  expect_failure(report({good}, "report.html"), 2, "a.json: environment.compiler is missing");
  expect_failure(mbirk_program({"report"}), 2, "RUN.json is required");
  expect_failure(report({good}, "a.json"), 2, "would be written over what is read, expected another file");
  EXPECT_FALSE(fs::exists(scratch / "merged.json"));
}

TEST_F(Report, TheTableBeginsWithWhatWasDisturbed) {
  auto j = run("1.0", {{"x", 1}, {"y", 4}});
  j["measurements"][0]["min"] = 0.5;
  j["measurements"][0]["interval"] = {0.75, 1.5};
  auto const calm = report({file("a.json", j)});
  EXPECT_NE(calm.out.find("the first one\n\na processor, 2 threads"), std::string::npos) << calm;
  EXPECT_NE(calm.out.find("500.00 ms   1.000 s    [750.00 ms, 1.500 s]   20.0%"), std::string::npos) << calm;
  j["measurements"][0]["disturbed"] = true;
  j["measurements"][0]["reason"] = "no call is clean";
  auto const busy = report({file("b.json", j)});
  EXPECT_EQ(busy.code, 0) << busy;
  EXPECT_NE(busy.out.find("the first one\n\n1 of 2 operations were disturbed by other programs, so their "
                          "times here are not judged: measure again on a quiet machine, with --pin, or with a larger "
                          "--budget\na processor"),
            std::string::npos)
      << busy;
  EXPECT_NE(busy.out.find("500.00 ms disturbed                       -       -        -"), std::string::npos) << busy;
}

/// Counts of mbirk profile agree between its tables and its JSON; two of its runs together.
TEST_F(Report, TablesOfAProfile) {
  profiled const one({"--sizes", "16", "--runs", "2", "--threads", "1", "--ops", "cone_*project"});
  auto const& [folder, ran, file, page, first] = one;
  ASSERT_EQ(ran.code, 0) << ran;
  ASSERT_EQ(host_profile().ran.code, 0) << host_profile().ran;
  auto const done = report({file.string(), host_profile().file.string()});
  EXPECT_EQ(done.code, 0) << "counts do not depend on the run\n" << done;

  auto const& cost = first["cost_analysis"]["16"]["cone_forward_project"];
  std::uint64_t flops = 0, misses = 0;
  for (auto const& k : cost["kernels"]) flops += k["flops"].get<std::uint64_t>();
  EXPECT_EQ(cost["flops"], flops);
  for (auto const& s : cost["reuse by stage"]) misses += s["reuse"]["read misses"][0].get<std::uint64_t>();
  EXPECT_EQ(cost["reuse"]["read misses"][0], misses) << "of a cache of one line";
  for (auto const& a : cost["arrays"])
    if (a["role"] == "argument" || a["role"] == "output" || a["name"] == "channel-major sinogram") {
      EXPECT_LT(a["values"]["min"], a["values"]["max"]) << a["name"];
    }
  for (auto const& a : cost["device"]["arrays"])
    if (a["role"] == "output") {
      EXPECT_LE(a["access"]["sectors per request"], 4.0) << a["name"];
    }

  auto const tables = folder / "tables" / first["timestamp"].get<std::string>();
  if (!fs::exists(tables)) GTEST_SKIP() << "the program was built without liblzma";
  std::string const python = MBIRK_PYTHON;
  if (python.empty()) GTEST_SKIP() << "no Python";
  auto const checked =
      run_words({python, MBIRK_GOLDEN_DIR "/../program/check_tables.py", file.string(), tables.string()});
  EXPECT_EQ(checked.code, 0) << checked;
}

}  // namespace
}  // namespace mbirk::test
