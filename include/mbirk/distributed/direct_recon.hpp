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
#include "mbirk/distributed/views.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/direct_recon.hpp"

namespace mbirk::distributed {
namespace detail {

/// A back projection whose views are shared out. The ranges of views are the leaves of a binary tree. A rank adds the
/// whole subtrees that it has, and sends their sums to the rank that has the pixels, which adds up the rest. Therefore
/// the order of all additions is that of the tree, whichever rank makes them.
template <class Context, communicator Comm> class tree_back_projection {
  using B = typename Context::backend;

 public:
  /// @param sinogram  (views of this rank, rows, channels), dense
  tree_back_projection(Context const& ctx, Comm const& ranks, cone_views const& part,
                       temporary<float, Context> const& sinogram)
      : ctx_(ctx), ranks_(ranks), part_(part), sinogram_(sinogram), slices_(part.whole().geometry().slices) {
    index_t most = 0;
    for (index_t b = 0; b < row_bands; ++b) most = std::max(most, std::ssize(part.pixels(part.rows_of_band(b))));
    agree(ranks, [&] {
      for (int k = 0; k <= depth; ++k) sums_.emplace_back(ctx, "part of the image", most * slices_);
      auto const mine = part.ranges(ranks.rank());
      for (index_t k = mine.first; k < mine.end(); ++k) {
        scans_.emplace_back();
        if (part.views_of_range(k).count > 0) scans_.back().emplace(part.scan_of_range(k));
      }
    });
  }

  /// Calls store(pixels, columns) for every band of this rank, with the voxel columns (pixels, slices).
  template <class Store> void run(Store const& store) {
    for (owner_ = 0; owner_ < ranks_.size(); ++owner_) {
      auto const bands = part_.bands(owner_);
      for (index_t b = bands.first; b < bands.end(); ++b) {
        pixels_ = part_.pixels(part_.rows_of_band(b));
        if (owner_ == ranks_.rank()) {
          collect({0, view_ranges}, 0);
          store(pixels_, sums_.front());
        } else {
          send({0, view_ranges});
        }
      }
    }
  }

 private:
  static constexpr int depth = 4;
  static_assert(1 << depth == view_ranges);

  index_t entries() const noexcept { return std::ssize(pixels_) * slices_; }
  static index_range left(index_range const& node) { return {node.first, node.count / 2}; }
  static index_range right(index_range const& node) { return {node.first + node.count / 2, node.count / 2}; }
  bool has(int rank, index_range const& node) const {
    auto const of_rank = part_.ranges(rank);
    return of_rank.first <= node.first && node.end() <= of_rank.end();
  }
  bool has_some(index_range const& node) const {
    auto const mine = part_.ranges(ranks_.rank());
    return mine.first < node.end() && node.first < mine.end();
  }

  /// Sends the sums of the largest subtrees within a node that this rank has, from left to right.
  void send(index_range const& node) {
    if (!has_some(node)) return;
    if (!has(ranks_.rank(), node)) {
      send(left(node));
      send(right(node));
      return;
    }
    add_up(node, 0);
    ranks_.send("parts of the image", std::as_bytes(std::span(sums_[0].data(), static_cast<std::size_t>(entries()))),
                owner_);
  }
  /// Computes the sum of a node, of which other ranks may have parts, in sums_[level].
  void collect(index_range const& node, int level) {
    for (int r = 0; r < ranks_.size(); ++r) {
      if (!has(r, node)) continue;
      if (r == ranks_.rank()) add_up(node, level);
      else receive(r, level);
      return;
    }
    collect(left(node), level);
    collect(right(node), level + 1);
    add(level);
  }
  void receive(int rank, int level) {
    std::span const to(sums_[static_cast<std::size_t>(level)].data(), static_cast<std::size_t>(entries()));
    ranks_.receive("parts of the image", std::as_writable_bytes(to), rank);
  }
  /// Computes the sum of a node that this rank has, in sums_[level].
  void add_up(index_range const& node, int level) {
    if (node.count == 1) return back_project(node.first, level);
    add_up(left(node), level);
    add_up(right(node), level + 1);
    add(level);
  }
  /// sums_[level] += sums_[level + 1]
  void add(int level) {
    auto const at = static_cast<std::size_t>(level);
    index_t const pixels = std::ssize(pixels_);
    launch(ctx_, ceil_div(pixels, kernel::band_batch),
           kernel::add_columns<B>{observe(ctx_, sums_[at]), observe(ctx_, sums_[at + 1]), slices_, pixels});
  }
  void back_project(index_t range, int level) {
    if (pixels_.empty()) return;
    auto const& to = sums_[static_cast<std::size_t>(level)];
    auto const& scan = scans_[static_cast<std::size_t>(range - part_.ranges(ranks_.rank()).first)];
    if (!scan) {  // fewer views than ranges
      launch(ctx_, ceil_div(entries(), kernel::voxel_block), kernel::fill_values<B>{observe(ctx_, to), 0, entries()});
      return;
    }
    auto const shape = scan->sinogram_shape();
    index_t const at = (part_.views_of_range(range).first - part_.views().first) * shape[1] * shape[2];
    sparse_back_project(ctx_, *scan, view<float const, 3>(sinogram_.data() + at, shape),
                        view<std::int32_t const, 1>(pixels_.data(), {std::ssize(pixels_)}),
                        view<float, 2>(to.data(), {std::ssize(pixels_), slices_}));
  }

  Context const& ctx_;
  Comm const& ranks_;
  cone_views const& part_;
  temporary<float, Context> const& sinogram_;
  index_t slices_;
  std::deque<temporary<float, Context>> sums_;   // one for each level of the tree
  std::deque<std::optional<cone_scan>> scans_;   // of the ranges of this rank
  int owner_ = 0;                                // of the pixels
  std::span<std::int32_t const> pixels_;
};

/// All that ranks must agree on.
inline std::vector<common_value> common_values(cone_views const& part, filter_options const& o) {
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
          {"the filter", of(o.name, static_cast<int>(o.taps), static_cast<int>(o.method))}};
}

}  // namespace detail

