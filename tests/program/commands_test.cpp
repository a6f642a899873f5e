// The command line: help, exit codes, ops, compare.
#include <algorithm>

#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/version.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

TEST(Commands, HelpAndVersion) {
  for (std::vector<std::string> const& words : {std::vector<std::string>{"--help"},
                                                {"ops", "--help"},
                                                {"run", "--help"},
                                                {"profile", "--help"},
                                                {"compare", "--help"}}) {
    auto const o = mbirk_program(words);
    EXPECT_EQ(o.code, 0) << o;
    EXPECT_EQ(o.err, "") << o;
    EXPECT_NE(o.out.find("Usage: "), std::string::npos) << o;
    if (words.size() < 2) continue;
    for (auto const* option : {"--policy", "--threads", "--quiet"})
      EXPECT_NE(o.out.find(option), std::string::npos) << option << o;
  }
  auto const version = mbirk_program({"--version"}).out;
  EXPECT_TRUE(version.starts_with("mbirk " + std::string(version_string) + ", " + std::string(instruction_set()) +
                                  "\nreads npy, raw, MRC"))
      << version;
}

TEST(Commands, AnInstructionSetThatIsNotThere) {
  for (auto const* command : {"--version", "ops"})
    expect_failure(run_words({"env", "MBIRK_INSTRUCTION_SET=x86-64-v9", MBIRK_PROGRAM, command}), 2,
                   "MBIRK_INSTRUCTION_SET is \"x86-64-v9\", expected what this build and this processor have: " +
                       std::string(instruction_set()));
}

TEST(Commands, BadUsage) {
  expect_failure(mbirk_program({}), 2, "no command given, expected one of ops, run, profile, compare");
  expect_failure(mbirk_program({"fly"}), 2, "unknown command 'fly', expected one of ops");
  expect_failure(mbirk_program({"ops", "--fast"}), 2, "--fast");
  expect_failure(mbirk_program({"ops", "--threads", "0"}), 2, "--threads");
  expect_failure(mbirk_program({"ops", "--threads", "two"}), 2, "--threads");
  expect_failure(mbirk_program({"ops", "--policy", "abacus"}), 2, "--policy");
  expect_failure(mbirk_program({"run", "somewhere"}), 2, "--out is required");
  expect_failure(mbirk_program({"run", "a", "--out", "b", "--instrument", "drums"}), 2, "--instrument");
  expect_failure(mbirk_program({"run", "with\nnewline", "--out", "b"}), 2, "with newline: no such folder");
}

