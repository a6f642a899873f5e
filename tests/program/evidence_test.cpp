// Evidence of other programs, hardware counters and pinned threads, from made-up folders and system calls.
#include <cerrno>
#include <map>

#include "machine/evidence.hpp"
#include "machine/hardware_counters.hpp"
#include "machine/pinning.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

struct MadeUpSystem : testing::Test {
  scratch_folder root;

  void write(std::string const& path, std::string const& text) const {
    fs::create_directories((root / path).parent_path());
    write_text(root / path, text);
  }
  void ran(int thread, double waited, int times) const {
    write("proc/self/task/" + std::to_string(thread) + "/schedstat",
          "123456 " + std::to_string(static_cast<long>(1e9 * waited)) + ' ' + std::to_string(times) + '\n');
  }
};

using Evidence = MadeUpSystem;

TEST_F(Evidence, IsOfTheThreadThatLostMost) {
  ran(10, 5, 100);
  ran(11, 7, 100);
  program::evidence_reader reader(root.path(), {0, 2});
  EXPECT_EQ(reader.missing(), "");
  reader.start();
  ran(10, 5.5, 10100);  // woken ten thousand times
  ran(11, 7.25, 102);
  ran(12, 0.125, 1);    // a new thread
  auto const e = reader.finish();
  ASSERT_TRUE(e.waited);
  EXPECT_NEAR(*e.waited, 0.25, 1e-9);
  EXPECT_EQ(e.waits, 2);
  EXPECT_FALSE(e.stolen) << "there is no proc/stat";
  EXPECT_GE(e.wall, 0);
  EXPECT_LE(e.processor, 1);
}

TEST_F(Evidence, AThreadThatIsStillWaitingCounts) {
  ran(10, 5, 100);
  program::evidence_reader reader(root.path(), {0});
  reader.start();
  write("proc/self/task/10/stat", "10 (a R) b) S 1 2 3\n");
  EXPECT_EQ(reader.finish().waited.value_or(-1), 0) << "it sleeps";
  write("proc/self/task/10/stat", "10 (a) R 1 2 3\n");
  auto const e = reader.finish();
  EXPECT_EQ(e.waited.value_or(-1), 0.01);
  EXPECT_EQ(profile::judge({.wall = 0.01, .waited = e.waited, .waits = e.waits}), profile::condition::disturbed);
}

TEST_F(Evidence, StolenTimeIsThatOfOneOfOurProcessors) {
  auto const ticks = sysconf(_SC_CLK_TCK);
  auto const stat = [&](long a, long b, long c) {
    auto const line = [&](char const* name, long steal) {
      return std::string(name) + " 9 9 9 9 9 9 9 " + std::to_string(steal * ticks) + " 0 0\n";
    };
    write("proc/stat", line("cpu ", 90) + line("cpu0", a) + line("cpu1", b) + line("cpu2", c) + "intr 1 2 3\n");
  };
  stat(1, 1, 1);
  program::evidence_reader reader(root.path(), {0, 2});
  EXPECT_NE(reader.missing().find("cannot tell directly whether times were disturbed"), std::string::npos);
  reader.start();
  stat(3, 9, 4);
  auto const e = reader.finish();
  EXPECT_FALSE(e.waited);
  ASSERT_TRUE(e.stolen);
  EXPECT_DOUBLE_EQ(*e.stolen, 3);
}

TEST_F(Evidence, ThisMachineHasAFrequencyOrNone) {
  program::evidence_reader reader(root.path());
  reader.start();
  EXPECT_FALSE(reader.finish().frequency);
  for (int const p : program::allowed_processors())
    write("sys/devices/system/cpu/cpu" + std::to_string(p) + "/cpufreq/scaling_cur_freq", "2600000\n");
  EXPECT_EQ(reader.finish().frequency.value_or(0), 2.6e9);
}

/// Counters that stand at 100 times the number of their file at first and at 300 times that later.
struct Counters : MadeUpSystem {
  std::map<int, perf_event_attr> opened;
  std::uint64_t factor = 100;
  int refuse_type = -1, error = 0;

  program::counter_system system() {
    return {.root = root.path(),
            .open =
                [this](perf_event_attr const& a, int thread, int processor) {
                  EXPECT_EQ(thread == -1, processor != -1);
                  if (static_cast<int>(a.type) == refuse_type) return -error;
                  int const file = static_cast<int>(opened.size()) + 1;
                  opened[file] = a;
                  return file;
                },
            .read =
                [this](int file, program::counter_value& v) {
                  v = {factor * static_cast<std::uint64_t>(file), 20, 10};
                  return true;
                },
            .close = [this](int file) { opened.erase(file); }};
  }
  void make_memory_controller() const {
    for (auto const& [file, text] :
         std::map<std::string, std::string>{{"type", "17"},
                                            {"cpumask", "0"},
                                            {"format/event", "config:0-7"},
                                            {"format/umask", "config:8-15"},
                                            {"events/cas_count_read", "event=0x04,umask=0x03"},
                                            {"events/cas_count_read.scale", "6.103515625e-5"}})
      write("sys/bus/event_source/devices/uncore_imc_0/" + file, text + '\n');
  }
  void energy(char const* zone, char const* name, char const* joules) const {
    write(std::string("sys/class/powercap/") + zone + "/name", std::string(name) + '\n');
    write(std::string("sys/class/powercap/") + zone + "/energy_uj", std::string(joules) + '\n');
    write(std::string("sys/class/powercap/") + zone + "/max_energy_range_uj", "10000000\n");
  }
};

