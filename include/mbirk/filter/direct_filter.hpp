// The ramp filter of direct reconstruction (FBP, FDK): the operations, and functions on channel-major sinograms for use
// by algorithms.
#pragma once

#include <iterator>
#include <string>
#include <vector>

#include "mbirk/kernel/device/ramp_block_fourier.hpp"
#include "mbirk/kernel/shared/ramp_filter.hpp"
#include "mbirk/kernel/shared/ramp_fourier.hpp"
#include "mbirk/projector/detail.hpp"

namespace mbirk {

/// Filter taps: the closed form, or the float32 values of MBIRJAX 0.7.3 (for comparisons: less accurate, and twice the
/// work).
enum class ramp_taps { closed, float32 };

/// Filter algorithm: a direct sum, fast Fourier transforms, or whichever is faster for the number of channels.
enum class filter_method { automatic, direct, fourier };

struct filter_options {
  std::string name = "ramp";  ///< the only supported filter
  ramp_taps taps = ramp_taps::closed;
  filter_method method = filter_method::automatic;
};

namespace detail {

inline void check_filter(filter_options const& options, char const* operation) {
  require(options.name == "ramp",
          [&] { return detail::message(operation, ": filter_name is \"", options.name, "\", expected ramp"); });
}

/// Taps times the scale, indexed by distance; always contains the tap at distance 0.
template <class Geometry> std::vector<double> scaled_taps(Geometry const& g, ramp_taps taps) {
  double const scale = definition::ramp_scale(g);
  std::vector<double> all;
  for (index_t d = 0; d == 0 || d < g.channels; ++d)
    all.push_back(scale * (taps == ramp_taps::float32 ? static_cast<double>(definition::ramp_tap_float32(d))
                                                      : definition::ramp_tap(static_cast<double>(d))));
  return all;
}

/// Whether transforms are faster than the direct sum, as measured (docs/performance.md): from 80 channels on, or from
/// 40 with float32 taps, of which there are twice as many. The choice is independent of the policy, so that all
/// policies run the same algorithm.
inline bool by_fourier(index_t channels, filter_options const& options) {
  if (options.method != filter_method::automatic) return options.method == filter_method::fourier;
  return channels >= (options.taps == ramp_taps::float32 ? 40 : 80);
}

/// Filters `in` into `out`; each is a kernel::sinogram_rows or kernel::sinogram_channels, and both may be the same
/// array.
template <class Context, class Geometry, class In, class Out>
void run_ramp_filter(Context const& ctx, scan<Geometry> const& s, In in, Out out, kernel::chunked_shape const& shape,
                     filter_options const& options) {
  using B = typename Context::backend;
  auto const& g = s.geometry();
  bool const weighted = definition::ramp_weighted(g) && shape.views > 0;
  temporary<float, Context> weights(ctx, "filter weights", weighted ? shape.chunks * shape.channels * shape.width : 0);
  typename B::template cursor<float const> weights_at{};
  if constexpr (Geometry::weighs_rays) {
    if (weighted) {
      [[maybe_unused]] auto const guard = ctx.instr.stage("filter weights");
      auto const at = observe(ctx, weights);
      launch(ctx, shape.channels, kernel::ramp_weights<B>{at, g, shape});
      weights_at = at;
    }
  }
  kernel::ramp_sides<B, In, Out> const sides{in, out, weights_at, shape, weighted};
  auto const by_distance = scaled_taps(g, options.taps);
  auto const run = [&](auto kernel) {
    [[maybe_unused]] auto const guard = ctx.instr.stage("filter");
    kernel.plan_scratch();
    launch(ctx, kernel.tasks(), kernel);
  };
  if (by_fourier(g.channels, options)) {
    namespace fourier = kernel::fourier;
    auto const plan = fourier::make_plan(g.channels);
    auto const twiddles = fourier::make_twiddles(plan);
    auto const spectrum = fourier::make_spectrum(plan, by_distance, twiddles);
    if constexpr (on_device<Context>) {
      if (auto const in_block = kernel::make_block_plan(plan); in_block.transforms > 0) {
        auto const factors_there = kernel::block_twiddles(in_block, twiddles),
                   spectrum_there = kernel::block_spectrum(in_block, spectrum);
        device_table const factors(ctx, factors_there, "filter twiddles"),
            waves(ctx, spectrum_there, "filter spectrum");
        [[maybe_unused]] auto const guard = ctx.instr.stage("filter");
        launch_blocks(ctx, kernel::ramp_block_fourier<B, In, Out>{sides, observe(ctx, factors), observe(ctx, waves),
                                                                  in_block});
        return;
      }
    }
    std::vector<float> rounded;
    for (auto const& w : twiddles) {
      rounded.push_back(static_cast<float>(w.re));
      rounded.push_back(static_cast<float>(w.im));
    }
    device_table const factors(ctx, rounded, "filter twiddles"), waves(ctx, spectrum, "filter spectrum");
    run(kernel::ramp_fourier<B, In, Out>{sides, observe(ctx, factors), observe(ctx, waves), plan});
  } else {
    bool const even = options.taps == ramp_taps::float32;
    auto const ramp = kernel::make_ramp_table(g.channels, even, [&](index_t d) {
      // The table is slightly longer than the detector.
      return d < std::ssize(by_distance) ? by_distance[static_cast<std::size_t>(d)] : 0.0;
    });
    device_table const taps(ctx, ramp.taps, "filter taps");
    run(kernel::ramp_filter<B, In, Out>{sides, observe(ctx, taps), ramp.half, ramp.even});
  }
}

/// Filters a channel-major sinogram; in and out may be the same temporary. The result has zero guards and zeros in the
/// padding rows, so that it can be back projected directly. shape.views must equal the views of the scan. The caller
/// has checked the options.
template <class Context, class Geometry>
void filter_channel_major(Context const& ctx, scan<Geometry> const& s, temporary<float, Context> const& in,
                          temporary<float, Context> const& out, kernel::chunked_shape const& shape,
                          filter_options const& options = {}) {
  using B = typename Context::backend;
  using input = kernel::sinogram_channels<typename B::template cursor<float const>>;
  using output = kernel::sinogram_channels<typename B::template cursor<float>>;
  run_ramp_filter(ctx, s, input{observe(ctx, in)}, output{observe(ctx, out)}, shape, options);
}

/// Filters a sinogram (views, rows, channels) into a channel-major temporary.
template <class Context, class Geometry>
void filter_to_channel_major(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                             temporary<float, Context> const& out, kernel::chunked_shape const& shape,
                             filter_options const& options = {}) {
  using B = typename Context::backend;
  using input = kernel::sinogram_rows<typename B::template cursor<float const>>;
  using output = kernel::sinogram_channels<typename B::template cursor<float>>;
  run_ramp_filter(
      ctx, s, input{observe(ctx, sinogram, "sinogram", array_role::argument), sinogram.stride(0), sinogram.stride(1)},
      output{observe(ctx, out)}, shape, options);
}

/// Implementation of direct_filter and its aliases, which differ in name.
template <class Exec, class Instr, class Geometry>
void direct_filter_as(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                      view<float, 3> filtered, filter_options const& options, char const* operation,
                      char const* scope) {
  using B = typename context<Exec, Instr>::backend;
  using input = kernel::sinogram_rows<typename B::template cursor<float const>>;
  using output = kernel::sinogram_rows<typename B::template cursor<float>>;
  check_filter(options, operation);
  check_sinogram(ctx, s, sinogram, operation);
  check_sinogram(ctx, s, filtered, operation, "filtered");
  auto const& g = s.geometry();
  [[maybe_unused]] auto const guard = ctx.instr.scope({scope, g.views * g.rows * g.channels});
  auto const shape = kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, std::max<index_t>(1, g.rows));
  run_ramp_filter(
      ctx, s, input{observe(ctx, sinogram, "sinogram", array_role::argument), sinogram.stride(0), sinogram.stride(1)},
      output{observe(ctx, filtered, "filtered", array_role::output), filtered.stride(0), filtered.stride(1)}, shape,
      options);
}

}  // namespace detail

