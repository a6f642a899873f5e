// The block "candidates" with a device of the user, of a real profile, and of malformed files.
#include "candidate_profile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "input/json_field.hpp"

namespace mbirk::test {
namespace {

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
    } catch (io_error const& e) { return e.what(); }
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
    if (o["operation"] == "parallel_mbir_recon") { EXPECT_EQ(o["share"]["value"], 1.0); }
    if (o["operation"] == "parallel_back_project") {
      EXPECT_GT(o["share"]["value"], 0.02);
      EXPECT_LT(o["share"]["value"], 1);
    }
  }
}
#endif

}  // namespace
}  // namespace mbirk::test
