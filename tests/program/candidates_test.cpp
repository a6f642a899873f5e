// The block "candidates" of a synthetic profile.
#include "candidate_profile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "input/json_field.hpp"

namespace mbirk::test {
namespace {

TEST(Candidates, NumbersOfAMadeUpProfile) {
  auto const o = only_operation(profile_of(0.01));
  EXPECT_EQ(o["operation"], profiled_operation);
  EXPECT_EQ(o["size"], 100);
  EXPECT_EQ(o["rank"], 1);
  EXPECT_EQ(o["baseline"]["seconds"], 0.01) << "the timing run";
  auto const& roofs = o["baseline"]["ceilings"];
  EXPECT_DOUBLE_EQ(roofs["compute"].get<double>(), 2e7 / 2e11);
  EXPECT_DOUBLE_EQ(roofs["vector issue"].get<double>(), 2e6 / (2e11 / 16));
  EXPECT_DOUBLE_EQ(roofs["L1"].get<double>(), (8e6 + 4096) / 4e11);
  EXPECT_DOUBLE_EQ(roofs["L2"].get<double>(), 64 * 1.2e6 / 2e11) << "32 KB of L1 hold 64 lines of the curve, not 4096";
  EXPECT_DOUBLE_EQ(roofs["DRAM"].get<double>(), 8e6 / 4e10)
      << "1 MB of L2 hold 4096 lines; the triad is the better rate";
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

TEST(Candidates, DisturbedTimesHaveNoVerdict) {
  auto report = profile_of(0.01);
  auto& m = report["measurements"][2];
  m["disturbed"] = true;
  m["reason"] = "no call is clean";
  auto const o = only_operation(report);
  EXPECT_EQ(o["disturbed"], true);
  EXPECT_EQ(o["reason"], "disturbed: no call is clean");
  for (auto const* key : {"verdict", "target", "for"}) EXPECT_TRUE(o[key].is_null()) << key;
  EXPECT_TRUE(o["speed-up"]["measured"].is_null());
  EXPECT_TRUE(o["speed-up"]["attainable"].is_null());
  EXPECT_TRUE(o["targets"].empty());
  EXPECT_EQ(o["access"], only_operation(profile_of(0.01))["access"]) << "counts are not disturbed";
  m["run"] = 4;
  report["measurements"].push_back({{"operation", profiled_operation},
                                    {"volume_size", 100},
                                    {"run", 3},
                                    {"time", 0.01},
                                    {"traced", false},
                                    {"disturbed", false}});
  EXPECT_EQ(only_operation(report), only_operation(profile_of(0.01))) << "another run was not";
}

TEST(Candidates, AWideIntervalMakesAVerdictOpen) {
  auto const calm = only_operation(profile_of(0.01))["targets"][0];
  EXPECT_EQ(calm["confidence"], "firm");
  auto report = profile_of(0.01);
  report["measurements"][2]["interval"] = {0.00995, 0.0102};
  EXPECT_EQ(only_operation(report)["targets"][0], calm) << "narrower than what is assumed anyway";
  report["measurements"][2]["interval"] = {0.001, 0.0102};
  auto const wide = only_operation(report)["targets"][0];
  EXPECT_LT(wide["speed-up alone"][0], calm["speed-up alone"][0].get<double>() / 3);
  EXPECT_EQ(wide["confidence"], "open: baseline time");
}

TEST(Candidates, OneLineForEachMistake) {
  auto const complaint = [](std::function<void(json&)> const& spoil) -> std::string {
    auto j = profile_of(0.01);
    spoil(j);
    try {
      program::candidates_json(j, "run.json");
    } catch (io_error const& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(complaint([](json& j) { j.erase("environment"); }), "run.json: environment is missing, expected an object");
  EXPECT_EQ(complaint([](json& j) { j["measurements"][2]["time"] = 0; }),
            "run.json: measurements[2].time is 0, expected seconds > 0");
  EXPECT_EQ(complaint([](json& j) { j["cost_analysis"]["100"][profiled_operation]["items"] = -1; }),
            "run.json: cost_analysis.100.parallel_back_project.items is -1, expected a number >= 0");
  auto const short_list = [](json& j) {
    j["cost_analysis"]["100"][profiled_operation]["reuse"]["read misses"].erase(0);
  };
  EXPECT_NE(complaint(short_list).find("as many"), std::string::npos);
  EXPECT_EQ(complaint([](json& j) { j["ceilings"].erase("read"); }),
            "run.json: ceilings.read is missing, expected an array of levels");
  EXPECT_EQ(complaint([](json& j) { j["word_lengths"][profiled_operation]["within bound"] = 1; }),
            "run.json: word_lengths.parallel_back_project.within bound is 1, expected true or false");
  EXPECT_EQ(complaint([](json& j) {
              j["word_lengths"][profiled_operation] = {{"within bound", true}, {"arithmetic", {{"width", 0}}}};
            }),
            "run.json: word_lengths.parallel_back_project.arithmetic.width is 0, expected 1 to 64 bits");
  EXPECT_EQ(complaint([](json&) {}), "");
}

TEST(Candidates, MeasuredWordsAreATargetToo) {
  auto report = profile_of(0.01);
  json const words{{"size", 16},
                   {"bound", 1e-4},
                   {"error", 7e-5},
                   {"within bound", true},
                   {"arithmetic", {{"width", 25}, {"whole", 6}}},
                   {"data", {{"width", 16}, {"whole", 1}}}};
  report["word_lengths"][profiled_operation] = words;
  auto const o = only_operation(report);
  EXPECT_EQ(o["word length"], words);
  ASSERT_EQ(o["targets"].size(), 6u);
  auto const &t = o["targets"][2], &f32 = o["targets"][0];
  EXPECT_EQ(t["word"], "fixed 25");
  EXPECT_EQ(t["target"], "Alveo U280");
  EXPECT_EQ(t["lane"]["dsp"], 10 * 2) << "25 bits take ceil(24 / 26) ceil(24 / 17) blocks of 27 x 18 bits";
  EXPECT_EQ(t["buffer"]["bytes"], f32["buffer"]["bytes"].get<double>() / 2) << "samples of 16 bits";
  EXPECT_EQ(o["verdict"], only_operation(profile_of(0.01))["verdict"]) << "float32 decides";
  report["word_lengths"][profiled_operation]["within bound"] = false;
  EXPECT_EQ(only_operation(report)["targets"].size(), 4u) << "no words that are long enough";
}

TEST(Candidates, AnIterationAndHowOftenItsOperationsAreCalled) {
  auto report = profile_of(0.01);
  auto const kernel = [](char const* stage) { return json{{"stage", stage}, {"launches", 3}}; };
  auto& costs = report["cost_analysis"]["100"];
  auto recon = costs[profiled_operation];
  recon["stages"] = {stage_of("filter", 2e6), stage_of("error", 4e6), stage_of("back", 1e6),
                     stage_of("error", 3e6),  stage_of("back", 1e6),  stage_of("error", 3e6)};
  recon["kernels"] = {kernel("initial image/filter"), kernel("error"), kernel("iteration/subset/back"),
                      kernel("iteration/subset/error")};
  costs["parallel_mbir_recon"] = recon, costs["parallel_sparse_back_project"] = costs[profiled_operation];
  for (auto const* name : {"parallel_mbir_recon", "parallel_sparse_back_project"}) {
    report["measurements"].push_back(
        {{"operation", name}, {"volume_size", 100}, {"run", 3}, {"time", 0.02}, {"traced", false}});
    report["measurements"].push_back(
        {{"operation", name}, {"volume_size", 100}, {"run", 2}, {"time", 0.05}, {"traced", true}});
  }
  auto const stage = [](double seconds, int runs) { return json{{"seconds", seconds}, {"runs", runs}}; };
  report["measurements"][4]["stages"] = {{"filter", stage(0.02, 1)},
                                         {"error", stage(0.01, 1)},
                                         {"iteration", stage(0.02, 1)},
                                         {"iteration/subset", stage(0.019, 2)},
                                         {"iteration/subset/back", stage(0.006, 2)},
                                         {"iteration/subset/error", stage(0.012, 2)}};
  ASSERT_EQ(report["measurements"][4]["operation"], "parallel_mbir_recon");
  std::map<std::string, json> of;
  auto const block = program::candidates_json(report, "run.json", {.iterations = 20});
  for (auto const& o : block["operations"]) of[o["operation"]] = o;
  ASSERT_EQ(of.size(), 4u);
  EXPECT_EQ(of[profiled_operation]["calls per transfer"]["value"], 20);
  EXPECT_EQ(of["parallel_sparse_back_project"]["calls per transfer"]["value"], 40) << "two subsets";
  EXPECT_EQ(of["parallel_mbir_recon"]["calls per transfer"]["value"], 20);
  auto const& whole = of["parallel_mbir_recon"]["stages"];
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(whole[1]["stage"], "error");
  EXPECT_EQ(whole[1]["runs"], 3);
  EXPECT_EQ(whole[1]["flops"], 1e7);
  EXPECT_NEAR(whole[1]["share"].get<double>(), 10.0 / 14, 1e-12);
  EXPECT_NEAR(whole[1]["traced seconds"].get<double>(), 0.022, 1e-12);
  auto const& iteration = of["parallel_vcd_iteration"];
  EXPECT_NEAR(iteration["baseline"]["seconds"].get<double>(), 0.02 * 0.02 / 0.05, 1e-12)
      << "its share of the traced run of the median";
  EXPECT_EQ(iteration["share"]["of"], "parallel_mbir_recon");
  EXPECT_NEAR(iteration["share"]["value"].get<double>(), 0.4, 1e-12);
  ASSERT_EQ(iteration["stages"].size(), 2u) << "what comes before it has stages of the same name";
  EXPECT_EQ(iteration["stages"][1]["stage"], "error");
  EXPECT_EQ(iteration["stages"][1]["flops"], 6e6);
  EXPECT_NEAR(iteration["stages"][1]["traced seconds"].get<double>(), 0.012, 1e-12);
  EXPECT_DOUBLE_EQ(iteration["baseline"]["ceilings"]["compute"].get<double>(), 8e6 / 2e11);
  EXPECT_DOUBLE_EQ(iteration["baseline"]["ceilings"]["launch"].get<double>(), 6 * 2e-6);
  EXPECT_DOUBLE_EQ(iteration["intensity"]["compulsory"].get<double>(), 8e6 / 4000);
  EXPECT_EQ(iteration["targets"][0]["transfer seconds"], of["parallel_mbir_recon"]["targets"][0]["transfer seconds"]);
}

}  // namespace
}  // namespace mbirk::test
