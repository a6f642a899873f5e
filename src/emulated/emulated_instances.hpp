// Device kernels compiled for exec::emulated once, for the program and the tests that link mbirk_emulated_instances.
#pragma once

#include "mbirk/exec/emulated.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/mbirk.hpp"

#define MBIRK_DEVICE_PROJECTOR_KERNELS(X, B, S) \
  X(kernel::cone_block_back<B, 1, false>) \
  X(kernel::cone_block_back<B, 2, false>) \
  X(kernel::cone_block_back<B, 2, true>) \
  X(kernel::on_warps<kernel::cone_gather<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::from_channel_major<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::parallel_gather<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::parallel_unweighted_hessian<B>, S>) \
  X(kernel::on_warps<kernel::to_channel_major<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::zero_columns<B>, kernel::no_scratch>) \
  X(kernel::parallel_block_back<B>)

#define MBIRK_DEVICE_RECON_KERNELS(X, B, S) \
  X(kernel::on_warps<kernel::absolute_sum<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::apply_epilogue<B, kernel::squared_norm_epilogue<B, false, true>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::apply_epilogue<B, kernel::squared_norm_epilogue<B, true, true>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::axpy_projection<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::copy_values<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::device_reduce<B, kernel::denoise_line_search>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::device_reduce<B, kernel::plain_sums<1>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::device_reduce<B, kernel::plain_sums<2>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::device_reduce<B, kernel::vcd_line_search>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::edge_support<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::fill_values<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::make_error<B, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::make_error<B, true>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::projection_products<B, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::projection_products<B, true>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::qggmrf_loss_sum<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::reduce_slice_sums<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::scale_values<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::sinogram_sum<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::support_sums<B, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::support_sums<B, true>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_clip_direction<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_damped_direction<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_damped_gradient<B, kernel::proximal_cylinder<B>>, S>) \
  X(kernel::on_warps<kernel::vcd_damped_gradient<B, kernel::qggmrf_cylinder<B>>, S>) \
  X(kernel::on_warps<kernel::vcd_direction<B, kernel::proximal_cylinder<B>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_direction<B, kernel::qggmrf_cylinder<B>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_slice_means<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_update<B>, S>) \
  X(kernel::on_warps<kernel::weighted_squares<B, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::weighted_squares<B, true>, kernel::no_scratch>)

#define MBIRK_DEVICE_OTHER_KERNELS(X, B, S) \
  X(kernel::on_warps<kernel::above_threshold<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::array_range<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::count_bins<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::count_digits<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::denoise_direction<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::denoise_update<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::emission_weights<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::local_deviation<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::measure_image<B, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::measure_image<B, true>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::median_window<B>, S>) \
  X(kernel::on_warps<kernel::metal_weights<B, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::metal_weights<B, true>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::ramp_filter<B, kernel::sinogram_channels<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>, S>) \
  X(kernel::on_warps<kernel::ramp_filter<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>, S>) \
  X(kernel::on_warps<kernel::ramp_filter<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_rows<B::template cursor<float>>>, S>) \
  X(kernel::on_warps<kernel::ramp_fourier<B, kernel::sinogram_channels<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>, S>) \
  X(kernel::on_warps<kernel::ramp_fourier<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>, S>) \
  X(kernel::on_warps<kernel::ramp_fourier<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_rows<B::template cursor<float>>>, S>) \
  X(kernel::on_warps<kernel::ramp_weights<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::scale_slices<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::take_slices<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::transmission_weights<B>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::unit_weights<B>, kernel::no_scratch>)

#define MBIRK_DEFINE_EMULATED_KERNEL(...) template void exec::emulation::call_kernel<__VA_ARGS__>(void const*, exec::emulation::block_emulator&);
#define MBIRK_DECLARE_EMULATED_KERNEL(...) extern MBIRK_DEFINE_EMULATED_KERNEL(__VA_ARGS__)

namespace mbirk::instances {

using emulated_backend = exec::emulated::backend;
using emulated_scratch = kernel::worker_scratch;
using emulated_counted_backend = instrument::counting<>::backend<emulated_backend>;
using emulated_counted_scratch = detail::observed_scratch<instrument::counted_scratch>;

}  // namespace mbirk::instances

namespace mbirk {

MBIRK_DEVICE_PROJECTOR_KERNELS(MBIRK_DECLARE_EMULATED_KERNEL, instances::emulated_backend, instances::emulated_scratch)
MBIRK_DEVICE_PROJECTOR_KERNELS(MBIRK_DECLARE_EMULATED_KERNEL, instances::emulated_counted_backend, instances::emulated_counted_scratch)
MBIRK_DEVICE_RECON_KERNELS(MBIRK_DECLARE_EMULATED_KERNEL, instances::emulated_backend, instances::emulated_scratch)
MBIRK_DEVICE_RECON_KERNELS(MBIRK_DECLARE_EMULATED_KERNEL, instances::emulated_counted_backend, instances::emulated_counted_scratch)
MBIRK_DEVICE_OTHER_KERNELS(MBIRK_DECLARE_EMULATED_KERNEL, instances::emulated_backend, instances::emulated_scratch)
MBIRK_DEVICE_OTHER_KERNELS(MBIRK_DECLARE_EMULATED_KERNEL, instances::emulated_counted_backend, instances::emulated_counted_scratch)

}  // namespace mbirk
