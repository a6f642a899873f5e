// `mbirk top` on running processes, on a terminal and elsewhere, and `--monitor`.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "background.hpp"

namespace mbirk::test {
namespace {

using clock = std::chrono::steady_clock;
// generous for a busy machine; normally the wait takes less than one
constexpr auto patience = std::chrono::seconds(120);

struct Top : testing::Test {
  scratch_folder scratch;
  void SetUp() override {
    fs::create_directory(scratch / "run");
    ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", (scratch / "run").c_str(), 1), 0);
  }
  void TearDown() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  /// A reconstruction that does not end by itself.
  std::vector<std::string> long_recon() const {
    npy_array<float> sinogram{{24, 16, 48}, std::vector<float>(24 * 16 * 48, 1.f)};
    for (std::size_t k = 0; k < sinogram.data.size(); ++k) sinogram.data[k] += 0.01f * static_cast<float>(k % 7);
    write_npy(scratch / "scan.npy", sinogram);
    write_text(scratch / "scan.json",
               R"({"geometry": "parallel", "angles": {"start": 0, "stop": 3.14159, "num": 24, "endpoint": false}})");
    return {"recon",
            (scratch / "scan.npy").string(),
            "--geometry",
            (scratch / "scan.json").string(),
            "--out",
            (scratch / "x.npy").string(),
            "--max-iterations",
            "100000",
            "--stop-threshold-change-pct",
            "0",
            "--quiet"};
  }
  /// The only process of an answer, once the awaited text appears.
  static json wait_for(background const& process, std::function<bool(json const&)> const& ready) {
    outcome last;
    for (auto const end = clock::now() + patience; clock::now() < end;) {
      last = mbirk_program({"top", process.pid(), "--json", "--interval", "0.05"});
      if (last.code == 0)
        if (auto const p = json::parse(last.out)["processes"][0]; ready(p)) return p;
    }
    ADD_FAILURE() << "waited in vain\n" << last;
    return {};
  }
};

TEST_F(Top, AReconstruction) {
  background recon(long_recon(), scratch / "log");
  auto const in_iterations = [](json const& p) {
    return p["step"].get<std::string>().find("iteration") == 0 && p["live_bytes"] > 0;
  };
  auto const p = wait_for(recon, in_iterations);
  ASSERT_TRUE(p.is_object());
  EXPECT_EQ(std::to_string(p["process"].get<int>()), recon.pid());
  EXPECT_EQ(p["command"], "recon");
  EXPECT_NE(p["command_line"].get<std::string>().find("--max-iterations 100000"), std::string::npos) << p;
  EXPECT_GT(p["elapsed_seconds"], 0);
  EXPECT_GT(p["resident_bytes"], 1 << 20);
  EXPECT_GE(p["resident_peak_bytes"], p["resident_bytes"]);
  EXPECT_GE(p["peak_bytes"], p["live_bytes"]);
  EXPECT_GE(p["threads"].size(), 1u);
  EXPECT_GE(p["threads_busy"], 0);
  bool sinogram = false, inside = false;
  for (auto const& site : p["sites"]) {
    sinogram |= site["array"] == "sinogram" && site["scope"] == "" && site["live_bytes"] == 4 * 24 * 16 * 48;
    inside |= site["scope"].get<std::string>().find(" / iteration / ") != std::string::npos && site["all_bytes"] > 0;
  }
  EXPECT_TRUE(sinogram) << "the array that the program holds\n" << p.dump(1);
  EXPECT_TRUE(inside) << "by operation and stage\n" << p.dump(1);
  if (p["consistent"].get<bool>()) {
    std::int64_t sum = 0;
    for (auto const& site : p["sites"]) sum += site["live_bytes"].get<std::int64_t>();
    EXPECT_EQ(sum, p["live_bytes"]);
  }

  auto const text = mbirk_program({"top", recon.pid()});
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_EQ(text.out.find("process " + recon.pid() + ": mbirk recon"), 0u) << text;
  for (auto const* part : {"resident ", "threads busy", "live memory ", "allocated by", "sinogram", " / iteration"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << '\n' << text;
  auto const twice = mbirk_program({"top", recon.pid(), "--json", "--count", "2", "--interval", "0.01"});
  EXPECT_EQ(std::count(twice.out.begin(), twice.out.end(), '\n'), 2) << "a line each\n" << twice;

  // A killed process leaves a file that the next reader removes.
  recon.end(SIGKILL);
  EXPECT_EQ(file_count(scratch / "run"), 1);
  mbirk_program({"top"});
  EXPECT_EQ(file_count(scratch / "run"), 0);
}

TEST_F(Top, AProfileAndAList) {
  background profile({"profile", "--sizes", "32", "--ops", "parallel_mbir_recon", "--runs", "1000", "--threads", "1",
                      "--out", (scratch / "out").string(), "--quiet"},
                     scratch / "log");
  auto const p =
      wait_for(profile, [](json const& x) { return x["step"].get<std::string>().find(", run ") != std::string::npos; });
  ASSERT_TRUE(p.is_object());
  EXPECT_EQ(p["command"], "profile");
  EXPECT_EQ(p["step"].get<std::string>().find("parallel_mbir_recon at 32, run "), 0u);
  bool argument = false;
  for (auto const& site : p["sites"])
    argument |=
        site["scope"] == "parallel_mbir_recon" && site["array"] == "sinogram" && site["live_bytes"] == 4 * 16 * 32 * 32;
  EXPECT_TRUE(argument) << p.dump(1);

  background recon(long_recon(), scratch / "log2");
  wait_for(recon, [](json const& x) { return x["live_bytes"] > 0; });
  auto const list = mbirk_program({"top", "--json"});
  EXPECT_EQ(list.code, 0) << list;
  auto const all = json::parse(list.out)["processes"];
  for (auto const* process : {&profile, &recon})
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](json const& x) {
      return std::to_string(x["process"].get<int>()) == process->pid();
    })) << list;
  auto const text = mbirk_program({"top"});
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_NE(text.out.find(profile.pid() + "  profile "), std::string::npos) << text;
  EXPECT_NE(text.out.find(recon.pid() + "  recon "), std::string::npos) << text;
}

TEST_F(Top, Devices) {
  background recon(long_recon(), scratch / "log");
  wait_for(recon, [](json const&) { return true; });
  auto const folder = fs::path(MBIRK_FAKE_NVML).parent_path().string();
  std::vector<std::string> words{
      "env", "LD_LIBRARY_PATH=" + folder, "FAKE_NVML_PROCESS=" + recon.pid(), MBIRK_PROGRAM, "top", recon.pid()};
  auto const text = run_words(words);
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_NE(text.out.find("Fake 9000, 10.0 MiB used by this process, 3.00 GiB by all of 80.0 GiB, 42 % busy, memory 17 "
                          "% busy, 1410 MHz, memory 2619 MHz, "
                          "312.5 W, 55 C"),
            std::string::npos)
      << text;
  words.push_back("--json");
  auto const o = run_words(words);
  ASSERT_EQ(o.code, 0) << o;
  auto const j = json::parse(o.out);
  EXPECT_EQ(j["nvml"], "present");
  EXPECT_EQ(j["processes"][0]["devices"][0]["process_bytes"], 10 << 20);
  EXPECT_TRUE(j["processes"][0]["devices"][1]["power_w"].is_null()) << "not told";
}

/// The display refreshes until q, and then restores the terminal.
TEST_F(Top, OnATerminal) {
  background recon(long_recon(), scratch / "log");
  wait_for(recon, [](json const& p) { return p["live_bytes"] > 0; });
  auto const on_terminal = [&](std::string const& pid, std::function<void(int)> const& finish) {
    int terminal = -1;
    pid_t const top = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (top == 0) {
      ::execl(MBIRK_PROGRAM, MBIRK_PROGRAM, "top", pid.c_str(), "--interval", "0.05", nullptr);
      ::_exit(127);
    }
    std::string text;
    int status = 0, frames = 0;
    for (auto const end = clock::now() + patience; clock::now() < end && ::waitpid(top, &status, WNOHANG) == 0;) {
      pollfd input{terminal, POLLIN, 0};
      char buffer[4096];
      if (::poll(&input, 1, 20) > 0)
        if (auto const n = ::read(terminal, buffer, sizeof buffer); n > 0)
          text.append(buffer, static_cast<std::size_t>(n));
      int seen = 0;
      for (auto at = text.find("live memory"); at != std::string::npos; at = text.find("live memory", at + 1)) ++seen;
      if (seen >= 3 && frames < 3) finish(terminal);
      frames = seen;
    }
    EXPECT_GE(frames, 3) << text;
    EXPECT_TRUE(WIFEXITED(status)) << text;
    EXPECT_EQ(WEXITSTATUS(status), 0) << text;
    ::close(terminal);
  };
  on_terminal(recon.pid(), [](int terminal) { EXPECT_EQ(::write(terminal, "q", 1), 1); });
  on_terminal(recon.pid(), [](int terminal) { EXPECT_EQ(::write(terminal, "\x03", 1), 1); });
  on_terminal(recon.pid(), [&](int) { recon.end(SIGTERM); });
}

TEST_F(Top, Errors) {
  expect_failure(mbirk_program({"top", "999999999"}), 2, "there is no process 999999999");
  expect_failure(mbirk_program({"top", std::to_string(::getpid())}), 2, "is not an mbirk process");
  expect_failure(mbirk_program({"top", "me"}), 2, "PID");
  expect_failure(mbirk_program({"top", "0"}), 2, "PID");
  expect_failure(mbirk_program({"top", "--interval", "0"}), 2, "--interval");
  auto const help = mbirk_program({"top", "--help"});
  for (auto const* option : {"PID", "--json", "--interval", "--count", "--policy", "--threads", "--quiet"})
    EXPECT_NE(help.out.find(option), std::string::npos) << option << help;
}

struct Monitor : Top {
  fs::path const csv = scratch / "log.csv";
  /// The columns of each line, as texts; the steps tested here contain no commas.
  static std::vector<std::vector<std::string>> rows_of(fs::path const& path) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(file_text(path));
    for (std::string line, cell; std::getline(lines, line);) {
      auto& row = rows.emplace_back();
      for (std::istringstream cells(line); std::getline(cells, cell, ',');) row.push_back(cell);
    }
    return rows;
  }
  void expect_good(std::string const& step, bool arrays = true) const {
    auto const text = file_text(csv);
    EXPECT_EQ(text.find("time_s,live_bytes,resident_bytes,threads_busy,step"), 0u) << text;
    EXPECT_NE(text.find(step), std::string::npos) << text;
    auto rows = rows_of(csv);
    ASSERT_GE(rows.size(), 3u) << text;
    bool live = !arrays, busy = false;
    double last = -1;
    for (std::size_t k = 1; k < rows.size(); ++k) {
      ASSERT_GE(rows[k].size(), 5u) << text;
      double const time = std::stod(rows[k][0]);
      EXPECT_GE(time, last) << text;
      last = time;
      live |= std::stoll(rows[k][1]) > 0;
      EXPECT_GT(std::stoll(rows[k][2]), 1 << 20) << text;
      EXPECT_GE(std::stod(rows[k][3]), 0) << text;
      busy |= std::stod(rows[k][3]) > 0;
    }
    EXPECT_TRUE(live && busy) << text;
  }
};

