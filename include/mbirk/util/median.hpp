// Median filter of volumes.
#pragma once

#include <optional>

#include "mbirk/kernel/device/median_lanes.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/operation.hpp"

namespace mbirk {

/// Median, i.e. the 14th smallest, of the 27 voxels around each voxel; optionally also their minimum and maximum.
/// Border voxels are repeated beyond the border. Results are elements of the image and therefore exact (of zeros with
/// both signs, either may result); a NaN among the 27 gives NaN.
///
/// @param ctx      execution and instrumentation. On the host the call returns when the result is complete; on a device
///                 the work is queued and the call returns before it is done.
/// @param image    (rows, cols, slices), any unit, read only; any axis may have length 1 or 0.
/// @param median   same shape and unit; overwritten; may not alias the image. The same holds for minimum and maximum.
/// @throws shape_error before anything runs, allocation_error when the scratch does not fit.
/// Cost: about 120 vector operations per pack of voxels, of which 100 are min and max. The result is bitwise
/// independent of the number of threads. Source: MBIRJAX 0.7.3, with bitwise equal results; the selection network is
/// mbirk's own (kernel/shared/median.hpp).
template <execution_policy Exec, instrumentation_policy Instr>
void median_filter3d(context<Exec, Instr> const& ctx, view<float const, 3> image, view<float, 3> median,
                     std::optional<view<float, 3>> minimum = {}, std::optional<view<float, 3>> maximum = {}) {
  using B = typename context<Exec, Instr>::backend;
  auto const check = [&](auto const& v, char const* name) {
    detail::check(ctx, v, image.extents(), "median_filter3d", name, "(rows, cols, slices)");
  };
  check(image, "image");
  check(median, "median");
  if (minimum) check(*minimum, "minimum");
  if (maximum) check(*maximum, "maximum");
  [[maybe_unused]] auto const guard = ctx.instr.scope({"median_filter3d", image.size()});
  auto const run = [&](auto kernel) {
    kernel.image = kernel::make_strided_cursor(observe(ctx, image, "image", array_role::argument), image);
    kernel.median = kernel::make_strided_cursor(observe(ctx, median, "median", array_role::output), median);
    if (minimum)
      kernel.minimum = kernel::make_strided_cursor(observe(ctx, *minimum, "minimum", array_role::output), *minimum);
    if (maximum)
      kernel.maximum = kernel::make_strided_cursor(observe(ctx, *maximum, "maximum", array_role::output), *maximum);
    kernel.with_minimum = minimum.has_value();
    kernel.with_maximum = maximum.has_value();
    kernel.rows = image.extent(0);
    kernel.cols = image.extent(1);
    kernel.slices = image.extent(2);
    if constexpr (requires { kernel.plan_scratch(); }) kernel.plan_scratch();
    launch(ctx, kernel.tasks(), kernel);
  };
  if constexpr (on_device<context<Exec, Instr>>) run(kernel::median_lanes<B>{});
  else run(kernel::median_window<B>{});
}

}  // namespace mbirk

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/images.hpp"
#endif
