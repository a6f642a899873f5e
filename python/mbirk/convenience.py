"""Convenience functions of MBIRJAX's scripts, built from the operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from ._core import ConeBeamModel, ParallelBeamModel, gen_cube_phantom, generate_3d_shepp_logan_low_dynamic_range

Model = ParallelBeamModel | ConeBeamModel
Floats = NDArray[numpy.float32]


def get_ct_model(
    geometry_type: str,
    sinogram_shape: Sequence[int],
    angles: Any,
    source_detector_dist: float | None = None,
    source_iso_dist: float | None = None,
    helical_z_shifts: Any = None,
) -> Model:
    """A ParallelBeamModel ("parallel") or a ConeBeamModel ("cone", with both distances)."""
    if geometry_type == "parallel":
        return ParallelBeamModel(sinogram_shape, angles)
    if geometry_type != "cone":
        raise ValueError(f'get_ct_model: geometry_type is "{geometry_type}", expected parallel or cone')
    if source_detector_dist is None or source_iso_dist is None:
        raise ValueError("get_ct_model: source_detector_dist or source_iso_dist is None, expected both in cone beam")
    return ConeBeamModel(sinogram_shape, angles, source_detector_dist, source_iso_dist, helical_z_shifts)


def copy_ct_model(ct_model: Model) -> Model:
    """An independent model with equal parameters."""
    return ct_model.copy()


def gen_weights_mar(
    ct_model: Model,
    sinogram: Floats,
    init_recon: Floats | None = None,
    metal_threshold: float | None = None,
    beta: float = 1.0,
    gamma: float = 3.0,
    *,
    out: Floats | None = None,
    threads: int = 0,
) -> Floats:
    """ct_model.gen_weights_mar(sinogram, ...): weights that trust rays through metal less, (views, rows, channels)."""
    return ct_model.gen_weights_mar(sinogram, init_recon, metal_threshold, beta, gamma, out=out, threads=threads)


def generate_demo_data(
    object_type: str = "shepp-logan",
    model_type: str = "cone",
    num_views: int = 64,
    num_det_rows: int = 96,
    num_det_channels: int = 128,
    *,
    threads: int = 0,
) -> tuple[Floats, Floats, dict[str, Any]]:
    """A phantom ("shepp-logan" or "cube") and its sinogram: half a turn in "parallel" beam, a full turn in "cone" beam.

    The source of the cone beam is 4 detector widths from the detector and 2 from the axis.
    Returns (phantom, sinogram, params): (rows, cols, slices), (views, rows, channels), and the arguments of the model
    in addition to the shape of the sinogram.
    """
    draw = {"shepp-logan": generate_3d_shepp_logan_low_dynamic_range, "cube": gen_cube_phantom}.get(object_type)
    if draw is None:
        raise ValueError(f'generate_demo_data: object_type is "{object_type}", expected shepp-logan or cube')
    first = -numpy.pi if model_type == "cone" else 0.0
    params: dict[str, Any] = {"angles": numpy.linspace(first, numpy.pi, num_views, endpoint=False, dtype=numpy.float32)}
    if model_type == "cone":
        params |= {"source_detector_dist": 4.0 * num_det_channels, "source_iso_dist": 2.0 * num_det_channels}
    ct_model = get_ct_model(model_type, (num_views, num_det_rows, num_det_channels), **params)
    phantom = draw(ct_model.recon_shape)
    return phantom, ct_model.forward_project(phantom, threads=threads), params
