// Launches of projections in parallel beam: what the kernels of projector/parallel_projector.hpp do on a device.
#include <algorithm>
#include <cmath>
#include <set>

#include "gpu/launches_projector.hpp"
#include "mbirk/kernel/device/parallel_block_back.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/device/parallel_list_back.hpp"
#include "mbirk/kernel/device/parallel_tile_back.hpp"
#include "mbirk/kernel/device/parallel_view_back.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/projector/sorted_pixels.hpp"

namespace mbirk::program::gpu {
namespace {

/// Channels, guards included, that planned pixels [first, end) read in a view.
double channels_of_pixels(kernel::pixel_plan const& plan, index_t first, index_t end, kernel::view_taps const& p,
                          index_t channels) {
  std::vector<bool> read(static_cast<std::size_t>(channels + 2 * kernel::guard_channels));
  for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(end); ++k) {
    auto const begin = static_cast<index_t>(std::floor(p.edge + p.row_step * plan.rows[k] + p.col_step * plan.cols[k]));
    index_t const from = std::clamp<index_t>(begin, -kernel::guard_channels, channels) + kernel::guard_channels;
    for (index_t t = 0; t < p.taps; ++t) read[static_cast<std::size_t>(from + t)] = true;
  }
  return static_cast<double>(std::ranges::count(read, true));
}

/// How many warps of parallel_tile_back have all of their channels on the detector or in its guards, in one view.
double warps_inside(visited const& seen, kernel::view_taps const& p, index_t channels) {
  kernel::view_octant const octant(p);
  double inside = 0;
  for (auto const& tile : seen.plan.groups)
    for (int warp = 0; warp < warps_of_block; ++warp) {
      auto const at = octant.at(warp, 0, 0);
      auto const first = static_cast<std::size_t>(tile.first);
      index_t const row = seen.plan.rows[first] / kernel::tile_side * kernel::tile_side + at.row,
                    col = seen.plan.cols[first] / kernel::tile_side * kernel::tile_side + at.col;
      double const begin = std::floor(p.edge + p.row_step * real(row) + p.col_step * real(col));
      if (begin >= -kernel::guard_channels &&
          begin + kernel::view_octant::most_channels <= real(channels + kernel::guard_channels))
        inside += 1;
    }
  return inside;
}

/// Back projection of a list whose blocks have 32 pixels and one pack of slices.
launch_work view_back(visited const& seen, std::vector<kernel::view_taps> const& passes,
                      kernel::chunked_shape const& shape, double channels, double columns) {
  using kernel_type = kernel::parallel_view_back<any_warp>;
  double const packs = real(ceil_div(shape.rows, index_t{lanes})),
               blocks = real(ceil_div(seen.plan.pixels, index_t{kernel_type::pixels_of_block})) * packs,
               of_two = real(std::ranges::count_if(passes, [](auto const& p) { return p.taps == 2; }));
  return {.kernel = "parallel_view_back",
          .variant = {},
          .tasks = blocks,
          .warps_per_block = kernel_type::warps,
          .shares_tasks = false,
          .units = {{"view", blocks * real(passes.size())},
                    {"two taps", blocks * of_two},
                    {"three taps", blocks * (real(passes.size()) - of_two)}},
          .l2_bytes = seen.weight * packs * channels * bytes_of_pack,
          .memory_bytes = 4 * real(shape.size()) + columns};
}

/// Back projection of a list whose blocks have many pixels and two packs of slices.
launch_work list_back(visited const& seen, std::vector<kernel::view_taps> const& passes,
                      kernel::chunked_shape const& shape, double columns) {
  using kernel_type = kernel::parallel_list_back<any_warp, 2>;
  index_t const pixels = seen.plan.pixels, of_block = ceil_div(pixels, index_t{kernel_type::pixels_of_block});
  double const pairs = real(shape.chunks * shape.packs) / kernel_type::packs, views = real(passes.size()),
               warps = real(of_block) * pairs * kernel_type::warps,
               of_two = real(std::ranges::count_if(passes, [](auto const& p) { return p.taps == 2; }));
  double channels = 0;
  for (auto const v : seen.views) {
    auto const& p = passes[std::min(v, passes.size() - 1)];
    for (index_t b = 0; b < of_block; ++b)
      channels += channels_of_pixels(seen.plan, b * pixels / of_block, (b + 1) * pixels / of_block, p, shape.channels);
  }
  return {.kernel = "parallel_list_back<" + packs_text(shape.packs) + ">",
          .variant = {},
          .tasks = real(of_block) * pairs,
          .warps_per_block = kernel_type::warps,
          .shares_tasks = false,
          .units = {{"two views", warps * std::ceil(views / kernel_type::views)},
                    {"view", warps * views},
                    {"two taps", warps * of_two},
                    {"three taps", warps * (views - of_two)}},
          .l2_bytes = seen.weight * pairs * channels * kernel_type::packs * bytes_of_pack,
          .memory_bytes = 4 * real(shape.size()) + columns};
}

}  // namespace

