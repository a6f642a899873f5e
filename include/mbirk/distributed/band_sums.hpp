// Sums of an iterative reconstruction by ranks that have views. A kernel leaves a number for each of its tasks; those
// of a range of views or of a band of rows are added in their order, and ranges and bands as a binary tree. Therefore
// no bit depends on how many of them a rank has. recon/task_sums.hpp is the model of this policy for one process. Not
// for users.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "mbirk/distributed/band_norms.hpp"
#include "mbirk/distributed/subset_of_views.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/vcd_sums.hpp"

namespace mbirk::distributed::detail {

template <class Context, communicator Comm> class band_sums {
  using B = typename Context::backend;

 public:
  template <class Geometry> static kernel::chunked_shape shape(Geometry const& g) {
    return projector<Geometry>::template channel_major_shape<Context>(g);
  }

  template <class Part>
  band_sums(Context const& ctx, Part const& part, kernel::chunked_shape const& shape, index_t slices,
            char const* operation)
      : ctx_(ctx),
        part_(part.views()),
        tree_(part.ranks()),
        shape_(shape),
        slices_(slices),
        padded_slices_(round_up(std::max<index_t>(1, slices), B::lanes)),
        leaves_(part_.bands().count),
        operation_(operation),
        slice_squares_(ctx, "slice norms", leaves_ * padded_slices_) {}

  fit_products fit(temporary<float, Context> const& z, temporary<float, Context> const& data,
                   std::optional<temporary<float, Context>> const& weights) const {
    temporary<double, Context> sums(ctx_, "fit sums", 2 * shape_.views);
    with_weights(ctx_, weights, [&](auto weighted, auto w) {
      launch(ctx_, shape_.views,
             kernel::projection_products<B, weighted>{observe(ctx_, z), observe(ctx_, data), w, observe(ctx_, sums),
                                                      shape_});
    });
    auto const both = tree_.sum("fit", of_views(sums, 2), 2);
    return {both[0], both[1]};
  }
  double weight_sum(temporary<float, Context> const& weights) const {
    temporary<double, Context> sums(ctx_, "weight sums", shape_.views);
    launch(ctx_, shape_.views, kernel::sinogram_sum<B>{observe(ctx_, weights), observe(ctx_, sums), shape_});
    return tree_.sum("mean weight", of_views(sums, 1), 1)[0];
  }
  /// Sum of w e^2 of the weighted error w e.
  double error_sum(temporary<float, Context> const& error,
                   std::optional<temporary<float, Context>> const& weights) const {
    temporary<double, Context> sums(ctx_, "error sums", shape_.views);
    with_weights(ctx_, weights, [&](auto weighted, auto w) {
      launch(ctx_, shape_.views,
             kernel::weighted_squares<B, weighted>{observe(ctx_, error), w, observe(ctx_, sums), shape_});
    });
    return tree_.sum("rmse", of_views(sums, 1), 1)[0];
  }

  /// Sums of the line search of a subset: G d and h_prior d^2, two per group of the rank's pixels; w (A d)^2, one per
  /// task of each range of views.
  struct of_subset {
    subset_of_views<Context> const& subset;
    temporary<double, Context> slopes, squares;

    of_subset(band_sums const& all, subset_of_views<Context> const& s, bool, index_t norm_tasks)
        : subset(s),
          slopes(all.ctx_, "direction sums", 2 * s.own().direction_groups().size()),
          squares(all.ctx_, "line search sums", norm_tasks) {}
  };
  template <class Prior>
  void find_direction(of_subset const& sums, Prior const& prior, kernel::subset_arrays<B> const& subset,
                      double precision) const {
    launch(ctx_, subset.groups.size(),
           kernel::vcd_direction<B, Prior>{prior, subset, static_cast<float>(precision), observe(ctx_, sums.slopes)});
  }
  /// Replaces the sums of tasks, (tasks, 2, padded slices), by those over all pixels of the subset.
  index_t damping_parts(of_subset const& sums, temporary<double, Context> const& columns, index_t) const {
    index_t const both = 2 * padded_slices_;
    temporary<double, Context> const of_bands(ctx_, "damping sums of bands", leaves_ * both);
    clear(ctx_, of_bands);
    for (index_t n = 0; n < leaves_; ++n) {
      auto const [first, count] = sums.subset.groups_of(n);
      auto const of_band = observe(ctx_, columns) + first * both;
      launch(ctx_, both / B::lanes,
             kernel::reduce_slice_sums<B>{of_band, observe(ctx_, of_bands) + n * both,
                                          folded_rows(ctx_, of_band, count, both), both});
    }
    auto const leaves = without_padding(of_bands);
    auto const all = tree_.sum("slice means", leaves, 2 * slices_);
    // Slices beyond the last one are divided by 1.
    std::vector<double> means(static_cast<std::size_t>(both), 0.0);
    std::fill_n(means.begin() + padded_slices_, padded_slices_, 1.0);
    for (index_t m = 0; m < 2; ++m)
      std::copy_n(all.data() + m * slices_, slices_, means.data() + m * padded_slices_);
    put(ctx_, means.data(), both, columns.data());
    return 1;
  }
  /// @throws error if the step is not finite, in every process
  kernel::step_length find_step(index_t, kernel::vcd_line_search const& search, of_subset const& sums) {
    host_copy const slopes(ctx_, sums.slopes), squares(ctx_, sums.squares);
    std::vector<double> three;
    index_t view = 0;
    for (index_t n = 0; n < leaves_; ++n) {
      auto const both = add_up(slopes, sums.subset.groups_of(n), 2);
      index_t const views = views_of(n);
      auto const square = add_up(squares, {view, views}, 1);
      view += views;
      three.insert(three.end(), {both[0], both[1], square[0]});
    }
    auto const all = tree_.sum("line search", three, 3);
    double alpha[1] = {1};
    search({all[0], all[1], all[2]}, alpha);
    require<error>(std::isfinite(alpha[0]), [&] { return no_finite_step(operation_); });
    alphas_ += alpha[0];
    return {alpha[0]};
  }

  void begin_iteration(index_t) {
    clear(ctx_, slice_squares_);
    changes_.assign(static_cast<std::size_t>(leaves_), 0.0);
    alphas_ = 0;
  }
  /// x += alpha d, in the rows of this rank.
  template <class Image>
  void move(index_t, subset_of_views<Context> const& subset, temporary<float, Context> const& direction,
            Image const& image, kernel::step_length const& alpha) {
    auto const& own = subset.own();
    auto const ranges = own.ranges.all();
    auto const at = image.columns();
    // Tasks have as many slices on every rank, however many ranks there are.
    auto const pieces = pieces_of(subset.ranges_of_band());
    index_t const tasks = ranges.size() * pieces.count();
    temporary<double, Context> change(ctx_, "change sums", tasks),
        columns(ctx_, "slice sums", ranges.size() * padded_slices_);
    kernel::vcd_update<B> kernel{observe(ctx_, own.pixels), observe(ctx_, direction), image.observe_slices(), at.cols,
                                 at.slices, padded_slices_, at.row_stride, at.col_stride, alpha,
                                 observe(ctx_, change), observe(ctx_, columns), pieces, ranges};
    kernel.plan_scratch();
    launch(ctx_, tasks, kernel);
    host_copy const changes(ctx_, change);
    for (index_t n = 0; n < leaves_; ++n) {
      auto const [first, count] = subset.ranges_of(n);
      launch(ctx_, padded_slices_ / B::lanes,
             kernel::reduce_slice_sums<B>{observe(ctx_, columns) + first * padded_slices_,
                                          observe(ctx_, slice_squares_) + n * padded_slices_, count, padded_slices_});
      changes_[static_cast<std::size_t>(n)] +=
          add_up(changes, {first * pieces.count(), count * pieces.count()}, 1)[0];
    }
  }
  template <class Image> iteration_sums end_iteration(Image const& image) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("norm");
    std::vector<index_range> bands;
    for (index_t n = 0; n < leaves_; ++n) bands.push_back(image.voxels_of(n));
    auto const norms = band_norms(ctx_, image.observe_slices(), bands);
    std::vector<double> both;
    for (std::size_t n = 0; n < norms.size(); ++n) both.insert(both.end(), {changes_[n], norms[n]});
    auto const all = tree_.sum("change and norm", both, 2);
    return {all[0], alphas_, all[1]};
  }
  /// sqrt of the sum of (alpha d)^2 in this iteration, per slice.
  std::vector<double> slice_norms() const {
    auto const leaves = without_padding(slice_squares_);
    auto norms = tree_.sum("slice norms", leaves, slices_);
    for (auto& norm : norms) norm = std::sqrt(norm);
    return norms;
  }

