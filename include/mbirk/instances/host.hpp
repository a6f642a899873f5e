// All instances of mbirk::compiled for exec::host without counting, and lists of all kernels and operations.
#pragma once

#include "mbirk/instances/direct_recon.hpp"
#include "mbirk/instances/filter.hpp"
#include "mbirk/instances/images.hpp"
#include "mbirk/instances/projectors.hpp"
#include "mbirk/instances/recon.hpp"
#include "mbirk/instances/weights.hpp"

/// Every kernel of the host for one back end.
#define MBIRK_ALL_KERNELS(X, B, S)      \
  MBIRK_PROJECTOR_KERNELS(X, B, S)      \
  MBIRK_PROJECTOR_HOST_KERNELS(X, B, S) \
  MBIRK_FILTER_KERNELS(X, B, S)         \
  MBIRK_RECON_KERNELS(X, B, S)          \
  MBIRK_RECON_HOST_KERNELS(X, B, S)     \
  MBIRK_WEIGHT_KERNELS(X, B, S)         \
  MBIRK_IMAGE_KERNELS(X, B, S)          \
  MBIRK_IMAGE_HOST_KERNELS(X, B, S)

/// Every operation for a context of the host or of a device.
#define MBIRK_ALL_OPERATIONS(X, C)    \
  MBIRK_PROJECTOR_OPERATIONS(X, C)    \
  MBIRK_FILTER_OPERATIONS(X, C)       \
  MBIRK_DIRECT_RECON_OPERATIONS(X, C) \
  MBIRK_RECON_OPERATIONS(X, C)        \
  MBIRK_WEIGHT_OPERATIONS(X, C)       \
  MBIRK_IMAGE_OPERATIONS(X, C)

/// Every operation for a context of the host.
#define MBIRK_ALL_HOST_OPERATIONS(X, C) \
  MBIRK_ALL_OPERATIONS(X, C)            \
  MBIRK_PARTITION_OPERATIONS(X, C)
