// Sums of an iterative reconstruction, one for each task of a kernel: on devices, and where detector rows see several
// slices. unit_sums.hpp, and rank_sums.hpp and band_sums.hpp of distributed are the other models of this policy. Not
// for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/step_search.hpp"
#include "mbirk/recon/vcd_subset.hpp"
#include "mbirk/recon/vcd_sums.hpp"

namespace mbirk::detail {

template <class Context, class P> class task_sums {
  using B = typename Context::backend;
  using cursor = typename B::template cursor<float const>;

 public:
  /// Channel-major layout of the sinograms.
  template <class Geometry> static kernel::chunked_shape shape(Geometry const& g) {
    return P::template channel_major_shape<Context>(g);
  }

  template <class Part>
  task_sums(Context const& ctx, Part const&, kernel::chunked_shape const& shape, index_t slices, char const* operation)
      : ctx_(ctx),
        shape_(shape),
        slices_(slices),
        padded_slices_(round_up(std::max<index_t>(1, slices), B::lanes)),
        operation_(operation),
        slice_squares_(ctx, "slice norms", padded_slices_) {}

  fit_products fit(temporary<float, Context> const& z, temporary<float, Context> const& data,
                   std::optional<temporary<float, Context>> const& weights) const {
    return fit_sums(ctx_, shape_, z, data, weights);
  }
  double weight_sum(temporary<float, Context> const& weights) const {
    temporary<double, Context> sums(ctx_, "weight sums", blocks());
    launch(ctx_, blocks(), kernel::sinogram_sum<B>{observe(ctx_, weights), observe(ctx_, sums), shape_});
    return reduce(ctx_, sums);
  }
  /// Sum of w e^2 of the weighted error w e.
  double error_sum(temporary<float, Context> const& error,
                   std::optional<temporary<float, Context>> const& weights) const {
    temporary<double, Context> sums(ctx_, "error sums", blocks());
    with_weights(ctx_, weights, [&](auto weighted, auto w) {
      launch(ctx_, blocks(),
             kernel::weighted_squares<B, weighted>{observe(ctx_, error), w, observe(ctx_, sums), shape_});
    });
    return reduce(ctx_, sums);
  }

  /// Sums of the line search of a subset: G d and h_prior d^2, two per task; w (A d)^2.
  struct of_subset {
    temporary<double, Context> slopes, squares;

    /// @param kept        whether the projection is kept, one chunk a task; else a task has a view in all chunks
    /// @param norm_tasks  tasks that leave w (A d)^2
    of_subset(task_sums const& all, vcd_subset<Context> const& subset, bool, index_t norm_tasks)
        : slopes(all.ctx_, "direction sums", 2 * subset.direction_groups().size()),
          squares(all.ctx_, "line search sums", norm_tasks) {}
  };
  template <class Prior>
  void find_direction(of_subset const& sums, Prior const& prior, kernel::subset_arrays<B> const& subset,
                      double precision) const {
    launch(ctx_, subset.groups.size(),
           kernel::vcd_direction<B, Prior>{prior, subset, static_cast<float>(precision), observe(ctx_, sums.slopes)});
  }
  /// Number of rows of `columns` to be added for the means of slices: one for each task, or, on a device, what is left
  /// of them.
  index_t damping_parts(of_subset const&, temporary<double, Context> const& columns, index_t tasks) const {
    return folded_rows(ctx_, observe(ctx_, columns), tasks, 2 * padded_slices_);
  }
  template <bool Weighted, bool Keep>
  kernel::squared_norm_epilogue<B, Weighted, Keep> norm_epilogue(of_subset const& sums, cursor weights) const {
    return {weights, observe(ctx_, sums.squares), shape_};
  }
  /// @throws error if the step is not finite; on a device end_iteration() does.
  kernel::step_length find_step(index_t place, kernel::vcd_line_search const& search, of_subset const& sums) {
    return search_->find(place, search, sums.slopes, &sums.squares);
  }

  void begin_iteration(index_t subsets) {
    clear(ctx_, slice_squares_);
    search_.emplace(ctx_, subsets, no_finite_step(operation_));
  }
  /// x += alpha d
  template <class Image>
  void move(index_t place, vcd_subset<Context> const& subset, temporary<float, Context> const& direction,
            Image const& image, kernel::step_length const& alpha) {
    auto const ranges = subset.ranges.all();
    auto const pieces = pieces_of(ranges.size());
    auto const at = image.columns();
    index_t const tasks = ranges.size() * pieces.count();
    temporary<double, Context> change(ctx_, "change sums", tasks),
        columns(ctx_, "slice sums", ranges.size() * padded_slices_);
    kernel::vcd_update<B> kernel{observe(ctx_, subset.pixels), observe(ctx_, direction), image.observe_slices(),
                                 at.cols, at.slices, padded_slices_, at.row_stride, at.col_stride, alpha,
                                 observe(ctx_, change), observe(ctx_, columns), pieces, ranges};
    kernel.plan_scratch();
    launch(ctx_, tasks, kernel);
    launch(ctx_, padded_slices_ / B::lanes,
           kernel::reduce_slice_sums<B>{observe(ctx_, columns), observe(ctx_, slice_squares_), ranges.size(),
                                        padded_slices_});
    search_->add_changes(place, change);
  }
  template <class Image> iteration_sums end_iteration(Image const& image) {
    iteration_sums all;
    for (auto const& [alpha, changes] : search_->steps()) {
      all.alphas += alpha;
      all.moved += changes[0];
    }
    [[maybe_unused]] auto const guard = ctx_.instr.stage("norm");
    if constexpr (Image::dense) {
      index_t const voxels = image.slices().size(), tasks = ceil_div(voxels, kernel::voxel_block);
      temporary<double, Context> sums(ctx_, "norm sums", tasks);
      launch(ctx_, tasks, kernel::absolute_sum<B>{image.observe_slices(), observe(ctx_, sums), voxels});
      all.norm = reduce(ctx_, sums);
    } else {
      index_t const tasks = ceil_div(image.pixels(), kernel::absolute_unit_sums<B>::batch);
      temporary<double, Context> sums(ctx_, "norm sums", kernel::units_of<B>(slices_) * tasks);
      launch(ctx_, tasks,
             kernel::absolute_unit_sums<B>{image.observe_slices(), observe(ctx_, sums), image.columns(),
                                           image.pixels()});
      all.norm = reduce(ctx_, sums);
    }
    return all;
  }
  /// sqrt of the sum of (alpha d)^2 in this iteration, per slice.
  std::vector<double> slice_norms() const { return norms_of_squares(ctx_, slice_squares_, slices_); }

  /// How the tasks of a pass over voxel columns share their slices.
  kernel::slice_pieces pieces_of(index_t ranges) const {
    return column_pieces<Context>(ranges, slices_, padded_slices_);
  }

 protected:
  std::optional<step_search<Context, 1>> search_;  // changes: the sum of |alpha d|

 private:
  index_t blocks() const noexcept { return shape_.chunks * shape_.views; }

  Context const& ctx_;
  kernel::chunked_shape shape_;
  index_t slices_, padded_slices_;
  char const* operation_;
  temporary<double, Context> slice_squares_;
};

}  // namespace mbirk::detail