  /// How the tasks of a pass over voxel columns share their slices.
  kernel::slice_pieces pieces_of(index_t ranges) const {
    return column_pieces<Context>(ranges, slices_, padded_slices_);
  }

 private:
  index_t views_of(index_t leaf) const {
    return part_.views_of_range(part_.ranges().first + leaf).count;
  }
  /// Sums over some tasks. @param partial  (tasks, numbers)
  static std::array<double, 2> add_up(host_copy<double, Context> const& partial, index_range tasks, index_t numbers) {
    std::array<double, 2> sums{};
    for (index_t t = tasks.first; t < tasks.end(); ++t)
      for (index_t m = 0; m < numbers; ++m) sums[static_cast<std::size_t>(m)] += partial[numbers * t + m];
    return sums;
  }
  /// The slices of rows of numbers, (bands of this rank, rows, padded slices), without those beyond the last one.
  std::vector<double> without_padding(temporary<double, Context> const& rows_of_bands) const {
    host_copy const padded(ctx_, rows_of_bands);
    std::vector<double> leaves;
    for (auto const* row = padded.begin(); row != padded.end(); row += padded_slices_)
      leaves.insert(leaves.end(), row, row + slices_);
    return leaves;
  }
  /// The sums of every range, from those of the views of this rank.
  std::vector<double> of_views(temporary<double, Context> const& partial, index_t numbers) const {
    host_copy const on_host(ctx_, partial);
    std::vector<double> sums;
    index_t view = 0;
    for (index_t n = 0; n < leaves_; ++n) {
      auto const found = add_up(on_host, {view, views_of(n)}, numbers);
      sums.insert(sums.end(), found.begin(), found.begin() + numbers);
      view += views_of(n);
    }
    return sums;
  }

  Context const& ctx_;
  cone_views const& part_;
  tree_sums<Comm> tree_;
  kernel::chunked_shape shape_;
  index_t slices_, padded_slices_, leaves_;
  char const* operation_;
  temporary<double, Context> slice_squares_;  // (bands of this rank, padded slices)
  std::vector<double> changes_;               // sums of |alpha d| in this iteration, by bands
  double alphas_ = 0;
};

}  // namespace mbirk::distributed::detail
