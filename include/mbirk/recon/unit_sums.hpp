// Sums of an iterative reconstruction in parallel beam on the host. A kernel leaves a number for each unit of slices
// and task; the tasks of a unit are added in their order, by the process that has the unit, and the units in their
// order, by every process. Therefore no bit depends on how many processes share the slices. task_sums.hpp, and
// rank_sums.hpp and band_sums.hpp of distributed are the other models of this policy. Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/recon/initial_fit.hpp"
#include "mbirk/recon/vcd_subset.hpp"
#include "mbirk/recon/vcd_sums.hpp"

namespace mbirk::detail {

/// The sums over all units. @param units  (units, Numbers)
template <std::size_t Numbers> std::array<double, Numbers> add_units(std::vector<double> const& units) {
  std::array<double, Numbers> total{};
  for (std::size_t k = 0; k < units.size(); ++k) total[k % Numbers] += units[k];
  return total;
}

/// One process has all units.
struct own_units {
  template <std::size_t Numbers>
  std::array<double, Numbers> sum(char const*, std::vector<double> const& mine) const {
    return add_units<Numbers>(mine);
  }
};

/// The sums of every unit of this process, (units, numbers), from what the tasks of a kernel left: (units, tasks,
/// numbers). Zeros under a policy without data.
template <class Context>
std::vector<double> reduce_units(Context const& ctx, temporary<double, Context> const& partial, index_t units,
                                 index_t numbers) {
  std::vector<double> sums(static_cast<std::size_t>(units * numbers), 0.0);
  if constexpr (Context::backend::has_data) {
    host_copy const values(ctx, partial);
    index_t const each = units > 0 ? values.size() / units : 0;
    for (index_t u = 0; u < units; ++u)
      for (index_t k = 0; k < each; ++k)
        sums[static_cast<std::size_t>(u * numbers + k % numbers)] += values[u * each + k];
  }
  return sums;
}

template <class Context, class Part> class unit_sums {
  using B = typename Context::backend;
  using cursor = typename B::template cursor<float const>;
  using all_units = decltype(std::declval<Part const&>().template units<B>());
  static_assert(!on_device<Context>);

 public:
  /// Channel-major layout of the sinograms: chunks of whole units.
  template <class Geometry> static kernel::chunked_shape shape(Geometry const& g) {
    return kernel::make_unit_chunks<B>(g.views, g.channels, g.rows);
  }

  unit_sums(Context const& ctx, Part const& part, kernel::chunked_shape const& shape, index_t slices,
            char const* operation)
      : ctx_(ctx),
        shape_(shape),
        slices_(slices),
        padded_slices_(round_up(std::max<index_t>(1, slices), B::lanes)),
        units_(kernel::units_of<B>(slices)),
        operation_(operation),
        all_units_(part.template units<B>()),
        slice_squares_(ctx, "slice norms", padded_slices_) {}

  fit_products fit(temporary<float, Context> const& z, temporary<float, Context> const& data,
                   std::optional<temporary<float, Context>> const& weights) const {
    std::vector<double> both;
    with_weights(ctx_, weights, [&](auto weighted, auto w) {
      auto const with_data = of_samples(kernel::data_product<B, weighted>{observe(ctx_, z), observe(ctx_, data), w});
      auto const with_itself = of_samples(kernel::norm_product<B, weighted>{observe(ctx_, z), w});
      for (std::size_t u = 0; u < with_data.size(); ++u) both.insert(both.end(), {with_data[u], with_itself[u]});
    });
    auto const [with_data, with_itself] = all_units_.template sum<2>("fit", both);
    return {with_data, with_itself};
  }
  double weight_sum(temporary<float, Context> const& weights) const {
    return all_units_.template sum<1>("mean weight", of_samples(kernel::sample<B>{observe(ctx_, weights)}))[0];
  }
  /// Sum of w e^2 of the weighted error w e.
  double error_sum(temporary<float, Context> const& error,
                   std::optional<temporary<float, Context>> const& weights) const {
    std::vector<double> squares;
    with_weights(ctx_, weights, [&](auto weighted, auto w) {
      squares = of_samples(kernel::error_square<B, weighted>{observe(ctx_, error), w});
    });
    return all_units_.template sum<1>("rmse", squares)[0];
  }

  /// Sums of the line search of a subset: G d and h_prior d^2, (units, tasks, 2); w (A d)^2, (units, slots).
  struct of_subset {
    index_t slots;  // tasks of a unit that leave w (A d)^2
    temporary<double, Context> slopes, squares;

    /// See task_sums.
    of_subset(unit_sums const& all, vcd_subset<Context> const& subset, bool kept, index_t norm_tasks)
        : slots(kept ? norm_tasks / all.shape_.chunks : norm_tasks),
          slopes(all.ctx_, "direction sums", 2 * subset.direction_groups().size() * all.units_),
          squares(all.ctx_, "line search sums", all.units_ * slots) {}
  };
  template <class Prior>
  void find_direction(of_subset const& sums, Prior const& prior, kernel::subset_arrays<B> const& subset,
                      double precision) const {
    kernel::vcd_unit_direction<B, Prior> kernel{prior, subset, static_cast<float>(precision),
                                                observe(ctx_, sums.slopes)};
    kernel.plan_scratch();
    launch(ctx_, subset.groups.size(), kernel);
  }
  template <bool Weighted, bool Keep>
  kernel::unit_norm_epilogue<B, Weighted, Keep> norm_epilogue(of_subset const& sums, cursor weights) const {
    return {weights, observe(ctx_, sums.squares), shape_, sums.slots};
  }
  /// @throws error if the step is not finite, in every process
  kernel::step_length find_step(index_t, kernel::vcd_line_search const& search, of_subset const& subset) {
    auto const slopes = reduce_units(ctx_, subset.slopes, units_, 2),
               squares = reduce_units(ctx_, subset.squares, units_, 1);
    std::vector<double> three;
    for (std::size_t u = 0; u < squares.size(); ++u)
      three.insert(three.end(), {slopes[2 * u], slopes[2 * u + 1], squares[u]});
    auto const sums = all_units_.template sum<3>("line search", three);
    double alpha[1] = {1};
    if constexpr (B::has_data) {
      search({sums[0], sums[1], sums[2]}, alpha);
      require<error>(std::isfinite(alpha[0]), [&] { return no_finite_step(operation_); });
    }
    alphas_ += alpha[0];
    return {alpha[0]};
  }

  void begin_iteration(index_t) {
    clear(ctx_, slice_squares_);
    changes_.assign(static_cast<std::size_t>(units_), 0.0);
    alphas_ = 0;
  }
  /// x += alpha d
  template <class Image>
  void move(index_t, vcd_subset<Context> const& subset, temporary<float, Context> const& direction, Image const& image,
            kernel::step_length const& alpha) {
    auto const ranges = subset.ranges.all();
    index_t const tasks = ranges.size();
    temporary<double, Context> change(ctx_, "change sums", tasks * units_),
        squares(ctx_, "slice sums", tasks * padded_slices_);
    launch(ctx_, tasks,
           kernel::vcd_unit_update<B>{observe(ctx_, subset.pixels), observe(ctx_, direction), image.observe_slices(),
                                      image.columns(), padded_slices_, alpha, observe(ctx_, change),
                                      observe(ctx_, squares), ranges});
    launch(ctx_, padded_slices_ / B::lanes,
           kernel::reduce_slice_sums<B>{observe(ctx_, squares), observe(ctx_, slice_squares_), tasks, padded_slices_});
    auto const moved = reduce_units(ctx_, change, units_, 1);
    for (std::size_t u = 0; u < moved.size(); ++u) changes_[u] += moved[u];
  }
  template <class Image> iteration_sums end_iteration(Image const& image) {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("norm");
    index_t const tasks = ceil_div(image.pixels(), kernel::absolute_unit_sums<B>::batch);
    temporary<double, Context> sums(ctx_, "norm sums", units_ * tasks);
    launch(ctx_, tasks,
           kernel::absolute_unit_sums<B>{image.observe_slices(), observe(ctx_, sums), image.columns(),
                                         image.pixels()});
    auto const norms = reduce_units(ctx_, sums, units_, 1);
    std::vector<double> both;
    for (std::size_t u = 0; u < norms.size(); ++u) both.insert(both.end(), {changes_[u], norms[u]});
    auto const [moved, norm] = all_units_.template sum<2>("change and norm", both);
    return {moved, alphas_, norm};
  }
  /// sqrt of the sum of (alpha d)^2 in this iteration, per slice of this process.
  std::vector<double> slice_norms() const { return norms_of_squares(ctx_, slice_squares_, slices_); }

  /// The tasks of a pass over voxel columns have all slices.
  kernel::slice_pieces pieces_of(index_t) const noexcept { return {slices_, padded_slices_, padded_slices_}; }

 private:
  /// Sum of a term over the samples of every unit.
  template <class Term> std::vector<double> of_samples(Term const& term) const {
    temporary<double, Context> sums(ctx_, "sinogram sums", units_ * shape_.views);
    launch(ctx_, shape_.chunks * shape_.views,
           kernel::sinogram_unit_sums<B, Term>{term, observe(ctx_, sums), shape_});
    return reduce_units(ctx_, sums, units_, 1);
  }

  Context const& ctx_;
  kernel::chunked_shape shape_;
  index_t slices_, padded_slices_, units_;
  char const* operation_;
  all_units all_units_;
  temporary<double, Context> slice_squares_;
  std::vector<double> changes_;  // sums of |alpha d| in this iteration, by units
  double alphas_ = 0;
};

}  // namespace mbirk::detail
