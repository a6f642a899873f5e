// mbirk recon --method vcd of a raw scan that is larger than the memory it may take: sweeps over slabs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "background.hpp"
#include "large_scan.hpp"
#include "mbirk/io/slabs_checkpoint.hpp"
#include "mbirk/io/recon_hdf5.hpp"

namespace mbirk::test {
namespace {

struct ReconSweeps : LargeScan {
  ReconSweeps()
      : LargeScan("vcd", "slabs", 110 << 20,
                  R"({"geometry": "parallel", "recon_shape": [40, 48, 240], "params": {},
                      "angles": {"start": 0, "stop": 3.14, "num": 200, "endpoint": false}})") {}

  /// The same options within the limit, and some more.
  static std::vector<std::string> limited(std::vector<std::string> options, std::vector<std::string> const& more) {
    options.insert(options.end(), {"--quiet", "--no-png", "--memory-limit", "110MiB"});
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  std::string record(std::string const& file, std::string const& key) const {
    for (auto const& [k, text] : load_recon_hdf5(folder / file).record)
      if (k == key) return text;
    return "no attribute " + key;
  }
  /// Root mean square of the difference, in % of the range of b.
  static double percent_of_range(std::vector<float> const& a, std::vector<float> const& b) {
    double squares = 0;
    for (std::size_t n = 0; n < a.size(); ++n) squares += std::pow(static_cast<double>(a[n] - b[n]), 2);
    auto const [low, high] = std::ranges::minmax(b);
    return 100 * std::sqrt(squares / static_cast<double>(a.size())) / static_cast<double>(high - low);
  }
};

TEST_F(ReconSweeps, AreCloseToTheWholeWithinTheLimit) {
  std::vector<std::string> const options{"--weights", "transmission", "--max-iterations", "6",
                                         "--stop-threshold-change-pct", "0"};
  auto in_parts = options;
  in_parts.insert(in_parts.end(), {"--slab-sweeps", "2"});
  double const peak = recon_in_parts("parts.h5", in_parts);
  RecordProperty("peak over limit", std::to_string(peak / limit));
  EXPECT_GT(peak, 0);
  EXPECT_LE(peak, 1.1 * limit);
  auto const whole = recon("whole.h5", options);
  ASSERT_EQ(whole.code, 0) << whole;
  EXPECT_EQ(whole.out.find("larger than memory"), std::string::npos) << whole;
  auto const x = load_recon_hdf5(folder / "whole.h5"), y = load_recon_hdf5(folder / "parts.h5");
  EXPECT_EQ(y.recon.shape, x.recon.shape);
  double const error = percent_of_range(y.recon.data, x.recon.data);
  RecordProperty("error", std::to_string(error));
  EXPECT_LT(error, 0.5);  // of nothing but noise, after three iterations in a sweep; 0.18 were measured

  auto const log = json::parse(record("parts.h5", "recon_params")),
             expected = json::parse(record("whole.h5", "recon_params"));
  EXPECT_EQ(log["num_iterations"], 6);
  for (char const* same : {"regularization_params", "partition_sequence", "granularity", "weights", "method"})
    EXPECT_EQ(log[same], expected[same]) << same;
  EXPECT_EQ(log["delta_norm_per_slice"][5].size(), 240u);
  EXPECT_NEAR(log["fm_rmse"][5].get<double>(), expected["fm_rmse"][5].get<double>(), 0.01);
  EXPECT_EQ(record("parts.h5", "model_params"), record("whole.h5", "model_params"));
  EXPECT_NE(record("parts.h5", "recon_log").find("iteration 6: change "), std::string::npos);
  EXPECT_NE(record("parts.h5", "notes").find("; 2 sweeps over slabs of "), std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "parts.png"));
  for (auto const& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename().string().find(".mbirk-"), std::string::npos) << entry.path();
}

TEST_F(ReconSweeps, AllFormatsHoldTheSameVolume) {
  for (std::string const file : {"a.npy", "b.h5"}) recon_in_parts(file, {"--max-iterations", "3", "--no-png"});
  EXPECT_EQ(read_npy<float>(folder / "a.npy").data, load_recon_hdf5(folder / "b.h5").recon.data);
  auto const log = json::parse(file_text(folder / "a.json"));
  EXPECT_EQ(log["recon_params"]["num_iterations"], 3);
  EXPECT_NE(log["notes"].get<std::string>().find("; 3 sweeps over slabs of "), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "a.png"));
}