TEST_F(Monitor, OfAProfile) {
  auto const o = mbirk_program({"profile", "--sizes", "32", "--ops", "parallel_*ward_project", "--runs", "2",
                                "--threads", "1", "--out", (scratch / "out").string(), "--quiet", "--monitor",
                                csv.string(), "--monitor-interval", "0.005"});
  ASSERT_EQ(o.code, 0) << o;
  expect_good("\"parallel_forward_project at 32");
  int traces = 0;
  for (auto const& entry : fs::recursive_directory_iterator(scratch / "out"))
    if (entry.path().filename() == "trace.perfetto.json.gz") {
      ++traces;
      auto const trace = run_words({"gzip", "-dc", entry.path().string()});
      ASSERT_EQ(trace.code, 0);
      std::map<std::string, int> counters;
      auto const all = json::parse(trace.out);
      for (auto const& e : all["traceEvents"])
        if (e["ph"] == "C") ++counters[e["name"]];
      for (auto const* name : {"announced bytes", "resident bytes", "processor percent"})
        EXPECT_GE(counters[name], 2) << name << ": before and after the traced run";
    }
  EXPECT_EQ(traces, 1);
}

TEST_F(Monitor, OfAReconstruction) {
  auto words = long_recon();
  words[7] = "3";
  words.insert(words.end(), {"--monitor", csv.string(), "--monitor-interval", "0.005"});
  auto const o = mbirk_program(words);
  ASSERT_EQ(o.code, 0) << o;
  expect_good("\"writing\"");
}

