// Counts on the host against counts under emulation, kernel by kernel, for every operation. Kernels over packs have one
// source: with packs of 32 lanes the host executes exactly the operations and bytes of a warp. Differences between both
// sides are listed.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "emulated_instances.hpp"
#include "instrument/every_operation.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;

/// The host with packs as wide as a warp.
struct wide_host : exec::host {
  using exec::host::host;
  using backend = simd::native<warp_lanes>;
};

/// Kernels with a different structure on either side.
std::set<std::string> const only_host{"parallel_forward",
                                      "parallel_back",
                                      "cone_forward",
                                      "cone_back",
                                      "cone_fused_update_backproject",
                                      "reduce_partials",
                                      "parallel_project_subset",
                                      "parallel_fused_update_backproject",
                                      "pack_columns",
                                      "ramp_fourier",
                                      "median_window",
                                      "absolute_unit_sums",
                                      "sinogram_unit_sums",
                                      "vcd_unit_direction",
                                      "vcd_unit_update"};
/// Device kernels for additions that the host makes in its own code or, for some lists of pixels, in the preceding
/// kernel.
std::set<std::string> const only_device{"parallel_gather",    "parallel_block_back",  "parallel_tile_back",
                                        "parallel_list_back", "parallel_view_back",   "parallel_list_gather",
                                        "cone_gather",        "cone_list_gather",     "cone_block_back",
                                        "block_sort",         "apply_epilogue",       "axpy_projection",
                                        "device_reduce",      "sum_runs",             "fold_slice_sums",
                                        "ramp_block_fourier", "median_lanes",         "block_counts"};
/// Kernels whose work the device kernel block_counts does in shared memory.
std::set<std::string> const counted_in_blocks{"count_bins", "count_digits"};
/// Device kernels whose sums the host keeps apart by units of slices in parallel beam, in kernels of its own.
std::set<std::string> const unit_sums_on_host{"absolute_sum",  "projection_products", "sinogram_sum",
                                              "vcd_direction", "vcd_update",          "weighted_squares"};
/// Kernels whose work a device divides into more tasks, or that add up what those have left: what they do once per task
/// differs.
std::set<std::string> const smaller_tasks{"axpy_projection", "vcd_direction", "vcd_damped_gradient",
                                          "vcd_damped_direction", "vcd_slice_means", "vcd_clip_direction",
                                          "vcd_update", "reduce_slice_sums", "denoise_direction",
                                          "denoise_update"};

/// The arithmetic on packs of data, which does not depend on the number of tasks.
std::vector<std::uint64_t> arithmetic(instrument::kernel_record const& k) {
  std::vector<std::uint64_t> lanes;
  for (auto const o : {instrument::operation::add, instrument::operation::mul, instrument::operation::fma,
                       instrument::operation::div, instrument::operation::min_max, instrument::operation::exp,
                       instrument::operation::log, instrument::operation::absolute})
    lanes.push_back(k.operations.lanes[static_cast<int>(instrument::number::f32)][static_cast<int>(o)]);
  return lanes;
}

/// Launches, bytes and operations of some kernels of a stage.
struct stage_work {
  std::uint64_t launches = 0, bytes_loaded = 0, bytes_stored = 0;
  instrument::op_counts operations{};

  stage_work(instrument::operation_record const& r, std::string const& stage, std::set<std::string> const& names) {
    for (auto const& k : r.kernels) {
      if (k.stage != stage || !names.contains(k.name)) continue;
      launches += k.launches;
      bytes_loaded += k.bytes_loaded;
      bytes_stored += k.bytes_stored;
      operations += k.operations;
    }
  }
  bool operator==(stage_work const&) const = default;
};

instrument::kernel_record const* find(instrument::operation_record const& r, instrument::kernel_record const& k) {
  for (auto const& other : r.kernels)
    if (other.name == k.name && other.stage == k.stage) return &other;
  return nullptr;
}

