// Kernels and operations under the counting policies that mbirk::compiled holds: include it where operations are counted.
#pragma once

#include "mbirk/instances/filter.hpp"
#include "mbirk/instances/images.hpp"
#include "mbirk/instances/projectors.hpp"
#include "mbirk/instances/recon.hpp"
#include "mbirk/instances/weights.hpp"
#include "mbirk/instrument/counting.hpp"

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
  MBIRK_FILTER_OPERATIONS(E, C, cone_geometry) \
  MBIRK_RECON_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_RECON_OPERATIONS(E, C, cone_geometry) \
  MBIRK_WEIGHT_OPERATIONS(E, C, parallel_geometry) \
  MBIRK_WEIGHT_OPERATIONS(E, C, cone_geometry) \
  MBIRK_IMAGE_OPERATIONS(E, C)

namespace mbirk::instances {

using counting_context = context<exec::host, instrument::counting<instrument::level::all>>;
using counted_backend = counting_context::backend;
using cost_model_context = context<exec::host, instrument::model<>>;
using cost_model_backend = cost_model_context::backend;
using counted_scratch = detail::observed_scratch<instrument::counted_scratch>;

}  // namespace mbirk::instances

namespace mbirk {

MBIRK_ALL_KERNELS(MBIRK_DECLARE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_ALL_KERNELS(MBIRK_DECLARE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_ALL_OPERATIONS(extern, instances::counting_context)
MBIRK_ALL_OPERATIONS(extern, instances::cost_model_context)

}  // namespace mbirk
