// Launches of projections: what the kernels of projector/parallel_projector.hpp and projector/cone.hpp do on a device.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/found_pixels.hpp"
#include "gpu/launches.hpp"
#include "mbirk/definition/footprint.hpp"
#include "mbirk/kernel/device/cone_block_back.hpp"
#include "mbirk/kernel/device/cone_gather.hpp"
#include "mbirk/kernel/device/parallel_block_back.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/device/parallel_list_back.hpp"
#include "mbirk/kernel/device/parallel_tile_back.hpp"
#include "mbirk/kernel/device/parallel_view_back.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/projector/sorted_pixels.hpp"

namespace mbirk::program::gpu {
namespace {

constexpr int most_packs = 4, warps_of_block = 8;
constexpr double bytes_of_pack = 4.0 * lanes;

std::string packs_text(index_t packs) { return std::to_string(packs); }

/// From the layout of the interface to the internal one, or back.
launch_work layout_launch(char const* kernel, kernel::chunked_shape const& shape) {
  double const tiles = real(shape.views * shape.chunks * shape.packs * ceil_div(shape.channels, index_t{lanes}));
  return streaming_launch(kernel, real(shape.views), 2 * lanes * tiles,
                          4 * real(shape.views * shape.rows * shape.channels) + 4 * real(shape.size()));
}

kernel::chunked_shape shape_of(parallel_geometry const& g) {
  return kernel::make_chunks(g.views, g.channels, g.rows, lanes, most_packs);
}
/// The cone kernels have all rows in one chunk.
kernel::chunked_shape shape_of(cone_geometry const& g) {
  return kernel::make_chunks(g.views, g.channels, g.rows, lanes, std::max<index_t>(1, g.rows));
}

/// Sorting of listed pixels by channel, view by view, by four warps or by one.
launch_work sorting_launch(std::string const& order, double views, double pixels, double channels, double widest) {
  double const bins = channels + std::ceil(std::min(widest, channels)), rounds = std::ceil(pixels / lanes),
               warps = 4 * bins <= kernel::most_sort_counters ? 4 : 1;
  return {.kernel = "block_sort<" + order + (warps > 1 ? ",4>" : ",1>"),
          .variant = {},
          .tasks = views,
          .warps_per_block = static_cast<int>(warps),
          .shares_tasks = false,
          .units = {{"count round", views * rounds},
                    {"place round", views * rounds},
                    {"bin", views * std::ceil(bins / lanes)}},
          .l2_bytes = 4 * views * (5 * pixels + bins),
          .memory_bytes = 4 * views * (pixels + bins)};
}
/// Rounds of 32 pixels between the first and the last bin of a warp, which has the pixels of its channels and of a
/// footprint's width beside them.
double rounds_of_warp(double pixels, double channels, double widest) {
  return std::max(1.0, std::ceil((kernel::gather_channels + std::ceil(widest)) * pixels / channels / lanes));
}

/// Rounds in which a warp looks at all sets of groups.
double set_rounds(visited const& seen) {
  return std::ceil(real(seen.plan.groups.size()) / (kernel::group_bounds::set * lanes));
}

/// Sizes of a gathering projection: blocks are (channels, neighbouring views, piece of the slices or rows). The warps
/// of a block have most of what they load in common, and blocks of one piece run one after another.
struct gather_sizes {
  double across, pieces, blocks;  ///< across: blocks of a view and piece
  warps_together together;        ///< warps of a block

