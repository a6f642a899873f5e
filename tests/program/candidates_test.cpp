// The block "candidates": of a profile made up here, of a real one, and of files that are not what they should be.
#include "candidates.hpp"

#include <cmath>

#include "json_field.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

json array_of(std::string const& name, std::string const& role, double bytes, bool reuse = false) {
  bool const out = role == "output";
  json a{{"name", name},          {"role", role},          {"type", "f32"},         {"elements", bytes / 4}, {"bytes", bytes}, {"loads", bytes / 64},
         {"stores", 0},           {"bytes loaded", bytes}, {"bytes stored", 0},     {"bytes unique read", out ? 0 : bytes},
         {"bytes unique written", out ? bytes : 0}};
  if (reuse)
    a["reuse"] = {{"line bytes", 64}, {"capacity lines", {1, 2}}, {"read misses", {bytes / 64, bytes / 64}}, {"write backs", {0, 0}}};
  a["values"] = {{"min", -3.0}, {"max", 2.5}, {"exponents", {{"-4", 10}, {"1", 7}}}};
  return a;
}

/// One operation of 1e6 items with 10 FMA each on 8 MB; the miss curve falls to its floor at 256 KB.
json profile_of(double seconds) {
  double const bytes = 4e6, lines = 2 * bytes / 64;
  json const cost{{"items", 1e6},
                  {"operations", {{"fma", 1e7}, {"permute", 1e7}}},
                  {"vector operations", 2e6},
                  {"bytes accessed", 8e7},
                  {"bytes compulsory", 2 * bytes},
                  {"bytes touched", 2 * bytes},
                  {"launches", 1},
                  {"arrays", {array_of("in", "argument", bytes, true), array_of("out", "output", bytes, true), array_of("tile", "scratch", 4096)}},
                  {"stages", json::array()},
                  {"reuse", {{"line bytes", 64}, {"capacity lines", {64, 4096, 262144}}, {"read misses", {1e6, lines / 2, lines / 2}},
                             {"write backs", {2e5, lines / 2, lines / 2}}}}};
  auto const level = [](char const* name, double of_thread, double rate) {
    return json{{"name", name}, {"bytes of a thread", of_thread}, {"bytes per second", {{"best", rate}, {"median", rate}}}};
  };
  return {{"environment", {{"backend", "host"}, {"cpu", "a processor"}, {"threads", 2}, {"vector_lanes", 16}, {"devices", {"a processor"}}}},
          {"ceilings", {{"threads", 2}, {"fma per second", {{"best", 1e11}}},
                        {"read", {level("L1", 16384, 4e11), level("L2", 5e5, 2e11), level("DRAM", 1e8, 3e10)}},
                        {"triad bytes per second", {{"best", 4e10}}}, {"launch seconds", 2e-6}}},
          {"measurements", {{{"operation", "x"}, {"volume_size", 100}, {"run", 1}, {"time", 1.0}, {"traced", false}},
                            {{"operation", "x"}, {"volume_size", 100}, {"run", 2}, {"time", 2.0}, {"traced", true}},
                            {{"operation", "x"}, {"volume_size", 100}, {"run", 3}, {"time", seconds}, {"traced", false}}}},
          {"cost_analysis", {{"100", {{"x", cost}}}}}};
}
json only_operation(json const& report) {
  auto const block = program::candidates_json(report, "run.json");
  EXPECT_EQ(block["operations"].size(), 1u);
  return block["operations"][0];
}

