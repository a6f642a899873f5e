// The data term of a rank that has some of the views. It back projects range by range, and its sums are those of single
// views, so that no bit depends on how many ranges a rank has. Not for users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/distributed/band_sums.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/recon/data_term.hpp"

namespace mbirk::distributed::detail {

template <class Context, communicator Comm> class data_term_of_views : public data_sinograms<Context> {
  using B = typename Context::backend;
  using P = projector<cone_geometry>;
  using base = data_sinograms<Context>;
  using base::ctx_, base::shape_, base::error_, base::weights_, base::projection_;

 public:
  template <class Part>
  data_term_of_views(Context const& ctx, Part const& part, cone_scan const&, kernel::chunked_shape const& shape,
                     bool weighted)
      : base(ctx, shape, weighted),
        ranks_(part.ranks()),
        part_(part.views()),
        mine_(part_.ranges()),
        scan_(part_.scan()),
        tables_(ctx, scan_) {
    index_t view = 0;
    for (index_t k = mine_.first; k < mine_.end(); ++k) {
      auto& range = ranges_.emplace_back();
      index_t const views = part_.views_of_range(k).count;
      if (views > 0) range.emplace(ctx, part_.scan_of_range(k), view);
      view += views;
    }
  }

  void reserve(index_t) {
    if (!projection_) projection_.emplace(ctx_, "weighted projection", shape_.size());
  }

  /// Diagonal of A' diag(w) A at all pixels of this rank, band by band. Collective.
  template <class Part> void make_hessian(Part const& part, temporary<float, Context> const& hessian) {
    auto const& g = part_.whole().geometry();
    std::optional<view_tree<Context, Comm>> tree;
    std::optional<device_plan<Context>> plan;
    part.agree([&] {
      index_t const most = part_.by_bands().most_rows_of_a_band();
      tree.emplace(ctx_, ranks_, part_, most * g.recon_cols, g.slices);
    });
    for (index_t b = 0; b < row_bands; ++b) {
      auto const rows = part_.rows_of_band(b);
      std::vector<std::int32_t> pixels(static_cast<std::size_t>(rows.count * g.recon_cols));
      std::iota(pixels.begin(), pixels.end(), static_cast<std::int32_t>(rows.first * g.recon_cols));
      plan.emplace(ctx_, kernel::plan_list(pixels, g.recon_rows, g.recon_cols, g.slices));
      int const owner = part_.by_bands().owner_of_band(b);
      auto const sums = tree->add(
          "parts of the Hessian", tree_piece::of_one(owner, std::ssize(pixels), ranks_.size()),
          [&](index_t range, temporary<float, Context> const& to) {
            if (weights_) return back_project(range, *weights_, *plan, 2, to);
            if (auto const& r = of(range)) P::unweighted_hessian(ctx_, r->scan, *plan, observe(ctx_, to));
            else fill(to, plan->pixels);
          });
      if (owner == ranks_.rank())
        copy_floats(ctx_, sums.observe_in(ctx_),
                    observe(ctx_, hessian) + (rows.first - part_.rows().first) * g.recon_cols * g.slices, sums.floats);
    }
  }
  /// z = A x in the views of this rank. Every rank receives the bands of the image one after the other. Collective.
  template <class Part, class Image>
  temporary<float, Context> const& project_image(Part const& part, Image const& image, bool zero,
                                                 std::optional<temporary<float, Context>>& fresh) {
    auto const& g = part_.whole().geometry();
    index_t const row = g.recon_cols * g.slices;
    std::optional<temporary<float, Context>> band, of_range;
    std::optional<value_messages<Context, Comm>> messages;
    part.agree([&] {
      base::fill_with_zeros(base::room_for_projection(fresh));
      index_t const rows = part_.by_bands().most_rows_of_a_band();
      index_t floats = 0;
      for (auto const& r : ranges_) floats = std::max(floats, r ? r->shape.size() : 0);
      band.emplace(ctx_, "band of the image", zero ? 0 : rows * row);
      of_range.emplace(ctx_, "projection of a band", zero ? 0 : floats);
      messages.emplace(ctx_, ranks_, band->size());
    });
    auto const& z = projection_ ? *projection_ : *fresh;
    for (index_t b = 0; b < row_bands && !zero; ++b) {
      auto const rows = part_.rows_of_band(b);
      int const owner = part_.by_bands().owner_of_band(b);
      if (owner == ranks_.rank())
        copy_floats(ctx_, image.observe_slices() + (rows.first - part_.rows().first) * row, observe(ctx_, *band),
                    rows.count * row);
      messages->broadcast("first image", band->data(), rows.count * row, owner);
      add_projection(rows, *band, *of_range, z);
    }
    return z;
  }

  /// Computes A' w e at the pixels of a subset that this rank has. Collective.
  void back(subset_of_views<Context> const& subset, step_of_views<Context, Comm>& step) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("back");
    auto to = observe(ctx_, step.direction());
    for (auto const& piece : subset.pieces()) {
      auto const sums = step.tree().add("parts of the back projection", piece.cut,
                                        [&](index_t range, temporary<float, Context> const& sum) {
                                          back_project(range, error_, piece.plan, 1, sum);
                                        });
      if (sums.floats > 0) copy_floats(ctx_, sums.observe_in(ctx_), to, sums.floats);
      to = to + sums.floats;
    }
  }