  /// @param turns  how often a warp takes four channels
  gather_sizes(index_t channels, index_t views, index_t all_pieces, int views_of_block, index_t turns = 1)
      : across(real(ceil_div(channels, turns * kernel::gather_channels))),
        pieces(real(all_pieces)),
        blocks(across * pieces * real(ceil_div(views, index_t{views_of_block}))),
        together{static_cast<std::size_t>(views_of_block), turns * kernel::gather_channels} {}
};
template <class Kernel>
launch_work gather_launch(std::string kernel, gather_sizes const& sizes, index_t packs, double l2_bytes,
                          double sinogram_bytes, double volume_bytes) {
  return {.kernel = std::move(kernel),
          .variant = packs_text(packs),
          .tasks = sizes.blocks,
          .warps_per_block = Kernel::warps,
          .shares_tasks = false,
          .units = {},
          .l2_bytes = l2_bytes,
          .memory_bytes = sinogram_bytes + (1 - 1 / sizes.pieces) * volume_bytes,
          .again_bytes = volume_bytes / sizes.pieces,
          .tasks_between = sizes.across};
}

/// The epilogue of the warps that project a list (kernel/device/gather_epilogue.hpp).
enum class list_epilogue { store, norm, norm_kept, subtract };
std::string list_kernel(char const* kernel, list_epilogue epilogue) {
  switch (epilogue) {
    case list_epilogue::norm: return kernel + std::string("<gather_norm<false,false>>");
    case list_epilogue::norm_kept: return kernel + std::string("<gather_norm<false,true>>");
    case list_epilogue::subtract: return kernel + std::string("<gather_subtract<false>>");
    case list_epilogue::store: break;
  }
  return kernel + std::string("<gather_store>");
}
/// Bytes of the sinogram that they read and write.
double sinogram_bytes(kernel::chunked_shape const& shape, list_epilogue epilogue) {
  double const once = 4 * real(shape.size());
  switch (epilogue) {
    case list_epilogue::norm: return 0;
    case list_epilogue::subtract: return 2 * once;
    case list_epilogue::store:
    case list_epilogue::norm_kept: break;
  }
  return once;
}

/// A forward projection to the internal layout.
std::vector<launch_work> gather(parallel_scan const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue = list_epilogue::store) {
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
                {"pixel round", each * found.pixel_rounds},
                {"batch", each * found.hits / kernel::parallel_gather_sums<any_warp, 2>::batch}};
  return {std::move(work)};
}

template <std::derived_from<cone_geometry> Geometry>
std::vector<launch_work> gather(scan<Geometry> const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue = list_epilogue::store) {
  using kernel_type = kernel::cone_gather_sums<any_warp>;
  auto const& g = s.geometry();
  auto const shape = shape_of(g);
  auto const seen = visit_pixels(s, listed, true);
  kernel::pack_pieces const pieces(shape.packs, most_packs);
  gather_sizes const sizes(g.channels, g.views, pieces.count(), kernel_type::warps);
  auto const found = found_by(s, seen, {});
  double const tasks = real(g.views) * sizes.across * sizes.pieces, each = seen.weight * sizes.pieces;
  double const l2_bytes = each / real(sizes.together.views) * found_by(s, seen, sizes.together).hits *
                          (real(pieces.each) + 1) * bytes_of_pack;
  double const sinogram = sinogram_bytes(shape, epilogue);
  auto work = gather_launch<kernel_type>("cone_gather", sizes, pieces.each, l2_bytes + sinogram, sinogram,
                                         4 * real(seen.plan.pixels * g.slices));
  work.units = {{"hit", each * found.hits}, {"two", each * found.two}, {"three", each * found.three}};
  double const widest = detail::widest_cone_footprint(s), pixels = real(listed.size()), channels = real(g.channels);
  if (!listed.empty() && detail::sorts_pixels(shape, std::ssize(listed)) && std::isfinite(widest)) {
    work.kernel = list_kernel("cone_list_gather", epilogue);
    work.units.emplace_back("pixel round", tasks * rounds_of_warp(pixels, channels, widest));
    return {sorting_launch("cone_channel_order", real(g.views), pixels, channels, widest), std::move(work)};
  }
  work.units.emplace_back("set round", tasks * set_rounds(seen));
  work.units.emplace_back("group round", each * found.sets);
  work.units.emplace_back("group", each * found.groups);
  work.units.emplace_back("pixel round", each * found.pixel_rounds);
  return {std::move(work)};
}

/// Channels that a block reads in a view: its pixels share those of a tile, and listed ones fewer.
double channels_read(double span, double pixels, double taps) {
  return span * (1 - std::exp(-pixels * taps / span));
}

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

launch_work scatter_back(parallel_scan const& s, std::vector<std::int32_t> const& listed, int, bool) {
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

/// @param unit  a sinogram of ones, which is not read
template <std::derived_from<cone_geometry> Geometry>
launch_work scatter_back(scan<Geometry> const& s, std::vector<std::int32_t> const& listed, int power, bool unit) {
  auto const& g = s.geometry();
  auto const shape = shape_of(g);
  auto const seen = visit_pixels(s, listed, !unit);
  auto const pieces = kernel::cone_block_back<any_warp, 1, false>::pieces_of(
      std::max<index_t>(1, ceil_div(g.slices, index_t{lanes})), listed.empty() ? 0 : std::ssize(seen.plan.groups));
  double forms[2] = {}, third_taps = 0, pixels = 0, channels = 0;
  for (auto const v : seen.views) {
    auto const& at = s.positions()[v];
    for (std::size_t k = 0; k < static_cast<std::size_t>(seen.plan.pixels); ++k) {
      auto const f = footprint_at(g, at, seen.plan.rows[k], seen.plan.cols[k]);
      double const left = definition::left_edge(f.channel.centre, f.channel.width);
      bool const third = left - std::floor(left) + f.channel.width > 2;
      forms[f.row_width <= 1 ? 0 : 1] += 1;
      third_taps += third;
      pixels += 1;
    }
    for (std::size_t k = 0; k < seen.plan.groups.size(); ++k) {
      auto const& b = seen.bounds;
      auto const f = footprint_at(g, at, 0.5 * b.doubled_row_center[k], 0.5 * b.doubled_col_center[k]);
      double const scale = f.magnification / g.delta_det_channel, count = seen.plan.groups[k].count,
                   half = std::min(count, 32.0);
      double const span = scale * (std::abs(at.sine) * g.delta_y * b.row_extent[k] * half / count +
                                   std::abs(at.cosine) * g.delta_x * b.col_extent[k]) + f.channel.width + 2;
      channels += std::ceil(count / 32) * channels_read(span, half, 2 + f.channel.width - 1);
    }
  }
  double const count = real(pieces.count()), blocks = 2 * real(seen.plan.groups.size()) * count,
               warps = blocks * warps_of_block, views = real(g.views), each = seen.weight * count;
  double const rows = real(std::min(g.rows, pieces.each * lanes + 2));
  launch_work work{.kernel = "cone_block_back<" + std::to_string(power) + (unit ? ",true>" : ",false>"),
                   .variant = packs_text(pieces.each),
                   .tasks = blocks,
                   .warps_per_block = warps_of_block,
                   .shares_tasks = false,
                   .units = {{"eight views", warps * std::ceil(views / warps_of_block)},
                             {"window", warps * std::ceil(views / warps_of_block)},
                             {"view", warps * views},
                             {"pixel", each * pixels},
                             {unit ? "ones, two" : "two", each * forms[0]},
                             {unit ? "ones, three" : "three", each * forms[1]}},
                   .l2_bytes = unit ? 0 : each * channels * rows * 4,
                   .memory_bytes = 4 * real((unit ? 0 : shape.size()) + seen.plan.pixels * g.slices)};
  if (!unit) {
    work.units.emplace_back("two taps", each * (pixels - third_taps));
    work.units.emplace_back("three taps", each * third_taps);
  }
  return work;
}

/// Empty for a geometry whose launches are not described here.
template <class F> std::vector<launch_work> of_any(any_scan const& any, F const& f) {
  return std::visit([&](auto const& s) -> std::vector<launch_work> {
    if constexpr (requires { gather(s, std::vector<std::int32_t>()); }) return f(s);
    else return {};
  }, any);
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
template <std::derived_from<cone_geometry> Geometry>
launch_work unweighted_hessian(scan<Geometry> const& s) { return scatter_back(s, {}, 2, true); }

}  // namespace

bool describes_projections(any_scan const& any) {
  return std::visit([](auto const& s) {
    if constexpr (requires { s.geometry(); }) return requires { gather(s, std::vector<std::int32_t>()); };
    else return true;
  }, any);
}

launch_work streaming_launch(std::string kernel, double tasks, double requests, double memory_bytes) {
  return {.kernel = std::move(kernel),
          .tasks = tasks,
          .units = {{"request", requests}},
          .l2_bytes = requests * bytes_of_pack,
          .memory_bytes = memory_bytes};
}

std::vector<launch_work> forward_launches(any_scan const& scan, std::vector<std::int32_t> const& listed) {
  return of_any(scan, [&](auto const& s) {
    auto all = gather(s, listed);
    all.push_back(layout_launch("from_channel_major", shape_of(s.geometry())));
    return all;
  });
}

std::vector<launch_work> back_launches(any_scan const& scan, std::vector<std::int32_t> const& listed, int power) {
  return of_any(scan, [&](auto const& s) {
    std::vector all{layout_launch("to_channel_major", shape_of(s.geometry())), scatter_back(s, listed, power, false)};
    if (listed.empty()) {
      auto const& g = s.geometry();
      double const outside = real(g.recon_rows * g.recon_cols) - real(s.full_indices().size());
      double const packs = real(ceil_div(g.slices, index_t{lanes}));
      if (outside > 0)
        all.push_back(streaming_launch("zero_columns", std::ceil(outside / 512), outside * packs,
                                       outside * real(g.slices) * 4));
    }
    return all;
  });
}

std::vector<launch_work> hessian_launches(any_scan const& scan) {
  return of_any(scan, [](auto const& s) { return std::vector{unweighted_hessian(s)}; });
}

subset_projections projections_of_subset(any_scan const& scan, std::vector<std::int32_t> const& pixels) {
  subset_projections both;
  both.back = of_any(scan, [&](auto const& s) {
    both.shape = shape_of(s.geometry());
    return std::vector{scatter_back(s, pixels, 1, false)};
  });
  both.forward = of_any(scan, [&](auto const& s) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(s)>, parallel_scan>) {
      return gather(s, pixels, list_epilogue::norm_kept);
    } else {
      if (!detail::sorts_pixels(both.shape, std::ssize(pixels))) return gather(s, pixels);
      both.update = {gather(s, pixels, list_epilogue::subtract).back()};  // in the order of the line search
      return gather(s, pixels, list_epilogue::norm);
    }
  });
  return both;
}

}  // namespace mbirk::program::gpu
