// Operations on images, as mbirk::compiled holds them: denoiser, prior, median filter, thresholds, pixel partitions.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/recon/denoise.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/otsu.hpp"
#include "mbirk/util/partition_set.hpp"

#define MBIRK_IMAGE_KERNELS(X, B, S)                     \
  X(kernel::no_scratch, kernel::array_range<B>)          \
  X(kernel::no_scratch, kernel::count_bins<B>)           \
  X(kernel::no_scratch, kernel::count_digits<B>)         \
  X(kernel::no_scratch, kernel::denoise_direction<B>)    \
  X(kernel::no_scratch, kernel::denoise_update<B>)       \
  X(kernel::no_scratch, kernel::local_deviation<B>)      \
  X(kernel::no_scratch, kernel::measure_image<B, false>) \
  X(kernel::no_scratch, kernel::measure_image<B, true>)  \
  X(S, kernel::median_window<B>)                         \
  X(kernel::no_scratch, kernel::qggmrf_at_pixels<B>)     \
  X(kernel::no_scratch, kernel::qggmrf_loss_sum<B>)      \
  X(kernel::no_scratch, kernel::take_slices<B>)

#define MBIRK_IMAGE_OPERATIONS(E, C)                                                                             \
  E template denoise_record qggmrf_denoise(C const&, view<float const, 3>, denoise_options const&,               \
                                           view<float, 3>);                                                      \
  E template void median_filter3d(C const&, view<float const, 3>, view<float, 3>, std::optional<view<float, 3>>, \
                                  std::optional<view<float, 3>>);                                                \
  E template std::vector<float> multi_threshold_otsu(C const&, view<float const, 3>, int, int);                  \
  E template void qggmrf_gradient_and_hessian_at_indices(C const&, view<float const, 3>,                         \
                                                         view<std::int32_t const, 1>, qggmrf_parameters const&,  \
                                                         view<float, 2>, view<float, 2>);                        \
  E template double qggmrf_loss(C const&, view<float const, 3>, qggmrf_parameters const&);

/// Partitions are made on the host under every policy, so these have no instances for devices.
#define MBIRK_PARTITION_OPERATIONS(E, C)                                                                         \
  E template pixel_partition gen_pixel_partition(C const&, std::vector<std::uint8_t> const&, index_t, index_t,   \
                                                 index_t, numpy_random_state&);                                  \
  E template pixel_partition gen_pixel_partition_blue_noise(C const&, std::vector<std::uint8_t> const&, index_t, \
                                                            index_t, index_t, numpy_random_state&);              \
  E template pixel_partition gen_pixel_partition_grid(C const&, std::vector<std::uint8_t> const&, index_t,       \
                                                      index_t, index_t, numpy_random_state&);

namespace mbirk {

MBIRK_IMAGE_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_IMAGE_OPERATIONS(extern, instances::none_context)
MBIRK_PARTITION_OPERATIONS(extern, instances::none_context)

}  // namespace mbirk