TEST_F(ReconSweeps, GoOnAfterTheyWereKilledOrInterrupted) {
  std::vector<std::string> const options{"--max-iterations", "4", "--slab-sweeps", "2",
                                         "--stop-threshold-change-pct", "0"};
  auto const with = [&](std::vector<std::string> const& more) { return limited(options, more); };
  ASSERT_EQ(recon("whole.npy", with({})).code, 0);
  for (int const signal : {SIGKILL, SIGTERM}) {
    auto const state = name("state " + std::to_string(signal));
    std::optional<background> run;
    run.emplace(words("x.npy", with({"--checkpoint", state})), folder / "log");
    ASSERT_TRUE(run->brings_about([&] { return fs::exists(state); })) << file_text(folder / "log");
    int const status = run->end(signal);
    ASSERT_TRUE(signal == SIGKILL ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
    auto const log = file_text(folder / "log");
    EXPECT_EQ(signal == SIGTERM, log.find(" visits of slabs; the state is in " + state + " and " + state +
                                          ".slices, and --resume " + state + " continues") != log.npos)
        << log;
    EXPECT_FALSE(fs::exists(folder / "x.npy"));
    if (signal == SIGKILL) {  // once more, while it goes on in the same files
      auto const first = file_text(state);
      run.emplace(words("x.npy", with({"--resume", state, "--checkpoint", state})), folder / "log");
      EXPECT_TRUE(run->brings_about([&] { return file_text(state) != first; }));
      run->end(SIGKILL);
    }
    // The other file gets a state of its own; what is resumed stays as it is.
    auto const before = file_text(state) + file_text(state + ".slices");
    auto const resumed = recon("resumed.npy", with({"--resume", state, "--checkpoint", name("other")}));
    ASSERT_EQ(resumed.code, 0) << resumed;
    EXPECT_EQ(file_text(state) + file_text(state + ".slices"), before);
    EXPECT_EQ(read_npy<float>(folder / "resumed.npy").data, read_npy<float>(folder / "whole.npy").data);
    // In the same file, and where all would fit into memory.
    auto without_limit = options;
    without_limit.insert(without_limit.end(), {"--resume", name("other"), "--checkpoint", name("other"), "--quiet"});
    ASSERT_EQ(recon("again.npy", without_limit).code, 0);
    EXPECT_EQ(file_text(folder / "again.npy"), file_text(folder / "whole.npy"));
    EXPECT_EQ(json::parse(file_text(folder / "again.json"))["recon_log"],
              json::parse(file_text(folder / "whole.json"))["recon_log"]);
    fs::remove(folder / "resumed.npy");
  }
  for (auto const& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename().string().find(".mbirk-"), std::string::npos) << entry.path();
}

/// Without --checkpoint the state is written by the interruption.
TEST_F(ReconSweeps, AnInterruptionSavesTheState) {
  std::vector<std::string> options{"--max-iterations", "60", "--slab-sweeps", "60", "--stop-threshold-change-pct", "0"};
  auto const state = folder / "x.npy.checkpoint";
  for (auto wait = std::chrono::milliseconds(250); !fs::exists(state) && wait.count() < 20000; wait *= 2) {
    background run(words("x.npy", limited(options, {})), folder / "log");
    std::this_thread::sleep_for(wait);
    int const status = run.end(SIGTERM);
    bool const not_begun = WIFSIGNALED(status) && !fs::exists(state);
    ASSERT_TRUE(not_begun || (WIFEXITED(status) && WEXITSTATUS(status) == 1)) << status << file_text(folder / "log");
  }
  ASSERT_TRUE(fs::exists(state)) << file_text(folder / "log");
  EXPECT_TRUE(fs::exists(state.string() + ".slices"));
  options[1] = "61";
  expect_failure(recon("y.npy", limited(options, {"--resume", state.string()})), 2,
                 state.string() + ": was made with other parameters: /max_iterations is 60 there and 61 here");
  options.insert(options.end(), {"--first-iteration", "1"});
  expect_failure(recon("y.npy", limited(options, {"--resume", state.string()})), 2,
                 state.string() + ": was made with other parameters: /first_iteration is 0 there and 1 here");
}

TEST_F(ReconSweeps, StatesThatDoNotFitAreRefused) {
  auto const with = [&](std::vector<std::string> const& more) { return limited({"--max-iterations", "2"}, more); };
  auto const state = name("state"), slices = state + ".slices";
  ASSERT_EQ(recon("whole.npy", with({"--checkpoint", state})).code, 0);
  auto const refused = [&](std::vector<std::string> const& more, std::string const& part) {
    expect_failure(recon("x.npy", with(more)), 2, part);
    EXPECT_FALSE(fs::exists(folder / "x.npy"));
  };
  refused({"--resume", state, "--seed", "3"}, state + ": the state to resume has seed = 0, expected 3");
  refused({"--resume", state, "--slab-sweeps", "1"}, state + ": the state to resume has sweeps = 2, expected 1");
  refused({"--resume", state, "--weights", "transmission"}, "/weights is \"unweighted\" there and ");
  refused({"--resume", state, "--checkpoint", slices}, "would be written over what is read");
  auto const kept = file_text(slices);
  write_text(slices, kept.substr(0, kept.size() / 2));
  refused({"--resume", state}, slices + ": is truncated, expected the slices of the state");
  auto damaged = kept;
  damaged[kept.size() / 2] ^= 1;
  write_text(slices, damaged);
  refused({"--resume", state}, slices + ": is damaged, or belongs to another state: its slab ");
  fs::remove(slices);
  refused({"--resume", state}, slices + ": no such file");
  write_text(slices, kept);
  // Fewer slabs, of one slice, than the scan has, and a note that agrees.
  std::string note;
  auto crafted = load_slabs_checkpoint(state, &note);
  auto const sound = file_text(state);
  auto said = json::parse(note);
  said["slabs"] = json::array({said["slabs"][0]});
  said["slabs"][0]["slot"] = 0;
  crafted.slabs.resize(1);
  crafted.division.slices = 1;
  save_slabs_checkpoint(state, crafted, said.dump());
  refused({"--resume", state}, state + ": the state to resume has slabs = 1, expected 240");
  write_text(state, sound);
  auto const scan = file_text(folder / "scan.raw");
  auto other = scan;
  other[other.size() / 3] ^= 1;
  write_text(folder / "scan.raw", other);
  refused({"--resume", state}, state + ": was made from other data: the line integrals of the rows from ");
  write_text(folder / "scan.raw", scan);
  // States in memory and in slabs are not exchanged.
  auto const in_memory = recon("y.npy", {"--max-iterations", "2", "--checkpoint", name("memory"), "--quiet"});
  ASSERT_EQ(in_memory.code, 0) << in_memory;
  refused({"--resume", name("memory")}, ": is the state of a reconstruction in memory, expected that of one in slabs");
  refused({"--resume", state, "--median", "3"},
          state + ": is the state of a reconstruction in slabs, expected one in ");
}

TEST_F(ReconSweeps, SweepsThatDoNotFitAreRefused) {
  std::string const slabs = "110MiB";
  auto const refused = [&](std::vector<std::string> const& more, std::string const& part) {
    auto all = more;
    all.emplace_back("--quiet");
    expect_failure(recon("x.npy", all), 2, part);
    EXPECT_FALSE(fs::exists(folder / "x.npy"));
  };
  refused({"--slab-sweeps", "0", "--memory-limit", slabs}, "--slab-sweeps");
  refused({"--slab-sweeps", "16", "--memory-limit", slabs},
          "--slab-sweeps is 16, expected at most 15: one for each iteration");
  refused({"--slab-sweeps", "2"}, "--slab-sweeps is for reconstructions larger than memory, found one that needs ");
  expect_failure(mbirk_program({"recon", name("scan.raw"), "--geometry", name("scan.json"), "--out", name("x.npy"),
                                "--raw", "u16le,200,240,320", "--method", "fbp", "--slab-sweeps", "2"}),
                 2, "--slab-sweeps is for method vcd, found --method fbp");
  refused({"--memory-limit", "1MiB"}, "1.00 MiB, --memory-limit");
  refused({"--median", "3", "--memory-limit", slabs},
          "; it works in slabs that fit once mbirk prepare has made the corrections that need whole views");
  write_text(folder / "scan.json", R"({"geometry": "cone", "recon_shape": [40, 48, 240],
      "params": {"source_detector_dist": 1280, "source_iso_dist": 640},
      "angles": {"start": 0, "stop": 6.28, "num": 200, "endpoint": false}})");
  refused({"--slab-sweeps", "2", "--memory-limit", slabs},
          "--slab-sweeps is for parallel beam, whose slices are coupled by the prior only, found geometry cone");
  refused({"--memory-limit", slabs}, "; vcd works in slabs that fit in parallel beam only, expected more memory or "
                                     "mbirk-mpi with ");
}

}  // namespace
}  // namespace mbirk::test
