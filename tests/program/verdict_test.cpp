// The answer of a profile: host, GPU and FPGA side by side, the plan for whole reconstructions, and files that are
// merged into a run.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "fpga/candidates.hpp"
#include "fpga/plan_text.hpp"
#include "fpga/stage_groups.hpp"
#include "input/mbirjax_profile.hpp"
#include "input/merged_files.hpp"
#include "mbirk/profile/wire.hpp"
#include "operations/common_options.hpp"
#include "operations/profile_problem.hpp"
#include "output/cost_json.hpp"
#include "program.hpp"
#include "report/html_report_sections.hpp"

namespace mbirk::test {
namespace {

using program::candidate_settings;
using program::candidates_json;

std::string const operation = "cone_back_project";

json array_of(std::string const& name, std::string const& role, double bytes) {
  bool const out = role == "output";
  return {{"name", name},
          {"role", role},
          {"elements", bytes / 4},
          {"loads", bytes / 64},
          {"stores", out ? bytes / 64 : 0},
          {"bytes loaded", out ? 0 : bytes},
          {"bytes stored", out ? bytes : 0},
          {"bytes unique read", out ? 0 : bytes},
          {"bytes unique written", out ? bytes : 0}};
}
/// Work of this many fused multiply-adds on arrays of 4 MB, in one launch.
json cost_of(double fma) {
  return {{"items", 1e6},
          {"operations", {{"fma", fma}}},
          {"vector operations", fma / 8},
          {"flops", 2 * fma},
          {"bytes accessed", 4 * fma},
          {"bytes compulsory", 8e6},
          {"bytes touched", 8e6},
          {"launches", 1},
          {"arrays", {array_of("in", "argument", 4e6), array_of("out", "output", 4e6)}},
          {"stages", json::array()}};
}
json group_of(std::string const& name, double seconds, double share, double fma, int runs) {
  auto cost = cost_of(fma);
  cost["items"] = 2 * fma;
  cost["independent sums"] = 1e5;
  cost["launches"] = runs;
  return {{"group", name}, {"runs", runs}, {"seconds", seconds}, {"share", share}, {"cost", cost}};
}
/// A host that needs 0.2 s for 1e9 fused multiply-adds, and a reconstruction of which the back projection takes 0.6.
json profile_of() {
  json const groups{group_of("forward projection", 0.3, 0.3, 1e9, 10), group_of("back projection", 0.6, 0.6, 2e9, 10),
                    group_of("the rest", 0.1, 0.1, 1e7, 10)};
  return {
      {"timestamp", "20260102_030405_006"},
      {"environment",
       {{"backend", "host"},
        {"cpu", "a processor"},
        {"threads", 2},
        {"vector_lanes", 16},
        {"devices", {"a processor"}}}},
      {"measurements", {{{"operation", operation}, {"volume_size", 64}, {"run", 3}, {"time", 0.2}, {"traced", false}}}},
      {"cost_analysis", {{"64", {{operation, cost_of(1e9)}}}}},
      {"reconstructions",
       {{"cone_mbir_recon",
         {{"size", 64},
          {"iterations", 15},
          {"seconds", 1.0},
          {"sum of stages", 1.0},
          {"stages", json::array()},
          {"transfers", {{"bytes in", 4e6}, {"bytes out", 4e6}, {"buffers", 2}}},
          {"groups", groups}}}}}};
}
json judged(json const& run, std::vector<std::string> const& against) {
  candidate_settings settings;
  settings.compare_with(against);
  return candidates_json(run, "run.json", settings);
}
template <class Work> std::string complaint(Work const& work) {
  try {
    work();
  } catch (error const& e) { return e.what(); }
  return "";
}

TEST(Verdict, ThreeColumnsWithTimeAndEnergy) {
  auto const block = judged(profile_of(), {"all"});
  auto const& columns = block["operations"][0]["columns"];
  EXPECT_EQ(columns["host"]["source"], "measured");
  EXPECT_EQ(columns["host"]["seconds"][1], 0.2);
  EXPECT_EQ(columns["host"]["joules"], 0.2 * 30);
  ASSERT_EQ(columns["gpu"].size(), 3u);
  for (auto const& gpu : columns["gpu"]) {
    // Predicted from the code of the kernels where the tables have the device, which RTX 5080 is not among.
    EXPECT_EQ(gpu["source"], gpu["device"] == "RTX 5080" ? "estimated from counts" : "predicted");
    EXPECT_LT(gpu["seconds"][0], gpu["seconds"][1]);
    EXPECT_LT(gpu["seconds"][1], gpu["seconds"][2]);
    EXPECT_GT(gpu["joules"], 0.0);
  }
  ASSERT_EQ(columns["fpga"].size(), 2u);
  for (auto const& fpga : columns["fpga"]) EXPECT_EQ(fpga["source"], "modelled");
}

/// Energy that the run has counted takes the place of the assumption: of the operation if it ran long enough, else the
/// mean of all.
TEST(Verdict, CountedEnergyIsUsed) {
  auto const joules_of = [](double calls, json counts) {
    auto run = profile_of();
    counts.update({{"calls", calls}, {"wall seconds", 0.25}});
    run["cost_analysis"]["64"][operation]["hardware"] = counts;
    auto other = cost_of(1e6);
    other["hardware"] = {{"calls", 4}, {"wall seconds", 1}, {"joules package-0", 20}};
    run["cost_analysis"]["64"]["gen_weights_transmission"] = other;
    auto const block = judged(run, {"host"});
    EXPECT_EQ(block["baseline"]["power"], "measured");
    return block["operations"][0]["columns"]["host"]["joules"].get<double>();
  };
  // Packages and their memory are parts; cores are in the packages, and the platform contains them.
  json const parts{{"joules package-0", 8}, {"joules package-1", 2}, {"joules dram 0:0", 1}, {"joules core 0:1", 5},
                   {"joules psys 1", 50}};
  EXPECT_DOUBLE_EQ(joules_of(40, parts), 0.2 * 11 / 0.25);
  // 0.05 s in all: 11 * 0.2 + 20 * 4 joules in 0.25 * 0.2 + 4 seconds.
  EXPECT_DOUBLE_EQ(joules_of(0.2, parts), 0.2 * (11 * 0.2 + 80) / (0.25 * 0.2 + 4));
  EXPECT_EQ(judged(profile_of(), {"host"})["baseline"]["power"], "assumed");
  json const only_psys{{"joules psys 1", 50}};
  EXPECT_DOUBLE_EQ(joules_of(40, only_psys), 0.2 * 20);
}

TEST(Verdict, TheBestOfWhatTheUserHasDecides) {
  auto const host = judged(profile_of(), {"host"})["operations"][0],
             all = judged(profile_of(), {"all"})["operations"][0],
             h100 = judged(profile_of(), {"h100"})["operations"][0];
  EXPECT_EQ(host["against"]["kind"], "host");
  EXPECT_TRUE(host["verdict"].get<std::string>().starts_with("candidate")) << host["reason"];
  EXPECT_EQ(all["against"]["kind"], "gpu");
  EXPECT_EQ(h100["against"]["device"], "H100");
  EXPECT_EQ(h100["verdict"], "not a candidate") << h100["reason"];
  EXPECT_LT(h100["against"]["speed-up resident"][2], 1.5) << "the whole interval says so";
  EXPECT_EQ(host["columns"]["fpga"], h100["columns"]["fpga"]) << "the FPGA is the same one";
  EXPECT_TRUE(h100["columns"]["host"].is_null()) << "it was not asked for";
  EXPECT_GT(h100["against"]["times faster needed"], 1.0);
}

/// Any GPU of the table of predictions can be compared with; its numbers and times come from that table.
TEST(Verdict, OtherGpusAreAddedWhenTheyAreNamed) {
  auto const block = judged(profile_of(), {"all", "a100", "RTX 4090"});
  auto const& columns = block["operations"][0]["columns"]["gpu"];
  ASSERT_EQ(columns.size(), 5u);
  std::map<std::string, json> on;
  for (auto const& column : columns) on[column["device"]] = column;
  for (auto const* name : {"A100", "RTX 4090"}) {
    ASSERT_TRUE(on.contains(name));
    EXPECT_EQ(on[name]["source"], "predicted");
    EXPECT_GT(on[name]["joules"], 0.0);
  }
  // So little work is bound by latency: the clock of an A100 is lower than that of an H100, that of an RTX 4090 higher.
  EXPECT_GT(on["A100"]["seconds"][1], on["H100"]["seconds"][1]);
  EXPECT_LT(on["RTX 4090"]["seconds"][1], on["H100"]["seconds"][1]);
  // Data sheets: 19.5 and 82.6 Tflops.
  EXPECT_NEAR(block["devices"]["A100"]["flops per second"]["value"], 19.5e12, 0.1e12);
  EXPECT_NEAR(block["devices"]["RTX 4090"]["flops per second"]["value"], 82.6e12, 0.1e12);
  EXPECT_EQ(block["devices"]["A100"]["memory bytes per second"]["value"], 2.039e12);
  auto const alone = judged(profile_of(), {"b200"})["operations"][0];
  EXPECT_EQ(alone["against"]["device"], "B200");
  EXPECT_EQ(alone["columns"]["gpu"].size(), 1u);
}

TEST(Verdict, NamesOfDevicesAreCheckedInOneLine) {
  EXPECT_EQ(complaint([] { judged(profile_of(), {"H-100", "rtx 5080"}); }), "");
  auto const wrong = complaint([] { judged(profile_of(), {"h1000"}); });
  EXPECT_NE(wrong.find("--against h1000 is no device to compare with, expected some of all, host, h200"), wrong.npos)
      << wrong;
}

TEST(Verdict, PublishedTimesTakeThePlaceOfEstimates) {
  scratch_folder folder;
  auto const file = (folder / "times.json").string();
  auto const entry = [](json seconds) {
    return json::array({{{"operation", operation},
                         {"size", 64},
                         {"device", "NVIDIA H100 80GB HBM3"},
                         {"seconds", seconds},
                         {"from", "a paper"}}});
  };
  write_text(file, entry(4.6).dump());
  auto run = profile_of();
  program::add_published(run, file);
  auto const o = judged(run, {"h100"})["operations"][0];
  EXPECT_EQ(o["columns"]["gpu"][0]["source"], "published");
  EXPECT_EQ(o["columns"]["gpu"][0]["seconds"][1], 4.6);
  EXPECT_TRUE(o["verdict"].get<std::string>().starts_with("candidate")) << "that is slower than an FPGA";
  auto const refused = [&](json const& times) {
    write_text(file, times.dump());
    return complaint([&] { program::add_published(run, file); });
  };
  EXPECT_EQ(refused(entry(-1)), file + ": [0].seconds is -1, expected a number > 0");
  EXPECT_EQ(refused(json::object()), file + " holds an object, expected an array of times");
}

TEST(Plan, SharesAndAmdahlByHand) {
  auto const plan = judged(profile_of(), {"host"})["plan"];
  ASSERT_EQ(plan["reconstructions"].size(), 1u);
  auto const& recon = plan["reconstructions"][0];
  EXPECT_EQ(recon["best"], "a processor, 2 threads");
  double sum = 0;
  for (auto const& g : recon["groups"]) sum += g["host share"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
  auto const& back = recon["groups"][1];
  ASSERT_EQ(back["group"], "back projection");
  auto const& f = back["fpga"];
  double const s = f["speed-up"][1], seconds = f["kernel seconds"].get<double>() + f["transfer seconds"].get<double>();
  EXPECT_NEAR(f["share"].get<double>(), 0.6, 1e-12);
  EXPECT_NEAR(s, 0.6 / seconds, 1e-9);
  EXPECT_NEAR(f["reconstruction faster"].get<double>(), 1 / (0.4 + 0.6 / s), 1e-12);
  EXPECT_EQ(plan["why"].size(), 3u);
}

TEST(Plan, SaysThatNoFpgaPaysBesideAGpu) {
  auto const plan = judged(profile_of(), {"h100"})["plan"];
  auto const line = plan["headline"].get<std::string>();
  EXPECT_NE(line.find("H100 for everything; an FPGA pays for no stage"), line.npos) << line;
  for (auto const& g : plan["reconstructions"][0]["groups"]) EXPECT_FALSE(g["fpga"]["pays"].get<bool>()) << g;
  auto without = profile_of();
  without.erase("reconstructions");
  auto const none = judged(without, {"h100"})["plan"]["headline"].get<std::string>();
  EXPECT_NE(none.find("No whole reconstruction was profiled"), none.npos) << none;
  EXPECT_EQ(none.find("have a verdict"), none.npos) << none;
  for (auto& m : without["measurements"]) {
    m["disturbed"] = true;
    m["reason"] = "no call is clean";
  }
  auto const disturbed = judged(without, {"host"})["plan"]["headline"].get<std::string>();
  EXPECT_NE(disturbed.find(", 0 of which have a verdict, none deserves"), disturbed.npos) << disturbed;
}

TEST(Plan, NamesGeometriesAndFoldsAllButTwo) {
  EXPECT_EQ(program::geometry_title("cone_mbir_recon"), "cone beam");
  EXPECT_EQ(program::geometry_title("general_mbir_recon"), "general views");
  EXPECT_EQ(program::geometry_title("multiaxis_mbir_recon"), "multi-axis parallel beam");
  json run;
  auto& plan = run["candidates"]["plan"] = judged(profile_of(), {"host"})["plan"];
  auto& all = plan["reconstructions"];
  auto const page = [&] { return program::report::plan_answer({}, run); };
  auto const one = all[0];
  all.push_back(one);
  EXPECT_EQ(page().find("more geometr"), std::string::npos);
  all.push_back(one);
  all.back()["operation"] = "general_mbir_recon";
  auto const three = page();
  auto const fold = three.find("<details><summary>1 more geometry</summary>");
  ASSERT_NE(fold, three.npos) << three;
  EXPECT_LT(three.find("id=\"t-plan2\""), fold);
  EXPECT_LT(fold, three.find("id=\"t-plan3\""));
  EXPECT_NE(three.find("iterations, general views, "), three.npos);
}

TEST(StageGroups, OwnTimesOfStagesSumToTheWhole) {
  auto const stage = [](double seconds, int runs) { return json{{"seconds", seconds}, {"runs", runs}}; };
  json const times{{"Hessian", stage(0.1, 1)},
                   {"iteration", stage(0.9, 2)},
                   {"iteration/subset", stage(0.8, 4)},
                   {"iteration/subset/back", stage(0.5, 4)},
                   {"iteration/subset/direction", stage(0.2, 4)}};
  json const cost{{"stages", json::array()}, {"kernels", json::array()}, {"arrays", {array_of("y", "argument", 400)}}};
  json recon{{"seconds", 1.0}};
  program::add_stage_groups(recon, times, cost);
  EXPECT_NEAR(recon["sum of stages"].get<double>(), 1, 1e-12);
  double shares = 0;
  std::map<std::string, double> seconds;
  for (auto const& g : recon["groups"]) {
    shares += g["share"].get<double>();
    seconds[g["group"]] = g["seconds"];
  }
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_NEAR(seconds["back projection"], 0.5, 1e-12);
  EXPECT_NEAR(seconds["Hessian diagonal"], 0.1, 1e-12);
  EXPECT_NEAR(seconds["prior and update"], 0.2, 1e-12);
  EXPECT_NEAR(seconds["the rest"], 0.2, 1e-12) << "iterations and subsets without what is inside them";
  EXPECT_EQ(recon["transfers"]["bytes in"], 400);
}

/// The groups of a modelled reconstruction, whose stages are added up by name or not.
json groups_of(std::string const& geometry, bool added_up) {
  auto const& entries = program::profile_entries();
  auto many = *std::ranges::find(entries, geometry + "_mbir_recon", &program::profile_entry::name);
  many.arguments["max_iterations"] = 3;
  auto record = program::model_operation(many, program::problem_shape::cube(8)).record;
  EXPECT_GT(record.stages.size(), 100u);
  json recon;
  if (!added_up) {
    program::add_stage_groups(recon, nullptr, program::cost_json(record, "model", 0, 1));
  } else {
    auto const sums = program::add_up_stages(record);
    EXPECT_LT(record.stages.size(), 20u);
    program::add_stage_groups(recon, nullptr, program::with_sums(program::cost_json(record, "model", 0, 1), sums));
  }
  return recon["groups"];
}

TEST(StageGroups, OfStagesThatWereAddedUpAreTheSame) {
  for (std::string const geometry : {"parallel", "cone"}) {
    auto apart = groups_of(geometry, false), added_up = groups_of(geometry, true);
    ASSERT_EQ(apart.size(), added_up.size());
    for (std::size_t k = 0; k < apart.size(); ++k) {
      auto &one = apart[k]["cost"]["lanes useful"], &other = added_up[k]["cost"]["lanes useful"];
      EXPECT_NEAR(one.get<double>(), other.get<double>(), 1e-12);  // sums in another order
      one = other;
    }
    EXPECT_EQ(apart, added_up) << geometry;
  }
}

/// An XSpace with one GPU: kernels in two calls of an operation, the second one faster.
std::string xspace(std::string const& range, bool gpu = true) {
  using profile::wire;
  auto const name = [](std::int64_t id, std::string const& text) {
    wire of, entry;
    of.number(1, id);
    of.text(2, text);
    entry.number(1, id);
    entry.message(2, of);
    return entry;
  };
  auto const event = [](std::int64_t id, std::int64_t offset, std::int64_t duration) {
    wire e;
    e.number(1, id);
    e.number(2, offset);
    e.number(3, duration);
    return e;
  };
  auto const plane = [&](std::string const& called, std::string const& line, std::string const& what,
                         std::vector<std::pair<std::int64_t, std::int64_t>> const& spans) {
    wire p, l;
    p.text(2, called);
    l.text(2, line);
    for (auto const& [offset, duration] : spans) l.message(4, event(1, offset, duration));
    p.message(3, l);
    p.message(4, name(1, what));
    return p;
  };
  wire space;
  space.message(1, plane("/host:CPU", "python", range, {{1000, 5'000'000'000}, {6'000'000'000, 3'000'000'000}}));
  if (gpu)
    space.message(1, plane("/device:GPU:0", "Stream #1", "fusion",
                           {{2000, 4'000'000'000}, {6'500'000'000, 1'000'000'000}, {7'000'000'000, 1'000'000'000}}));
  return space.bytes();
}

/// A program that was built without protozero reads none.
bool reads_profiles() {
  try {
    program::mbirjax_times("", "a.xplane.pb");
  } catch (program::unavailable_error const&) {
    return false;
  } catch (error const&) {
  }
  return true;
}

TEST(Mbirjax, TimesAreThoseOfKernelsInTheSecondCall) {
  if (!reads_profiles()) GTEST_SKIP() << "built without protozero";
  auto const times = program::mbirjax_times(xspace("cone_back_project_v64"), "a.xplane.pb");
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].operation, operation);
  EXPECT_EQ(times[0].size, 64);
  EXPECT_EQ(times[0].calls, 1);
  EXPECT_NEAR(times[0].seconds, 1.5e-3, 1e-12) << "two kernels that overlap";
  EXPECT_EQ(program::mbirjax_times(xspace("cone_back_project"), "vol32/a.xplane.pb").at(0).size, 32);
}

TEST(Mbirjax, OneLineForEachMistake) {
  if (!reads_profiles()) GTEST_SKIP() << "built without protozero";
  auto const of = [](std::string const& bytes) {
    return complaint([&] { program::mbirjax_times(bytes, "a.xplane.pb"); });
  };
  EXPECT_EQ(of(""), "a.xplane.pb has no plane, expected an XSpace of jax.profiler");
  auto const good = xspace("cone_back_project_v64");
  EXPECT_NE(of(good.substr(0, good.size() - 3)).find("a.xplane.pb is damaged"), std::string::npos);
  EXPECT_NE(of(xspace("train_step")).find("a.xplane.pb is of another program"), std::string::npos);
  EXPECT_NE(of(xspace("cone_back_project_v64", false)).find("has no GPU"), std::string::npos);
  EXPECT_NE(of(xspace("cone_back_project")).find("says no size"), std::string::npos);
  scratch_folder folder;
  auto const path = folder.path().string();
  EXPECT_NE(complaint([&] { program::read_mbirjax_profile(path); }).find(path + " has no *.xplane.pb"),
            std::string::npos);
}

TEST(Synthesis, ReplacesTheModelForTheKernelThatWasExported) {
  auto run = profile_of();
  run["hand_off"] = {{{"operation", operation}, {"hls", {{"size", 64}, {"kernel", "abc"}}}}};
  run["word_lengths"][operation] = {{"size", 16},
                                    {"bound", 1e-4},
                                    {"error", 7e-5},
                                    {"within bound", true},
                                    {"arithmetic", {{"width", 25}}},
                                    {"data", {{"width", 16}}}};
  json form{
      {"operation", operation},
      {"size", 64},
      {"kernel", "abc"},
      {"target", "Alveo U280"},
      {"synthesised",
       {{"clock", 2.5e8}, {"latency clocks", 2.5e5}, {"dsp", 5000}, {"lut", 4e5}, {"bram36", 700}, {"uram", 100}}}};
  scratch_folder folder;
  auto const file = (folder / "synthesis.json").string();
  auto const add = [&] {
    write_text(file, form.dump());
    return complaint([&] { program::add_synthesis(run, file); });
  };
  ASSERT_EQ(add(), "");
  auto const o = judged(run, {"host"})["operations"][0];
  EXPECT_EQ(o["target"], "Alveo U280");
  auto const t = std::ranges::find_if(o["targets"], [](json const& x) { return !x["synthesised"].is_null(); });
  ASSERT_NE(t, o["targets"].end());
  EXPECT_EQ((*t)["word"], "fixed 25");
  EXPECT_DOUBLE_EQ((*t)["kernel seconds"][1].get<double>(), 1e-3);
  EXPECT_EQ((*t)["bounded by"], "synthesis");
  auto const before = run;
  form["kernel"] = "abd";
  EXPECT_NE(add().find("is of another kernel: abd at size 64, expected abc at size 64"), std::string::npos);
  form["synthesised"]["clock"] = nullptr;
  EXPECT_EQ(add(), file + ": synthesised.clock is null, expected a number > 0");
  EXPECT_EQ(run, before);
}

}  // namespace
}  // namespace mbirk::test
