// Filters, direct reconstruction, weights, the denoiser and the median filter over exec::emulated, counted.
#include "operations/block_operation_run.hpp"

namespace mbirk::program {

template struct counted_operation<body::direct_filter>;
template struct counted_operation<body::fbp_filter>;
template struct counted_operation<body::fdk_filter>;
template struct counted_operation<body::direct_recon>;
template struct counted_operation<body::fbp_recon>;
template struct counted_operation<body::fdk_recon>;
template struct counted_operation<body::gen_weights>;
template struct counted_operation<body::gen_weights_mar>;
template struct counted_operation<body::qggmrf_denoise>;
template struct counted_operation<body::median_filter3d>;

}  // namespace mbirk::program