/// Ramp filter of direct reconstruction, along the channels of every row, truncated to the detector:
///
///   q[v, m, n] = sum over n' of Gamma h(|n - n'|) W[m, n'] y[v, m, n'],
///   h(0) = 1/4, h(d) = -1/(pi d)^2 for odd d, else 0.
///
/// In parallel beam Gamma = (pi/V)/(delta_x delta_y) and W = 1; in cone beam Gamma = (pi/V) delta_r/(delta_x delta_y
/// delta_z M) with the cosine weight W = D/sqrt(D^2 + u^2 + v^2) (1 when D is infinite), also for a curved detector.
/// All scaling is in Gamma, so that the plain back projection of q is the reconstruction. Views are assumed equally
/// spaced over the full range: there are no view weights.
///
/// A detector of C channels is filtered by a direct sum or, from 80 channels on (float32 taps: 40), by fast Fourier
/// transforms of length L, the smallest 2^k or 3 2^k >= max(2 C - 1, 96). A transform handles two rows at a time, one
/// as the real and one as the imaginary part: its errors are relative to the larger of the two, and a non-finite row
/// also spoils the other one. The two rows are as many rows apart as a vector has lanes, or are the same row of
/// consecutive views; on a device, for L <= 4096, they are neighbours. Filtering rows in blocks of 32 (the last one
/// smaller) gives the same bits as filtering them all.
///
/// @param ctx       execution and instrumentation. On the host the call returns when the result is complete; on a
///                  device the work is queued and the call returns before it is done.
/// @param s         the geometry: parallel_scan or cone_scan.
/// @param sinogram  (views, rows, channels), line integrals, dimensionless.
/// @param filtered  (views, rows, channels), per area of a pixel; overwritten. May be the sinogram itself (same memory,
///                  same strides), but must not overlap it otherwise.
/// @param options   name of the filter, choice of taps, and whether to force the direct sum or the transforms.
/// @throws parameter_error for any filter other than "ramp"; shape_error; both before anything runs. allocation_error
///         when a temporary does not fit.
/// Cost: a direct sum of C/2 + 1 FMAs per sample, or about 4 (L/C) log2 L flops; memory traffic of 8 bytes per sample;
/// in cone beam a temporary of R C floats. The result is bitwise independent of the number of threads. Source: Kak and
/// Slaney 1988; Feldkamp, Davis, Kress 1984; MBIRJAX.
template <execution_policy Exec, instrumentation_policy Instr, has_direct_recon Geometry>
void direct_filter(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                   view<float, 3> filtered, filter_options const& options = {}) {
  detail::direct_filter_as(ctx, s, sinogram, filtered, options, "direct_filter",
                           detail::operation_name<Geometry, "direct_filter">);
}

/// direct_filter under its usual name in parallel beam.
template <execution_policy Exec, instrumentation_policy Instr, direct_method<"fbp"> Geometry>
void fbp_filter(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                view<float, 3> filtered, filter_options const& options = {}) {
  detail::direct_filter_as(ctx, s, sinogram, filtered, options, "fbp_filter",
                           detail::operation_name<Geometry, "fbp_filter">);
}

/// direct_filter under its usual name in cone beam.
template <execution_policy Exec, instrumentation_policy Instr, direct_method<"fdk"> Geometry>
void fdk_filter(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                view<float, 3> filtered, filter_options const& options = {}) {
  detail::direct_filter_as(ctx, s, sinogram, filtered, options, "fdk_filter",
                           detail::operation_name<Geometry, "fdk_filter">);
}

}  // namespace mbirk

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/filter.hpp"
#endif
