// Scale factor of the initial image: how well its projection fits the data. Not for users.
#pragma once

#include <optional>
#include <type_traits>

#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::detail {

/// Scale factor of the initial image: 1, or the factor with the best fit of its projection, from accurate sums or from
/// MBIRJAX's float32 sums.
enum class initial_scale { one, fit, float32_fit };

/// Calls f with a compile-time flag for the presence of weights, and their cursor.
template <class Context, class F>
void with_weights(Context const& ctx, std::optional<temporary<float, Context>> const& weights, F const& f) {
  using cursor = typename Context::backend::template cursor<float const>;
  if (weights) f(std::true_type{}, cursor(observe(ctx, *weights)));
  else f(std::false_type{}, cursor{});
}

/// <w z, y> and <w z, z> of a projection z and the data y.
struct fit_products { double with_data = 0, with_itself = 0; };

/// The products, summed in double across channels.
template <class Context>
fit_products fit_sums(Context const& ctx, kernel::chunked_shape const& shape, temporary<float, Context> const& z,
                      temporary<float, Context> const& data,
                      std::optional<temporary<float, Context>> const& weights) {
  index_t const blocks = shape.chunks * shape.views;
  temporary<double, Context> sums(ctx, "fit sums", 2 * blocks);
  with_weights(ctx, weights, [&](auto weighted, auto w) {
    launch(ctx, blocks,
           kernel::projection_products<typename Context::backend, weighted>{observe(ctx, z), observe(ctx, data), w,
                                                                            observe(ctx, sums), shape});
  });
  auto const [with_data, with_itself] = reduce_each<2>(ctx, sums);
  return {with_data, with_itself};
}

/// The products in float32, summed in the order (views, rows, channels). Each product is computed in double: rounded to
/// float32 once, and never fused with the sum.
template <class Context>
fit_products float32_fit_sums(Context const& ctx, kernel::chunked_shape const& shape,
                              temporary<float, Context> const& z, temporary<float, Context> const& data,
                              std::optional<temporary<float, Context>> const& weights) {
  float with_data = 0, with_itself = 0;
  if constexpr (Context::backend::has_data) {
    auto const product = [](float a, float b) {
      return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
    };
    host_copy const projection(ctx, z), measured(ctx, data);
    std::optional<host_copy<float, Context>> weight;
    if (weights) weight.emplace(ctx, *weights);
    for (index_t v = 0; v < shape.views; ++v)
      for (index_t m = 0; m < shape.rows; ++m)
        for (index_t n = 0; n < shape.channels; ++n) {
          index_t const k =
              shape.offset(m / shape.width, v) + (n + kernel::guard_channels) * shape.width + m % shape.width;
          float const a = projection[k], wa = weight ? product((*weight)[k], a) : a;
          with_data += product(wa, measured[k]);
          with_itself += product(wa, a);
        }
  }
  return {static_cast<double>(with_data), static_cast<double>(with_itself)};
}

}  // namespace mbirk::detail
