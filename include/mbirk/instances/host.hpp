// All instances of mbirk::compiled for exec::host without counting, and lists of all kernels and operations.
#pragma once

#include "mbirk/instances/direct_recon.hpp"
#include "mbirk/instances/filter.hpp"
#include "mbirk/instances/images.hpp"
#include "mbirk/instances/projectors.hpp"
#include "mbirk/instances/recon.hpp"
#include "mbirk/instances/weights.hpp"

/// Every kernel for one back end.
#define MBIRK_ALL_KERNELS(X, B, S) \
  MBIRK_LAYOUT_KERNELS(X, B, S) \
  MBIRK_PARALLEL_KERNELS(X, B, S) \
  MBIRK_CONE_KERNELS(X, B, S) \
  MBIRK_FILTER_KERNELS(X, B, S) \
  MBIRK_VCD_KERNELS(X, B, S) \
  MBIRK_REGULARIZATION_KERNELS(X, B, S) \
  MBIRK_WEIGHT_KERNELS(X, B, S) \
  MBIRK_HISTOGRAM_KERNELS(X, B, S) \
  MBIRK_DENOISER_KERNELS(X, B, S) \
  MBIRK_MEDIAN_KERNELS(X, B, S)

/// Every operation for one context.
#define MBIRK_ALL_OPERATIONS(E, C) \
  MBIRK_PROJECTOR_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_PROJECTOR_OPERATIONS(E, C, cone_geometry) \
  MBIRK_FILTER_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_DIRECT_RECON_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_FILTER_OPERATIONS(E, C, cone_geometry) \
  MBIRK_DIRECT_RECON_OPERATIONS(E, C, cone_geometry) \
  MBIRK_RECON_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_RECON_OPERATIONS(E, C, cone_geometry) \
  MBIRK_WEIGHT_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_WEIGHT_OPERATIONS(E, C, cone_geometry) \
  MBIRK_IMAGE_OPERATIONS(E, C)