std::vector<launch_work> gather(parallel_scan const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue) {
  auto const& g = s.geometry();
  auto const shape = shape_of(g);
  auto const seen = visit_pixels(s, listed, true);
  double const sinogram = sinogram_bytes(shape, epilogue), volume = 4 * real(seen.plan.pixels * g.slices);
  auto const launch = [&]<int Views>(std::string name, index_t turns) {
    using kernel_type = kernel::parallel_gather_sums<any_warp, Views>;
    gather_sizes const sizes(g.channels, g.views, shape.chunks, Views * kernel_type::warps, turns);
    double const each = seen.weight / real(sizes.together.views) * sizes.pieces;
    double const l2_bytes = each * found_by(s, seen, sizes.together).hits * shape.packs * bytes_of_pack;
    return gather_launch<kernel_type>(std::move(name), sizes, shape.packs, l2_bytes + sinogram, sinogram, volume);
  };
  double const quads = real(ceil_div(g.channels, index_t{kernel::gather_channels})), chunks = real(shape.chunks);
  if (!listed.empty() && detail::sorts_pixels(shape, std::ssize(listed))) {
    using sums = kernel::parallel_gather_sums<any_warp, 1>;
    bool const takes_turns = epilogue == list_epilogue::subtract;
    double const views = real(g.views), pixels = real(listed.size()), channels = real(g.channels);
    double widest = 0;
    for (auto const& p : kernel::make_view_taps(s)) widest = std::max(widest, p.width);
    auto work = launch.operator()<1>(list_kernel("parallel_list_gather", epilogue),
                                     takes_turns ? kernel::turns_of_a_warp(shape, sums::warps) : 1);
    double const hits = seen.weight * chunks * found_by(s, seen, {}).hits, turns = views * quads * chunks;
    // On average so many pixels of a turn fill no batch. Elsewhere the model has no costs of their own for them.
    double const single = takes_turns ? std::min(hits, turns * (sums::batch - 1) / 2) : 0;
    work.units = {{"pixel round", turns * rounds_of_warp(pixels, channels, widest)},
                  {"batch", (hits - single) / sums::batch}};
    if (takes_turns) {
      work.units.emplace_back("turn", turns);
      work.units.emplace_back("single pixel", single);
    }
    return {sorting_launch("parallel_channel_order", views, pixels, channels, widest), std::move(work)};
  }
  auto work = launch.operator()<2>("parallel_gather", 1);
  auto const found = found_by(s, seen, {.views = 2});
  double const each = seen.weight / 2 * chunks, warps = real(ceil_div(g.views, index_t{2})) * quads * chunks;
  work.units = {{"set round", warps * set_rounds(seen)},
                {"group round", each * found.sets},
                {"group", each * found.groups},
                {"pixel round", each * found.pixel_rounds}};
  // Pixels that reach both pairs of channels of a warp are counted twice among those that reach a pair. The few that
  // are left at the end, on average half a batch in each of the three lists, count as parts of batches.
  constexpr int batch = kernel::parallel_gather_sums<any_warp, 2>::batch, pair = kernel::gather_channels / 2;
  double const both = std::max(0.0, found_by(s, seen, {.views = 2, .channels = pair}).hits - found.hits);
  work.units.emplace_back("batch of both", each * both / batch);
  for (auto const* unit : {"batch of first", "batch of second"})
    work.units.emplace_back(unit, each * (found.hits - both) / 2 / batch);
  return {std::move(work)};
}

