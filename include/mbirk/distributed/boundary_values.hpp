// Values of the boundary slices of a rank, between its arrays, which may be on a device, and messages, which are on the
// host. Not for users.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

/// Calls f(element, value of the list) for a view (rows, cols, 1), pixel by pixel.
template <class T, class Values, class F> void each_pixel(view<T, 3> const& v, Values& values, F const& f) {
  std::size_t n = 0;
  for (index_t i = 0; i < v.extent(0); ++i)
    for (index_t j = 0; j < v.extent(1); ++j) f(v(i, j, 0), values[n++]);
}

/// Copies a slice to the host.
/// @param slice   (rows, cols, 1), with rows that follow each other; as many elements as `to` has
/// @param packed  on a device room for as many
template <class Context>
void fetch_slice(Context const& ctx, view<float const, 3> const& slice, temporary<float, Context> const& packed,
                 std::vector<float>& to) {
  using B = typename Context::backend;
  if constexpr (on_device<Context>) {
    index_t const pixels = std::ssize(to);
    launch(ctx, ceil_div(pixels, kernel::copy_slab_columns<B>::batch),
           kernel::copy_slab_columns<B>{observe(ctx, slice, "boundary slice", array_role::argument),
                                        observe(ctx, packed), slice.stride(1), 1, 1, pixels});
    get(ctx, packed.data(), pixels, to.data());
  } else {
    each_pixel(slice, to, [](float x, float& value) { value = x; });
  }
}

/// Copies a slice from the host. @param slice, packed  as in fetch_slice
template <class Context>
void store_slice(Context const& ctx, std::vector<float> const& from, temporary<float, Context> const& packed,
                 view<float, 3> const& slice) {
  using B = typename Context::backend;
  if constexpr (on_device<Context>) {
    index_t const pixels = std::ssize(from);
    put(ctx, from.data(), pixels, packed.data());
    launch(ctx, ceil_div(pixels, kernel::copy_slab_columns<B>::batch),
           kernel::copy_slab_columns<B>{observe(ctx, packed), observe(ctx, slice, "recon", array_role::output), 1,
                                        slice.stride(1), 1, pixels});
  } else {
    each_pixel(slice, from, [](float& x, float value) { x = value; });
  }
}

/// Adds values to the pixels of a subset in a slice, one after the other, so that repeated pixels get both.
/// @param packed  on a device room for the values
/// @param slice   (rows, cols, 1)
template <class Context>
void add_to_slice(Context const& ctx, vcd_subset<Context> const& subset, std::vector<float> const& values,
                  temporary<float, Context> const& packed, view<float, 3> const& slice) {
  using B = typename Context::backend;
  if constexpr (on_device<Context>) {
    // x += 1 d for a direction d of one slice.
    auto const ranges = subset.ranges.all();
    put(ctx, values.data(), std::ssize(values), packed.data());
    temporary<double, Context> const change(ctx, "change sums", ranges.size()),
        squares(ctx, "slice sums", ranges.size() * B::lanes);
    kernel::vcd_update<B> kernel{observe(ctx, subset.pixels),
                                 observe(ctx, packed),
                                 observe(ctx, slice, "recon", array_role::output),
                                 slice.extent(1),
                                 1,
                                 B::lanes,
                                 slice.stride(0),
                                 slice.stride(1),
                                 {1.0},
                                 observe(ctx, change),
                                 observe(ctx, squares),
                                 {1, B::lanes, B::lanes},
                                 ranges};
    kernel.plan_scratch();
    launch(ctx, ranges.size(), kernel);
  } else {
    index_t const cols = slice.extent(1);
    std::size_t e = 0;
    for (auto const pixel : std::span(subset.pixels.data(), values.size()))
      slice(pixel / cols, pixel % cols, 0) += values[e++];
  }
}

}  // namespace mbirk::distributed::detail
