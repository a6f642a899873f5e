// projection_plan: the pixels of a projection and the tables of its scan, prepared once for any number of projections.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "mbirk/projector/concept.hpp"

namespace mbirk {
namespace detail {

/// Planned pixels and the tables of their scan in memory that the kernels can read. Refers to the context and the scan.
template <class Context, class Geometry> struct planned_projection {
  planned_projection(Context const& ctx, mbirk::scan<Geometry> const& s, kernel::pixel_plan planned)
      : scan(s), pixels(ctx, std::move(planned)), tables(ctx, s) {}

  mbirk::scan<Geometry> const& scan;
  device_plan<Context> pixels;
  typename projector<Geometry>::template tables<Context> tables;
};

/// Plans the pixels inside the mask for an array, or a list of pixels for its voxel columns.
template <class Context, class Geometry, class T>
planned_projection<Context, Geometry> plan_mask(Context const& ctx, scan<Geometry> const& s, view<T, 3> const& recon) {
  return {ctx, s, mask_pixels(s, recon.strides())};
}
template <class Context, class Geometry, class T>
planned_projection<Context, Geometry> plan_list(Context const& ctx, scan<Geometry> const& s,
                                                std::span<std::int32_t const> pixels,
                                                view<T, 2> const& voxel_values) {
  return {ctx, s, listed_pixels<Context>(s, pixels, voxel_values.stride(0))};
}

/// Everything that a projection_plan owns, in one place, because the tables refer to the context and the scan.
template <class Context, class Geometry> struct plan_state {
  plan_state(Context const& c, mbirk::scan<Geometry> const& s, std::array<index_t, 3> const& recon_strides)
      : ctx(c),
        scan(s),
        strides{recon_strides[0], recon_strides[1]},
        planned(ctx, scan, mask_pixels(scan, recon_strides)),
        outside(std::in_place, ctx, scan, recon_strides) {}
  plan_state(Context const& c, mbirk::scan<Geometry> const& s, std::span<std::int32_t const> listed,
             std::array<index_t, 2> const& voxel_strides)
      : ctx(c),
        scan(s),
        strides{voxel_strides[0], 0},
        planned(ctx, scan, listed_pixels<Context>(scan, listed, voxel_strides[0])) {}

  Context ctx;
  mbirk::scan<Geometry> scan;
  std::array<index_t, 2> strides;
  planned_projection<Context, Geometry> planned;
  std::optional<outside_columns<Context>> outside;  // nothing if the plan is of a list
};
template <class Context, class Geometry> using plan_pointer = std::unique_ptr<plan_state<Context, Geometry> const>;

/// Plans the pixels inside the mask, or a list of pixels. Functions and not constructors, so that mbirk::compiled can
/// hold them: tables depend on the vectors of the kernels, the layout of plan_state does not.
template <class Context, class Geometry>
plan_pointer<Context, Geometry> make_plan(Context const& ctx, scan<Geometry> const& s,
                                          std::array<index_t, 3> const& recon_strides) {
  return std::make_unique<plan_state<Context, Geometry>>(ctx, s, recon_strides);
}
template <class Context, class Geometry>
plan_pointer<Context, Geometry> make_plan(Context const& ctx, scan<Geometry> const& s,
                                          std::span<std::int32_t const> pixels,
                                          std::array<index_t, 2> const& voxel_strides) {
  return std::make_unique<plan_state<Context, Geometry>>(ctx, s, pixels, voxel_strides);
}

}  // namespace detail

/// A projection that is planned once and computed many times: `projection_plan plan(ctx, scan)`. Planning sorts the
/// pixels, computes tables of the scan and, on a device, copies both to it. A projector that is given a scan does this
/// in every call; one that is given a plan computes the same bits without it.
///
/// A plan is either of the pixels inside the mask, for forward_project and back_project, or of a list of pixels, for
/// sparse_forward_project and sparse_back_project. It never changes, so any number of calls may share it.
///
/// The plan owns copies of the scan and of the context. Whatever the policies of the context refer to (a memory
/// resource, a ledger) must outlive it. Calls may have another number of threads than the plan. On a device the memory
/// of the plan is allocated and freed in the order of its context's stream, so a plan may be destroyed as soon as its
/// calls are queued there; calls on another stream have to be synchronised with it. A plan that was moved from can only
/// be destroyed or assigned to.
///
/// Cost: linear in pixels and views. Memory: 16 bytes per pixel of the plan, 8 per pixel outside the mask and 5 per
/// pixel of the grid; per view some hundred bytes in parallel beam, 4 bytes per slice in a helical cone-beam scan. On a
/// device all but the 5 bytes are device memory.
template <class Context, class Geometry> class projection_plan {
 public:
  /// Plans the pixels inside the mask for dense reconstructions. @throws allocation_error
  projection_plan(Context const& ctx, mbirk::scan<Geometry> const& s)
      : projection_plan(ctx, s, view<float const, 3>(nullptr, s.recon_shape()).strides()) {}
  /// Plans the pixels inside the mask for reconstructions with these strides, in elements: view::strides().
  /// @throws allocation_error
  projection_plan(Context const& ctx, mbirk::scan<Geometry> const& s, std::array<index_t, 3> const& recon_strides) {
    [[maybe_unused]] auto const guard = scope(ctx, static_cast<index_t>(s.full_indices().size()));
    state_ = detail::make_plan(ctx, s, recon_strides);
  }
  /// Plans the listed pixels for dense voxel values.
  /// @param pixel_indices  (pixels), i * cols + j, inside the mask or not, in any order; in host memory under every
  ///                       policy; not referred to later.
  /// @throws shape_error, index_error, allocation_error
  projection_plan(Context const& ctx, mbirk::scan<Geometry> const& s, view<std::int32_t const, 1> pixel_indices)
      : projection_plan(ctx, s, pixel_indices, {s.geometry().slices, 1}) {}
  /// Plans the listed pixels for voxel values with these strides, in elements: view::strides().
  projection_plan(Context const& ctx, mbirk::scan<Geometry> const& s, view<std::int32_t const, 1> pixel_indices,
                  std::array<index_t, 2> const& voxel_strides) {
    auto const pixels = detail::check_pixels(s, pixel_indices, "projection_plan");
    [[maybe_unused]] auto const guard = scope(ctx, pixel_indices.size());
    state_ = detail::make_plan(ctx, s, pixels, voxel_strides);
  }

  /// Number of planned pixels.
  index_t pixels() const noexcept { return state_->planned.pixels.pixels; }
  mbirk::scan<Geometry> const& scan() const noexcept { return state_->scan; }

  // For the projectors:

  /// @throws parameter_error unless the plan is of the pixels inside the mask.
  detail::planned_projection<Context, Geometry> const& of_mask(char const* operation) const {
    return checked(operation, true).planned;
  }
  /// @throws parameter_error unless the plan is of a list of pixels.
  detail::planned_projection<Context, Geometry> const& of_list(char const* operation) const {
    return checked(operation, false).planned;
  }
  /// The pixels outside the mask of a plan that is of those inside.
  detail::outside_columns<Context> const& outside() const noexcept { return *state_->outside; }
  /// @throws shape_error unless the view, whose shape has been checked, has the planned strides.
  template <class T, int Rank>
  void check_strides(view<T, Rank> const& v, char const* operation, char const* name) const {
    typename view<T, Rank>::shape_type planned = v.strides();
    for (std::size_t d = 0; d + 1 < Rank; ++d)
      if (v.extents()[d] > 1) planned[d] = state_->strides[d];
    require<shape_error>(v.strides() == planned, [&] {
      return detail::message(operation, ": ", name, " has strides ", detail::shape_text(v.strides()),
                             ", expected those of the plan = ", detail::shape_text(planned));
    });
  }

 private:
  static auto scope(Context const& ctx, index_t pixels) { return ctx.instr.scope({"projection_plan", pixels}); }
  detail::plan_state<Context, Geometry> const& checked(char const* operation, bool masked) const {
    require(state_ != nullptr, [&] { return detail::message(operation, ": the plan was moved from"); });
    require(state_->outside.has_value() == masked, [&] {
      char const *mask = "the pixels inside the mask", *list = "a list of pixels";
      return detail::message(operation, ": the plan is of ", masked ? list : mask, ", expected one of ",
                             masked ? mask : list);
    });
    return *state_;
  }

  detail::plan_pointer<Context, Geometry> state_;
};

}  // namespace mbirk