launch_work scatter_back(parallel_scan const& s, std::vector<std::int32_t> const& listed, int) {
  auto const& g = s.geometry();
  auto const shape = shape_of(g);
  auto const seen = visit_pixels(s, listed, true);
  auto const passes = kernel::make_view_taps(s);
  double const groups = real(seen.plan.groups.size()), chunks = real(shape.chunks);
  double const of_two = real(std::ranges::count_if(passes, [](auto const& p) { return p.taps == 2; }));
  bool const in_tiles = listed.empty() && kernel::fit_in_tiles(passes, g.channels),
             shares_views = detail::projector<parallel_geometry>::shares_views(std::ssize(listed));
  double channels = 0;
  double inside = 0;
  for (auto const v : seen.views) {
    auto const& p = passes[std::min(v, passes.size() - 1)];
    if (in_tiles) inside += warps_inside(seen, p, shape.channels);
    for (std::size_t k = 0; k < seen.plan.groups.size(); ++k) {
      double const count = seen.plan.groups[k].count, of_block = shares_views ? std::min(count, 32.0) : count;
      channels += std::ceil(count / of_block) *
                  channels_read(std::abs(seen.bounds.row_extent[k] * p.row_step) +
                                    std::abs(seen.bounds.col_extent[k] * p.col_step) + p.width + 2,
                                of_block, p.taps);
    }
  }
  double const blocks = groups * chunks, warps = blocks * warps_of_block, views = real(passes.size());
  double const columns = 4 * real(seen.plan.pixels * g.slices);
  if (shares_views) return view_back(seen, passes, shape, channels, columns);
  bool const narrow = std::ranges::none_of(passes, [](auto const& p) { return p.window; });
  if (!listed.empty() && narrow && shape.packs % 2 == 0) return list_back(seen, passes, shape, columns);
  launch_work work{.kernel = in_tiles ? "parallel_tile_back" : "parallel_block_back",
                   .variant = packs_text(shape.packs),
                   .tasks = blocks,
                   .warps_per_block = warps_of_block,
                   .shares_tasks = false,
                   .units = {{"eight views", warps * std::ceil(views / warps_of_block)}, {"view", warps * views}},
                   .l2_bytes = seen.weight * chunks * channels * 4 * real(shape.width),
                   .memory_bytes = 4 * real(shape.size()) + columns};
  if (!in_tiles) {
    work.units.emplace_back("two taps", warps * of_two);
    work.units.emplace_back("three taps", warps * (views - of_two));
    return work;
  }
  std::set<int> numbers;
  for (auto const& p : passes) numbers.insert(kernel::view_octant(p).number());
  double const octants = real(numbers.size()), common = seen.weight * chunks * inside;
  work.units.emplace_back("octant", warps * octants);
  work.units.emplace_back("second line", common);
  work.units.emplace_back("edge", std::max(0.0, warps * views - common));
  work.l2_bytes += 2 * (octants - 1) * columns;  // sums are stored and loaded between octants
  return work;
}

launch_work unweighted_hessian(parallel_scan const& s) {
  auto const& g = s.geometry();
  double const groups = real(kernel::plan_grid(g.recon_rows, g.recon_cols, nullptr, 1, 1).groups.size()),
               packs_of_group = kernel::group_pixels / lanes;
  double const passes = real(kernel::make_view_taps(s).size()),
               stored = real(g.recon_rows * g.recon_cols * ceil_div(g.slices, index_t{lanes}));
  // Weights of three taps, first channels and sums, each stored and loaded for every view.
  auto work = streaming_launch("parallel_unweighted_hessian", groups, groups * passes * packs_of_group * 10 + stored,
                               4 * real(g.recon_rows * g.recon_cols * g.slices));
  return work;
}

}  // namespace mbirk::program::gpu
