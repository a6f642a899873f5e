// Memory: available memory, on folders that imitate /proc and /sys; predicted memory of a reconstruction; checkpoints.
#include "operations/recon_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory_resource>
#include <optional>
#include <type_traits>
#include <vector>

#include "commands/recon_slabs.hpp"
#include "input/checkpoint_file.hpp"
#include "machine/memory.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/recon.hpp"
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

/// Tracks memory in use, and its peak.
class peak_resource final : public std::pmr::memory_resource {
 public:
  double used() const { return used_; }
  double peak() const { return peak_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t align) override {
    used_ += static_cast<double>(bytes);
    peak_ = std::max(peak_, used_);
    return std::pmr::new_delete_resource()->allocate(bytes, align);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t align) override {
    used_ -= static_cast<double>(bytes);
    std::pmr::new_delete_resource()->deallocate(p, bytes, align);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override { return this == &other; }

  double used_ = 0, peak_ = 0;
};

/// A small problem of a geometry, and the memory that its reconstructions really take: the caller's arrays, the
/// temporaries of the library, and the state that it copies for a checkpoint.
template <class Geometry> struct ReconMemory : testing::Test {
  std::array<index_t, 3> const shape{21, 71, 85};
  scan<Geometry> const s = make();
  std::vector<float> y = std::vector<float>(21 * 71 * 85), w = std::vector<float>(y.size(), 1);
  std::vector<float> x =
      std::vector<float>(static_cast<std::size_t>(s.recon_shape()[0] * s.recon_shape()[1] * s.recon_shape()[2]));
  view<float const, 3> const sinogram{y.data(), shape}, weights{w.data(), shape};
  view<float, 3> const volume{x.data(), s.recon_shape()};

  ReconMemory() {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1 + std::sin(static_cast<float>(i));
  }
  scan<Geometry> make() const {
    typename Geometry::parameters p;
    p.sinogram_shape = shape;
    for (int v = 0; v < 21; ++v) p.angles.push_back(0.15f * static_cast<float>(v));
    if constexpr (std::is_same_v<Geometry, cone_geometry>) {
      p.source_detector_dist = 340;
      p.source_iso_dist = 170;
    }
    return scan<Geometry>(p);
  }
  double samples() const { return 4.0 * static_cast<double>(y.size()); }
  double voxels() const { return 4.0 * static_cast<double>(x.size()); }

  std::vector<memory_item> items(recon_options const& o, memory_question const& q, int threads) const {
    return recon_memory(exec::host(threads), s, o, q);
  }
  /// All but the lists of pixels, which are not counted.
  static double counted(std::vector<memory_item> const& items) {
    double sum = 0;
    for (auto const& item : items)
      if (item.name != "lists of pixels") sum += item.bytes;
    return sum;
  }
  double really_used(recon_options o, memory_question const& q, int threads) const {
    peak_resource memory;
    context const ctx{exec::host(threads, &memory), instrument::none{}};
    double caller = samples() + voxels(), with_state = 0;
    if (!q.vcd) {
      direct_recon(ctx, s, sinogram, volume);
      return caller + memory.peak();
    }
    // While the state is copied, there is also the error sinogram in the caller's layout.
    o.checkpoint = [&](recon_state const& state) {
      auto const copies =
          4.0 * static_cast<double>(state.recon.size() + state.hessian.size() + state.weighted_error.size());
      with_state = std::max(with_state, memory.used() + samples() + copies);
    };
    recon(ctx, s, sinogram, q.weighted ? std::optional(weights) : std::nullopt, volume, o);
    if (q.weighted) caller += samples();
    if (o.resume) caller += 2 * voxels() + samples();
    return caller + std::max(memory.peak(), with_state);
  }
};
using both_geometries = testing::Types<parallel_geometry, cone_geometry>;
TYPED_TEST_SUITE(ReconMemory, both_geometries);

TYPED_TEST(ReconMemory, IsWhatIsAllocated) {
  for (int const threads : {1, 3}) {
    EXPECT_EQ(this->counted(this->items({}, {.vcd = false}, threads)), this->really_used({}, {.vcd = false}, threads));
    for (bool const weighted : {false, true})
      for (index_t const subsets : {0, 1, 16, 400}) {  // 0: the default partitions
        recon_options o{{.max_iterations = 2, .stop_threshold_change_pct = 0}};
        if (subsets > 0) {
          o.granularity = {subsets};
          o.partition_sequence = {0};
        }
        memory_question const q{.weighted = weighted};
        EXPECT_EQ(this->counted(this->items(o, q, threads)), this->really_used(o, q, threads))
            << weighted << subsets << threads;
      }
  }
}

TYPED_TEST(ReconMemory, IncludesTheStateToResume) {
  recon_state state;
  recon_options o{
      {.max_iterations = 2, .stop_threshold_change_pct = 0, .checkpoint = [&](recon_state const& s) { state = s; }}};
  recon(context{exec::host(1), instrument::none{}}, this->s, this->sinogram, {}, this->volume, o);
  o.resume = &state;
  o.max_iterations = 4;
  EXPECT_EQ(this->counted(this->items(o, {}, 1)), this->really_used(o, {}, 1));
}

TYPED_TEST(ReconMemory, NamesTheArraysLargestFirst) {
  auto const items = this->items({}, {.weighted = true}, 2);
  auto const bytes = [&](std::string const& name) {
    for (auto const& item : items)
      if (item.name == name) return item.bytes;
    return 0.0;
  };
  EXPECT_EQ(bytes("sinogram"), this->samples());
  EXPECT_EQ(bytes("weights"), this->samples());
  EXPECT_GE(bytes("weights, reordered"), this->samples());
  EXPECT_EQ(bytes("reconstruction"), this->voxels());
  EXPECT_EQ(bytes("Hessian diagonal"), this->voxels());
  EXPECT_GT(bytes("lists of pixels"), 0);
  for (std::size_t k = 1; k < items.size(); ++k) EXPECT_GE(items[k - 1].bytes, items[k].bytes);
  // Where the caller's arrays do not fit, nothing else is determined.
  EXPECT_LT(recon_memory(exec::host(2), this->s, {}, {.weighted = true}, this->samples()).size(), items.size());
  // A huge number of iterations is not looped over.
  EXPECT_EQ(total_bytes(this->items({{.max_iterations = 100000}}, {.weighted = true}, 2)), total_bytes(items));
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
  auto const back = read_checkpoint(folder / "c.ckpt", parameters).state;
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
  EXPECT_EQ(message(path, {{"sharpness", 2.0}, {"angles", {0.1, 0.2}}}),
            path + ": was made with other parameters: /sharpness is 1.0 there and 2.0 here");
  EXPECT_EQ(message(path, {{"sharpness", 1.0}, {"angles", {0.1, 0.2}}, {"p", 2}}),
            path + ": was made with other parameters: /p is missing there and 2 here");
  EXPECT_NE(message(folder / "none", parameters).find("none: no such file"), std::string::npos);
  write_text(folder / "text", "text");
  save_checkpoint(folder / "deep", state, "{\"a\": " + std::string(300'000, '[') + std::string(300'000, ']') + '}');
  EXPECT_NE(message(folder / "deep", parameters).find("deep: its note: has more than 64 arrays and objects"),
            std::string::npos);
  save_checkpoint(folder / "twice", state, "{\"a\": 1, \"a\": 2}");
  EXPECT_NE(message(folder / "twice", parameters).find("a is there twice"), std::string::npos);
  save_checkpoint(folder / "long", state, "{\"sharpness\": \"" + std::string(5000, 'x') + "\"}");
  EXPECT_LT(message(folder / "long", parameters).size(), 600u);
  save_checkpoint(folder / "other", state);
  EXPECT_NE(message(folder / "other", parameters).find("is not a checkpoint of mbirk recon"), std::string::npos);
  EXPECT_NE(message(folder / "text", parameters).find("is not a checkpoint of mbirk"), std::string::npos);
}

TEST(ReconCheckpoint, MemoryIsCheckedBeforeTheArraysAreRead) {
  scratch_folder folder;
  write_checkpoint(folder / "c.ckpt", example_state(), json::object());
  // 4 + 4 voxels and 6 samples of 4 bytes
  EXPECT_NO_THROW(read_checkpoint(folder / "c.ckpt", json::object(), memory_budget(available_memory{56, "a test"})));
  EXPECT_THROW(read_checkpoint(folder / "c.ckpt", json::object(), memory_budget(available_memory{55, "a test"})),
               allocation_error);
}

TEST(ReconCheckpoint, DataHaveChecksums) {
  scratch_folder folder;
  auto const path = folder / "c.ckpt";
  data_sums const sums{{"measurements", "crc32 01234567"}, {"mask", "crc32 89abcdef"}};
  write_checkpoint(path, example_state(), {{"p", 2}}, sums);
  EXPECT_EQ(read_checkpoint(path, {{"p", 2}}).sums, sums);
  write_checkpoint(path, example_state(), {{"p", 2}});
  EXPECT_TRUE(read_checkpoint(path, {{"p", 2}}).sums.empty());

  auto const said = [&](data_sums const& here) -> std::string {
    try {
      require_same_data("c.ckpt", sums, here);
    } catch (io_error const& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(said(sums), "");
  auto other = sums;
  other["mask"] = "crc32 00000000";
  EXPECT_EQ(said(other),
            "c.ckpt: was made from other data: the mask had crc32 89abcdef there and has crc32 00000000 here");
  other.erase("mask");
  EXPECT_EQ(said(other), "c.ckpt: was made from other data: the mask had crc32 89abcdef there and is missing here");
  other = sums;
  other["white field"] = "crc32 1";
  EXPECT_EQ(said(other),
            "c.ckpt: was made from other data: there was no white field there, and here it has crc32 1");
  EXPECT_NO_THROW(require_same_data("c.ckpt", {}, sums)) << "written by an older mbirk";
}

TEST(SlabPlan, FitsTheHostAndTheDevice) {
  auto const plan_of = [](index_t slices) {
    return slab_plan{slices, {{"fixed", 100}, {"slab", 10.0 * static_cast<double>(slices)}}};
  };
  auto const on_device = [](index_t slices) { return 50 + 20.0 * static_cast<double>(slices); };
  auto const slices = [&](memory_limits const& limits) {
    return largest_slabs(256, limits, plan_of, on_device).slices;
  };
  EXPECT_EQ(slices({.host = 1380}), 128) << "128 slices need 1380";
  EXPECT_EQ(slices({.host = 1379}), 96);
  EXPECT_EQ(slices({.host = 1379, .device = 1e9}), 96) << "the host has less";
  EXPECT_EQ(slices({.host = 1e9, .device = 1330}), 64) << "64 slices need 1330 of the device";
  EXPECT_EQ(slices({.host = 1e9, .device = 1329}), 32);
  EXPECT_EQ(slices({.host = 1e9, .device = 1e9}), 256);
  auto const smallest = largest_slabs(256, {.host = 1e9, .device = 1}, plan_of, on_device);
  EXPECT_EQ(smallest.slices, 32);
  EXPECT_EQ(total_bytes(smallest.memory), 420) << "the plan has the memory of the host";
}

}  // namespace
}  // namespace mbirk::test
