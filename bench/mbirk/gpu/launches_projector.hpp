// Helpers that the launches of projections in parallel beam and in cone beam share, and the functions for both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/found_pixels.hpp"
#include "gpu/launches.hpp"
#include "mbirk/kernel/device/block_sort.hpp"
#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"

namespace mbirk::program::gpu {

inline constexpr int warps_of_block = 8;
inline constexpr double bytes_of_pack = 4.0 * lanes;

inline std::string packs_text(index_t packs) { return std::to_string(packs); }

inline kernel::chunked_shape shape_of(parallel_geometry const& g) {
  constexpr int most_packs = kernel::parallel_gather_sums<any_warp, 2>::most_packs;
  return kernel::make_chunks(g.views, g.channels, g.rows, lanes, most_packs);
}
/// The cone kernels have all rows in one chunk.
inline kernel::chunked_shape shape_of(cone_geometry const& g) {
  return kernel::make_chunks(g.views, g.channels, g.rows, lanes, std::max<index_t>(1, g.rows));
}

/// Sorting of listed pixels by channel, view by view, by four warps or by one.
inline launch_work sorting_launch(std::string const& order, double views, double pixels, double channels,
                                  double widest) {
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
inline double rounds_of_warp(double pixels, double channels, double widest) {
  return std::max(1.0, std::ceil((kernel::gather_channels + std::ceil(widest)) * pixels / channels / lanes));
}

/// Rounds in which a warp looks at all sets of groups.
inline double set_rounds(visited const& seen) {
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

/// The last piece of every line, if it is shorter.
inline void set_last_piece(launch_work& work, kernel::pack_pieces const& pieces) {
  auto const last = pieces.packs_of(pieces.count() - 1);
  if (last == pieces.each) return;
  work.last_variant = packs_text(last);
  work.last_share = 1 / real(pieces.count());
}

/// The epilogue of the warps that project a list (kernel/device/gather_epilogue.hpp).
enum class list_epilogue { store, norm, norm_kept, subtract };
inline std::string list_kernel(char const* kernel, list_epilogue epilogue) {
  switch (epilogue) {
    case list_epilogue::norm: return kernel + std::string("<gather_norm<false,false>>");
    case list_epilogue::norm_kept: return kernel + std::string("<gather_norm<false,true>>");
    case list_epilogue::subtract: return kernel + std::string("<gather_subtract<false>>");
    case list_epilogue::store: break;
  }
  return kernel + std::string("<gather_store>");
}
/// Bytes of the sinogram that they read and write.
inline double sinogram_bytes(kernel::chunked_shape const& shape, list_epilogue epilogue) {
  double const once = 4 * real(shape.size());
  switch (epilogue) {
    case list_epilogue::norm: return 0;
    case list_epilogue::subtract: return 2 * once;
    case list_epilogue::store:
    case list_epilogue::norm_kept: break;
  }
  return once;
}

/// Channels that a block reads in a view: its pixels share those of a tile, and listed ones fewer.
inline double channels_read(double span, double pixels, double taps) {
  return span * (1 - std::exp(-pixels * taps / span));
}

/// A forward projection to the internal layout.
std::vector<launch_work> gather(parallel_scan const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue = list_epilogue::store);
std::vector<launch_work> gather(cone_scan const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue = list_epilogue::store);
std::vector<launch_work> gather(translation_scan const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue = list_epilogue::store);
/// A back projection from the internal layout.
/// @param power  exponent of the weights
launch_work scatter_back(parallel_scan const& s, std::vector<std::int32_t> const& listed, int power);
launch_work scatter_back(cone_scan const& s, std::vector<std::int32_t> const& listed, int power);
launch_work scatter_back(translation_scan const& s, std::vector<std::int32_t> const& listed, int power);
/// The Hessian diagonal without weights.
launch_work unweighted_hessian(parallel_scan const& s);
launch_work unweighted_hessian(cone_scan const& s);
launch_work unweighted_hessian(translation_scan const& s);

}  // namespace mbirk::program::gpu
