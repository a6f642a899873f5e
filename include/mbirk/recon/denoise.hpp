// qggmrf_denoise: removes noise from an image with the qGGMRF prior, including the initial estimates of noise level and
// scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/kernel/shared/denoise.hpp"
#include "mbirk/prior/parameters.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/operation.hpp"
#include "mbirk/recon/options.hpp"
#include "mbirk/recon/step_search.hpp"
#include "mbirk/util/histogram.hpp"
#include "mbirk/util/partition.hpp"

namespace mbirk {
namespace detail {

/// The pixels of all subsets that a process updates, and ranges of them, each in one table.
struct denoise_subsets {
  std::vector<std::int32_t> pixels;
  std::vector<kernel::entry_range> ranges;               // of entries, counted from the first of the subset
  std::vector<index_t> first_pixel{0}, first_range{0};   // of every subset, and the ends

  denoise_subsets() = default;
  /// All pixels. @param small  whether a device shares the ranges, which needs many tasks
  denoise_subsets(pixel_partition partition, bool small) {
    index_t const each =
        small ? kernel::pixels_of_device_task(partition.length, kernel::prior_batch) : kernel::prior_batch;
    for (index_t s = 0; s < partition.subsets; ++s) {
      add(kernel::chunk_without_splitting_duplicates(partition.subset(s), each), 0);
      end_subset(partition.length * (s + 1));
    }
    pixels = std::move(partition.indices);
  }
  /// Adds ranges of the current subset, whose entries are counted from `first` on.
  void add(std::vector<kernel::entry_range> const& more, index_t first) {
    for (auto const& r : more) ranges.push_back({first + r.first, first + r.last});
  }
  void end_subset(index_t pixels_so_far) {
    first_pixel.push_back(pixels_so_far);
    first_range.push_back(std::ssize(ranges));
  }
  index_t count() const noexcept { return std::ssize(first_pixel) - 1; }
  index_t longest() const {
    index_t most = 0;
    for (std::size_t s = 1; s < first_pixel.size(); ++s) most = std::max(most, first_pixel[s] - first_pixel[s - 1]);
    return most;
  }
  /// Ranges of subset s within the device copy of the table, which starts at device_ranges.
  device_span<kernel::entry_range> ranges_of(index_t s, kernel::entry_range const* device_ranges) const {
    auto const k = static_cast<std::size_t>(s);
    return {device_ranges + first_range[k], first_range[k + 1] - first_range[k]};
  }
};

/// A denoiser in one process. distributed/denoise.hpp has the other model of this policy.
struct whole_denoising {
  template <class Context> step_search<Context, 2> make_search(Context const& ctx, denoise_subsets const& subsets,
                                                               std::string failure) const {
    return {ctx, subsets.count(), std::move(failure)};
  }
  /// Called after the update of a subset.
  void updated(index_t) const noexcept {}
  /// Whether to stop, if any process may stop all.
  template <class F> bool stops(F const& f) const { return f(); }
};

template <class Context> class denoiser {
  using B = typename Context::backend;

 public:
  using image = kernel::image_columns<B>;
  struct measured { double sum = 0, largest = 0; };

  denoiser(Context const& ctx, view<float const, 3> input, view<float, 3> output, denoise_options const& o)
      : ctx_(ctx), input_(input), output_(output), o_(o) {}

  denoise_record run() {
    auto const pixels = full_indices(make_mask(input_.extent(0), input_.extent(1), o_.use_ror_mask.value_or(false)));
    numpy_random_state random(o_.seed);
    auto partition = list_partition(host_context_of(ctx_), pixels, o_.granularity, random, array_role::temporary,
                                          array_role::temporary);
    denoise_record record;
    record.subsets = partition.subsets;
    record.warnings = partition.warnings;

    auto const all = cylinders(input_, "image");
    measured whole;
    double norm = 0;
    {
      [[maybe_unused]] auto const guard = ctx_.instr.stage("check");
      if (o_.init_image) {
        whole = measure<false>(all);
        require_finite(input_, whole, "image");
        measured const start = measure<true>(cylinders(*o_.init_image, "init_image"));
        require_finite(*o_.init_image, start, "init_image");
        norm = start.sum;
      } else {
        whole = measure<true>(all);
        require_finite(input_, whole, "image");
        norm = whole.sum;
      }
    }
    record.sigma_noise = o_.sigma_noise ? *o_.sigma_noise : noise_level(all, whole);
    record.sigma_x = o_.sigma_x ? *o_.sigma_x : scale(all, whole, record.sigma_noise);
    iterate(whole_denoising{}, denoise_subsets(std::move(partition), on_device<Context>), record, norm);
    return record;
  }

  // For several processes, of which one has the voxels that the estimates are from:

  template <class T> image cylinders(view<T, 3> const& v, char const* name) const {
    return {
        observe(ctx_, v, name, array_role::argument), v.extent(0), v.extent(1), v.extent(2), v.stride(0), v.stride(1)};
  }

  /// Sums and maximum of the image; with Copy, also copies the image to the output.
  template <bool Copy> measured measure(image const& im) const {
    temporary<double, Context> sums(ctx_, "partial sums", im.tasks());
    temporary<float, Context> largest(ctx_, "partial maxima", im.tasks() * B::lanes);
    kernel::measure_image<B, Copy> kernel{im, observe(ctx_, sums), observe(ctx_, largest)};
    if constexpr (Copy) {
      kernel.copy = observe(ctx_, output_, "output", array_role::output);
      kernel.copy_row_stride = output_.stride(0);
      kernel.copy_col_stride = output_.stride(1);
    }
    launch(ctx_, im.tasks(), kernel);
    measured m{reduce(ctx_, sums), 0};
    if constexpr (B::has_data) {
      host_copy const found(ctx_, largest);
      m.largest = *std::max_element(found.begin(), found.end());
    }
    return m;
  }
  void require_finite(view<float const, 3> const& v, measured const& m, char const* name) const {
    require(std::isfinite(m.sum), [&] {
      return "qggmrf_denoise: " + first_bad(ctx_, v, name, [](float x) { return !std::isfinite(x); }) +
             ", expected finite values";
    });
  }

  /// Mean local deviation over the voxels >= min(0.05 mean |x| + sigma, max x).
  double deviation(image const& im, measured const& m, double sigma) const {
    temporary<double, Context> partial(ctx_, "partial deviations", 2 * im.tasks());
    double const level = std::min(0.05 * m.sum / static_cast<double>(im.voxels()) + sigma, m.largest);
    launch(ctx_, im.tasks(), kernel::local_deviation<B>{im, static_cast<float>(level), observe(ctx_, partial)});
    if constexpr (!B::has_data) return 1;
    auto const [deviations, members] = reduce_each<2>(ctx_, partial);
    return deviations / members;  // the largest voxel is always a member
  }
  /// sigma rounded to float32, its precision in MBIRJAX. @throws error if it could not be estimated.
  static double found(double sigma, char const* what) {
    double const x = static_cast<float>(sigma);
    require<error>(x > 0 && std::isfinite(x), [&] {
      return detail::message("qggmrf_denoise: the estimate of ", what, " from the image is ", x,
                             ", expected a positive number: a constant image has no noise to measure; give ", what);
    });
    return x;
  }

  /// Estimates are from every s-th voxel on each axis, so that about five million voxels are used.
  static index_t noise_step(index_t all) {
    double const voxels = static_cast<double>(all);
    return static_cast<index_t>(std::nearbyint(std::cbrt(voxels / std::min(5e6, voxels))));
  }
  double noise_of(image const& im, measured const& m) const {
    return found(deviation(im, m, deviation(im, m, 0)), "sigma_noise");
  }
  double noise_level(image const& all, measured const& whole) const {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("noise level");
    index_t const s = noise_step(all.voxels());
    if (s <= 1) return noise_of(all, whole);

    auto const taken = [&](index_t n) { return ceil_div(n, s); };
    image const sparse{all.data,          taken(all.rows),    taken(all.cols),
                       taken(all.slices), s * all.row_stride, s * all.col_stride};
    std::vector<std::int32_t> slices(static_cast<std::size_t>(round_up(sparse.slices, B::lanes)));
    for (std::size_t k = 0; k < slices.size(); ++k)
      slices[k] = static_cast<std::int32_t>(std::min(static_cast<index_t>(k), sparse.slices - 1) * s);
    temporary<float, Context> const memory(ctx_, "image sample", sparse.voxels());
    device_table const taken_slices(ctx_, slices, "slices taken");
    launch(ctx_, sparse.tasks(), kernel::take_slices<B>{sparse, observe(ctx_, taken_slices), observe(ctx_, memory)});
    image const sample{observe(ctx_, memory),       sparse.rows,  sparse.cols, sparse.slices,
                       sparse.cols * sparse.slices, sparse.slices};
    return noise_of(sample, measure<false>(sample));
  }
  /// Estimate from 20 to 39 rows, just as the scale of a sinogram uses 20 to 39 views.
  double scale(image const& all, measured const& whole, double sigma_noise) const {
    [[maybe_unused]] auto const guard = ctx_.instr.stage("scale");
    index_t const step = sampling_step(all.rows);
    image const rows{all.data, ceil_div(all.rows, step), all.cols, all.slices, step * all.row_stride, all.col_stride};
    return scale_of(rows, step > 1 ? measure<false>(rows) : whole, sigma_noise);
  }
  double scale_of(image const& rows, measured const& m, double sigma_noise) const {
    return found(sharpness_factor(o_.sharpness) * deviation(rows, m, sigma_noise), "sigma_x");
  }

  /// @param part  which part of the pixels this process has
  /// @param norm  the sum of |x|
  template <class Part>
  void iterate(Part const& part, denoise_subsets const& subsets, denoise_record& record, double norm) const {
    index_t const slices = input_.extent(2), padded = round_up(slices, B::lanes);
    device_table const device_ranges(ctx_, subsets.ranges, "ranges of pixels");
    device_table const indices(ctx_, subsets.pixels, "pixel indices");
    temporary<float, Context> direction(ctx_, "direction", subsets.longest() * padded);
    auto const x = observe(ctx_, output_, "output", array_role::output);
    auto const pixels = observe(ctx_, indices);
    qggmrf_parameters const prior{record.sigma_x, o_.p, o_.q, o_.T, o_.qggmrf_nbr_wts};
    double const precision = 1 / (record.sigma_noise * record.sigma_noise);
    kernel::denoise_direction<B> find{{x, input_.extent(0), input_.extent(1), slices, output_.stride(0),
                                       output_.stride(1), kernel::qggmrf_constants(prior)},
                                      observe(ctx_, input_, "image", array_role::argument),
                                      input_.stride(0),
                                      input_.stride(1),
                                      static_cast<float>(precision),
                                      pixels,
                                      observe(ctx_, direction),
                                      padded,
                                      {},
                                      {}};
    kernel::denoise_update<B> update{x, input_.extent(1), slices, output_.stride(0), output_.stride(1), {}, pixels,
                                     observe(ctx_, direction), padded, {}, {}};

    auto search = part.make_search(ctx_, subsets,
                                   "qggmrf_denoise: the step length is not finite: the image, sigma_noise or sigma_x "
                                   "is out of the range of float32");
    while (record.num_iterations < o_.max_iterations) {
      double alphas = 0, moved = 0;
      for (index_t s = 0; s < subsets.count(); ++s) {
        auto const tasks = subsets.ranges_of(s, device_ranges.data());
        index_t const count = tasks.size();
        temporary<double, Context> partial(ctx_, "partial sums", 2 * count);
        find.partial = update.partial = observe(ctx_, partial);
        find.ranges = update.ranges = tasks;
        find.pixels = update.pixels = pixels + subsets.first_pixel[static_cast<std::size_t>(s)];
        {
          [[maybe_unused]] auto const guard = ctx_.instr.stage("direction");
          launch(ctx_, count, find);
        }
        update.alpha = search.find(s, kernel::denoise_line_search{}, partial);
        {
          [[maybe_unused]] auto const guard = ctx_.instr.stage("update");
          launch(ctx_, count, update);
        }
        search.add_changes(s, partial);
        part.updated(s);
      }
      for (auto const& [alpha, changes] : search.steps()) {  // the only point in an iteration that waits for a device
        alphas += alpha;
        moved += changes[0];
        norm += changes[1];
      }
      double const change = B::has_data ? moved / norm : 1.0;
      record.alpha_values.push_back(alphas / static_cast<double>(subsets.count()));
      record.stop_threshold_change_pct.push_back(100 * change);
      ++record.num_iterations;
      record.cancelled = part.stops([&] {
        return o_.progress && !o_.progress({record.num_iterations, o_.max_iterations, change,
                                            record.alpha_values.back(), 0, 0});
      });
      // Also stops for an image of zeros, whose change is NaN.
      if (record.cancelled || !(change >= o_.stop_threshold_change_pct / 100)) break;
    }
  }

 private:
  Context const& ctx_;
  view<float const, 3> input_;
  view<float, 3> output_;
  denoise_options const& o_;
};

/// @throws shape_error, parameter_error
template <class Context>
void check_denoise(Context const& ctx, view<float const, 3> image, denoise_options const& options,
                   view<float, 3> output) {
  constexpr auto name = "qggmrf_denoise";
  auto const need = [&](bool ok, char const* what, double value, char const* expected) {
    require(ok, [&] {
      return detail::message(name, ": ", what, " is ", value, ", expected ", expected);
    });
  };
  detail::require_valid_call(options, name);
  if (options.sigma_x)
    need(*options.sigma_x > 0 && std::isfinite(*options.sigma_x), "sigma_x", *options.sigma_x, "a positive number");
  need(std::isfinite(options.sharpness), "sharpness", options.sharpness, "a finite number");
  need(options.granularity >= 1, "granularity", static_cast<double>(options.granularity), "at least 1");
  require_valid({options.sigma_x.value_or(1), options.p, options.q, options.T, options.qggmrf_nbr_wts}, name);
  auto const shape = image.extents();
  require<shape_error>(image.size() > 0, [&] {
    return detail::message(name, ": image has shape ", detail::shape_text(shape), ", expected at least one voxel");
  });
  detail::check(ctx, image, shape, name, "image", "(rows, cols, slices)");
  detail::check(ctx, output, shape, name, "output", "(rows, cols, slices)");
  if (options.init_image) detail::check(ctx, *options.init_image, shape, name, "init_image", "(rows, cols, slices)");
  require(!decltype(ctx.instr)::traits.has_data || output.data() != image.data(), [&] {
    return detail::message(name, ": output is the image itself, expected memory of its own");
  });
}

}  // namespace detail

/// Removes noise from an image: minimises ||x - image||^2 / (2 sigma_noise^2) + h(x), where h is the qGGMRF prior
/// (prior/qggmrf.hpp), by vectorised coordinate descent over subsets of pixels. One iteration updates every subset
/// along d = (c e - g) / (1 + h), e = image - x, c = 1 / sigma_noise^2, with the step alpha = (c <e, d> - <g, d>) / (c
/// <d, d> + <h, d^2> + 2^-23), clipped to [2^-23, 1.5]. The 1 in d, where the curvature would be c, is MBIRJAX's choice
/// of preconditioner.
///
/// @param ctx      execution and instrumentation. On the host the call returns when the result is complete; on a device
///                 it waits for the estimates and once per iteration.
/// @param image    (rows, cols, slices), any unit; a two-dimensional image is (1, rows, cols).
/// @param options  sigma_noise and sigma_x in the unit of the image.
/// @param output   (rows, cols, slices); overwritten with x; may alias init_image as a whole, but not image.
/// @return the values used, and step and change of every iteration.
/// @throws shape_error, parameter_error before anything runs; parameter_error when a voxel is not finite; error when
///         the image is constant and therefore has no noise level; allocation_error. On an error the contents of output
///         are unspecified.
/// A pixel that a subset lists twice (only when there are hardly more pixels than subsets) moves twice, and e with it;
/// MBIRJAX omits one of the moves in e. Cost: per iteration and voxel the prior's five pairs (see there) and about 18
/// more flops; before that, about four passes over the image for the estimates. Memory: a direction of one subset. The
/// result is bitwise independent of the number of threads. Source: Bouman and Buzzard 2024; MBIRJAX.
template <execution_policy Exec, instrumentation_policy Instr>
denoise_record qggmrf_denoise(context<Exec, Instr> const& ctx, view<float const, 3> image,
                              denoise_options const& options, view<float, 3> output) {
  detail::check_denoise(ctx, image, options, output);
  [[maybe_unused]] auto const guard = ctx.instr.scope({"qggmrf_denoise", image.size() * options.max_iterations});
  return detail::denoiser(ctx, image, output, options).run();
}

}  // namespace mbirk

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/images.hpp"
#endif