TEST(Commands, OpsListsEveryOperation) {
  auto const table = mbirk_program({"ops"}), as_json = mbirk_program({"ops", "--json"});
  EXPECT_EQ(table.code, 0) << table;
  ASSERT_EQ(as_json.code, 0) << as_json;
  auto const all = json::parse(as_json.out);
  std::vector<std::string> names;
  for (auto const& op : all) {
    names.push_back(op["name"]);
    EXPECT_NE(table.out.find(op["name"].get<std::string>()), std::string::npos);
    EXPECT_TRUE(op["group"].is_string());
    EXPECT_TRUE(op["needs"]["inputs"].is_array());
    EXPECT_NE(std::find(op["policies"].begin(), op["policies"].end(), "host"), op["policies"].end());
  }
  for (std::string const name :
       {"forward_project", "back_project", "sparse_forward_project", "sparse_back_project", "hessian_diagonal"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

struct Compare : testing::Test {
  scratch_folder scratch;

  static json row(std::string const& op, int size, int run, double time, bool traced = false) {
    return {{"operation", op}, {"volume_size", size}, {"run", run}, {"time", time}, {"traced", traced}};
  }
  std::string file(std::string const& name, std::vector<json> const& rows) const {
    write_text(scratch / name, json{{"measurements", rows}}.dump());
    return (scratch / name).string();
  }
  static outcome compare(std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    return mbirk_program(words);
  }
};

TEST_F(Compare, MediansOfTheTimingRunsDecide) {
  // Warm-up and traced runs are slow in B only; they must not count.
  auto const a = file(
      "a", {row("x", 32, 1, 1), row("x", 32, 2, 1, true), row("x", 32, 3, 1), row("x", 32, 4, 2), row("x", 32, 5, 9)});
  auto const b = file("b", {row("x", 32, 1, 90), row("x", 32, 2, 90, true), row("x", 32, 3, 2.1), row("x", 32, 4, 2.1),
                            row("x", 32, 5, 90)});
  auto const good = compare({a, b});
  EXPECT_EQ(good.code, 0) << good;
  EXPECT_NE(good.out.find("1.050"), std::string::npos) << good;
  EXPECT_EQ(compare({a, b, "--max-slowdown", "1.04"}).code, 1);
  EXPECT_EQ(compare({b, a}).code, 0);
}

TEST_F(Compare, WithoutTimingRunsAllUntracedRunsCount) {
  auto const a = file("a", {row("x", 32, 1, 1), row("x", 32, 2, 70, true)}), b = file("b", {row("x", 32, 1, 2)});
  EXPECT_EQ(compare({a, b}).code, 1);
  EXPECT_EQ(compare({a, a}).code, 0);
}

TEST_F(Compare, SizesAndOperationsAreApart) {
  auto const a = file("a", {row("x", 32, 3, 1), row("x", 64, 3, 8), row("y", 32, 3, 1)});
  auto const slower = file("slower", {row("x", 32, 3, 1), row("x", 64, 3, 80), row("y", 32, 3, 1)});
  auto const missing = file("missing", {row("x", 32, 3, 1), row("y", 32, 3, 1)});
  auto const more = file("more", {row("x", 32, 3, 1), row("x", 64, 3, 8), row("y", 32, 3, 1), row("z", 32, 3, 1)});
  EXPECT_NE(compare({a, slower}).out.find("SLOWER"), std::string::npos);
  EXPECT_EQ(compare({a, slower}).code, 1);
  EXPECT_NE(compare({a, missing}).out.find("MISSING"), std::string::npos);
  EXPECT_EQ(compare({a, missing}).code, 1);
  EXPECT_EQ(compare({a, more}).code, 0);
}

TEST_F(Compare, DisturbedTimesAreNotCompared) {
  auto disturbed = row("x", 32, 3, 9);
  disturbed["disturbed"] = true;
  disturbed["reason"] = "no call is clean";
  auto const a = file("a", {row("x", 32, 3, 1), row("y", 32, 3, 1)}), b = file("b", {disturbed, row("y", 32, 3, 1)});
  auto const done = compare({a, b});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(done.out.find("1 of 2 were disturbed by other programs and are not compared"), 0u) << done;
  EXPECT_NE(done.out.find("-  disturbed"), std::string::npos) << done;
  auto const both = file("both", {disturbed, row("x", 32, 4, 9), row("y", 32, 3, 1)});
  EXPECT_EQ(compare({a, both}).code, 1) << "one of two runs was not disturbed, and is slower";
  EXPECT_EQ(compare({file("c", {disturbed}), file("d", {row("y", 32, 3, 1)})}).code, 1) << "missing";
  disturbed.erase("reason");
  expect_failure(compare({a, file("e", {disturbed})}), 2,
                 "measurements[0].reason is missing, expected why it was disturbed");
}

TEST_F(Compare, BadFiles) {
  auto const good = file("good", {row("x", 32, 3, 1)});
  expect_failure(compare({good, (scratch / "none").string()}), 2, "none: no such file");
  write_text(scratch / "text", "hello");
  expect_failure(compare({(scratch / "text").string(), good}), 2, "is not valid JSON");
  expect_failure(compare({file("empty", {}), good}), 2, "no untraced run");
  expect_failure(compare({file("negative", {row("x", 32, 3, -1)}), good}), 2,
                 "measurements[0].time is -1.0, expected seconds >= 0");
  auto wrong = row("x", 32, 3, 1);
  wrong["volume_size"] = "big";
  expect_failure(compare({good, file("wrong", {wrong})}), 2,
                 "measurements[0].volume_size is \"big\", expected a whole number");
  expect_failure(compare({good}), 2, "B.json is required");
  expect_failure(compare({good, good, "--max-slowdown", "0"}), 2, "--max-slowdown");
}

}  // namespace
}  // namespace mbirk::test
