// Requirements of the operations and algorithms on a geometry's projector.
#pragma once

#include <concepts>

#include "mbirk/kernel/shared/step.hpp"
#include "mbirk/projector/detail.hpp"

namespace mbirk::detail {

/// Projection of planned pixels in a geometry; specialised next to its kernels, to satisfy projector_of.
template <class Geometry> struct projector;

/// e -= step w A d of the previous subset of an iterative reconstruction, where it has not been applied yet. Arrays are
/// channel-major sinograms; without a plan nothing is pending.
template <class Context> struct deferred_update {
  device_plan<Context> const* plan;                        ///< of the previous subset; null if nothing is pending
  kernel::step_length step;
  temporary<float, Context> const& error;                  ///< w e
  temporary<float, Context> const* weights;                ///< null for 1
  temporary<float, Context> const* projection;             ///< w A d, where keeps_projection
  temporary<float, Context> const* packed_direction;       ///< d as pack_subset left it, elsewhere
  kernel::chunked_shape shape;
};

/// Static members of a projector P; B is the back end of the context.
///
///   tables<Context>
///       Scan-dependent data of the kernels. Made for one projection from (ctx, s), or for an iterative
///       reconstruction from (ctx, s, shape).
///   channel_major_shape<Context>(geometry), forward_shape<Context>(geometry)
///       Layout of sinograms that are projected both ways, and of those that are only projected to.
///   project_channel_major(ctx, s, tables, voxel_columns, plan, channel_major, shape, epilogue)
///       y = A x; the epilogue sees each view while it is cached. It sees forward_tasks<Context>(tables, shape) tasks.
///   back_project_channel_major(ctx, s, tables, channel_major, shape, plan, coeff_power, voxel_columns)
///       x = A' y, or with the squared weights for a power of 2.
///   unweighted_hessian(ctx, s, plan, voxel_columns)
///       Sums of the squared weights.
///
/// An iterative reconstruction needs A d of a subset twice: for the line search and for the update of the error.
///
///   keeps_projection<Context>(tables, shape, pixels)
///       Whether it stores w A d of a subset of this size; else it projects twice, which costs less for small subsets.
///   pack_subset(ctx, shape, direction, plan, packed)
///       Reorders d for project_subset, if the projection is not kept; not called on a device.
///   sorted_list<Context>(ctx, tables, shape, plan)
///       The order of the subset's pixels by channel on a device, which both projections use; empty on the host.
///   project_subset(ctx, tables, shape, packed, plan, list, epilogue)
///       Projects a packed d, on a device d itself; the epilogue sees the channels, one view per task, on a device one
///       view of a chunk.
///   partial_sum_floats<Context>(tables, shape, pixels)
///       Size of the partial sums of fused_update_backproject, or 0 if it does not pay for a subset of this size.
///   fused_update_backproject(ctx, s, tables, update, plan, partial_sums, voxel_columns)
///       x = A' (w e) after the deferred update of w e, in one pass over the error.
///
/// keeps_every_projection has the members of a projector that never projects twice.
template <class P, class Geometry, class Context>
concept projector_of =
    std::constructible_from<typename P::template tables<Context>, Context const&, scan<Geometry> const&> &&
    std::constructible_from<typename P::template tables<Context>, Context const&, scan<Geometry> const&,
                            kernel::chunked_shape const&> &&
    std::constructible_from<typename P::template sorted_list<Context>, Context const&,
                            typename P::template tables<Context> const&, kernel::chunked_shape const&,
                            device_plan<Context> const&> &&
    requires(Context const& ctx, scan<Geometry> const& s, typename P::template tables<Context> const& tables,
             kernel::chunked_shape const& shape, device_plan<Context> const& plan,
             typename P::template sorted_list<Context> const& list, temporary<float, Context> const& array,
             typename Context::backend::template cursor<float> out,
             typename Context::backend::template cursor<float const> in,
             kernel::store_epilogue<typename Context::backend> const& store,
             kernel::squared_norm_epilogue<typename Context::backend, true, false> const& norm,
             deferred_update<Context> const& update, index_t pixels, int power) {
  { P::template channel_major_shape<Context>(s.geometry()) } -> std::same_as<kernel::chunked_shape>;
  { P::template forward_shape<Context>(s.geometry()) } -> std::same_as<kernel::chunked_shape>;
  { P::template forward_tasks<Context>(tables, shape) } -> std::same_as<index_t>;
  P::project_channel_major(ctx, s, tables, in, plan, out, shape, store);
  P::back_project_channel_major(ctx, s, tables, in, shape, plan, power, out);
  P::unweighted_hessian(ctx, s, plan, out);
  { P::template keeps_projection<Context>(tables, shape, pixels) } -> std::same_as<bool>;
  P::pack_subset(ctx, shape, array, plan, array);
  P::project_subset(ctx, tables, shape, array, plan, list, norm);
  { P::template partial_sum_floats<Context>(tables, shape, pixels) } -> std::same_as<index_t>;
  P::fused_update_backproject(ctx, s, tables, update, plan, array, out);
};

/// For projectors whose iterative reconstructions keep the projection of every subset, because a second projection
/// would cost more than an array.
struct keeps_every_projection {
  template <class Context, class Tables>
  static bool keeps_projection(Tables const&, kernel::chunked_shape const&, index_t) {
    return true;
  }
  template <class Context>
  static void pack_subset(Context const&, kernel::chunked_shape const&, temporary<float, Context> const&,
                          device_plan<Context> const&, temporary<float, Context> const&) {}
  template <class Context> struct sorted_list {
    template <class Tables>
    sorted_list(Context const&, Tables const&, kernel::chunked_shape const&, device_plan<Context> const&) {}
  };
  template <class Context, class Tables, class Epilogue>
  static void project_subset(Context const&, Tables const&, kernel::chunked_shape const&,
                             temporary<float, Context> const&, device_plan<Context> const&,
                             sorted_list<Context> const&, Epilogue const&) {}
};

}  // namespace mbirk::detail