TEST_F(Monitor, OfDevices) {
  auto words = long_recon();
  words[7] = "1";
  words.insert(words.begin(),
               {"env", "LD_LIBRARY_PATH=" + fs::path(MBIRK_FAKE_NVML).parent_path().string(), MBIRK_PROGRAM});
  words.insert(words.end(), {"--monitor", csv.string()});
  auto const o = run_words(words);
  ASSERT_EQ(o.code, 0) << o;
  auto const rows = rows_of(csv);
  ASSERT_GE(rows.size(), 2u);
  ASSERT_EQ(rows[0].size(), 5u + 12);
  EXPECT_EQ(rows[0][6], "gpu0_used_bytes");
  EXPECT_EQ(rows[1][6], std::to_string(3ull << 30));
  EXPECT_EQ(rows[0][10], "gpu0_power_w");
  EXPECT_EQ(rows[1][10], "312.5");
}

TEST_F(Monitor, OfACaseAndABench) {
  auto const run = mbirk_program({"run", golden("utilities").string(), "--out", (scratch / "out").string(), "--quiet",
                                  "--monitor", csv.string(), "--monitor-interval", "0.001"});
  ASSERT_EQ(run.code, 0) << run;
  EXPECT_NE(file_text(csv).find("use_ror_maskTrue"), std::string::npos) << "the last sample is of the last step\n"
                                                                        << file_text(csv);
  auto const bench = mbirk_program({"bench", "--sizes", "8", "--cell", "8,8,8", "--ops", "parallel_forward_project",
                                    "--threads", "1", "--quiet", "--monitor", csv.string()});
  ASSERT_EQ(bench.code, 0) << bench;
  expect_good("\"ceilings\"", false);  // the operations take less than the time between two samples
}

