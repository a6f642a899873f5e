// Direct reconstruction: filtered back projection in parallel beam, the method of Feldkamp, Davis and Kress in cone
// beam, with slice weights for helical scans. Users also include projector/all.hpp or the header of one geometry, which
// provide the kernels.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/kernel/shared/scale_slices.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk {

/// Whether the gantry moves along the axis, i.e. the z shifts are not all equal.
inline bool is_helical(cone_scan const& s) {
  auto const [low, high] = std::minmax_element(s.z_shifts().begin(), s.z_shifts().end());
  return low != s.z_shifts().end() && *low < *high;
}

/// Factors for the slices of a direct reconstruction of a helical scan: a slice is seen in only some of the views, but
/// the filter is scaled for all of them.
///
///   V / n_k,  n_k = number of views with |z_k - zeta_v| <= R delta_r/(2 M),  z_k = delta_z (k - (S - 1)/2) + o_z;
///   0 where n_k = 0.
///
/// The factor counts views by the height of the detector at the axis and is not a ray weight, so the image is
/// approximate and meant as an initial image.
/// @return one factor per slice; all 1 when the scan is circular and the slices are within the detector's height.
/// Source: MBIRJAX.
inline std::vector<float> helical_slice_weights(cone_scan const& s) {
  auto const& g = s.geometry();
  double const reach = static_cast<double>(g.rows) * g.delta_det_row * g.inverse_magnification / 2;
  std::vector<float> weights;
  for (index_t k = 0; k < g.slices; ++k) {
    double const z = definition::slice_z(g, static_cast<double>(k), 0.0);
    auto const seen = std::count_if(s.z_shifts().begin(), s.z_shifts().end(),
                                    [&](float zeta) { return std::abs(z - static_cast<double>(zeta)) <= reach; });
    weights.push_back(seen == 0 ? 0.0f : static_cast<float>(static_cast<double>(g.views) / static_cast<double>(seen)));
  }
  return weights;
}

namespace detail {

/// helical_slice_weights of a helical scan, with a text about them.
inline std::vector<float> helical_factors(cone_scan const& s, std::vector<std::string>* warnings) {
  auto factors = helical_slice_weights(s);
  auto const unseen = std::count(factors.begin(), factors.end(), 0.0f);
  if (warnings)
    warnings->push_back(
        "direct reconstruction of a helical scan weighs slices by the number of views that see them: an approximation" +
        (unseen == 0 ? ""
                     : "; " + std::to_string(unseen) + " of " + std::to_string(factors.size()) +
                           " slices are seen by no view and are 0"));
  return factors;
}

/// Multiplies the slices of a helical scan by their weights; does nothing for other scans.
template <class Context, class VoxelColumns>
void weigh_slices(Context const& ctx, cone_scan const& s, device_plan<Context> const& plan, VoxelColumns voxel_columns,
                  std::vector<std::string>* warnings) {
  using B = typename Context::backend;
  if (!is_helical(s)) return;
  auto factors = helical_factors(s, warnings);
  factors.resize(static_cast<std::size_t>(round_up(s.geometry().slices, B::lanes)));
  [[maybe_unused]] auto const guard = ctx.instr.stage("helical weights");
  device_table const device_factors(ctx, factors, "slice weights");
  launch(ctx, ceil_div(plan.pixels, kernel::scale_slices<B>::batch),
         kernel::scale_slices<B>{voxel_columns, observe(ctx, plan.offsets), observe(ctx, device_factors), plan.pixels,
                                 s.geometry().slices});
}
template <class Context, class Geometry, class VoxelColumns>
void weigh_slices(Context const&, scan<Geometry> const&, device_plan<Context> const&, VoxelColumns,
                  std::vector<std::string>*) {}

/// Reconstructs from a filtered, channel-major sinogram in the layout of the projector. Zeros outside the mask.
template <class Context, class Geometry>
void reconstruct_filtered(Context const& ctx, scan<Geometry> const& s, temporary<float, Context> const& filtered,
                          kernel::chunked_shape const& shape, view<float, 3> recon,
                          std::vector<std::string>* warnings) {
  auto const plan = plan_mask(ctx, s, recon);
  zero_outside(ctx, outside_columns(ctx, s, recon.strides()), recon);
  auto const voxel_columns = observe(ctx, recon, "recon", array_role::output);
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    projector<Geometry>::back_project_channel_major(ctx, s, plan.tables, observe(ctx, filtered), shape, plan.pixels, 1,
                                                    voxel_columns);
  }
  weigh_slices(ctx, s, plan.pixels, voxel_columns, warnings);
}

