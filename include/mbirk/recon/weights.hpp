// Statistical weights of a sinogram: how much an iterative reconstruction trusts each sample.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/weights.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/util/otsu.hpp"

namespace mbirk {

/// Weight formulas: unweighted: 1; transmission: exp(-y), the fraction of transmitted photons; transmission_root:
/// exp(-y/2); emission: 1/(|y| + 0.1).
enum class weight_type { unweighted, transmission, transmission_root, emission };

inline constexpr std::array<std::string_view, 4> weight_type_names{"unweighted", "transmission", "transmission_root",
                                                                   "emission"};

/// Parses the name of a weight type. @throws parameter_error that lists the valid names.
inline weight_type parse_weight_type(std::string_view name) {
  for (std::size_t k = 0; k < weight_type_names.size(); ++k)
    if (name == weight_type_names[k]) return static_cast<weight_type>(k);
  require(false, [&] {
    std::string names(weight_type_names[0]);
    for (std::size_t k = 1; k < weight_type_names.size(); ++k)
      names.append(k + 1 < weight_type_names.size() ? ", " : " or ").append(weight_type_names[k]);
    return detail::message("weight_type is \"", name, "\", expected ", names);
  });
  return weight_type::unweighted;
}

/// Thresholds used by gen_weights_mar.
struct mar_record {
  std::vector<float> otsu_thresholds;  ///< the two thresholds of three classes; empty when metal_threshold was given
  float metal_threshold = 0;           ///< values above it are metal, in the sinogram or, if given, in init_recon
};

namespace detail {

inline constexpr std::array<char const*, 4> weight_operations{"gen_weights_unweighted", "gen_weights_transmission",
                                                              "gen_weights_transmission_root", "gen_weights_emission"};

/// Sinogram of only the voxels above a threshold.
template <class Context, class Geometry>
void project_metal(Context const& ctx, scan<Geometry> const& s, view<float const, 3> image, float threshold,
                   temporary<float, Context> const& projection) {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  temporary<float, Context> metal(ctx, "metal", image.size());
  view<float, 3> const volume(metal.data(), image.extents());
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("metal");
    auto const w = kernel::make_elementwise_range(kernel::any_tasks, image, volume);
    launch(ctx, w.tasks(),
           kernel::above_threshold<B>{
               kernel::make_strided_cursor(observe(ctx, image, "init_recon", array_role::argument), image),
               kernel::make_strided_cursor(observe(ctx, metal), volume), threshold, w});
  }
  auto const shape = P::template channel_major_shape<Context>(s.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    typename B::template cursor<float const> const voxel_columns = observe(ctx, metal);
    auto const plan = plan_mask(ctx, s, volume);
    P::project_channel_major(ctx, s, plan.tables, voxel_columns, plan.pixels, observe(ctx, channel_major), shape,
                             kernel::store_epilogue<B>{});
  }
  [[maybe_unused]] auto const guard = ctx.instr.stage("layout");
  launch(ctx, shape.views,
         kernel::from_channel_major<B>{observe(ctx, channel_major), observe(ctx, projection),
                                       shape.rows * shape.channels, shape.channels, shape});
}

}  // namespace detail

/// Weights of a sinogram y, element by element; weight_type lists the formulas.
///
/// @param ctx       execution and instrumentation. On the host the call returns when the result is complete; on a
///                  device the work is queued and the call returns before it is done.
/// @param sinogram  any three axes, line integrals, dimensionless; not read for unweighted.
/// @param type      the formula.
/// @param weights   same shape, dimensionless; overwritten; may not alias the sinogram.
/// @throws shape_error before anything runs.
/// Cost: one memory-bound pass. The result is bitwise independent of the number of threads. Non-finite values propagate
/// through exp or the quotient. Source: MBIRJAX 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr>
void gen_weights(context<Exec, Instr> const& ctx, view<float const, 3> sinogram, weight_type type,
                 view<float, 3> weights) {
  using B = typename context<Exec, Instr>::backend;
  detail::check(ctx, sinogram, sinogram.extents(), "gen_weights", "sinogram", "(views, rows, channels)");
  detail::check(ctx, weights, sinogram.extents(), "gen_weights", "weights", "(views, rows, channels)");
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({detail::weight_operations[static_cast<std::size_t>(type)], sinogram.size()});
  auto const w = kernel::make_elementwise_range(kernel::any_tasks, sinogram, weights);
  if (type == weight_type::unweighted) {
    auto const out = kernel::make_strided_cursor(observe(ctx, weights, "weights", array_role::output), weights);
    return launch(ctx, w.tasks(), kernel::unit_weights<B>{out, w});
  }
  auto const in = kernel::make_strided_cursor(observe(ctx, sinogram, "sinogram", array_role::argument), sinogram);
  auto const out = kernel::make_strided_cursor(observe(ctx, weights, "weights", array_role::output), weights);
  if (type == weight_type::emission) return launch(ctx, w.tasks(), kernel::emission_weights<B>{in, out, w});
  launch(ctx, w.tasks(),
         kernel::transmission_weights<B>{in, out, type == weight_type::transmission ? -1.0f : -0.5f, w});
}

