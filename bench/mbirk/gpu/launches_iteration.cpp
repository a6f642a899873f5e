// Launches of an iteration of vectorised coordinate descent (recon/vcd.hpp).
#include <cmath>
#include <string>
#include <utility>

#include "gpu/found_pixels.hpp"
#include "gpu/launches.hpp"
#include "mbirk/kernel/device/device_reduce.hpp"
#include "mbirk/recon/vcd_subset.hpp"
#include "mbirk/util/partition.hpp"

namespace mbirk::program::gpu {
namespace {

/// Launches of one subset that differ in nothing but the subset.
template <class Geometry>
std::vector<launch_work> subset_launches(Geometry const& g, subset_projections projections, index_t pixels) {
  auto const& shape = projections.shape;
  index_t const packs_of_column = ceil_div(g.slices, index_t{lanes});
  double const slices = real(packs_of_column), count = real(pixels),
               ranges = std::ceil(count / real(detail::entries_of_device_range(pixels))),
               blocks = real(shape.chunks * shape.views);
  // Tasks of a direction, and of an update (recon/vcd_subset.hpp, kernel/shared/vcd.hpp).
  double const groups = std::ceil(count / real(detail::pixels_of_direction_task(pixels, Geometry::has_slice_damping)));
  double const updates = ranges * real(kernel::pieces_for_device(static_cast<index_t>(ranges), g.slices,
                                                                 packs_of_column * lanes, lanes).count());
  double const samples = real(shape.size()), voxels = count * real(g.slices), packs = count * slices;
  // A pass over arrays: packs that are stored, in tasks.
  auto const stores = [](char const* kernel, double tasks, double stored, double bytes) {
    return launch_work{.kernel = kernel, .tasks = tasks, .units = {{"store", stored}}, .l2_bytes = bytes,
                       .memory_bytes = bytes};
  };
  auto all = std::move(projections.back);
  if constexpr (Geometry::has_slice_damping) {
    // Sums in double of two numbers of each slice, a row of them for each task, which clears its own sums in float
    // before and stores those in double at the end, half a pack at a time.
    double const rows = real(kernel::rows_after_folding(static_cast<index_t>(groups))), pack_of_sums = 8 * lanes;
    all.push_back(stores("vcd_damped_gradient<qggmrf_cylinder>", groups, 4 * packs + (2 + 4) * groups * slices,
                         4 * 12 * voxels + 2 * slices * groups * pack_of_sums));
    all.push_back(streaming_launch("fold_slice_sums", rows * 2 * slices, 2 * 2 * slices * (groups + rows),
                                   2 * slices * (groups + rows) * pack_of_sums));
    all.push_back(streaming_launch("vcd_slice_means", slices, 4 * rows * slices, 2 * slices * rows * pack_of_sums));
    all.push_back(stores("vcd_damped_direction", groups, packs, 4 * 5 * voxels));
  } else {
    all.push_back(stores("vcd_direction<qggmrf_cylinder>", groups, packs, 4 * 10 * voxels));
  }
  auto const& projected = projections.forward.back();
  double const sums = projected.tasks * projected.warps_per_block;  // one of every warp
  bool const fused = projected.kernel.find("<gather_norm<") != std::string::npos;
  for (auto& work : projections.forward) all.push_back(std::move(work));
  if (fused) {
    all.push_back(streaming_launch("sum_runs", blocks, 2 * sums / lanes, 16 * sums));
  } else {
    all.push_back(streaming_launch("apply_epilogue<squared_norm_epilogue<false,true>>", blocks, 2 * samples / lanes,
                                   8 * samples));
  }
  auto const reduce = [&](char const* kernel, double numbers) {
    auto work = streaming_launch(kernel, 1, 2 * numbers / lanes, 8 * numbers);
    work.warps_per_block = kernel::device_reduce<any_warp, kernel::plain_sums<1>>::warps;
    work.shares_tasks = false;
    all.push_back(std::move(work));
  };
  reduce("device_reduce<vcd_line_search>", 2 * groups + blocks);
  for (auto& work : projections.update) all.push_back(std::move(work));
  if (projections.update.empty())
    all.push_back(streaming_launch("axpy_projection",
                                   blocks * real(kernel::pieces_for_device(shape.chunks * shape.views, shape.channels)),
                                   3 * samples / lanes, 12 * samples));
  // The kernel loads three packs for each that it stores; one of them is of its own sums, which stay in L1.
  all.push_back(stores("vcd_update", updates, 2 * packs, 4 * 2 * voxels));
  all.push_back(streaming_launch("reduce_slice_sums", slices, 2 * ranges * slices, 8 * ranges * slices * lanes));
  reduce("device_reduce<plain_sums<1>>", updates);
  return all;
}

}  // namespace

std::vector<launch_work> iteration_launches(any_scan const& any, index_t subsets) {
  return std::visit([&](auto const& s) {
    std::vector<launch_work> all;
    if constexpr (requires { s.geometry(); }) {
      numpy_random_state random(0);
      auto const partition = gen_pixel_partition(s.full_indices(), subsets, random);
      auto const pixels = partition.subset(0);
      auto projections = projections_of_subset(any, {pixels.begin(), pixels.end()});
      if (projections.back.empty()) return all;
      all = subset_launches(s.geometry(), std::move(projections), std::ssize(pixels));
      for (auto& work : all) work.repeats = real(subsets);
    }
    return all;
  }, any);
}

}  // namespace mbirk::program::gpu
