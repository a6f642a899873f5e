// The block "candidates": of a synthetic profile, of a real one, and of malformed files.
#include "fpga/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "input/json_field.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

json array_of(std::string const& name, std::string const& role, double bytes, bool reuse = false) {
  bool const out = role == "output";
  json a{{"name", name},
         {"role", role},
         {"type", "f32"},
         {"elements", bytes / 4},
         {"bytes", bytes},
         {"loads", bytes / 64},
         {"stores", 0},
         {"bytes loaded", bytes},
         {"bytes stored", 0},
         {"bytes unique read", out ? 0 : bytes},
         {"bytes unique written", out ? bytes : 0}};
  if (reuse)
    a["reuse"] = {{"line bytes", 64},
                  {"capacity lines", {1, 2}},
                  {"read misses", {bytes / 64, bytes / 64}},
                  {"write backs", {0, 0}}};
  a["values"] = {{"min", -3.0}, {"max", 2.5}, {"exponents", {{"-4", 10}, {"1", 7}}}};
  return a;
}

std::string const operation = "parallel_back_project";

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
                  {"arrays",
                   {array_of("in", "argument", bytes, true), array_of("out", "output", bytes, true),
                    array_of("tile", "scratch", 4096)}},
                  {"stages", json::array()},
                  {"reuse",
                   {{"line bytes", 64},
                    {"capacity lines", {64, 4096, 262144}},
                    {"read misses", {1e6, lines / 2, lines / 2}},
                    {"write backs", {2e5, lines / 2, lines / 2}}}}};
  auto const level = [](char const* name, double of_thread, double rate) {
    return json{
        {"name", name}, {"bytes of a thread", of_thread}, {"bytes per second", {{"best", rate}, {"median", rate}}}};
  };
  return {{"environment",
           {{"backend", "host"},
            {"cpu", "a processor"},
            {"threads", 2},
            {"vector_lanes", 16},
            {"devices", {"a processor"}}}},
          {"ceilings",
           {{"threads", 2},
            {"fma per second", {{"best", 1e11}}},
            {"read", {level("L1", 16384, 4e11), level("L2", 5e5, 2e11), level("DRAM", 1e8, 3e10)}},
            {"triad bytes per second", {{"best", 4e10}}},
            {"launch seconds", 2e-6}}},
          {"measurements",
           {{{"operation", operation}, {"volume_size", 100}, {"run", 1}, {"time", 1.0}, {"traced", false}},
            {{"operation", operation}, {"volume_size", 100}, {"run", 2}, {"time", 2.0}, {"traced", true}},
            {{"operation", operation}, {"volume_size", 100}, {"run", 3}, {"time", seconds}, {"traced", false}}}},
          {"cost_analysis", {{"100", {{operation, cost}}}}}};
}
json only_operation(json const& report) {
  auto const block = program::candidates_json(report, "run.json");
  EXPECT_EQ(block["operations"].size(), 1u);
  return block["operations"][0];
}

