// The projections of general views have a single stage: a footprint is computed where it is used, and no array of
// theirs would be read twice.
#pragma once

#include "mbirk/projector/general.hpp"

namespace mbirk::profile::staged::detail {

using namespace mbirk::detail;

template <class Context>
void project_channel_major(Context const& ctx, planned_projection<Context, general_geometry> const& planned,
                           typename Context::backend::template cursor<float const> voxel_columns,
                           typename Context::backend::template cursor<float> channel_major,
                           kernel::chunked_shape const& shape) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("forward");
  projector<general_geometry>::project_channel_major(ctx, planned.scan, planned.tables, voxel_columns, planned.pixels,
                                                     channel_major, shape,
                                                     kernel::store_epilogue<typename Context::backend>{});
}
template <class Context>
void back_project_channel_major(Context const& ctx, planned_projection<Context, general_geometry> const& planned,
                                typename Context::backend::template cursor<float const> channel_major,
                                kernel::chunked_shape const& shape, int coeff_power,
                                typename Context::backend::template cursor<float> voxel_columns) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("back");
  projector<general_geometry>::back_project_channel_major(ctx, planned.scan, planned.tables, channel_major, shape,
                                                          planned.pixels, coeff_power, voxel_columns);
}

}  // namespace mbirk::profile::staged::detail