TEST_F(Counters, CountWhatTheyCanSee) {
  ran(10, 0, 0);
  make_memory_controller();
  energy("intel-rapl:0", "package-0", "9000000");
  energy("intel-rapl:0:1", "dram", "1000000");
  {
    program::hardware_counters counters(system());
    EXPECT_EQ(counters.missing(), "");
    ASSERT_EQ(opened.size(), 4u);
    EXPECT_EQ(opened[1].config, static_cast<std::uint64_t>(PERF_COUNT_HW_INSTRUCTIONS));
    EXPECT_TRUE(opened[1].inherit && opened[1].exclude_kernel);
    EXPECT_EQ(opened[4].type, 17u);
    EXPECT_EQ(opened[4].config, 0x0304u);
    double meter = 40;
    counters.add_meter("device", [&] { return meter; });
    counters.add_meter("silent", [] { return std::nullopt; });
    counters.start();
    factor = 300;
    meter = 47.5;
    energy("intel-rapl:0", "package-0", "500000");  // the counter has begun again
    energy("intel-rapl:0:1", "dram", "1250000");
    auto const counts = counters.finish();
    EXPECT_EQ(counts.at("instructions"), 400) << "it counted in half of the time";
    EXPECT_EQ(counts.at("cycles"), 800);
    EXPECT_EQ(counts.at("cache misses"), 1200);
    EXPECT_EQ(counts.at("DRAM bytes"), 1600 * 64) << "a line each";
    EXPECT_DOUBLE_EQ(counts.at("joules package-0"), 1.5);
    EXPECT_DOUBLE_EQ(counts.at("joules dram 0:1"), 0.25);
    EXPECT_DOUBLE_EQ(counts.at("joules device"), 7.5);
    EXPECT_FALSE(counts.contains("joules silent"));
  }
  EXPECT_TRUE(opened.empty()) << "all are closed";
}

TEST_F(Counters, OneLineSaysWhyNot) {
  ran(10, 0, 0);
  write("proc/sys/kernel/perf_event_paranoid", "4\n");
  refuse_type = PERF_TYPE_HARDWARE;
  auto const missing = [&](int code) {
    error = code;
    return program::hardware_counters(system()).missing();
  };
  auto const rest =
      "; no counter of DRAM bytes: the kernel lists no uncore_imc; no energy: the kernel lists no intel-rapl";
  EXPECT_EQ(missing(EACCES),
            std::string("no hardware counters: perf_event_open is not permitted, perf_event_paranoid is 4") + rest);
  EXPECT_EQ(missing(ENOENT),
            std::string("no hardware counters: the processor offers none, as in many virtual machines") + rest);
  EXPECT_EQ(missing(EMFILE), std::string("no hardware counters: perf_event_open failed: Too many open files") + rest);
  make_memory_controller();
  refuse_type = 17;
  EXPECT_EQ(missing(EACCES),
            "no counter of DRAM bytes: perf_event_open is not permitted, perf_event_paranoid is 4; no energy: the "
            "kernel lists no intel-rapl");
}

std::string complaint(std::string const& list) {
  try {
    program::processors_of(list, {0, 2, 3});
  } catch (parameter_error const& e) {
    return e.what();
  }
  return "";
}

TEST(Pinning, ListsOfProcessors) {
  EXPECT_EQ(program::processors_of("", {0, 2, 3}), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(program::processors_of("3,0", {0, 2, 3}), (std::vector<int>{3, 0}));
  EXPECT_EQ(program::processors_of("2-3", {0, 2, 3}), (std::vector<int>{2, 3}));
  EXPECT_EQ(complaint("0-2"), "--pin 0-2: processor 1 is not available, expected some of 0,2,3");
  EXPECT_EQ(complaint("0,x"), "--pin 0,x: 'x' is not a processor, expected a list like 0,2-3");
  EXPECT_EQ(complaint("0,"), "--pin 0,: '' is not a processor, expected a list like 0,2-3");
  EXPECT_EQ(complaint("3-2"), "--pin 3-2: 3-2 is not a range of processors, expected one that ascends");
  EXPECT_EQ(complaint("2,2-3"), "--pin 2,2-3: processor 2 appears twice, expected it once");
}

#if defined(MBIRK_PROGRAM)
TEST(Pinning, BadUsage) {
  auto const first = std::to_string(program::allowed_processors().front());
  expect_failure(mbirk_program({"profile", "--pin", "70000"}), 2, "--pin 70000: 70000 is not a range of processors");
  expect_failure(mbirk_program({"bench", "--pin", "9999"}), 2,
                 "--pin 9999: processor 9999 is not available, expected some of ");
  expect_failure(mbirk_program({"profile", "--pin", first, "--threads", "2"}), 2,
                 "--pin " + first + ": 1 processors for 2 threads, expected one for each");
  expect_failure(mbirk_program({"profile", "--runs", "3", "--budget", "1"}), 2, "--runs excludes --budget");
}
#endif

}  // namespace
}  // namespace mbirk::test
