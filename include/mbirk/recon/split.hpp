// split_sino_recon: reconstructs a circular cone-beam scan from two halves of the detector, one after the other, with
// half the memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/projector/cone.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/util/stitch.hpp"

namespace mbirk {

struct split_options {
  /// Detector rows that each half keeps beyond the cut, >= 2; increased when slices are thicker than rows.
  index_t half_overlap = 5;
  bool align_split_grid = false;  ///< shifts the grid, by at most half a slice, so that cut and split lie in one plane
};

/// One half: detector rows [first_row, first_row + rows), slices [first_slice, first_slice + slices) of the
/// reconstruction.
struct split_half {
  index_t first_row = 0, rows = 0, first_slice = 0, slices = 0;
  double det_row_offset = 0, recon_slice_offset = 0;
};

/// Position and overlap of the cut through a scan.
struct split_plan {
  bool possible = false;              ///< whether both halves are thick enough to be joined
  split_half top, bottom;             ///< half with the low rows and slices; half with the high ones
  index_t row_overlap = 0;            ///< rows beyond the cut
  index_t slice_overlap = 0;          ///< slices beyond the split; the halves share twice as many
  double grid_shift = 0;              ///< length that align_split_grid adds to recon_slice_offset
  double mismatch = 0;                ///< distance from the cut to the split, in slices, at most 1/2
};

/// Result of split_sino_recon: one reconstruction log per half, or a single one (top) if the scan was not split.
struct split_record {
  bool split = false;
  split_plan plan;
  recon_log top, bottom;
  std::vector<std::string> warnings;  ///< warnings of the split; those of the halves are in their logs
};

/// Plans the two halves. The cut is the detector row nearest to the plane of the source, c = round((R-1)/2 +
/// o_r/delta_r), the split the slice nearest to it. With rho = (delta_r/M)/delta_z slices per row, each half keeps o_s
/// rows beyond the cut (half_overlap, or round(half_overlap/rho) if rho < 1) and ceil(o_s (1 + r/D_0) rho) + 2 slices
/// beyond the split: all slices that those rows see, where r is the radius of the region of reconstruction.
///
/// @param p  parameters of a circular scan; the grid is that of cone_scan(p).
/// @throws parameter_error for a helical scan, half_overlap < 2, or a detector that does not meet the plane of the
///         source.
inline split_plan plan_split(cone_parameters const& p, split_options const& options = {}) {
  require(options.half_overlap >= 2, [&] {
    return detail::message("split_sino_recon: half_overlap is ", options.half_overlap, ", expected at least 2");
  });
  require(detail::each_passes(p.helical_z_shifts, [](float z) { return z == 0; }), [] {
    return std::string("split_sino_recon: helical_z_shifts has values other than 0, expected a circular scan");
  });
  auto const g = make_geometry(p);
  double const slices_per_row = g.delta_det_row * g.inverse_magnification / g.delta_z,
               radius = detail::support_radius(p.use_ror_mask, static_cast<double>(g.recon_rows) * g.delta_y,
                                               static_cast<double>(g.recon_cols) * g.delta_x);
  double const divergence = g.inverse_detector_dist > 0 ? radius / p.source_iso_dist : 0;
  double const overlap = static_cast<double>(options.half_overlap);
  split_plan plan;
  plan.row_overlap =
      slices_per_row < 1 ? static_cast<index_t>(std::nearbyint(overlap / slices_per_row)) : options.half_overlap;
  plan.slice_overlap =
      static_cast<index_t>(std::ceil(static_cast<double>(plan.row_overlap) * (1 + divergence) * slices_per_row)) + 2;

  double const middle_row = static_cast<double>(g.rows - 1) / 2,
               source_row = middle_row + g.det_row_offset / g.delta_det_row;
  auto cut = static_cast<index_t>(std::nearbyint(source_row));
  require(0 < cut && cut < g.rows, [&] {
    return detail::message("split_sino_recon: the plane of the source meets detector row ", source_row,
                           ", expected one from 1 to ", g.rows - 1, " (det_row_offset is ", g.det_row_offset, ")");
  });
  double source_slice = static_cast<double>(g.slices - 1) / 2 - g.recon_slice_offset / g.delta_z;
  auto const mismatch = [&](index_t row) {
    double const apart =
        std::nearbyint(source_slice) - source_slice - (static_cast<double>(row) - source_row) * slices_per_row;
    return apart - std::floor(apart + 0.5);
  };
  if (options.align_split_grid) {
    // Search the rows around the cut; the first of equal rows wins.
    auto best = std::max<index_t>(1, cut - 2);
    for (index_t row = best + 1; row <= std::min(cut + 2, g.rows - 1); ++row)
      if (std::abs(mismatch(row)) < std::abs(mismatch(best))) best = row;
    cut = best;
    plan.grid_shift = -mismatch(cut) * g.delta_z;
    source_slice += mismatch(cut);
  }
  plan.mismatch = mismatch(cut);

  auto const split = static_cast<index_t>(std::nearbyint(source_slice)), top = split + 1;
  plan.possible =
      split >= 1 && split <= g.slices - 2 && top >= plan.slice_overlap && g.slices - top >= plan.slice_overlap;
  if (!plan.possible) return plan;
  auto const half = [&](index_t row, index_t row_end, index_t slice, index_t slice_end) {
    split_half h{row, row_end - row, slice, slice_end - slice, 0, 0};
    h.det_row_offset = g.det_row_offset + (middle_row - static_cast<double>(row_end + row - 1) / 2) * g.delta_det_row;
    h.recon_slice_offset = (static_cast<double>(slice_end + slice - 1) / 2 - source_slice) * g.delta_z;
    return h;
  };
  plan.top = half(0, std::min(cut + plan.row_overlap, g.rows), 0, top + plan.slice_overlap);
  plan.bottom = half(std::max<index_t>(cut - plan.row_overlap, 0), g.rows, top - plan.slice_overlap, g.slices);
  return plan;
}

namespace detail {

/// View of rows [first, first + rows) of every view.
inline view<float const, 3> take_rows(view<float const, 3> const& v, index_t first, index_t rows) {
  return {v.data() ? v.data() + first * v.stride(1) : nullptr, {v.extent(0), rows, v.extent(2)}, v.strides()};
}

/// Reconstructs one half into an array of its own, which holds the initial image if there is one.
template <class Context>
recon_log recon_of_half(Context const& ctx, cone_parameters p, split_half const& h, cone_geometry const& g,
                        view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                        temporary<float, Context> const& memory, recon_options options) {
  p.sinogram_shape[1] = h.rows;
  p.det_row_offset = h.det_row_offset;
  p.delta_voxel = g.delta_x;
  p.recon_shape = {g.recon_rows, g.recon_cols, h.slices};
  p.recon_slice_offset = h.recon_slice_offset;
  p.helical_z_shifts.clear();
  view<float, 3> const half(memory.data(), *p.recon_shape);
  if (auto const* image = std::get_if<view<float const, 3>>(&options.init_recon)) {
    if constexpr (Context::backend::has_data) {
      host_view const whole(ctx, *image);
      std::vector<float> part;
      for (index_t i = 0; i < half.extent(0); ++i)
        for (index_t j = 0; j < half.extent(1); ++j)
          for (index_t k = 0; k < h.slices; ++k) part.push_back(whole(i, j, h.first_slice + k));
      put(ctx, part.data(), half.size(), half.data());
    }
    options.init_recon = view<float const, 3>(half);
  }
  std::optional<view<float const, 3>> weights_of_half;
  if (weights) weights_of_half = take_rows(*weights, h.first_row, h.rows);
  return recon(ctx, cone_scan(p), take_rows(sinogram, h.first_row, h.rows), weights_of_half, half, options);
}

}  // namespace detail

/// Reconstructs a circular cone-beam scan in two halves, joined by a cross-fade over the slices around the plane of the
/// source, with nearly the result of recon. plan_split determines the halves. The sigmas come from the whole sinogram
/// without weights. Each half draws its partitions from the seed. If a half would be too thin, recon runs on the whole
/// scan instead, with a warning.
///
/// @param ctx       execution and instrumentation. On the host the call returns when the result is complete;
///                  on a device it waits as recon does, and the copy of the joined image to the device is queued.
/// @param p         parameters of a circular scan; empty optionals are sized automatically, for the whole scan.
/// @param sinogram  (views, rows, channels), line integrals.
/// @param weights   (views, rows, channels), >= 0; nothing for 1. Not all 0 in either half.
/// @param recon     (rows, cols, slices) of the whole, attenuation per unit of length; overwritten.
/// @param options   as for recon, but without checkpoint and resume. progress is called for one half, then for the
///                  other; if it stops the first, the second is its initial image.
/// @throws the errors of recon and plan_split; parameter_error for checkpoint or resume. On an error the contents of
///         recon are unspecified.
/// Cost: as recon, plus the shared rows and slices. Memory: that of recon for half a scan, and both halves of the image
/// in addition to recon. Source: MBIRJAX.
template <execution_policy Exec, instrumentation_policy Instr>
split_record split_sino_recon(context<Exec, Instr> const& ctx, cone_parameters const& p, view<float const, 3> sinogram,
                              std::optional<view<float const, 3>> weights, view<float, 3> recon,
                              recon_options options = {}, split_options const& split = {}) {
  using Context = context<Exec, Instr>;
  constexpr char const* name = "split_sino_recon";
  require(!options.resume && !options.checkpoint,
          [] { return std::string("split_sino_recon: checkpoint or resume is given, expected none: recon has them"); });
  cone_scan const whole(p);
  split_record record;
  record.plan = plan_split(p, split);
  detail::check(ctx, sinogram, whole.sinogram_shape(), name, "sinogram", "(views, rows, channels)");
  if (weights) detail::check(ctx, *weights, whole.sinogram_shape(), name, "weights", "(views, rows, channels)");
  detail::check(ctx, recon, whole.recon_shape(), name, "recon", "(rows, cols, slices)");
  if (auto const* image = std::get_if<view<float const, 3>>(&options.init_recon))
    detail::check(ctx, *image, whole.recon_shape(), name, "init_recon", "(rows, cols, slices)");

  auto const& g = whole.geometry();
  if (!record.plan.possible) {
    record.warnings.push_back("the plane of the source is too near the end of the " + std::to_string(g.slices) +
                              " slices for halves that overlap by " + std::to_string(2 * record.plan.slice_overlap) +
                              ": reconstructed as a whole");
    record.top = mbirk::recon(ctx, whole, sinogram, weights, recon, options);
    return record;
  }
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({"cone_split_sino_recon", detail::pairs(whole, std::ssize(whole.full_indices()))});
  record.split = true;
  if (!options.sigma_y || !options.sigma_x) {
    auto const automatic = auto_regularization(ctx, whole, sinogram, std::nullopt, options.snr_db, options.sharpness);
    if (!options.sigma_y) options.sigma_y = automatic.sigma_y;
    if (!options.sigma_x) options.sigma_x = automatic.sigma_x;
    if (!options.sigma_prox) options.sigma_prox = automatic.sigma_prox;
    record.warnings = automatic.warnings;
  }
  index_t const pixels = g.recon_rows * g.recon_cols;
  auto const &first = record.plan.top, &second = record.plan.bottom;
  temporary<float, Context> top(ctx, "top half", pixels * first.slices);
  record.top = detail::recon_of_half(ctx, p, first, g, sinogram, weights, top, options);
  if (record.top.cancelled) options.max_iterations = 0;
  temporary<float, Context> bottom(ctx, "bottom half", pixels * second.slices);
  record.bottom = detail::recon_of_half(ctx, p, second, g, sinogram, weights, bottom, options);

  if constexpr (Context::backend::has_data) {
    [[maybe_unused]] auto const stage = ctx.instr.stage("stitch");
    index_t const ramp = std::min<index_t>(4, record.plan.slice_overlap);
    host_copy const upper(ctx, top), lower(ctx, bottom);
    std::array<view<float const, 3>, 2> const halves{
        view<float const, 3>(upper.data(), {g.recon_rows, g.recon_cols, first.slices}),
        view<float const, 3>(lower.data(), {g.recon_rows, g.recon_cols, second.slices})};
    std::vector<float> joined(block_policy<Exec> ? static_cast<std::size_t>(recon.size()) : 0);
    view<float, 3> const whole_image = block_policy<Exec> ? view<float, 3>(joined.data(), recon.extents()) : recon;
    stitch_arrays(halves, whole_image, 2 * record.plan.slice_overlap, 2, ramp - ramp % 2);
    if (block_policy<Exec>) put(ctx, joined.data(), recon.size(), recon.data());
  }
  return record;
}

}  // namespace mbirk
