// Memory: available memory, on folders that imitate /proc and /sys; predicted memory of a reconstruction; checkpoints.
#include "operations/recon_memory.hpp"

#include <cmath>

#include "input/checkpoint_file.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

using namespace program;

struct Memory : testing::Test {
  scratch_folder root;

  void put(std::string const& name, std::string const& text) const {
    fs::create_directories((root / name).parent_path());
    write_text(root / name, text);
  }
  double bytes() const { return memory_available(root.path()).value().bytes; }
};

TEST_F(Memory, WhatTheSystemHas) {
  EXPECT_FALSE(memory_available(root.path()));
  put("proc/meminfo", "MemTotal:       24000000 kB\nMemFree:          100000 kB\nMemAvailable:   20000000 kB\n");
  EXPECT_EQ(bytes(), 20000000.0 * 1024);
  EXPECT_EQ(memory_available(root.path())->source, "MemAvailable of /proc/meminfo");
}

TEST_F(Memory, TheLowestControlGroupCounts) {
  put("proc/meminfo", "MemAvailable:   20000000 kB\n");
  put("proc/self/cgroup", "0::/user/job\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  put("sys/fs/cgroup/memory.current", "7\n");
  EXPECT_EQ(bytes(), 20000000.0 * 1024);
  put("sys/fs/cgroup/user/memory.max", "1000000\n");
  put("sys/fs/cgroup/user/memory.current", "400000\n");
  EXPECT_EQ(bytes(), 600000);
  EXPECT_EQ(memory_available(root.path())->source, "the memory limit of the control group");
  put("sys/fs/cgroup/user/job/memory.max", "500000\n");
  put("sys/fs/cgroup/user/job/memory.current", "450000\n");
  // page cache can be reclaimed
  put("sys/fs/cgroup/user/job/memory.stat", "anon 1\ninactive_file 20000\nactive_file 5\n");
  EXPECT_EQ(bytes(), 70000);
  put("sys/fs/cgroup/user/job/memory.current", "900000\n");
  EXPECT_EQ(bytes(), 0);
}

TEST_F(Memory, TheOlderControlGroups) {
  put("proc/meminfo", "MemAvailable:   20000000 kB\n");
  put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(bytes(), 200000);
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  EXPECT_EQ(bytes(), 20000000.0 * 1024);
}

TEST_F(Memory, OfThisMachine) {
  auto const available = memory_available();
  ASSERT_TRUE(available);
  EXPECT_GT(available->bytes, 1e6);
  EXPECT_LT(available->bytes, 1e15);
}

TEST(MemoryText, ThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(20.0 * 1048576), "20.0 MiB");
  EXPECT_EQ(bytes_text(300.0 * 1073741824), "300 GiB");
}

TEST(ReconMemory, GrowsWithWhatIsAsked) {
  cone_scan const cone(cone_parameters{.sinogram_shape = {6, 40, 50}, .angles = {0, 1, 2, 3, 4, 5}, .source_detector_dist = 200, .source_iso_dist = 100});
  recon_options o;
  auto const total = [&](memory_question const& q) { return total_bytes(recon_memory(cone, o, q)); };
  double const voxels = 4.0 * 50 * 50 * 40, samples = 4.0 * 6 * 40 * 50;
  auto const direct = total({.vcd = false}), vcd = total({}), weighted = total({.weighted = true});
  EXPECT_GT(direct, voxels + 2 * samples);
  EXPECT_GT(vcd - direct, voxels + samples);
  EXPECT_GE(weighted - vcd, 2 * samples);
  EXPECT_GT(total({.threads = 8}), vcd);
  auto const few = vcd;
  o.partition_sequence = {0};  // one subset: the direction is a whole volume, twice with damping
  // pixels in the mask, a fraction pi/4, in slices padded to 48
  EXPECT_NEAR(total({}) - few, 2 * 3.0 / 4 * voxels, 0.35 * voxels);
  auto const items = recon_memory(cone, o, {});
  for (std::size_t k = 1; k < items.size(); ++k) EXPECT_GE(items[k - 1].bytes, items[k].bytes);
}