/// Weights that reduce the trust in rays through metal: w = exp(-y (1 + gamma mu)/beta), where mu is 1 on such rays and
/// 0 elsewhere.
///
/// Without init_recon, mu = [y > t], where t is the upper of two Otsu thresholds of y. With init_recon, mu = [A
/// [init_recon > tau] > 0] with the mask applied, where tau is metal_threshold or else the upper Otsu threshold of
/// init_recon.
///
/// @param ctx              execution and instrumentation. On the host the call returns when the result is complete. On
///                         a device the call waits for thresholds that it must compute; the rest is queued and the call
///                         returns before it is done.
/// @param s                the geometry: parallel_scan or cone_scan.
/// @param sinogram         (views, rows, channels), line integrals, dimensionless; finite.
/// @param init_recon       (rows, cols, slices), attenuation per unit of length, finite; or nothing.
/// @param metal_threshold  used with init_recon only.
/// @param beta             positive and finite.
/// @param gamma            finite; negative values trust the rays through metal more than others.
/// @param weights          (views, rows, channels), dimensionless; overwritten; may alias neither input.
/// @param record           if not null, receives the thresholds used.
/// @throws shape_error before anything runs; parameter_error for beta, gamma, metal_threshold, and when a value that
///         determines a threshold is not finite; allocation_error when a temporary does not fit.
/// Cost: about five operations per sample, plus Otsu's thresholds; with init_recon also a forward projection, and
/// temporary memory of one volume and two sinograms. The result is bitwise independent of the number of threads.
/// Source: MBIRJAX 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void gen_weights_mar(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                     std::optional<view<float const, 3>> init_recon, std::optional<double> metal_threshold, double beta,
                     double gamma, view<float, 3> weights, mar_record* record = nullptr) {
  using Context = context<Exec, Instr>;
  using B = typename Context::backend;
  constexpr char const* name = detail::operation_name<Geometry, "gen_weights_mar">;
  detail::check(ctx, sinogram, s.sinogram_shape(), "gen_weights_mar", "sinogram", "(views, rows, channels)");
  if (init_recon)
    detail::check(ctx, *init_recon, s.recon_shape(), "gen_weights_mar", "init_recon", "(rows, cols, slices)");
  detail::check(ctx, weights, s.sinogram_shape(), "gen_weights_mar", "weights", "(views, rows, channels)");
  require(beta > 0 && std::isfinite(beta),
          [&] { return detail::message("gen_weights_mar: beta is ", beta, ", expected a positive number"); });
  require(std::isfinite(gamma),
          [&] { return detail::message("gen_weights_mar: gamma is ", gamma, ", expected a finite number"); });
  require(!metal_threshold || std::isfinite(*metal_threshold), [&] {
    return detail::message("gen_weights_mar: metal_threshold is ", *metal_threshold, ", expected a finite number");
  });

  [[maybe_unused]] auto const guard = ctx.instr.scope({name, sinogram.size()});
  mar_record decided;
  if (init_recon && metal_threshold) {
    decided.metal_threshold = static_cast<float>(*metal_threshold);
  } else {
    decided.otsu_thresholds = init_recon
                                  ? detail::find_thresholds(ctx, *init_recon, "gen_weights_mar", "init_recon", 3, 1024)
                                  : detail::find_thresholds(ctx, sinogram, "gen_weights_mar", "sinogram", 3, 1024);
    decided.metal_threshold = decided.otsu_thresholds[1];
  }
  if (record) *record = decided;

  temporary<float, Context> projection(ctx, "projection", init_recon ? sinogram.size() : 0);
  if (init_recon) detail::project_metal(ctx, s, *init_recon, decided.metal_threshold, projection);
  [[maybe_unused]] auto const stage = ctx.instr.stage("weights");
  auto const in = kernel::make_strided_cursor(observe(ctx, sinogram, "sinogram", array_role::argument), sinogram);
  auto const out = kernel::make_strided_cursor(observe(ctx, weights, "weights", array_role::output), weights);
  float const rest = static_cast<float>(-1 / beta), metal = static_cast<float>(-(1 + gamma) / beta);
  if (init_recon) {
    view<float const, 3> const evidence(projection.data(), sinogram.extents());
    auto const w = kernel::make_elementwise_range(kernel::any_tasks, sinogram, weights, evidence);
    auto const traces =
        kernel::make_strided_cursor<typename B::template cursor<float const>>(observe(ctx, projection), evidence);
    launch(ctx, w.tasks(), kernel::metal_weights<B, false>{in, traces, out, 0.0f, rest, metal, w});
  } else {
    auto const w = kernel::make_elementwise_range(kernel::any_tasks, sinogram, weights);
    launch(ctx, w.tasks(), kernel::metal_weights<B, true>{in, in, out, decided.metal_threshold, rest, metal, w});
  }
}

}  // namespace mbirk

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/weights.hpp"
#endif
