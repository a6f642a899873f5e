// Trace files of mbirk profile and mbirk run, read by a checker of their rules and, if a browser and the package xprof
// are installed, by a viewer.
#include <set>
#include <variant>

#include "mbirk/geometry/list.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

/// A python3, preferably one that has the package xprof.
std::string const python = *MBIRK_PYTHON ? MBIRK_PYTHON : "python3",
                  python_with_xprof = *MBIRK_CHECK_PYTHON ? MBIRK_CHECK_PYTHON : python;
bool works(std::vector<std::string> const& words) { return run_words(words).code == 0; }

outcome check_trace(fs::path const& file, std::vector<std::string> const& more = {}, std::string const& by = python) {
  std::vector<std::string> words{by, MBIRK_GOLDEN_DIR "/../check/check_trace.py", file.string()};
  words.insert(words.end(), more.begin(), more.end());
  return run_words(words);
}

struct ProfileTrace : testing::Test {
  void SetUp() override {
    if (!works({python, "-c", ""})) GTEST_SKIP() << "there is no python3 here";
  }
  /// Decompressed by the checker's own code.
  json read(fs::path const& trace) const {
    auto const plain = run_words(
        {python, "-c", "import gzip, sys; sys.stdout.write(gzip.open(sys.argv[1], 'rt').read())", trace.string()});
    return json::parse(plain.out);
  }
};

TEST_F(ProfileTrace, FollowsTheRules) {
  auto const& profile = host_profile();
  ASSERT_EQ(profile.ran.code, 0) << profile.ran;
  auto const traces = profile.files("trace.perfetto.json.gz");
  ASSERT_EQ(traces.size(), 1u);
  auto const checked = check_trace(traces[0], {"--min-slices", "200", "--json"});
  EXPECT_EQ(checked.code, 0) << checked;
  auto const found = json::parse(checked.out);
  EXPECT_TRUE(found["warnings"].empty()) << checked;
  EXPECT_EQ(found["summary"]["counters"], 2) << "live bytes and threads busy";
  EXPECT_GT(found["summary"]["flows"], 50);
  std::set<std::string> operations;
  int kernels = 0, counted = 0;
  auto const all = read(traces[0]);
  for (auto const& e : all["traceEvents"]) {
    if (e.value("cat", "") == "operation" && e["ph"] == "X") operations.insert(e["name"]);
    if (e.value("cat", "") != "kernel") continue;
    ++kernels;
    for (auto const& [key, value] : e["args"].items()) counted += key.starts_with("counted flops");
  }
  for (char const* name : {"parallel_back_project", "cone_forward_project", "cone_mbir_recon", "qggmrf_denoise"})
    EXPECT_TRUE(operations.contains(name)) << name;
  EXPECT_GT(counted, kernels / 2) << kernels;
  std::size_t const scans = std::variant_size_v<scan_variant>;
  EXPECT_EQ(profile.files("_subset_update.html").size(), 2 * scans) << "of recon and prox_map in every geometry";
  EXPECT_EQ(profile.files("_init_recon.html").size(), scans) << "of weights by an initial reconstruction";
}

TEST_F(ProfileTrace, OfADevice) {
  auto const& profile = emulated_profile();
  ASSERT_EQ(profile.ran.code, 0) << profile.ran;
  auto const trace = profile.files("trace.perfetto.json.gz").at(0);
  auto const checked = check_trace(trace, {"--json"});
  EXPECT_EQ(checked.code, 0) << checked;
  std::set<std::string> on_device;
  auto const all = read(trace);
  for (auto const& e : all["traceEvents"])
    if (e["pid"] == 1000 && e["ph"] == "X") on_device.insert(e["cat"]);
  EXPECT_EQ(on_device, (std::set<std::string>{"copy", "kernel"}));
}

TEST_F(ProfileTrace, SaysWhatItLacks) {
  profiled const profile(
      {"--sizes", "8", "--runs", "2", "--threads", "1", "--ops", "cone_back_project", "--trace-events", "5"});
  auto const& ran = profile.ran;
  ASSERT_EQ(ran.code, 0) << ran;
  auto const trace = profile.files("trace.perfetto.json.gz").at(0);
  int const dropped = read(trace)["otherData"]["dropped events"];
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(profile.report["dropped_trace_events"]["8"], dropped);
  EXPECT_NE(ran.out.find("(--trace-events): " + std::to_string(dropped) + " at 8\n"), std::string::npos) << ran;
  EXPECT_EQ(check_trace(trace).code, 0);
  expect_failure(mbirk_program({"profile", "--trace-events", "0"}), 2, "--trace-events");
}

TEST_F(ProfileTrace, OpensInAViewer) {
  auto const& by = python_with_xprof;
  if (!works({by, "-c", "import xprof"}))
    GTEST_SKIP() << by << " has no package xprof, whose viewer reads traces as chrome://tracing does";
  if (!works({"sh", "-c",
              "command -v \"${CHROMIUM:-chromium}\" || command -v chromium-browser || command -v google-chrome"}))
    GTEST_SKIP() << "there is no chromium here";
  ASSERT_EQ(host_profile().ran.code, 0);
  auto const trace = host_profile().files("trace.perfetto.json.gz").at(0);
  auto const checked = check_trace(trace, {"--import", "--min-slices", "200", "--json"}, by);
  EXPECT_EQ(checked.code, 0) << checked;
  auto const found = json::parse(checked.out);
  EXPECT_EQ(found["import"]["slices"], found["summary"]["phases"]["X"]) << "every span";
  EXPECT_EQ(found["import"]["flows"], found["summary"]["flows"]) << "every arrow";
}

TEST_F(Case, TheTraceOfARunSaysWhatItLacks) {
  copy("parallel_odd");
  keep("back_project");
  auto const ran = run({"--instrument", "tracing", "--trace-events", "3"});
  ASSERT_EQ(ran.code, 0) << ran;
  int const dropped = json::parse(file_text(out / "trace.json"))["otherData"]["dropped events"];
  EXPECT_GT(dropped, 0);
  EXPECT_NE(ran.err.find("mbirk: note: trace.json lacks " + std::to_string(dropped) + " events"), std::string::npos)
      << ran;
  auto const whole = run({"--instrument", "tracing"});
  EXPECT_EQ(whole.err.find("lacks"), std::string::npos) << whole;
  if (works({python, "-c", ""})) {
    EXPECT_EQ(check_trace(out / "trace.json").code, 0);
  }
}

}  // namespace
}  // namespace mbirk::test
