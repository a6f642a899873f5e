// Launches of projections in cone beam: what the kernels of projector/cone_projector.hpp do on a device.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <utility>

#include "gpu/launches_projector.hpp"
#include "mbirk/definition/cone.hpp"
#include "mbirk/definition/footprint.hpp"
#include "mbirk/kernel/device/cone_block_back.hpp"
#include "mbirk/kernel/device/cone_gather.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/sorted_pixels.hpp"

namespace mbirk::program::gpu {
namespace {

/// Share of the pixels and pieces whose source cells all exist (kernel/device/staged_resample.hpp), among those that
/// stage any. It is taken to be the same for footprints of every width.
/// @param all_stage  whether those stage cells, too, that meet none that exists
/// @param line       line(edge, width, first): start and step of a pixel whose slice 0 covers `width` rows from `edge`
///                   on, for a piece that begins with the destination `first`
template <std::derived_from<cone_geometry> Geometry, class Line>
double share_inside(scan<Geometry> const& s, visited const& seen, kernel::pack_pieces const& pieces, index_t cells,
                    bool all_stage, Line const& line) {
  constexpr index_t looked_at = 4096;  // in every view that is looked at; neighbouring pixels are alike
  index_t const pixels_apart = std::max<index_t>(1, seen.plan.pixels / looked_at);
  auto const& g = s.geometry();
  double inside = 0, all = 0;
  for (auto const v : seen.views) {
    auto const& at = s.positions()[v];
    for (index_t k = 0; k < seen.plan.pixels; k += pixels_apart) {
      auto const pixel = static_cast<std::size_t>(k);
      auto const f = footprint_at(g, at, seen.plan.rows[pixel], seen.plan.cols[pixel]);
      double const edge = definition::first_row_edge(g, f, at.z_shift);
      for (index_t p = 0; p < pieces.count(); ++p) {
        auto const [start, step] = line(edge, f.row_width, real(pieces.first(p)));
        auto const of_piece = kernel::make_line(start, step, 1);
        int const packs = pieces.packs_of(p);
        bool const meets = start < real(cells) && start + step * packs * lanes > 0;
        if (of_piece.form == kernel::resample_form::general || !(meets || all_stage)) continue;
        all += 1;
        inside += kernel::all_cells_exist(of_piece, packs, static_cast<std::int32_t>(cells));
      }
    }
  }
  return all > 0 ? inside / all : 0;
}

template <std::derived_from<cone_geometry> Geometry>
std::vector<launch_work> cone_gather(scan<Geometry> const& s, std::vector<std::int32_t> const& listed,
                                     list_epilogue epilogue) {
  using kernel_type = kernel::cone_gather_sums<any_warp>;
  auto const& g = s.geometry();
  auto const shape = shape_of(g);
  auto const seen = visit_pixels(s, listed, true);
  kernel::pack_pieces const pieces(shape.packs, kernel_type::most_packs);
  gather_sizes const sizes(g.channels, g.views, pieces.count(), kernel_type::warps);
  auto const found = found_by(s, seen, {});
  double const tasks = real(g.views) * sizes.across * sizes.pieces, each = seen.weight * sizes.pieces;
  double const l2_bytes = seen.weight / real(sizes.together.views) * found_by(s, seen, sizes.together).hits *
                          real(pieces.packs + pieces.count()) * bytes_of_pack;
  double const sinogram = sinogram_bytes(shape, epilogue);
  auto work = gather_launch<kernel_type>("cone_gather", sizes, pieces.each, l2_bytes + sinogram, sinogram,
                                         4 * real(seen.plan.pixels * g.slices));
  set_last_piece(work, pieces);
  auto const rounds = [&](char const* unit, double count) {
    work.units.emplace_back(unit, count);
    if (g.curved) work.units.emplace_back(std::string("curved ") + unit, count);
  };
  double const inside = share_inside(s, seen, pieces, g.slices, false, [](double edge, double width, double row) {
    return std::pair((row - edge) / width, 1 / width);
  });
  work.units = {{"hit", each * found.hits},
                {"inside", inside * each * found.hits},
                {"at the ends", (1 - inside) * each * found.hits},
                {"two", each * found.two},
                {"three", each * found.three}};
  double const widest = detail::widest_cone_footprint(s), pixels = real(listed.size()), channels = real(g.channels);
  if (!listed.empty() && detail::sorts_pixels(shape, std::ssize(listed)) && std::isfinite(widest)) {
    work.kernel = list_kernel("cone_list_gather", epilogue);
    rounds("pixel round", tasks * rounds_of_warp(pixels, channels, widest));
    return {sorting_launch("cone_channel_order", real(g.views), pixels, channels, widest), std::move(work)};
  }
  rounds("set round", tasks * set_rounds(seen));
  rounds("group round", each * found.sets);
  work.units.emplace_back("group", each * found.groups);
  rounds("pixel round", each * found.pixel_rounds);
  return {std::move(work)};
}

/// @param unit  a sinogram of ones, which is not read
template <std::derived_from<cone_geometry> Geometry>
launch_work cone_back(scan<Geometry> const& s, std::vector<std::int32_t> const& listed, int power, bool unit) {
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
  double const rows = std::min(real(g.rows), real(pieces.packs * lanes) / count + 2);
  launch_work work{.kernel = "cone_block_back<" + std::to_string(power) + (unit ? ",true>" : ",false>"),
                   .variant = packs_text(pieces.each),
                   .tasks = blocks,
                   .warps_per_block = warps_of_block,
                   .shares_tasks = false,
                   .units = {{"eight views", warps * std::ceil(views / warps_of_block)},
                             {"window", warps * std::ceil(views / warps_of_block)},
                             {"view", warps * views},
                             {"pixel", each * pixels},
                             {"addition", each * pixels}},
                   .l2_bytes = unit ? 0 : each * channels * rows * 4,
                   .memory_bytes = 4 * real((unit ? 0 : shape.size()) + seen.plan.pixels * g.slices)};
  set_last_piece(work, pieces);
  if (g.curved) work.units.emplace_back("curved window", warps * std::ceil(views / warps_of_block));
  double const inside = share_inside(s, seen, pieces, g.rows, true, [](double edge, double width, double slice) {
    return std::pair(edge + slice * width, width);
  });
  auto const divided = [&](char const* where_inside, char const* at_the_ends, double runs) {
    work.units.emplace_back(where_inside, inside * runs);
    work.units.emplace_back(at_the_ends, (1 - inside) * runs);
  };
  if (unit) {
    divided("ones inside, two", "ones, two", each * forms[0]);
    divided("ones inside, three", "ones, three", each * forms[1]);
  } else {
    work.units.emplace_back("two", each * forms[0]);
    work.units.emplace_back("three", each * forms[1]);
    divided("two taps inside", "two taps", each * (pixels - third_taps));
    divided("three taps inside", "three taps", each * third_taps);
  }
  return work;
}

}  // namespace

std::vector<launch_work> gather(cone_scan const& s, std::vector<std::int32_t> const& listed, list_epilogue epilogue) {
  return cone_gather(s, listed, epilogue);
}
std::vector<launch_work> gather(translation_scan const& s, std::vector<std::int32_t> const& listed,
                                list_epilogue epilogue) {
  return cone_gather(s, listed, epilogue);
}
launch_work scatter_back(cone_scan const& s, std::vector<std::int32_t> const& listed, int power) {
  return cone_back(s, listed, power, false);
}
launch_work scatter_back(translation_scan const& s, std::vector<std::int32_t> const& listed, int power) {
  return cone_back(s, listed, power, false);
}
launch_work unweighted_hessian(cone_scan const& s) { return cone_back(s, {}, 2, true); }
launch_work unweighted_hessian(translation_scan const& s) { return cone_back(s, {}, 2, true); }

}  // namespace mbirk::program::gpu