TEST_F(Monitor, BadFiles) {
  auto const nowhere = (scratch / "none" / "log.csv").string();
  auto recon = long_recon();
  recon.insert(recon.end(), {"--monitor", nowhere});
  for (std::vector<std::string> const& words :
       {std::vector<std::string>{"profile", "--sizes", "32", "--out", (scratch / "out").string(), "--monitor", nowhere},
        {"run", golden("utilities").string(), "--out", (scratch / "out").string(), "--monitor", nowhere},
        {"bench", "--monitor", nowhere},
        recon}) {
    expect_failure(mbirk_program(words), 2, nowhere + ": cannot be written: No such file or directory");
    EXPECT_EQ(file_count(scratch / "out"), 0) << words[0] << ": before the work";
  }
  recon.back() = (scratch / "x.npy").string();
  expect_failure(mbirk_program(recon), 2, "x.npy: would be written twice");
  expect_failure(mbirk_program({"profile", "--monitor-interval", "1"}), 2, "--monitor");

  // A failure in the middle of the work stops the sampling and leaves no log.
  fs::copy(golden("parallel_32"), scratch / "case", fs::copy_options::recursive);
  auto j = json::parse(file_text(scratch / "case" / "case.json"));
  for (auto& entry : j["ops"])
    if (entry["op"] == "gen_weights") entry["args"]["weight_type"] = "heavy";
  write_text(scratch / "case" / "case.json", j.dump());
  auto const failed = mbirk_program({"run", (scratch / "case").string(), "--out", (scratch / "out").string(), "--ops",
                                     "gen_weights", "--monitor", csv.string()});
  expect_failure(failed, 2, "heavy");
  EXPECT_EQ(file_count(scratch.path()), file_count(scratch / "case") + 2)
      << "no log, no rest of one: besides the case two files of the reconstruction";
}

}  // namespace
}  // namespace mbirk::test
