// Kernels of histograms, the denoiser and the median filter that mbirk::compiled holds.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/util/partition_set.hpp"
#include "mbirk/recon/denoise.hpp"
#include "mbirk/util/median.hpp"

#define MBIRK_HISTOGRAM_KERNELS(X, B, S) \
  X(kernel::no_scratch, kernel::array_range<B>) \
  X(kernel::no_scratch, kernel::count_bins<B>) \
  X(kernel::no_scratch, kernel::count_digits<B>)

#define MBIRK_DENOISER_KERNELS(X, B, S) \
  X(kernel::no_scratch, kernel::denoise_direction<B>) \
  X(kernel::no_scratch, kernel::denoise_update<B>) \
  X(kernel::no_scratch, kernel::local_deviation<B>) \
  X(kernel::no_scratch, kernel::measure_image<B, false>) \
  X(kernel::no_scratch, kernel::measure_image<B, true>) \
  X(kernel::no_scratch, kernel::take_slices<B>)

#define MBIRK_MEDIAN_KERNELS(X, B, S) \
  X(S, kernel::median_window<B>)

#define MBIRK_IMAGE_OPERATIONS(E, C) \
  E template denoise_record qggmrf_denoise(C const&, view<float const, 3>, denoise_options const&, view<float, 3>); \
  E template void median_filter3d(C const&, view<float const, 3>, view<float, 3>, std::optional<view<float, 3>>, std::optional<view<float, 3>>); \
  E template pixel_partition gen_pixel_partition(C const&, std::vector<std::uint8_t> const&, index_t, index_t, index_t, numpy_random_state&); \
  E template pixel_partition gen_pixel_partition_blue_noise(C const&, std::vector<std::uint8_t> const&, index_t, index_t, index_t, numpy_random_state&); \
  E template pixel_partition gen_pixel_partition_grid(C const&, std::vector<std::uint8_t> const&, index_t, index_t, index_t, numpy_random_state&);

namespace mbirk {

MBIRK_HISTOGRAM_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_DENOISER_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_MEDIAN_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)

MBIRK_IMAGE_OPERATIONS(extern, instances::none_context)

}  // namespace mbirk
