// Policies of the program: the device kernels, emulated and on a device if there is one; errors for unavailable
// policies.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <utility>

#include "program.hpp"

namespace mbirk::test {
namespace {

struct GoldenPolicies : testing::TestWithParam<std::string> {
  scratch_folder out;

  outcome run_golden(char const* policy) const {
    return mbirk_program(
        {"run", golden(GetParam()).string(), "--out", out.path().string(), "--check", "--policy", policy});
  }
  static void expect_all_within(outcome const& done) {
    auto const entries = std::to_string(json::parse(file_text(golden(GetParam()) / "case.json"))["ops"].size());
    EXPECT_EQ(done.code, 0) << done;
    EXPECT_NE(done.out.find(entries + " of " + entries + " within tolerance"), std::string::npos) << done;
  }
};
INSTANTIATE_TEST_SUITE_P(Cases, GoldenPolicies, testing::ValuesIn(all_cases()),
                         [](auto const& info) { return info.param; });

/// Every entry of every case, as many as on the host: the emulation takes seconds for all of them.
TEST_P(GoldenPolicies, EmulatedAgreesWithTheReferences) { expect_all_within(run_golden("emulated")); }

TEST_P(GoldenPolicies, CudaAgreesWithTheReferences) {
  auto const done = run_golden("cuda");
  if (done.code == 3) {
    expect_failure(done, 3, "policy cuda is not available here: ");
    GTEST_SKIP() << done.err;
  }
  expect_all_within(done);
}

struct Policies : Case {
  void SetUp() override { copy("parallel_odd"); }
};

/// An unavailable policy is reported in one line, before any output is made; which of the two reasons is given depends
/// on the build.
TEST_F(Policies, CudaThatIsNotHere) {
  auto const done = run({"--policy", "cuda", "--ops", "forward_project"});
  if (done.code == 0) GTEST_SKIP() << "there is a device";
  expect_failure(done, 3, "policy cuda is not available here: ");
  bool const built_without = done.err.find("this program was built without CUDA") != std::string::npos;
  bool const no_device = done.err.find("no device can be used: ") != std::string::npos;
  EXPECT_NE(built_without, no_device) << done;
  EXPECT_FALSE(fs::exists(out));
  for (std::vector<std::string> const& words : {std::vector<std::string>{"ops"}, {"profile", "--out", out.string()}}) {
    auto more = words;
    more.insert(more.end(), {"--policy", "cuda"});
    auto const other = mbirk_program(more);
    EXPECT_EQ(other.code, 3) << other;
    EXPECT_EQ(other.err, done.err);
    EXPECT_FALSE(fs::exists(out));
  }
  auto const listed = json::parse(mbirk_program({"ops", "--json"}).out);
  for (auto const& op : listed) {  // a program without CUDA does not offer it
    bool const offered = std::count(op["policies"].begin(), op["policies"].end(), "cuda") == 1;
    EXPECT_EQ(offered, !built_without && !op["name"].get<std::string>().starts_with("gen_pixel_partition")) << op;
  }
}

/// Results of correct kernels do not depend on the order of blocks and threads, on when copies land, or on the number
/// of emulating threads.
TEST_F(Policies, SameBitsInAnyOrder) {
  std::vector<std::vector<std::string>> const ways{{"--threads", "1"},
                                                   {"--threads", "3"},
                                                   {"--seed", "7"},
                                                   {"--seed", "8", "--late-copies", "--check-races"},
                                                   {"--instrument", "tracing"}};
  std::vector<fs::path> outs;
  for (auto const& way : ways) {
    outs.push_back(scratch / ("out" + std::to_string(outs.size())));
    std::vector<std::string> words{"run", folder.string(), "--out", outs.back().string(), "--policy", "emulated"};
    words.insert(words.end(), way.begin(), way.end());
    auto const done = mbirk_program(words);
    ASSERT_EQ(done.code, 0) << done;
  }
  for (auto const& entry : read()["ops"]) {
    std::string const name = entry["output"], first = file_text(outs[0] / name);
    for (std::size_t k = 1; k < outs.size(); ++k)
      EXPECT_TRUE(file_text(outs[k] / name) == first) << name << ' ' << testing::PrintToString(ways[k]);
  }
  EXPECT_EQ(run({"--instrument", "tracing"}).code, 0);
  auto const spans = [](fs::path const& trace) {
    std::vector<std::string> names;
    auto const all = json::parse(file_text(trace));
    for (auto const& e : all["traceEvents"])
      if (e["ph"] == "X" && e.value("cat", "") == "operation") names.push_back(e["name"]);
    return names;
  };
  auto const names = spans(outs.back() / "trace.json");
  EXPECT_GE(names.size(), read()["ops"].size());
  EXPECT_EQ(names, spans(out / "trace.json")) << "the host runs the same operations";
}

/// The device kernels, counted: every access is one of a whole warp, and the results equal those without counting.
TEST_F(Policies, CountsUnderEmulation) {
  keep("forward_project");
  ASSERT_EQ(run({"--policy", "emulated"}).code, 0);
  auto const output = out / read()["ops"][0]["output"].get<std::string>();
  auto const plain = read_npy<float>(output);
  auto const done = run({"--policy", "emulated", "--instrument", "counting"});
  ASSERT_EQ(done.code, 0) << done;
  EXPECT_EQ(read_npy<float>(output).data, plain.data);
  auto const counts = json::parse(file_text(out / "counts.json"))["operations"][0];
  EXPECT_EQ(counts["source"], "counted");
  EXPECT_GE(counts["flops"], counts["flops minimal"].get<std::int64_t>());
  EXPECT_GT(counts["transfers"]["host to device"]["bytes"], 0) << "tables";
  bool seen = false;
  for (auto const& array : counts["arrays"]) {
    if (array["name"] != "sinogram") continue;
    seen = true;
    EXPECT_GT(array["access"]["requests"], 0);
    EXPECT_GE(array["access"]["sectors"], array["access"]["requests"].get<std::int64_t>());
    EXPECT_EQ(array["bytes unique written"], array["bytes"]);
  }
  EXPECT_TRUE(seen);
}

/// An array without elements needs no memory of the device.
TEST_F(Policies, EmulatedWithoutPixels) {
  keep("sparse_forward_project");
  auto const entry = read()["ops"][0];
  index_t const slices = read()["recon_shape"][2];
  write_npy(folder / entry["inputs"]["voxel_values"].get<std::string>(), npy_array<float>{{0, slices}, {}});
  write_npy(folder / entry["inputs"]["pixel_indices"].get<std::string>(), npy_array<std::int32_t>{{0}, {}});
  auto const done = run({"--policy", "emulated"});
  ASSERT_EQ(done.code, 0) << done;
  auto const sinogram = read_npy<float>(out / entry["output"].get<std::string>());
  EXPECT_EQ(std::count(sinogram.data.begin(), sinogram.data.end(), 0.0f), std::ssize(sinogram.data));
}

TEST_F(Policies, BadCombinations) {
  for (std::vector<std::string> const& option :
       {std::vector<std::string>{"--seed", "1"}, {"--late-copies"}, {"--check-races"}})
    for (auto const* policy : {"host", "cuda"}) {  // bad usage is reported before unavailable policies
      auto words = option;
      words.insert(words.end(), {"--policy", policy});
      expect_failure(run(words), 2,
                     option[0] + " is given with --policy " + policy + ", expected only with --policy emulated");
    }
  expect_failure(run({"--policy", "emulated", "--seed", "-1"}), 2, "--seed: Value -1 not in range");
  for (auto const* policy : {"host", "emulated"}) {
    expect_failure(run({"--policy", policy, "--cuda-profiler-range"}), 3,
                   std::string("--cuda-profiler-range is not available under policy ") + policy);
    expect_failure(mbirk_program({"profile", "--sizes", "8", "--policy", policy, "--cuda-profiler-range"}), 3,
                   "expected --policy cuda");
    expect_failure(mbirk_program({"profile", "--sizes", "8", "--policy", policy, "--cupti"}), 3,
                   std::string("--cupti is not available under policy ") + policy);
  }
  expect_failure(mbirk_program({"profile", "--sizes", "8", "--runs", "2", "--cuda-profiler-range"}), 2,
                 "--cuda-profiler-range takes the runs after");
  expect_failure(mbirk_program({"prepare", "x.npy", "--out", "o.h5", "--policy", "emulated"}), 3,
                 "mbirk prepare runs on the host only");
  EXPECT_FALSE(fs::exists(out));
}

#if defined(MBIRK_NVTX_TOOL)
/// NVTX ranges as a tool receives them (tests/instrument/nvtx_tool.cpp): one for each call of an operation on the host.
TEST_F(Policies, NvtxMarksCalls) {
  keep("sparse_back_project");
  for (auto const* policy : {"host", "emulated"}) {
    auto const log = scratch / policy;
    auto const done = run_words({"env", std::string("NVTX_INJECTION64_PATH=") + MBIRK_NVTX_TOOL,
                                 "MBIRK_NVTX_TOOL_LOG=" + log.string(), MBIRK_PROGRAM, "run", folder.string(), "--out",
                                 out.string(), "--policy", policy, "--instrument", "nvtx", "--check"});
    EXPECT_EQ(done.code, 0) << done;
    EXPECT_EQ(file_text(log), "projector sparse_back_project\n");
  }
}
#else
TEST_F(Policies, NvtxIsNotThere) { expect_failure(run({"--instrument", "nvtx"}), 3, "built without NVTX"); }
#endif

/// Problems of the data are found on the device as on the host, and reported in equal words.
TEST_F(Policies, BadDataUnderEmulation) {
  keep("gen_weights_mar");
  change([](json& j) { j["ops"][0]["args"] = {{"beta", 0}}; });
  auto const host = run(), emulated = run({"--policy", "emulated"});
  EXPECT_EQ(host.code, 2) << host;
  EXPECT_EQ(emulated.err, host.err);
  EXPECT_EQ(emulated.code, 2) << emulated;
}

TEST(Policy, OpsSaysWhichPoliciesRunAnOperation) {
  auto const listed = mbirk_program({"ops", "--json", "--policy", "emulated"});
  ASSERT_EQ(listed.code, 0) << listed;
  for (auto const& op : json::parse(listed.out)) {
    std::vector<std::string> const policies = op["policies"];
    EXPECT_EQ(policies[0], "host");
    bool const on_host = op["name"].get<std::string>().starts_with("gen_pixel_partition");
    EXPECT_EQ(std::count(policies.begin(), policies.end(), "emulated"), on_host ? 0 : 1) << op;
  }
}

/// Times, and transfers of a call: its own lists and tables, but neither inputs nor result.
TEST(Policy, ProfileOfTheEmulation) {
  auto const& [folder, ran, file, page, report] = emulated_profile();
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_EQ(report["environment"]["backend"], "emulated");
  EXPECT_TRUE(report["environment"]["cuda_version"].is_null());
  std::set<std::string> seen;
  for (auto const& m : report["measurements"]) {
    auto const& name = *seen.insert(m["operation"]).first;
    bool const on_host = name.starts_with("gen_"),
               asks = name.ends_with("recon");  // sigmas, norms and line searches are decided on the host
    EXPECT_GE(m["time"].get<double>(), 0);
    EXPECT_EQ(m["traced"].get<bool>(), m["run"] == 2);
    EXPECT_EQ(m["uploads"].get<int>() > 0, !on_host) << m;
    EXPECT_EQ(m["bytes_up"].get<int>() > 0, !on_host) << m;
    EXPECT_EQ(m["downloads"].get<int>() > 0, asks) << m;
    EXPECT_EQ(m["bytes_down"].get<int>() > 0, asks) << m;
    constexpr int volume = 24 * 24 * 24 * 4;
    if (!asks) {
      EXPECT_LT(m["bytes_up"].get<int>(), volume) << m;  // tables of pixels and views, not the input
    }
  }
  EXPECT_EQ(seen,
            (std::set<std::string>{"gen_pixel_partition", "gen_pixel_partition_blue_noise", "gen_pixel_partition_grid",
                                   "parallel_back_project", "parallel_mbir_recon", "parallel_sparse_back_project"}));
  for (auto const& [name, cost] : report["cost_analysis"]["24"].items()) {
    EXPECT_EQ(cost["policy"], "host");
    EXPECT_EQ(cost["source"], "counted");
  }
}

/// A copy of mbirk in a separate folder, as a command that returns its exit code and its stderr.
struct LonelyProgram : testing::Test {
  scratch_folder folder;
  fs::path const program = folder.path() / "mbirk";
  void SetUp() override { fs::copy_file(MBIRK_PROGRAM, program); }
  std::pair<int, std::string> run(std::string const& words) const {
    auto const errors = folder.path() / "errors";
    int const status = std::system(("timeout 60 '" + program.string() + "' " + words + " >'" + folder.path().string() +
                                    "/out' 2>'" + errors.string() + "'")
                                       .c_str());
    return {WEXITSTATUS(status), file_text(errors)};
  }
};

TEST_F(LonelyProgram, SaysThatTheProgramForDevicesIsMissing) {
  auto const [code, errors] = run("ops --policy emulated");
  EXPECT_EQ(code, 3);
  EXPECT_NE(errors.find("there is no program mbirk-devices next to mbirk"), std::string::npos) << errors;
  EXPECT_EQ(run("ops").first, 0);
}

/// A copy of mbirk under the other program's name must not restart itself forever.
TEST_F(LonelyProgram, EndsWhenTheOtherProgramIsACopyOfItself) {
  fs::copy_file(program, folder.path() / "mbirk-devices");
  EXPECT_EQ(run("ops --policy emulated").first, 3);
}

TEST_F(LonelyProgram, SaysWhyTheOtherProgramCannotBeRun) {
  std::ofstream(folder.path() / "mbirk-devices") << "not a program";
  auto const [code, errors] = run("ops --policy emulated");
  EXPECT_EQ(code, 3);
  EXPECT_NE(errors.find("mbirk-devices cannot be run: "), std::string::npos) << errors;
}

}  // namespace
}  // namespace mbirk::test
