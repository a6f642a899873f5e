// Filters, direct reconstruction, weights, the denoiser and the median filter over exec::emulated.
#include "operations/block_operation_run.hpp"

namespace mbirk::program {

template struct block_operation<body::direct_filter, exec::emulated>;
template struct block_operation<body::fbp_filter, exec::emulated>;
template struct block_operation<body::fdk_filter, exec::emulated>;
template struct block_operation<body::direct_recon, exec::emulated>;
template struct block_operation<body::fbp_recon, exec::emulated>;
template struct block_operation<body::fdk_recon, exec::emulated>;
template struct block_operation<body::gen_weights, exec::emulated>;
template struct block_operation<body::gen_weights_mar, exec::emulated>;
template struct block_operation<body::qggmrf_denoise, exec::emulated>;
template struct block_operation<body::median_filter3d, exec::emulated>;

}  // namespace mbirk::program
