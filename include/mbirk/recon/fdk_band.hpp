// FDK of scans that are larger than memory, or than that of a device: some rows of a reconstruction, to which the views
// are added block by block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/recon/direct_recon.hpp"

namespace mbirk {

/// Rows of a reconstruction whose first row is a multiple of this form a band: pixels are grouped as in the whole.
inline constexpr index_t fdk_band_unit = 4 * kernel::tile_side;

/// fdk_recon of some rows of the reconstruction, on the host to the same bits, from views that are given in blocks:
///
///     fdk_band band(ctx, scan, first_row, recon);      // recon: (rows of the band, cols, slices)
///     while (band.views() < views) band.add(next_block);
///     band.finish();
///
/// All blocks but the last must have an even number of views for the same bits: where a view has an odd number of packs
/// of rows, the ramp filter transforms packs of two views together. The context, the scan and recon must outlive it.
/// Memory: 16 bytes for each pixel of the band, for each one inside the mask while it is made, and during add a
/// channel-major copy of the block. A band costs its share of the back projection, and filters all views.
///
/// On a device, where recon and the views must be in its memory, a block is summed by itself and then added: results
/// are those of fdk_recon to rounding, and a second block needs an array of the size of recon. Source: Feldkamp, Davis,
/// Kress 1984; the decomposition is mbirk's own.
template <execution_policy Exec, instrumentation_policy Instr> class fdk_band {
  using Context = context<Exec, Instr>;
  using P = detail::projector<cone_geometry>;

 public:
  /// Sets recon to 0.
  /// @param first_row  of the reconstruction, a multiple of fdk_band_unit.
  /// @param recon      (rows, cols, slices): a multiple of fdk_band_unit rows, or all rows from first_row on; may not
  ///                   alias the sinogram; on a device without gaps.
  /// @throws shape_error, parameter_error; allocation_error when the lists do not fit.
  fdk_band(Context const& ctx, cone_scan const& s, index_t first_row, view<float, 3> recon)
      : ctx_(ctx),
        scan_(s),
        recon_(checked(ctx, s, first_row, recon)),
        plan_(ctx, rows_of_mask(s, first_row, recon)),
        tables_(ctx, s) {
    set_to_zero();
  }
  fdk_band(fdk_band const&) = delete;
  fdk_band& operator=(fdk_band const&) = delete;

  /// Number of views that have been added.
  index_t views() const noexcept { return views_; }

  /// Filters the next views and adds their back projection.
  /// @param sinogram  (views of the block, rows, channels), line integrals.
  /// @throws shape_error, parameter_error before anything runs; allocation_error.
  void add(view<float const, 3> sinogram, filter_options const& options = {}) {
    auto const& g = scan_.geometry();
    detail::check_filter(options, "fdk_band");
    index_t const count = sinogram.extent(0);
    require<shape_error>(count <= g.views - views_, [&] {
      return detail::message("fdk_band: sinogram has ", count, " views, expected at most the ", g.views - views_,
                             " that have not been added");
    });
    detail::check(ctx_, sinogram, {count, g.rows, g.channels}, "fdk_band", "sinogram", "(views, rows, channels)");
    [[maybe_unused]] auto const guard = ctx_.instr.scope(
        {detail::operation_name<cone_geometry, "fdk_recon">, count * plan_.pixels * g.slices});
    auto const shape = shape_of(count);
    temporary<float, Context> filtered(ctx_, "filtered views", shape.size());
    detail::filter_to_channel_major(ctx_, scan_, sinogram, filtered, shape, options);
    [[maybe_unused]] auto const stage = ctx_.instr.stage("project");
    auto const back_project_to = [&](view<float, 3> x) {
      P::back_project_views(ctx_, scan_, tables_, views_, observe(ctx_, filtered), shape, plan_,
                            observe(ctx_, x, "recon", array_role::output));
    };
    if constexpr (on_device<Context>) add_block(back_project_to);
    else back_project_to(recon_);
    views_ += count;
  }

  /// Weighs the slices of a helical scan.
  /// @param warnings  receives a text when the result is only approximate; may be null.
  /// @throws parameter_error if views are missing
  void finish(std::vector<std::string>* warnings = nullptr) {
    require(views_ == scan_.geometry().views, [&] {
      return detail::message("fdk_band: ", views_, " views have been added, expected all ", scan_.geometry().views);
    });
    [[maybe_unused]] auto const guard = ctx_.instr.scope({detail::operation_name<cone_geometry, "fdk_recon">, 0});
    detail::weigh_slices(ctx_, scan_, plan_, observe(ctx_, recon_, "recon", array_role::output), warnings);
  }

 private:
  static view<float, 3> checked(Context const& ctx, cone_scan const& s, index_t first_row, view<float, 3> recon) {
    auto const [rows, cols, slices] = s.recon_shape();
    require(first_row >= 0 && first_row <= rows && first_row % fdk_band_unit == 0, [&] {
      return detail::message("fdk_band: first_row is ", first_row, ", expected a multiple of ", fdk_band_unit,
                             " up to ", rows);
    });
    index_t const left = rows - first_row;
    bool const whole_units = recon.extent(0) % fdk_band_unit == 0;
    require<shape_error>(recon.extent(0) == left || (recon.extent(0) < left && whole_units), [&] {
      return detail::message("fdk_band: recon has ", recon.extent(0), " rows, expected a multiple of ", fdk_band_unit,
                             ", or all ", left, " from row ", first_row, " on");
    });
    detail::check(ctx, recon, {recon.extent(0), cols, slices}, "fdk_band", "recon", "(rows, cols, slices)");
    require<shape_error>(!on_device<Context> || recon.span() == recon.size(), [] {
      return std::string("fdk_band: recon has gaps, expected a dense array on a device");
    });
    return recon;
  }
  /// The pixels of the band, cut out of the plan of the whole: kernels read whole packs, so what follows the last pixel
  /// must be the same too.
  static kernel::pixel_plan rows_of_mask(cone_scan const& s, index_t first_row, view<float, 3> recon) {
    auto const whole = detail::mask_pixels(s, recon.strides());
    index_t const end_row = first_row + recon.extent(0);
    auto const row_of = [&](kernel::pixel_group const& group) {
      return index_t{whole.rows[static_cast<std::size_t>(group.first)]};
    };
    kernel::pixel_plan plan;
    index_t first = 0;
    for (auto group : whole.groups) {
      if (row_of(group) < first_row || row_of(group) >= end_row) continue;
      if (plan.groups.empty()) first = group.first;
      group.first -= first;
      plan.groups.push_back(group);
      plan.pixels += group.count;
    }
    auto const cut = [&](auto const& from, index_t count) {
      return std::vector(from.begin() + first, from.begin() + first + count);
    };
    plan.rows = cut(whole.rows, plan.pixels + kernel::group_pixels);
    plan.cols = cut(whole.cols, plan.pixels + kernel::group_pixels);
    plan.offsets = cut(whole.offsets, plan.pixels);
    for (auto& offset : plan.offsets) offset -= first_row * recon.stride(0);
    return plan;
  }
  kernel::chunked_shape shape_of(index_t views) const {
    auto g = scan_.geometry();
    g.views = views;
    return P::channel_major_shape<Context>(g);
  }
  /// Adds what back_project_to(array) writes to recon, on a device.
  template <class BackProject> void add_block(BackProject const& back_project_to) {
    if (views_ == 0) return back_project_to(recon_);
    using B = typename Context::backend;
    if (!block_) {
      block_.emplace(ctx_, "back projection of a block", recon_.size());
      clear(ctx_, *block_);  // outside the mask
    }
    view<float, 3> const block(block_->data(), recon_.extents());
    back_project_to(block);
    index_t const pixels = recon_.extent(0) * recon_.extent(1);
    launch(ctx_, ceil_div(pixels, kernel::band_batch),
           kernel::add_columns<B>{observe(ctx_, recon_, "recon", array_role::output), observe(ctx_, *block_),
                                  recon_.extent(2), pixels});
  }
  void set_to_zero() {
    using B = typename Context::backend;
    [[maybe_unused]] auto const guard = ctx_.instr.scope({detail::operation_name<cone_geometry, "fdk_recon">, 0});
    [[maybe_unused]] auto const stage = ctx_.instr.stage("zero");
    std::vector<index_t> offsets;
    for (index_t i = 0; i < recon_.extent(0); ++i)
      for (index_t j = 0; j < recon_.extent(1); ++j) offsets.push_back(i * recon_.stride(0) + j * recon_.stride(1));
    device_table const columns(ctx_, offsets, "pixel offsets of a band");
    launch(ctx_, ceil_div(columns.size(), kernel::zero_columns<B>::batch),
           kernel::zero_columns<B>{observe(ctx_, recon_, "recon", array_role::output), observe(ctx_, columns),
                                   columns.size(), recon_.extent(2)});
  }

  Context const& ctx_;
  cone_scan const& scan_;
  view<float, 3> recon_;
  detail::device_plan<Context> plan_;
  typename P::template tables<Context> tables_;
  index_t views_ = 0;
  std::optional<temporary<float, Context>> block_;  // the back projection of a block, on a device
};

}  // namespace mbirk
