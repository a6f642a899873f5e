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
  X(kernel::no_scratch, kernel::qggmrf_at_pixels<B>)     \
  X(kernel::no_scratch, kernel::qggmrf_loss_sum<B>)      \
  X(kernel::no_scratch, kernel::take_slices<B>)
#define MBIRK_IMAGE_HOST_KERNELS(X, B, S) X(S, kernel::median_window<B>)
#define MBIRK_IMAGE_DEVICE_KERNELS(X, B)                                  \
  X(kernel::block_counts<B, kernel::count_bins<B>>)                       \
  X(kernel::block_counts<B, kernel::count_digits<B>>)                     \
  X(kernel::on_warps<kernel::median_lanes<B>, kernel::no_scratch>)

#define MBIRK_IMAGE_OPERATIONS(X, C)                                                                                  \
  X(C, void, denoise, qggmrf_denoise,                                                                                 \
    (C const& c, view<float const, 3> noisy, denoise_options const& options, view<float, 3> image),                   \
    (c, noisy, options, image), denoise_record)                                                                       \
  X(C, void, median, median_filter3d,                                                                                 \
    (C const& c, view<float const, 3> image, view<float, 3> median, std::optional<view<float, 3>> minimum,            \
     std::optional<view<float, 3>> maximum),                                                                          \
    (c, image, median, minimum, maximum), void)                                                                       \
  X(C, void, otsu, multi_threshold_otsu, (C const& c, view<float const, 3> image, int classes, int bins),             \
    (c, image, classes, bins), std::vector<float>)                                                                    \
  X(C, void, qggmrf_gradient, qggmrf_gradient_and_hessian_at_indices,                                                 \
    (C const& c, view<float const, 3> image, view<std::int32_t const, 1> pixels, qggmrf_parameters const& parameters, \
     view<float, 2> gradient, view<float, 2> hessian),                                                                \
    (c, image, pixels, parameters, gradient, hessian), void)                                                          \
  X(C, void, qggmrf_value, qggmrf_loss,                                                                               \
    (C const& c, view<float const, 3> image, qggmrf_parameters const& parameters), (c, image, parameters), double)

/// Partitions are made on the host under every policy, so these have no instances for devices. They use no vectors, so
/// they are not chosen at run time either.
#define MBIRK_PARTITION_OPERATIONS(X, C)                                                             \
  X(C, void, partition, gen_pixel_partition,                                                         \
    (C const& c, std::vector<std::uint8_t> const& mask, index_t rows, index_t cols, index_t subsets, \
     numpy_random_state& random),                                                                    \
    (c, mask, rows, cols, subsets, random), pixel_partition)                                         \
  X(C, void, partition_blue_noise, gen_pixel_partition_blue_noise,                                   \
    (C const& c, std::vector<std::uint8_t> const& mask, index_t rows, index_t cols, index_t subsets, \
     numpy_random_state& random),                                                                    \
    (c, mask, rows, cols, subsets, random), pixel_partition)                                         \
  X(C, void, partition_grid, gen_pixel_partition_grid,                                               \
    (C const& c, std::vector<std::uint8_t> const& mask, index_t rows, index_t cols, index_t subsets, \
     numpy_random_state& random),                                                                    \
    (c, mask, rows, cols, subsets, random), pixel_partition)

namespace mbirk {

MBIRK_IMAGE_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_IMAGE_HOST_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_IMAGE_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::none_context)
MBIRK_PARTITION_OPERATIONS(MBIRK_EXTERN_OPERATION, instances::none_context)

}  // namespace mbirk