/// direct_recon of a channel-major sinogram in the layout of the projector, P::channel_major_shape, which is not
/// modified; without a direct reconstruction the plain back projection, which has the shape of an initial image but not
/// its scale. The caller has checked shapes and options and has opened a scope.
template <class Context, class Geometry>
void direct_recon_channel_major(Context const& ctx, scan<Geometry> const& s, temporary<float, Context> const& sinogram,
                                kernel::chunked_shape const& shape, view<float, 3> recon,
                                filter_options const& options = {}, std::vector<std::string>* warnings = nullptr) {
  if constexpr (has_direct_recon<Geometry>) {
    temporary<float, Context> filtered(ctx, "filtered sinogram", shape.size());
    filter_channel_major(ctx, s, sinogram, filtered, shape, options);
    reconstruct_filtered(ctx, s, filtered, shape, recon, warnings);
  } else {
    reconstruct_filtered(ctx, s, sinogram, shape, recon, warnings);
  }
}

/// Implementation of direct_recon and its aliases, which differ in name.
template <class Exec, class Instr, class Geometry>
void direct_recon_as(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                     view<float, 3> recon, filter_options const& options, std::vector<std::string>* warnings,
                     char const* operation, char const* scope) {
  using Context = context<Exec, Instr>;
  check_filter(options, operation);
  check_sinogram(ctx, s, sinogram, operation);
  check_recon(ctx, s, recon, operation);
  [[maybe_unused]] auto const guard = ctx.instr.scope({scope, masked_pairs(s)});
  auto const shape = projector<Geometry>::template channel_major_shape<Context>(s.geometry());
  temporary<float, Context> filtered(ctx, "filtered sinogram", shape.size());
  filter_to_channel_major(ctx, s, sinogram, filtered, shape, options);
  reconstruct_filtered(ctx, s, filtered, shape, recon, warnings);
}

}  // namespace detail

/// Direct reconstruction: the plain back projection of the filtered sinogram (direct_filter), x = A' q inside the mask,
/// 0 elsewhere. Slices of a helical scan are multiplied by helical_slice_weights.
///
/// @param ctx       execution and instrumentation. On the host the call returns when the result is complete; on a
///                  device the work is queued and the call returns before it is done.
/// @param s         the geometry: parallel_scan or cone_scan.
/// @param sinogram  (views, rows, channels), line integrals; views equally spaced over the full range (a half or full
///                  turn in parallel beam, a full turn in cone beam).
/// @param recon     (rows, cols, slices), attenuation per unit of length; overwritten; may not alias sinogram.
/// @param options   name of the filter and choice of taps.
/// @param warnings  receives a text when the result is only approximate (helical scans); may be null.
/// @throws parameter_error for any filter other than "ramp", shape_error; both before anything runs. allocation_error
///         when a temporary does not fit.
/// Cost: direct_filter and back_project; temporary memory: one channel-major sinogram. The result is bitwise
/// independent of the number of threads. Source: Kak and Slaney 1988; Feldkamp, Davis, Kress 1984; MBIRJAX.
template <execution_policy Exec, instrumentation_policy Instr, has_direct_recon Geometry>
void direct_recon(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                  view<float, 3> recon, filter_options const& options = {},
                  std::vector<std::string>* warnings = nullptr) {
  detail::direct_recon_as(ctx, s, sinogram, recon, options, warnings, "direct_recon",
                          detail::operation_name<Geometry, "direct_recon">);
}

/// direct_recon under its usual name in parallel beam.
template <execution_policy Exec, instrumentation_policy Instr, direct_method<"fbp"> Geometry>
void fbp_recon(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
               view<float, 3> recon, filter_options const& options = {}, std::vector<std::string>* warnings = nullptr) {
  detail::direct_recon_as(ctx, s, sinogram, recon, options, warnings, "fbp_recon",
                          detail::operation_name<Geometry, "fbp_recon">);
}

/// direct_recon under its usual name in cone beam.
template <execution_policy Exec, instrumentation_policy Instr, direct_method<"fdk"> Geometry>
void fdk_recon(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
               view<float, 3> recon, filter_options const& options = {}, std::vector<std::string>* warnings = nullptr) {
  detail::direct_recon_as(ctx, s, sinogram, recon, options, warnings, "fdk_recon",
                          detail::operation_name<Geometry, "fdk_recon">);
}

}  // namespace mbirk

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/direct_recon.hpp"
#endif
