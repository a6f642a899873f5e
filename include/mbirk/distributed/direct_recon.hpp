// The method of Feldkamp, Davis and Kress over several ranks: every rank has some of the views, and receives a band of
// pixel rows of the image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/view_tree.hpp"
#include "mbirk/distributed/views.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/direct_recon.hpp"

namespace mbirk::distributed {
namespace detail {

using namespace mbirk::detail;

/// A range of views of this rank, filtered, in the layout of the projector.
template <class Context> struct filtered_range {
  using P = projector<cone_geometry>;

  /// @param views  of all ranks: the filter is scaled for those of its scan, the image for all
  filtered_range(Context const& ctx, cone_scan of_range, view<float const, 3> sinogram, index_t views,
                 filter_options const& options)
      : scan(std::move(of_range)),
        tables(ctx, scan),
        shape(P::template channel_major_shape<Context>(scan.geometry())),
        values(ctx, "filtered views", shape.size()) {
    filter_to_channel_major(ctx, scan, sinogram, values, shape, options);
    auto const share = static_cast<float>(static_cast<double>(shape.views) / static_cast<double>(views));
    launch(ctx, ceil_div(shape.size(), kernel::voxel_block),
           kernel::scale_values<typename Context::backend>{observe(ctx, values), share, shape.size()});
  }

  cone_scan scan;
  typename P::template tables<Context> tables;
  kernel::chunked_shape shape;
  temporary<float, Context> values;
};

/// fdk_recon without its checks. Collective.
template <class Context, communicator Comm>
void fdk_of_views(Context const& ctx, Comm const& ranks, cone_views const& part, view<float const, 3> sinogram,
                  view<float, 3> image, filter_options const& options, std::vector<std::string>* warnings) {
  using B = typename Context::backend;
  using P = projector<cone_geometry>;
  auto const& whole = part.whole();
  auto const& g = whole.geometry();
  auto const mine = part.ranges(ranks.rank());
  std::deque<std::optional<filtered_range<Context>>> filtered;  // nothing for ranges without views
  agree(ranks, [&] {
    for (index_t k = mine.first; k < mine.end(); ++k) {
      auto& range = filtered.emplace_back();
      auto const views = part.views_of_range(k);
      if (views.count == 0) continue;
      auto const* first = sinogram.data() + (views.first - part.views().first) * g.rows * g.channels;
      range.emplace(ctx, part.scan_of_range(k), view<float const, 3>(first, {views.count, g.rows, g.channels}), g.views,
                    options);
    }
  });

  std::vector<float> factors;
  auto const listed = part.pixels(part.rows());
  std::optional<device_table<float, Context>> device_factors;
  std::optional<device_table<std::int32_t, Context>> device_listed;
  std::optional<view_tree<Context, Comm>> tree;
  agree(ranks, [&] {
    index_t most = 0;
    for (index_t b = 0; b < row_bands; ++b) most = std::max(most, std::ssize(part.pixels(part.rows_of_band(b))));
    tree.emplace(ctx, ranks, part, most, g.slices);
    factors.assign(static_cast<std::size_t>(g.slices), 1.0f);
    if (is_helical(whole)) factors = mbirk::detail::helical_factors(whole, warnings);
    factors.resize(static_cast<std::size_t>(round_up(std::max<index_t>(1, g.slices), B::lanes)));
    device_factors.emplace(ctx, factors, "slice weights");
    device_listed.emplace(ctx, listed.data(), std::ssize(listed), "pixels of the band");
    launch(ctx, ceil_div(image.size(), kernel::voxel_block),
           kernel::fill_values<B>{observe(ctx, image, "recon", array_role::output), 0, image.size()});
  });
  for (index_t b = 0; b < row_bands; ++b) {
    auto const pixels = part.pixels(part.rows_of_band(b));
    index_t const count = std::ssize(pixels);
    std::optional<device_plan<Context>> plan;
    if (count > 0) plan.emplace(ctx, kernel::plan_list(pixels, g.recon_rows, g.recon_cols, g.slices));
    auto const back_project = [&](index_t range, temporary<float, Context> const& to) {
      if (!plan) return;
      auto const& r = filtered[static_cast<std::size_t>(range - mine.first)];
      if (r) return P::back_project_channel_major(ctx, r->scan, r->tables, observe(ctx, r->values), r->shape, *plan, 1,
                                                  observe(ctx, to));
      launch(ctx, ceil_div(count * g.slices, kernel::voxel_block),  // fewer views than ranges
             kernel::fill_values<B>{observe(ctx, to), 0, count * g.slices});
    };
    int const owner = part.by_bands().owner_of_band(b);
    auto const columns = tree->add("parts of the image", tree_piece::of_one(owner, count, ranks.size()), back_project);
    if (owner != ranks.rank()) continue;
    launch(ctx, ceil_div(count, kernel::band_batch),
           kernel::store_columns<B>{
               columns.observe_in(ctx), observe(ctx, *device_listed) + (pixels.data() - listed.data()),
               observe(ctx, *device_factors), observe(ctx, image, "recon", array_role::output), g.slices, count,
               part.rows().first * g.recon_cols});
  }
}

/// The values of the scan on which ranks must agree.
/// @param device  whether this rank has its views on a device
inline std::vector<common_value> common_values(cone_views const& part, bool device) {
  auto const& p = part.parameters();
  auto const& g = part.whole().geometry();
  auto const of = [](auto const&... values) { return fingerprint(values...).value(); };
  return {{"the shape of the sinogram", of(part.whole().sinogram_shape())},
          {"the shape of the image", of(part.whole().recon_shape())},
          {"the distances or the shape of the detector",
           of(p.source_detector_dist, p.source_iso_dist, p.use_curved_detector)},
          {"the pitches or offsets", of(g.delta_det_channel, g.delta_det_row, g.det_channel_offset, g.det_row_offset,
                                        g.delta_x, g.delta_y, g.delta_z, g.recon_slice_offset)},
          {"the angles", of(part.whole().angles())},
          {"helical_z_shifts", of(p.helical_z_shifts)},
          {"the mask", of(part.whole().mask())},
          {"the instruction set", of(instruction_set())},
          {"having the views on a device", device ? 1 : 0}};
}

/// @throws parameter_error if the views are those of another rank
template <communicator Comm> void require_part(Comm const& ranks, cone_views const& part, char const* operation) {
  require(part.ranks() == ranks.size() && part.is_of(ranks.rank()), [&] {
    return mbirk::detail::message(operation, ": the views are those of another rank or number of ranks");
  });
}
/// @throws shape_error unless an array is dense
template <class T> void require_dense(view<T, 3> const& v, char const* operation, char const* name) {
  bool const dense = v.stride(2) == 1 && v.stride(1) == v.extent(2) && v.stride(0) == v.extent(1) * v.extent(2);
  require<shape_error>(v.size() == 0 || dense, [&] {
    return mbirk::detail::message(operation, ": ", name,
                                  " has gaps, or axes in another order, expected a dense array");
  });
}

}  // namespace detail

/// mbirk::fdk_recon, by several ranks that have some views each and receive some rows of the image each. Collective.
///
/// @param ctx       execution and instrumentation; on a device the arrays of the rank are in its memory. The call
///                  returns when this rank's part is complete, on a device when it is queued.
/// @param ranks     a communicator: self, mpi, or either one counted.
/// @param part      the views of this rank: cone_views(parameters, ranks.rank(), ranks.size()).
/// @param sinogram  (views of the rank, rows, channels), dense, line integrals; all views of all ranks equally spaced
///                  over a full turn.
/// @param image     (rows of the rank, cols, slices), dense; overwritten.
/// @param options   name of the filter and choice of taps.
/// @param warnings  as for fdk_recon; may be null.
/// @throws as fdk_recon, on every rank the error of the first that failed; communication_error; parameter_error also
///         when `part` is of another rank, and when ranks differ in the parameters of the scan or in the options.
/// Cost: a filter and a back projection of the views of the rank into the whole image, in 16 bands of pixel rows.
/// Memory: the filtered views, and a third to a half of the image. Traffic of a rank: one to three parts of the rows of
/// the others, of 4 bytes a voxel inside the mask; one part for numbers of ranks that are powers of two. The image has
/// the same bits for every number of ranks (up to 16) and threads; it agrees with mbirk::fdk_recon, which adds the
/// views in one order, to float32 rounding.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
void fdk_recon(context<Exec, Instr> const& ctx, Comm const& ranks, cone_views const& part,
               view<float const, 3> sinogram, view<float, 3> image, filter_options const& options = {},
               std::vector<std::string>* warnings = nullptr) {
  using Context = context<Exec, Instr>;
  static_assert(Context::backend::has_data);
  constexpr char const* name = "fdk_recon";
  std::vector<common_value> values;
  agree(ranks, [&] {
    mbirk::detail::check_filter(options, name);
    require_shape(sinogram, part.sinogram_shape(), name, "sinogram", "(views of the rank, rows, channels)");
    require_shape(image, part.recon_shape(), name, "image", "(rows of the rank, cols, slices)");
    detail::require_dense(sinogram, name, "sinogram");
    detail::require_dense(image, name, "image");
    detail::require_part(ranks, part, name);
    values = detail::common_values(part, on_device<Context>);
    values.push_back({"the filter", fingerprint(options.name, static_cast<int>(options.taps),
                                                static_cast<int>(options.method)).value()});
  });
  require_same(ranks, values, name);
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<cone_geometry, "fdk_recon">, mbirk::detail::masked_pairs(part.whole())});
  detail::fdk_of_views(ctx, ranks, part, sinogram, image, options, warnings);
}

}  // namespace mbirk::distributed
