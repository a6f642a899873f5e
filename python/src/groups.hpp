// Groups of functions of the module, one file each.
#pragma once

#include <nanobind/nanobind.h>

namespace mbirk::python {

void bind_parallel(nanobind::module_& m);
void bind_cone(nanobind::module_& m);
void bind_general(nanobind::module_& m);
void bind_multiaxis(nanobind::module_& m);
void bind_translation(nanobind::module_& m);
void bind_denoiser(nanobind::module_& m);
void bind_images(nanobind::module_& m);
void bind_weights_and_median(nanobind::module_& m);
void bind_partitions(nanobind::module_& m);
void bind_phantoms(nanobind::module_& m);
void bind_corrections(nanobind::module_& m);
void bind_cost(nanobind::module_& m);

}  // namespace mbirk::python
