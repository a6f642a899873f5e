// mbirk bench, compare --by-roof and mbirk estimate; the heap profiles of mbirk profile.
#include <algorithm>
#include <cstdlib>

#include "program.hpp"

namespace mbirk::test {
namespace {

TEST(Bench, MeasuresAgainstCeilings) {
  scratch_folder folder;
  auto const file = (folder.path() / "bench.json").string();
  auto const ran = mbirk_program(
      {"bench", "--sizes", "8", "--cell", "5,7,9", "--ops", "parallel_*_project", "--out", file, "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_NE(ran.out.find("ceilings: "), std::string::npos) << ran;
  auto document = json::parse(file_text(file));
  auto const& ceilings = document["ceilings"];
  EXPECT_GT(ceilings["fma per second"]["best"], 1e8);
  double last = 1e18;
  // by increasing distance; a factor of two for other activity on the machine
  for (auto const& level : ceilings["read"]) {
    EXPECT_LE(level["bytes per second"]["best"].get<double>(), 2 * last) << level;
    last = level["bytes per second"]["best"];
  }
  auto const& rows = document["measurements"];
  ASSERT_EQ(rows.size(), 8u) << "four operations, two cells";
  for (auto const& row : rows) {
    EXPECT_GT(row["time"], 0.0);
    EXPECT_LE(row["min"], row["time"]);
    EXPECT_GE(row["calls"], 9);
    std::size_t calls = 0, clean = 0;
    for (auto const& s : row["samples"]) {
      calls += s["times"].size();
      clean += s["state"] == "disturbed" ? 0 : s["times"].size();
      EXPECT_GT(s["wall seconds"], 0.0);
    }
    EXPECT_EQ(row["clean calls"], clean);
    EXPECT_EQ(row["calls"], row["disturbed"] == true ? calls : clean);
    EXPECT_TRUE(row["interval"].is_array());
    EXPECT_EQ(row["gups"].is_null(), row["disturbed"] == true);
    EXPECT_EQ(row["roof"].get<double>(),
              std::max(row["fma seconds"].get<double>(), row["memory seconds"].get<double>()));
    EXPECT_GE(row["flops"].get<double>(), row["flops minimal"].get<double>());
  }
  EXPECT_EQ(rows[0]["cell"], "8^3");
  EXPECT_EQ(rows[7]["cell"], "5x7x9");
  EXPECT_EQ(rows[7]["bytes compulsory"].get<double>() > 0, true);

  auto const same = mbirk_program({"compare", file, file, "--by-roof"});
  EXPECT_EQ(same.code, 0) << same;
  EXPECT_NE(same.out.find("A / roof"), std::string::npos) << same;
  for (auto& row : document["measurements"]) row["disturbed"] = false;  // the machine may be busy
  std::ofstream(file) << document.dump();
  auto slower = document;
  for (auto& row : slower["measurements"])
    row["time"] = 4 * row["time"].get<double>(), row["roof"] = 2 * row["roof"].get<double>();
  auto const other = folder.path() / "slower.json";
  std::ofstream(other) << slower.dump();
  EXPECT_EQ(mbirk_program({"compare", file, other.string(), "--by-roof", "--max-slowdown", "2.1"}).code, 0)
      << "half as far from a roof twice as high";
  EXPECT_EQ(mbirk_program({"compare", file, other.string(), "--by-roof", "--max-slowdown", "1.9"}).code, 1);
  slower["measurements"][0].erase("roof");
  std::ofstream(other) << slower.dump();
  expect_failure(mbirk_program({"compare", file, other.string(), "--by-roof"}), 2, "measurements[0].roof is missing");
}

TEST(Bench, RoundsHaveRoofsOfTheirOwn) {
  scratch_folder folder;
  auto const file = (folder.path() / "bench.json").string();
  auto const ran = mbirk_program({"bench", "--sizes", "8", "--cell", "5,7,9", "--ops", "parallel_back_project",
                                  "--rounds", "2", "--pin", "--budget", "0.1", "--out", file, "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  EXPECT_NE(ran.out.find("round 2 of 2"), std::string::npos) << ran;
  auto document = json::parse(file_text(file));
  auto& rows = document["measurements"];
  ASSERT_EQ(rows.size(), 4u) << "two cells, two rounds";
  EXPECT_EQ(document["environment"]["pinned to"].size(), document["environment"]["threads"].get<std::size_t>())
      << "a processor for each thread";
  auto const fma_rate = [&](std::size_t k) {
    return rows[k]["flops"].get<double>() / 2 / rows[k]["fma seconds"].get<double>();
  };
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(rows[k]["round"], k < 2 ? 1 : 2);
    EXPECT_LE(fma_rate(k), 1.000001 * document["ceilings"]["fma per second"]["best"].get<double>())
        << "the highest of the rounds";
    rows[k]["time"] = 3e-3, rows[k]["roof"] = 1e-3, rows[k]["disturbed"] = false;
  }
  auto const other = folder.path() / "other.json";
  std::ofstream(file) << document.dump();
  rows[2]["time"] = 9e-3;  // one of two rounds three times as far from its roof: the median is twice as far
  std::ofstream(other) << document.dump();
  EXPECT_EQ(mbirk_program({"compare", file, other.string(), "--by-roof", "--max-slowdown", "2.01"}).code, 0);
  EXPECT_EQ(mbirk_program({"compare", file, other.string(), "--by-roof", "--max-slowdown", "1.99"}).code, 1);
}

TEST(Bench, IterationsAndThreads) {
  scratch_folder folder;
  auto const file = (folder.path() / "bench.json").string();
  auto const ran = mbirk_program({"bench", "--sizes", "46", "--cell", "5,7,9", "--ops", "[pc]*_vcd_iteration",
                                  "--scaling", "--threads", "2", "--out", file, "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  auto const rows = json::parse(file_text(file))["measurements"];
  ASSERT_EQ(rows.size(), 2u) << "parallel and cone beam; the cell has too few pixels for 128 subsets";
  for (std::size_t k = 0; k < 2; ++k) {
    auto const& row = rows[k];
    EXPECT_EQ(row["operation"], k == 0 ? "parallel_vcd_iteration" : "cone_vcd_iteration");
    bool const known = !row["scaling"].is_null();  // the machine may be busy
    EXPECT_FALSE(known && row["disturbed"] == true);
    EXPECT_TRUE(!known || row["scaling"].get<double>() > 0);
    EXPECT_GE(row["samples"].size(), 3u);
    double const samples = 23 * 46 * 46, pixels = row["items"].get<double>() / (2 * 23 * 46);
    EXPECT_EQ(row["bytes compulsory"].get<double>(), 24 * 128 * samples + (k == 0 ? 28 : 44) * pixels * 46);
    EXPECT_GT(row["flops"].get<double>(), 6 * 128 * samples + 94 * pixels * 46);
    EXPECT_EQ(row["roof"].get<double>(), row["fma seconds"].get<double>() + row["memory seconds"].get<double>())
        << "they take turns";
  }
}

TEST(Bench, MeasuresInstrumentation) {
  scratch_folder folder;
  auto const file = (folder.path() / "overhead.json").string();
  auto const ran = mbirk_program(
      {"bench", "--overhead", "tracing,operations", "--sizes", "8", "--ops", "parallel_*back_project", "--out", file});
  ASSERT_EQ(ran.code, 0) << ran;
  auto const rows = json::parse(file_text(file))["overhead"];
  ASSERT_EQ(rows.size(), 4u) << "back and sparse back, each under two policies";
  for (auto const& row : rows) {
    EXPECT_GE(row["pairs"], 15);
    EXPECT_GT(row["ratio"], 0.0);
    EXPECT_LE(row["ratio quartiles"][0], row["ratio"]);
    EXPECT_GE(row["ratio quartiles"][1], row["ratio"]);
    EXPECT_EQ(row["volume_size"], 8);
    EXPECT_NE(
        ran.out.find("| " + row["operation"].get<std::string>() + " | 8 | " + row["policy"].get<std::string>() + " | "),
        std::string::npos)
        << ran;
  }
  EXPECT_EQ(rows[0]["dropped events"], 0);
  EXPECT_GT(rows[0]["events"], 3);
  EXPECT_LT(rows[0]["events"], 100) << "of one call";
}

TEST(Bench, BadUsage) {
  expect_failure(mbirk_program({"bench", "--overhead", "nothing"}), 2, "--overhead");
  expect_failure(mbirk_program({"bench", "--ops", "nothing"}), 2, "--ops nothing matches no operation");
  expect_failure(mbirk_program({"bench", "--cell", "5,7"}), 2, "--cell has 2 numbers, expected VIEWS,ROWS,CHANNELS");
  expect_failure(mbirk_program({"bench", "--ops", "parallel_back_project", "--out", "/nowhere/at/all.json"}), 2,
                 "/nowhere/at/all.json");
  expect_failure(mbirk_program({"bench", "--policy", "emulated"}), 3, "mbirk bench runs on the host only");
}

TEST(Profile, WritesHeapsThatPprofReads) {
  auto const& profile = host_profile();
  ASSERT_EQ(profile.ran.code, 0) << profile.ran;
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(profile.folder / "memory"))
    if (entry.path().filename().string().starts_with("cone_back_project_")) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 4u);
  EXPECT_TRUE(files[0].ends_with("cone_back_project_v16_after.pb")) << files[0];
  EXPECT_TRUE(files[2].ends_with("cone_back_project_v16_lifetimes.txt")) << files[2];
  EXPECT_TRUE(files[3].ends_with("cone_back_project_v16_peak.pb")) << files[3];
  if (std::system("command -v go >/dev/null") != 0) GTEST_SKIP() << "there is no go tool pprof here";
  scratch_folder scratch;
  auto const said = (scratch / "said.txt").string();
  auto const check = std::string("sh ") + MBIRK_GOLDEN_DIR "/../program/check_pprof.sh '" + files[3] + "' '" +
                     files[1] + "' cone_back_project 'channel-major sinogram' >'" + said + "' 2>&1";
  EXPECT_EQ(std::system(check.c_str()), 0) << file_text(said);
}

std::int64_t bytes_of(json const& estimate, std::string const& name) {
  std::int64_t sum = 0;
  for (auto const& array : estimate["arrays"])
    if (array["name"] == name) sum += array["bytes"].get<std::int64_t>();
  return sum;
}

TEST(Estimate, SaysWhatAnOperationTakes) {
  auto const done = mbirk_program(
      {"estimate", "cone_forward_project", "--size", "64", "--json", "--threads", "1", "--on", "h100"});
  ASSERT_EQ(done.code, 0) << done;
  auto const e = json::parse(done.out);
  EXPECT_EQ(e["gpu"]["device"], "H100");
  EXPECT_EQ(e["gpu"]["source"], "predicted");
  EXPECT_GT(e["gpu"]["lower bound"], 0.0);
  EXPECT_EQ(e["gpu"]["launches"][0]["kernel"], "cone_gather");
  EXPECT_EQ(e["operation"], "cone_forward_project");
  EXPECT_EQ(bytes_of(e, "recon"), 4 * 64 * 64 * 64);
  EXPECT_EQ(bytes_of(e, "sinogram"), 4 * 32 * 64 * 64);
  EXPECT_GE(bytes_of(e, "channel-major sinogram"), 4 * 32 * 64 * 64);
  std::int64_t sum = 0;
  for (auto const& array : e["arrays"]) sum += array["bytes"].get<std::int64_t>();
  EXPECT_EQ(e["memory"]["peak"], sum);
  EXPECT_EQ(e["transfers"]["host to device"], 4 * 64 * 64 * 64);
  EXPECT_GT(e["seconds"]["FMA ceiling"], 0.0);

  auto const general = mbirk_program({"estimate", "general_back_project", "--size", "16", "--on", "h100"});
  ASSERT_EQ(general.code, 0) << general;
  EXPECT_NE(general.out.find("On an H100: not predicted: what the kernels of this geometry cost is not known."),
            std::string::npos)
      << general;

  auto const large = mbirk_program(
      {"estimate", "parallel_mbir_recon", "--size", "1024", "--threads", "1"});  // more than the machine has
  EXPECT_EQ(large.code, 0) << large;
  EXPECT_NE(large.out.find("GiB"), std::string::npos) << large;
}

TEST(Estimate, OfAGeometryFile) {
  scratch_folder folder;
  auto const file = (folder.path() / "g.json").string();
  json g{{"geometry", "parallel"},
         {"angles", {{"start", 0}, {"stop", 3.1}, {"num", 7}, {"endpoint", false}}},
         {"sinogram_shape", {7, 5, 9}},
         {"params", json::object()}};
  std::ofstream(file) << g.dump();
  auto const done = mbirk_program({"estimate", "recon", "--geometry", file, "--json", "--threads", "1"});
  ASSERT_EQ(done.code, 0) << done;
  EXPECT_EQ(json::parse(done.out)["operation"], "parallel_mbir_recon");
  EXPECT_EQ(bytes_of(json::parse(done.out), "sinogram"), 4 * 7 * 5 * 9);
  expect_failure(mbirk_program({"estimate", "cone_back_project", "--geometry", file}), 2,
                 "operation cone_back_project is not known in geometry parallel");
  // Filters are predicted only with --size, and projections of general views never are.
  auto const expect_not_predicted = [&](char const* operation, std::string const& why) {
    auto const found = mbirk_program({"estimate", operation, "--geometry", file, "--on", "h100", "--threads", "1"});
    EXPECT_EQ(found.code, 0) << found;
    EXPECT_NE(found.out.find("On an H100: not predicted: " + why), std::string::npos) << found;
  };
  expect_not_predicted("direct_filter", "only with --size, not for a geometry file.");
  auto general = g;
  general.erase("angles");
  // Each vector holds the ray, the center of the detector, and the steps of channels and rows.
  for (int k = 0; k < 7; ++k)
    general["view_vectors"].push_back({0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  general.update({{"geometry", "general"},
                  {"recon_shape", {9, 9, 5}},
                  {"params", {{"parallel_rays", true}, {"delta_voxel", 1}}}});
  std::ofstream(file) << general.dump();
  expect_not_predicted("back_project", "what the kernels of this geometry cost is not known.");
  g.erase("sinogram_shape");
  std::ofstream(file) << g.dump();
  expect_failure(mbirk_program({"estimate", "recon", "--geometry", file}), 2, "sinogram_shape is missing");
}

TEST(Estimate, OfRanks) {
  auto const of = [](std::vector<std::string> const& more) {
    std::vector<std::string> arguments{"estimate", "cone_mbir_recon", "--size", "64", "--threads", "1", "--ranks"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return mbirk_program(arguments);
  };
  auto const done = of({"4", "--json", "--network", "10,1"});
  ASSERT_EQ(done.code, 0) << done;
  auto const e = json::parse(done.out)["ranks"];
  EXPECT_EQ(e["ranks"], 4);
  EXPECT_EQ(e["slabs"], 1);
  EXPECT_EQ(e["groups of views"], 4);
  EXPECT_GT(e["efficiency"], 0.1);
  EXPECT_LT(e["efficiency"], 1.0);
  // 128 subsets: four exchanges of log2 4 messages, and twice the voxels of the other ranks.
  EXPECT_EQ(e["latencies"], 128 * 4 * 2);
  double const sums = 128 * (16 * 64 + 24), voxels = (e["bytes sent"].get<double>() - sums) / (2 * 4 * 0.75);
  EXPECT_GT(voxels, 0.7 * 64 * 64 * 64);
  EXPECT_LT(voxels, 0.8 * 64 * 64 * 64);
  EXPECT_NEAR(e["communication"], 10e-6 * 128 * 8 + 1e-9 * e["bytes sent"].get<double>(), 1e-9);
  EXPECT_GT(e["memory"], 4.0 * 64 * 64 * 64);
  auto const text = of({"1"});
  EXPECT_NE(text.out.find("efficiency 100 %"), std::string::npos) << text;
  expect_failure(of({"17"}), 2, "17 ranks for 16 ranges of views");
  expect_failure(of({"2", "--network", "fast"}), 2, "--network is \"fast\", expected microseconds and GB/s");
  expect_failure(mbirk_program({"estimate", "cone_back_project", "--size", "8", "--ranks", "2"}), 2,
                 "--ranks is for recon, found back_project");
}

/// The best slabs and groups of views for a scan of n slices, n x n pixels and n views.
json best_sharing(std::string const& geometry, int n, int ranks, std::vector<std::string> const& more = {}) {
  scratch_folder folder;
  auto const file = (folder.path() / "g.json").string();
  json g{{"geometry", geometry},
         {"angles", {{"start", 0}, {"stop", geometry == "cone" ? 6.283 : 3.1416}, {"num", n}, {"endpoint", false}}},
         {"sinogram_shape", {n, n, n}},
         {"params", json::object()}};
  if (geometry == "cone") g["params"] = {{"source_detector_dist", 4.0 * n}, {"source_iso_dist", 4.0 * n}};
  std::ofstream(file) << g.dump();
  // One iteration; 15 take two seconds to model.
  std::vector<std::string> arguments{"estimate", geometry + "_mbir_recon", "--geometry", file,
                                     "--json",   "--threads", "1",                 "--slabs-and-views",
                                     "--ranks",  std::to_string(ranks)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto const done = mbirk_program(arguments);
  EXPECT_EQ(done.code, 0) << done;
  return done.code == 0 ? json::parse(done.out)["ranks"] : json();
}

TEST(Estimate, OfSlabsAndViews) {
  // With messages that cost nothing, parallel beam is shared out by views first: every pixel and view costs something
  // besides its slices.
  auto const free = best_sharing("parallel", 64, 8, {"--network", "0,1e9"});
  EXPECT_EQ(free["slabs"], 1);
  EXPECT_EQ(free["groups of views"], 8);
  EXPECT_NEAR(free["efficiency"], 1.0, 1e-6);
  EXPECT_TRUE(free["memory"].is_null());
  // With slow ones by slices, which need no voxels of others, as far as there are units of 32.
  auto const slow = best_sharing("parallel", 64, 8, {"--network", "0,0.01"});
  EXPECT_EQ(slow["slabs"], 2);
  EXPECT_EQ(slow["groups of views"], 4);
  EXPECT_LT(slow["efficiency"], free["efficiency"]);
  // Where only waiting costs, cone beam is shared out by slabs: two waits of all ranks and one of neighbours.
  auto const cone = best_sharing("cone", 64, 4, {"--network", "1000,1e9"});
  EXPECT_EQ(cone["slabs"], 4);
  EXPECT_EQ(cone["latencies"], 128 * (2 * 2 + 1));
  // D_0 is 8 radii; the second slab meets others at the middle plane and 16 voxels from it.
  double const pixels = cone["alone"].get<double>() / (1e-9 * 64 * (64 + 10)), q = 1.0 / 8,
               rows = 1 + 1 + 16 * 2 * q / (1 - q * q);
  EXPECT_NEAR(cone["bytes sent"].get<double>(), 128 * (2 * 4 * pixels / 128 + 16 * 16 + 24 + 4 * 64 * 64 * rows), 1);
  auto const several = best_sharing("parallel", 128, 3, {"--ranks", "64,512"});
  ASSERT_EQ(several.size(), 3u);
  EXPECT_EQ(several[2]["ranks"], 512);
  EXPECT_GT(several[0]["efficiency"].get<double>(), several[1]["efficiency"].get<double>());

  std::vector<std::string> arguments{"estimate", "parallel_mbir_recon", "--size", "64", "--slabs-and-views"};
  expect_failure(mbirk_program(arguments), 2, "--slabs-and-views is given without --ranks");
  arguments.insert(arguments.end(), {"--ranks", "1000000"});
  expect_failure(mbirk_program(arguments), 2,
                 "1000000 ranks for 64 slices and 32 views, expected a number that slabs times groups of views give");
}

TEST(Estimate, BadUsage) {
  expect_failure(mbirk_program({"estimate", "nothing", "--size", "8"}), 2,
                 "operation nothing is not known, expected one of parallel_forward_project");
  expect_failure(mbirk_program({"estimate", "cone_back_project", "--size", "8", "--on", "V100"}), 2,
                 "--on V100 is not a known device, expected one of A100, L40S, RTX 4090, H100");
  expect_failure(mbirk_program({"estimate", "recon"}), 2, "expected either --size N or --geometry FILE");
  expect_failure(mbirk_program({"estimate", "recon", "--size", "8", "--geometry", "g.json"}), 2,
                 "expected either --size N or --geometry FILE");
}

}  // namespace
}  // namespace mbirk::test