TEST(Candidates, NumbersOfAMadeUpProfile) {
  auto const o = only_operation(profile_of(0.01));
  EXPECT_EQ(o["operation"], "x");
  EXPECT_EQ(o["size"], 100);
  EXPECT_EQ(o["rank"], 1);
  EXPECT_EQ(o["baseline"]["seconds"], 0.01) << "the timing run";
  auto const& roofs = o["baseline"]["ceilings"];
  EXPECT_DOUBLE_EQ(roofs["compute"].get<double>(), 2e7 / 2e11);
  EXPECT_DOUBLE_EQ(roofs["vector issue"].get<double>(), 2e6 / (2e11 / 16));
  EXPECT_DOUBLE_EQ(roofs["L1"].get<double>(), (8e6 + 4096) / 4e11);
  EXPECT_DOUBLE_EQ(roofs["L2"].get<double>(), 64 * 1.2e6 / 2e11) << "32 KB of L1 hold 64 lines of the curve, not 4096";
  EXPECT_DOUBLE_EQ(roofs["DRAM"].get<double>(), 8e6 / 4e10) << "1 MB of L2 hold 4096 lines; the triad is the better rate";
  EXPECT_EQ(o["baseline"]["limiter"], "latency");
  EXPECT_DOUBLE_EQ(o["baseline"]["attainable seconds"].get<double>(), 2 * 64 * 1.2e6 / 2e11);
  EXPECT_EQ(o["access"]["streamed"], 1.0);
  EXPECT_EQ(o["values"][0]["integer bits"], 4) << "3 needs two bits, a sign, a guard bit";
  EXPECT_EQ(o["values"][0]["exponent span"], 6);
  EXPECT_EQ(o["word length"], "not measured");
  EXPECT_DOUBLE_EQ(o["optimal seconds"]["H200"]["seconds"].get<double>(), 8e6 / 4.8e12);
  ASSERT_EQ(o["targets"].size(), 4u);
  auto const& u280 = o["targets"][0];
  EXPECT_EQ(u280["target"], "Alveo U280");
  EXPECT_EQ(u280["word"], "f32");
  EXPECT_EQ(u280["buffer"]["bytes"], 262144);
  EXPECT_EQ(u280["buffer"]["traffic"], 8e6);
  EXPECT_EQ(u280["lane"]["dsp"], 50);
  EXPECT_EQ(u280["lanes"], 126) << "0.7 of 9024 over 50";
  EXPECT_DOUBLE_EQ(u280["rate"]["compute"].get<double>(), 126 * 3e8 * 0.8);
  EXPECT_NEAR(u280["kernel seconds"][1].get<double>(), 3e-6 + 100 / 3e8 + 1e6 / (126 * 3e8 * 0.8), 1e-12);
  EXPECT_NEAR(u280["transfer seconds"].get<double>(), 2 * 1.4e-5 + 4e6 / 7.5e9 + 4e6 / 1.21e10, 1e-12);
  EXPECT_EQ(u280["verdict"], "candidate");
  EXPECT_EQ(u280["for"], "speed");
}

TEST(Candidates, BaselinesDecide) {
  auto const fast = only_operation(profile_of(0.0004));  // 0.96 of the roof of L2
  EXPECT_EQ(fast["baseline"]["limiter"], "L2");
  EXPECT_EQ(fast["verdict"], "candidate only in a resident pipeline");
  auto const impossible = only_operation(profile_of(0.0002));
  EXPECT_EQ(impossible["verdict"], "no verdict");
  EXPECT_NE(impossible["reason"].get<std::string>().find("wrong"), std::string::npos);
  auto without = profile_of(0.0004);
  without.erase("ceilings");
  auto const unknown = only_operation(without);
  EXPECT_TRUE(unknown["baseline"]["quality"].is_null());
  EXPECT_EQ(unknown["verdict"], fast["verdict"]) << "an older file without roofs is judged by its time";
  auto emulated = profile_of(1);
  emulated["environment"]["backend"] = "emulated";
  EXPECT_TRUE(program::candidates_json(emulated, "run.json").contains("skipped"));
  auto gpu = profile_of(1e-5);
  gpu["environment"]["backend"] = "cuda", gpu["environment"]["devices"] = {"NVIDIA H200"};
  auto const on_gpu = only_operation(gpu);
  EXPECT_EQ(on_gpu["verdict"], "not a candidate");
  EXPECT_EQ(on_gpu["targets"][0]["baseline joules"], 500 * 1e-5);
}