/// mbirk::fdk_recon, by several ranks that have some views each and receive some rows of the image each. Collective.
///
/// @param ctx       execution (on the host) and instrumentation. The call returns when this rank's part is complete.
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
/// Memory: the filtered views, and a third of the image. Traffic of a rank: one to three parts of the rows of the
/// others, of 4 bytes a voxel inside the mask; one part for numbers of ranks that are powers of two. The image has the
/// same bits for every number of ranks (up to 16) and threads; it agrees with mbirk::fdk_recon, which adds the views in
/// one order, to float32 rounding.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
void fdk_recon(context<Exec, Instr> const& ctx, Comm const& ranks, cone_views const& part,
               view<float const, 3> sinogram, view<float, 3> image, filter_options const& options = {},
               std::vector<std::string>* warnings = nullptr) {
  using Context = context<Exec, Instr>;
  using B = typename Context::backend;
  static_assert(!on_device<Context>, "distributed reconstructions run on the host");
  constexpr char const* name = "fdk_recon";
  auto const& whole = part.whole();
  auto const& g = whole.geometry();
  std::vector<common_value> values;
  agree(ranks, [&] {
    mbirk::detail::check_filter(options, name);
    require_shape(sinogram, part.sinogram_shape(), name, "sinogram", "(views of the rank, rows, channels)");
    require_shape(image, part.recon_shape(), name, "image", "(rows of the rank, cols, slices)");
    auto const dense = [&](auto const& v, char const* what) {
      require<shape_error>(v.size() == 0 || (v.stride(2) == 1 && v.stride(1) == v.extent(2) &&
                                             v.stride(0) == v.extent(1) * v.extent(2)), [&] {
        return mbirk::detail::message(name, ": ", what, " has gaps, or axes in another order, expected a dense array");
      });
    };
    dense(sinogram, "sinogram");
    dense(image, "image");
    require(part.ranks() == ranks.size() && part.is_of(ranks.rank()), [&] {
      return mbirk::detail::message(name, ": the views are those of another rank or number of ranks");
    });
    values = detail::common_values(part, options);
  });
  require_same(ranks, values, name);
  [[maybe_unused]] auto const guard = ctx.instr.scope(
      {mbirk::detail::operation_name<cone_geometry, "fdk_recon">, mbirk::detail::masked_pairs(whole)});

  std::optional<temporary<float, Context>> filtered;
  agree(ranks, [&] {
    filtered.emplace(ctx, "filtered views", sinogram.size());
    auto const mine = part.ranges(ranks.rank());
    for (index_t k = mine.first; k < mine.end(); ++k) {
      auto const [first, count] = part.views_of_range(k);
      if (count == 0) continue;
      auto const scan = part.scan_of_range(k);
      auto const shape = scan.sinogram_shape();
      index_t const at = (first - part.views().first) * shape[1] * shape[2], size = shape[0] * shape[1] * shape[2];
      view<float, 3> const q(filtered->data() + at, shape);
      direct_filter(ctx, scan, view<float const, 3>(sinogram.data() + at, shape), q, options);
      // The filter is scaled for the views of its scan, the image for those of the whole.
      auto const share = static_cast<float>(static_cast<double>(count) / static_cast<double>(g.views));
      launch(ctx, ceil_div(size, kernel::voxel_block),
             kernel::scale_values<B>{observe(ctx, q, "filtered views", array_role::temporary), share, size});
    }
  });

  detail::tree_back_projection<Context, Comm> back(ctx, ranks, part, *filtered);
  std::vector<float> factors;
  auto const listed = part.pixels(part.rows());
  std::optional<device_table<float, Context>> device_factors;
  std::optional<device_table<std::int32_t, Context>> device_listed;
  agree(ranks, [&] {
    factors.assign(static_cast<std::size_t>(g.slices), 1.0f);
    if (is_helical(whole)) factors = mbirk::detail::helical_factors(whole, warnings);
    factors.resize(static_cast<std::size_t>(round_up(std::max<index_t>(1, g.slices), B::lanes)));
    device_factors.emplace(ctx, factors, "slice weights");
    device_listed.emplace(ctx, listed.data(), std::ssize(listed), "pixels of the band");
    launch(ctx, ceil_div(image.size(), kernel::voxel_block),
           kernel::fill_values<B>{observe(ctx, image, "recon", array_role::output), 0, image.size()});
  });
  back.run([&](std::span<std::int32_t const> pixels, temporary<float, Context> const& columns) {
    index_t const count = std::ssize(pixels);
    launch(ctx, ceil_div(count, kernel::band_batch),
           kernel::store_columns<B>{observe(ctx, columns),
                                    observe(ctx, *device_listed) + (pixels.data() - listed.data()),
                                    observe(ctx, *device_factors), observe(ctx, image, "recon", array_role::output),
                                    g.slices, count, part.rows().first * g.recon_cols});
  });
}

}  // namespace mbirk::distributed