TEST(Candidates, NumbersOfAMadeUpProfile) {
  auto const o = only_operation(profile_of(0.01));
  EXPECT_EQ(o["operation"], operation);
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
  report["measurements"].push_back({{"operation", operation},
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
    } catch (io_error const& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([](json& j) { j.erase("environment"); }), "run.json: environment is missing, expected an object");
  EXPECT_EQ(complaint([](json& j) { j["measurements"][2]["time"] = 0; }),
            "run.json: measurements[2].time is 0, expected seconds > 0");
  EXPECT_EQ(complaint([](json& j) { j["cost_analysis"]["100"][operation]["items"] = -1; }),
            "run.json: cost_analysis.100.parallel_back_project.items is -1, expected a number >= 0");
  EXPECT_NE(
      complaint([](json& j) { j["cost_analysis"]["100"][operation]["reuse"]["read misses"].erase(0); }).find("as many"),
      std::string::npos);
  EXPECT_EQ(complaint([](json& j) { j["ceilings"].erase("read"); }),
            "run.json: ceilings.read is missing, expected an array of levels");
  EXPECT_EQ(complaint([](json& j) { j["word_lengths"][operation]["within bound"] = 1; }),
            "run.json: word_lengths.parallel_back_project.within bound is 1, expected true or false");
  EXPECT_EQ(complaint([](json& j) {
              j["word_lengths"][operation] = {{"within bound", true}, {"arithmetic", {{"width", 0}}}};
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
  report["word_lengths"][operation] = words;
  auto const o = only_operation(report);
  EXPECT_EQ(o["word length"], words);
  ASSERT_EQ(o["targets"].size(), 6u);
  auto const &t = o["targets"][2], &f32 = o["targets"][0];
  EXPECT_EQ(t["word"], "fixed 25");
  EXPECT_EQ(t["target"], "Alveo U280");
  EXPECT_EQ(t["lane"]["dsp"], 10 * 2) << "25 bits take ceil(24 / 26) ceil(24 / 17) blocks of 27 x 18 bits";
  EXPECT_EQ(t["buffer"]["bytes"], f32["buffer"]["bytes"].get<double>() / 2) << "samples of 16 bits";
  EXPECT_EQ(o["verdict"], only_operation(profile_of(0.01))["verdict"]) << "float32 decides";
  report["word_lengths"][operation]["within bound"] = false;
  EXPECT_EQ(only_operation(report)["targets"].size(), 4u) << "no words that are long enough";
}

/// A stage of a reconstruction on 1000 bytes of a temporary, with this number of flops.
json stage_of(std::string const& name, double flops) {
  auto array = array_of("error", "temporary", 1000);
  return {{"name", name},
          {"flops", flops},
          {"operations", {{"fma", flops / 2}}},
          {"vector operations", flops / 32},
          {"bytes accessed", 1000},
          {"bytes compulsory", 1000},
          {"lanes useful", 0.5},
          {"arrays", {array}}};
}

TEST(Candidates, AnIterationAndHowOftenItsOperationsAreCalled) {
  auto report = profile_of(0.01);
  auto const kernel = [](char const* stage) { return json{{"stage", stage}, {"launches", 3}}; };
  auto& costs = report["cost_analysis"]["100"];
  auto recon = costs[operation];
  recon["stages"] = {stage_of("filter", 2e6), stage_of("error", 4e6), stage_of("back", 1e6),
                     stage_of("error", 3e6),  stage_of("back", 1e6),  stage_of("error", 3e6)};
  recon["kernels"] = {kernel("initial image/filter"), kernel("error"), kernel("iteration/subset/back"),
                      kernel("iteration/subset/error")};
  costs["parallel_mbir_recon"] = recon, costs["parallel_sparse_back_project"] = costs[operation];
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
  EXPECT_EQ(of[operation]["calls per transfer"]["value"], 20);
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

json a_device() {
  return {{"name", "My card"},
          {"kind", "fpga"},
          {"clock", 2e8},
          {"dsp", {{"value", 4512}, {"mark", "n"}, {"source", "its data sheet"}}},
          {"lut", 7e5},
          {"bram36", 1000},
          {"uram", 0},
          {"memory bytes per second", 2e11},
          {"upload bytes per second", 7.5e9},
          {"download bytes per second", 1.21e10},
          {"watts", 50},
          {"idle watts", 20},
          {"f32 add dsp", 2},
          {"f32 mul dsp", 3},
          {"f32 fma dsp", 5}};
}

TEST(Candidates, ADeviceOfTheUser) {
  scratch_folder folder;
  auto const file = (folder / "card.json").string();
  write_text(file, a_device().dump());
  auto const block = program::candidates_json(profile_of(0.01), "run.json", {.devices = program::devices_with({file})});
  EXPECT_EQ(block["devices"]["My card"]["dsp"], json({{"value", 4512}, {"mark", "n"}, {"source", "its data sheet"}}));
  EXPECT_EQ(block["devices"]["My card"]["clock"], json({{"value", 2e8}, {"mark", "A"}, {"source", file}}));
  EXPECT_EQ(block["devices"]["My card"]["memory usable"]["value"], 0.8) << "the same for all FPGAs";
  auto const& o = block["operations"][0];
  ASSERT_EQ(o["targets"].size(), 6u);
  EXPECT_EQ(o["targets"][4]["target"], "My card");
  EXPECT_EQ(o["targets"][4]["lanes"], 63) << "0.7 of 4512 over 50";
  EXPECT_DOUBLE_EQ(o["optimal seconds"]["My card"]["seconds"].get<double>(),
                   std::max(2e7 / (2 * 4512 / 5.0 * 2e8), 8e6 / 2e11));
  auto gpu = json{{"name", "H200"},     {"kind", "gpu"}, {"flops per second", 1e14}, {"memory bytes per second", 5e12},
                  {"cache bytes", 6e7}, {"watts", 600},  {"idle watts", 100}};
  write_text(file, gpu.dump());
  auto const all = program::devices_with({file});
  EXPECT_EQ(all.size(), 5u) << "in the place of the built-in one";
  EXPECT_EQ(all[0].flops.value, 1e14);
  EXPECT_EQ(all[0].upload_rate.value, 5e10);
}

TEST(Candidates, OneLineForEachMistakeInADevice) {
  scratch_folder folder;
  auto const file = (folder / "card.json").string();
  auto const complaint = [&](std::function<void(json&)> const& spoil) -> std::string {
    auto j = a_device();
    spoil(j);
    write_text(file, j.dump());
    try {
      program::read_device(file);
    } catch (io_error const& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([](json&) {}), "");
  EXPECT_EQ(complaint([](json& j) { j.erase("clock"); }), file + ": clock is missing, expected a number > 0");
  EXPECT_EQ(complaint([](json& j) { j["clock"] = -1; }), file + ": clock is -1, expected a number > 0");
  EXPECT_EQ(complaint([](json& j) { j["clock"] = "fast"; }), file + ": clock is \"fast\", expected a number > 0");
  EXPECT_EQ(complaint([](json& j) { j["dsp"].erase("value"); }), file + ": dsp.value is missing, expected a number");
  EXPECT_EQ(complaint([](json& j) { j["dsp"]["mark"] = "x"; }),
            file + ": dsp.mark is \"x\", expected one of n, R, A, m");
  EXPECT_EQ(complaint([](json& j) { j["dsp"]["page"] = 3; }),
            file + ": dsp.page is 3, expected one of value, mark, source");
  EXPECT_EQ(complaint([](json& j) { j["kind"] = "asic"; }), file + ": kind is \"asic\", expected fpga, gpu or cpu");
  EXPECT_EQ(complaint([](json& j) { j["memory usable"] = 1.2; }),
            file + ": memory usable is 1.2, expected a share, at most 1");
  EXPECT_EQ(complaint([](json& j) {
              j["dsps"] = 3;
            }).find(file + ": dsps is not a device parameter, expected one of memory bytes per second,"),
            0u);
  EXPECT_EQ(complaint([](json& j) { j = 3; }), file + " holds 3, expected an object");
}

#if defined(MBIRK_PROGRAM)
TEST(Candidates, OfARealProfile) {
  scratch_folder folder;
  auto const card = (folder / "card").string();
  write_text(card, a_device().dump());
  auto const out = folder / "out";
  expect_failure(mbirk_program({"profile", "--sizes", "16", "--device", out.string(), "--out", out.string()}), 2,
                 out.string() + ": ");
  EXPECT_FALSE(fs::exists(out));
  auto const ran =
      mbirk_program({"profile", "--sizes", "16", "--budget", "0.2", "--ops", "parallel_[fbm]*_[pr]*[tn]", "--device",
                     card, "--iterations-per-transfer", "7", "--out", out.string(), "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_NE(ran.out.find("FPGA candidates at 16^3"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("arrays sent once for 7 iterations"), std::string::npos) << ran;
  json report;
  fs::path file;
  std::string page;
  for (auto const& entry : fs::directory_iterator(out)) {
    if (entry.path().extension() == ".json") report = json::parse(file_text(file = entry.path()));
    if (entry.path().filename().string().starts_with("report_")) page = file_text(entry.path());
  }
  ASSERT_TRUE(report.contains("candidates"));
  auto const block = report["candidates"];
  auto input = report;
  input.erase("candidates");
  EXPECT_EQ(
      json::parse(program::candidates_json(input, "run.json", {program::devices_with({card}), 7, {"all"}}).dump()),
      block)
      << "made again from the file";
  ASSERT_EQ(block["operations"].size(), report["cost_analysis"]["16"].size() + 1) << "and an iteration";
  EXPECT_TRUE(block["devices"].contains("My card"));
  auto const& recon = report["reconstructions"]["parallel_mbir_recon"];
  EXPECT_EQ(recon["iterations"], 15);
  EXPECT_EQ(recon["partition sequence"], json({2, 4, 6, 7, 8, 9, 10, 7, 8, 9, 10, 7, 8, 9, 10}));
  double shares = 0;
  for (auto const& group : recon["groups"]) shares += group["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  // At this size drawing the partitions, before any stage, is a good part of the whole; docs/fpga.md has larger ones.
  EXPECT_LE(recon["sum of stages"].get<double>(), recon["seconds"].get<double>());
  EXPECT_GT(recon["sum of stages"].get<double>(), 0.5 * recon["seconds"].get<double>());
  EXPECT_EQ(block["plan"]["why"].size(), 3u);
  EXPECT_NE(ran.out.find(block["plan"]["headline"].get<std::string>()), std::string::npos) << ran;
  EXPECT_NE(page.find("id=\"t-plan1\""), page.npos);
  expect_failure(mbirk_program({"profile", "--sizes", "16", "--against", "h1000", "--out", out.string()}), 2,
                 "--against h1000 is no device");
  for (auto const* part : {"id=\"t-pipelines\"", "parallel_vcd_iteration", "arrays are sent once for 7 iterations",
                           "of 1e-04 allowed, at size 16"})
    EXPECT_NE(page.find(part), page.npos) << part;
  // The page once more against another device; no page if that device is refused.
  auto other = a_device();
  other["name"] = "Other card", other["watts"] = 10;
  write_text(card, other.dump());
  auto const again = folder / "again.html";
  auto const judged = mbirk_program({"report", file.string(), "--device", card, "--out", again.string()});
  ASSERT_EQ(judged.code, 0) << judged;
  EXPECT_NE(judged.out.find("arrays sent once for 7 iterations"), std::string::npos) << judged;
  EXPECT_TRUE(fs::exists(again));
  expect_failure(mbirk_program({"report", file.string(), "--device", card, "--out", (folder / "all.json").string()}), 2,
                 "expected one RUN.json");
  write_text(card, "{}");
  expect_failure(mbirk_program({"report", file.string(), "--device", card, "--out", again.string()}), 2,
                 card + ": name is missing");
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
    bool const disturbed = o.value("disturbed", false);  // the machine may be busy
    EXPECT_EQ(o["verdict"].is_null(), disturbed);
    EXPECT_EQ(o["targets"].size(), disturbed ? 0u : o["word length"].is_object() ? 9u : 6u);
    if (o["operation"] == "parallel_vcd_iteration") {
      EXPECT_GT(o["share"]["value"], 0.05);
      EXPECT_LT(o["share"]["value"], 1);
      EXPECT_GE(o["stages"].size(), 4u);
      double share = 0, traced = 0;
      for (auto const& s : o["stages"]) share += s["share"].get<double>(), traced += s["traced seconds"].get<double>();
      EXPECT_NEAR(share, 1, 1e-9);
      EXPECT_GT(traced, 0);
      continue;
    }
    EXPECT_FALSE(o["misses"]["plateaus"].empty());
    if (o["operation"].get<std::string>().ends_with("_project")) {
      EXPECT_LE(o["word length"]["error"], 1e-4);
      EXPECT_GT(o["word length"]["arithmetic"]["width"], 12);
    }
    auto const& cost = report["cost_analysis"]["16"][o["operation"].get<std::string>()];
    EXPECT_EQ(o["intensity"]["issued"], cost["arithmetic intensity"]);
    EXPECT_EQ(o["intensity"]["compulsory"], cost["arithmetic intensity compulsory"]);
    EXPECT_GE(o["misses"]["floor"], cost["bytes compulsory"]);
    for (auto const& t : o["targets"]) {
      for (auto const* key :
           {"kernel seconds", "speed-up alone", "speed-up resident", "energy ratio alone", "energy ratio resident"}) {
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
