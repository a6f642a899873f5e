// Filters, direct reconstruction, weights, the denoiser and the median filter over exec::cuda.
#include "mbirk/exec/cuda.cuh"
#include "operations/block_operation_run.hpp"
#include "operations/marked_operation_run.hpp"

namespace mbirk::program {

template struct block_operation<body::direct_filter, exec::cuda>;
template struct block_operation<body::fbp_filter, exec::cuda>;
template struct block_operation<body::fdk_filter, exec::cuda>;
template struct block_operation<body::direct_recon, exec::cuda>;
template struct block_operation<body::fbp_recon, exec::cuda>;
template struct block_operation<body::fdk_recon, exec::cuda>;
template struct block_operation<body::gen_weights, exec::cuda>;
template struct block_operation<body::gen_weights_mar, exec::cuda>;
template struct block_operation<body::qggmrf_denoise, exec::cuda>;
template struct block_operation<body::median_filter3d, exec::cuda>;

template struct marked_operation<body::direct_filter>;
template struct marked_operation<body::fbp_filter>;
template struct marked_operation<body::fdk_filter>;
template struct marked_operation<body::direct_recon>;
template struct marked_operation<body::fbp_recon>;
template struct marked_operation<body::fdk_recon>;
template struct marked_operation<body::gen_weights>;
template struct marked_operation<body::gen_weights_mar>;
template struct marked_operation<body::qggmrf_denoise>;
template struct marked_operation<body::median_filter3d>;

}  // namespace mbirk::program