  bool keeps(index_t) const noexcept { return true; }
  index_t measuring_tasks(index_t) const noexcept { return shape_.views; }
  /// Stores w A d and the sums of w (A d)^2.
  template <class Sums>
  void measure(subset_of_views<Context> const& subset, temporary<float, Context> const& direction, Sums const&,
               typename Sums::of_subset const& sums) {
    base::with_weights([&](auto weighted, auto w) {
      using norm = kernel::squared_norm_epilogue<B, weighted, true>;
      norm const of_task{w, observe(ctx_, sums.squares), shape_};
      // On a device a task is a view.
      using of_view = std::conditional_t<on_device<Context>, norm, kernel::each_view_epilogue<norm>>;
      P::project_channel_major(ctx_, scan_, tables_, observe(ctx_, direction), subset.plan, observe(ctx_, *projection_),
                               shape_, of_view{of_task});
    });
  }
  void pack_direction(subset_of_views<Context> const&, temporary<float, Context> const&) const noexcept {}
  void step(subset_of_views<Context> const&, kernel::step_length alpha) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("error");
    base::subtract_projection(alpha);
  }
  void apply_pending_step() const noexcept {}

 private:
  /// A range of views of this rank.
  struct range_of_views {
    range_of_views(Context const& ctx, cone_scan of_range, index_t first_view)
        : scan(std::move(of_range)),
          tables(ctx, scan),
          shape(P::template channel_major_shape<Context>(scan.geometry())),
          at(first_view * shape.view_size()) {}

    cone_scan scan;
    typename P::template tables<Context> tables;
    kernel::chunked_shape shape;
    index_t at;  // its place in the sinograms of this rank
  };

  std::optional<range_of_views> const& of(index_t range) const {
    return ranges_[static_cast<std::size_t>(range - mine_.first)];
  }
  void fill(temporary<float, Context> const& to, index_t pixels) const {
    index_t const floats = pixels * part_.whole().geometry().slices;
    launch(ctx_, ceil_div(floats, kernel::voxel_block), kernel::fill_values<B>{observe(ctx_, to), 0, floats});
  }
  /// to = the back projection of a range, or 0 where there are fewer views than ranges.
  void back_project(index_t range, temporary<float, Context> const& sinogram, device_plan<Context> const& plan,
                    int coeff_power, temporary<float, Context> const& to) const {
    auto const& r = of(range);
    if (!r) return fill(to, plan.pixels);
    // On the host the shape also tells whether to prefetch: the sinogram of all ranges is what the caches cannot hold.
    auto const& shape = on_device<Context> ? r->shape : shape_;
    P::back_project_channel_major(ctx_, r->scan, r->tables, observe(ctx_, sinogram) + r->at, shape, plan, coeff_power,
                                  observe(ctx_, to));
  }
  /// z += A x for the pixels inside the mask of some rows.
  void add_projection(index_range rows, temporary<float, Context> const& band,
                      temporary<float, Context> const& of_range, temporary<float, Context> const& z) const {
    auto const& g = part_.whole().geometry();
    auto const pixels = part_.pixels(rows);
    if (pixels.empty()) return;
    auto planned = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, 0);
    for (std::size_t n = 0; n < planned.offsets.size(); ++n)
      planned.offsets[n] = ((planned.rows[n] - rows.first) * g.recon_cols + planned.cols[n]) * g.slices;
    device_plan const plan(ctx_, std::move(planned));
    for (auto const& r : ranges_) {
      if (!r) continue;
      P::project_channel_major(ctx_, r->scan, r->tables, observe(ctx_, band), plan, observe(ctx_, of_range), r->shape,
                               kernel::store_epilogue<B>{});
      index_t const columns = r->shape.size() / r->shape.width;
      launch(ctx_, ceil_div(columns, kernel::band_batch),
             kernel::add_columns<B>{observe(ctx_, z) + r->at, observe(ctx_, of_range), r->shape.width, columns});
    }
  }

  Comm const& ranks_;
  cone_views const& part_;
  index_range mine_;
  cone_scan scan_;  // of all views of this rank
  typename P::template tables<Context> tables_;
  std::deque<std::optional<range_of_views>> ranges_;  // nothing where there are fewer views than ranges
};

}  // namespace mbirk::distributed::detail