recon_state example_state() {
  recon_state s;
  s.sinogram_shape = {2, 1, 3};
  s.recon_shape = {2, 2, 1};
  s.seed = 4000000000u;
  s.recon = {1, 2, 3, 4};
  s.hessian = {5, 6, 7, 8};
  s.weighted_error = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  s.record.num_iterations = 2;
  s.record.granularity = {1, 2};
  s.record.partition_sequence = {0, 1};
  s.record.fm_rmse = {0.1, 1.0 / 3};
  s.record.prior_loss = {0, 0};
  s.record.sigma_y = 0.7, s.record.sigma_x = 0.2, s.record.sigma_prox = 0.3;
  s.record.stop_threshold_change_pct = {50, std::nan("")};
  s.record.alpha_values = {1, 1.5};
  s.record.delta_norm_per_slice = {{0.5}, {0.25}};
  return s;
}

TEST(RecordJson, HasTheNamesOfMbirjax) {
  auto const record = example_state().record;
  auto const j = json::parse(record_json(record).dump());
  EXPECT_EQ(j["regularization_params"], (json{{"sigma_y", 0.7}, {"sigma_x", 0.2}, {"sigma_prox", 0.3}}));
  EXPECT_EQ(j["num_iterations"], 2);
  EXPECT_EQ(j["granularity"].get<std::vector<index_t>>(), record.granularity);
  EXPECT_EQ(j["partition_sequence"].get<std::vector<index_t>>(), record.partition_sequence);
  EXPECT_EQ(j["fm_rmse"].get<std::vector<double>>(), record.fm_rmse);
  EXPECT_EQ(j["stop_threshold_change_pct"][0], 50);
  EXPECT_TRUE(j["stop_threshold_change_pct"][1].is_null());
  EXPECT_EQ(j["delta_norm_per_slice"].get<std::vector<std::vector<double>>>(), record.delta_norm_per_slice);
}

TEST(ReconCheckpoint, WhatIsWrittenIsReadBack) {
  scratch_folder folder;
  auto const state = example_state();
  json const parameters = {{"sharpness", 1.0}, {"angles", {0.1, 0.2}}};
  write_checkpoint(folder / "c.ckpt", state, parameters);
  auto const back = read_checkpoint(folder / "c.ckpt", parameters);
  EXPECT_EQ(back.sinogram_shape, state.sinogram_shape);
  EXPECT_EQ(back.recon_shape, state.recon_shape);
  EXPECT_EQ(back.seed, state.seed);
  EXPECT_EQ(back.recon, state.recon);
  EXPECT_EQ(back.hessian, state.hessian);
  EXPECT_EQ(back.weighted_error, state.weighted_error);
  EXPECT_EQ(back.record.fm_rmse, state.record.fm_rmse);

  auto const message = [&](fs::path const& path, json const& p) -> std::string {
    try {
      read_checkpoint(path, p);
    } catch (io_error const& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  auto const path = (folder / "c.ckpt").string();
  EXPECT_EQ(message(path, {{"sharpness", 2.0}, {"angles", {0.1, 0.2}}}), path + ": was made with other parameters: /sharpness is 1.0 there and 2.0 here");
  EXPECT_EQ(message(path, {{"sharpness", 1.0}, {"angles", {0.1, 0.2}}, {"p", 2}}), path + ": was made with other parameters: /p is missing there and 2 here");
  EXPECT_NE(message(folder / "none", parameters).find("none: no such file"), std::string::npos);
  write_text(folder / "text", "text");
  save_checkpoint(folder / "other", state);
  EXPECT_NE(message(folder / "other", parameters).find("is not a checkpoint of mbirk recon"), std::string::npos);
  EXPECT_NE(message(folder / "text", parameters).find("is not a checkpoint of mbirk"), std::string::npos);
}

}  // namespace
}  // namespace mbirk::test