TEST(Candidates, OneLineForEachMistake) {
  auto const complaint = [](std::function<void(json&)> const& spoil) -> std::string {
    auto j = profile_of(0.01);
    spoil(j);
    try {
      program::candidates_json(j, "run.json");
    } catch (io_error const& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([](json& j) { j.erase("environment"); }), "run.json: environment is missing, expected an object");
  EXPECT_EQ(complaint([](json& j) { j["measurements"][2]["time"] = 0; }), "run.json: measurements[2].time is 0, expected seconds > 0");
  EXPECT_EQ(complaint([](json& j) { j["cost_analysis"]["100"]["x"]["items"] = -1; }), "run.json: cost_analysis.100.x.items is -1, expected a number >= 0");
  EXPECT_NE(complaint([](json& j) { j["cost_analysis"]["100"]["x"]["reuse"]["read misses"].erase(0); }).find("as many"), std::string::npos);
  EXPECT_EQ(complaint([](json& j) { j["ceilings"].erase("read"); }), "run.json: ceilings.read is missing, expected an array of levels");
  EXPECT_EQ(complaint([](json&) {}), "");
}

#if defined(MBIRK_PROGRAM)
TEST(Candidates, OfARealProfile) {
  scratch_folder folder;
  auto const ran = mbirk_program({"profile", "--sizes", "16", "--runs", "3", "--ops", "parallel_[fbm]*_[pr]*[tn]", "--out", folder.path().string(), "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_NE(ran.out.find("FPGA candidates at 16^3"), std::string::npos) << ran;
  json report;
  for (auto const& entry : fs::directory_iterator(folder.path()))
    if (entry.path().extension() == ".json") report = json::parse(file_text(entry.path()));
  ASSERT_TRUE(report.contains("candidates"));
  auto const block = report["candidates"];
  auto input = report;
  input.erase("candidates");
  EXPECT_EQ(json::parse(program::candidates_json(input, "run.json").dump()), block) << "made again from the file";
  ASSERT_EQ(block["operations"].size(), report["cost_analysis"]["16"].size());
  EXPECT_EQ(block["baseline"]["source"], "measured ceilings");
  for (auto const& [name, device] : block["devices"].items())
    for (auto const& [key, number] : device.items()) {
      if (key == "kind") continue;
      EXPECT_NE(std::string("nRAm").find(number["mark"].get<std::string>()), std::string::npos) << name << key;
      EXPECT_NE(number["source"], "") << name << key;
    }
  int rank = 0;
  for (auto const& o : block["operations"]) {
    SCOPED_TRACE(o["operation"]);
    EXPECT_EQ(o["rank"], ++rank);
    EXPECT_FALSE(o["reason"].get<std::string>().empty());
    EXPECT_GT(o["baseline"]["seconds"], 0);
    EXPECT_LE(o["baseline"]["attainable seconds"], o["baseline"]["seconds"]);
    EXPECT_FALSE(o["misses"]["plateaus"].empty());
    auto const& cost = report["cost_analysis"]["16"][o["operation"].get<std::string>()];
    EXPECT_EQ(o["intensity"]["issued"], cost["arithmetic intensity"]);
    EXPECT_EQ(o["intensity"]["compulsory"], cost["arithmetic intensity compulsory"]);
    EXPECT_GE(o["misses"]["floor"], cost["bytes compulsory"]);
    for (auto const& t : o["targets"]) {
      for (auto const* key : {"kernel seconds", "speed-up alone", "speed-up resident", "energy ratio alone", "energy ratio resident"}) {
        EXPECT_LT(t[key][0], t[key][1]) << key;
        EXPECT_LT(t[key][1], t[key][2]) << key;
      }
      EXPECT_GE(t["joules"], t["joules floor"]) << t["target"];
      EXPECT_LE(t["buffer"]["bytes"], t["buffer"]["usable bytes"]);
      EXPECT_EQ(t["formulas"].size(), 7u);
    }
    if (o["operation"] == "parallel_mbir_recon") {
      EXPECT_EQ(o["share"]["value"], 1.0);
    }
    if (o["operation"] == "parallel_back_project") {
      EXPECT_GT(o["share"]["value"], 0.02);
      EXPECT_LT(o["share"]["value"], 1);
    }
  }
}
#endif

}  // namespace
}  // namespace mbirk::test