template <class Scan> void compare(Scan const& s) {
  int common = 0;
  for (auto const& name : every_operation(s)) {
    SCOPED_TRACE(name);
    instrument::ledger host, device;
    run_named(context{wide_host{1}, instrument::counting<>{host}}, s, name);
    run_named(context{exec::emulated(), instrument::counting<>{device}}, s, name);
    ASSERT_EQ(host.records().size(), 1u);
    ASSERT_EQ(device.records().size(), 1u);
    auto const &a = host.last(), &b = device.last();
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.items, b.items);
    for (auto const& k : a.kernels) {
      SCOPED_TRACE(k.stage + '/' + k.name);
      if (counted_in_blocks.contains(k.name)) {
        EXPECT_EQ(stage_work(a, k.stage, counted_in_blocks), stage_work(b, k.stage, {"block_counts"}));
        ++common;
        continue;
      }
      auto const* other = find(b, k);
      EXPECT_EQ(other == nullptr, only_host.contains(k.name));
      if (!other) continue;
      ++common;
      EXPECT_EQ(k.launches, other->launches);
      if (smaller_tasks.contains(k.name)) {
        EXPECT_LE(k.tasks, other->tasks);
        if (k.name == "reduce_slice_sums") {  // a sum for each slice, of as many ranges as the update has
          EXPECT_EQ(k.tasks, other->tasks);
          EXPECT_EQ(k.bytes_stored, other->bytes_stored);
          EXPECT_LE(k.bytes_loaded, other->bytes_loaded);
        }
        if (k.name != "vcd_slice_means") {
          EXPECT_EQ(arithmetic(k), arithmetic(*other));
        }
        continue;
      }
      EXPECT_EQ(k.tasks, other->tasks);
      EXPECT_EQ(k.operations, other->operations);
      EXPECT_EQ(k.bytes_loaded, other->bytes_loaded);
      EXPECT_EQ(k.bytes_stored, other->bytes_stored);
    }
    bool const by_units = std::is_same_v<Scan, parallel_scan>;
    for (auto const& k : b.kernels) {
      bool const replaced = by_units && unit_sums_on_host.contains(k.name) && !find(a, k);
      EXPECT_TRUE(find(a, k) || replaced || only_device.contains(k.name)) << k.name;
      common += replaced;
    }
    // Either side writes all of the result; the device may read less of the arguments, because it skips voxels outside
    // a view's detector.
    for (auto const& x : a.arrays)
      for (auto const& y : b.arrays) {
        if (x.name != y.name || x.role != y.role || (x.role != array_role::argument && x.role != array_role::output))
          continue;
        EXPECT_EQ(x.counts.unique_written, y.counts.unique_written) << x.name;
        EXPECT_LE(y.counts.unique_read, x.counts.unique_read) << x.name;
      }
  }
  EXPECT_GE(common, 50) << "most kernels are shared";
}

TEST(HostCounts, EqualThoseOfADeviceParallel) { compare(square_parallel(16)); }
TEST(HostCounts, EqualThoseOfADeviceCone) { compare(square_cone(16)); }
TEST(HostCounts, EqualThoseOfADeviceOddParallel) { compare(odd_parallel(0.8)); }
TEST(HostCounts, EqualThoseOfADeviceOddCone) {  // few views and pixels: fibers are slow
  compare(cone_scan(cone_parameters{.sinogram_shape = {3, 17, 11},
                                    .angles = {0.1f, 2.9f, 4.4f},
                                    .source_detector_dist = 60,
                                    .source_iso_dist = 41,
                                    .helical_z_shifts = {-1.f, 0.f, 1.f},
                                    .use_curved_detector = true,
                                    .delta_det_channel = 0.9,
                                    .delta_det_row = 1.1,
                                    .det_channel_offset = 0.7,
                                    .delta_voxel = 0.75,
                                    .recon_shape = std::array<index_t, 3>{9, 8, 37}}));
}

}  // namespace
