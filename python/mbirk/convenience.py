"""Convenience functions of MBIRJAX's scripts, built from the operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from ._core import gen_cube_phantom
from .models import ConeBeamModel, GeneralViewsModel, MultiAxisParallelModel, ParallelBeamModel, TranslationModel
from .operations import generate_3d_shepp_logan_low_dynamic_range

Model = ParallelBeamModel | ConeBeamModel | MultiAxisParallelModel | TranslationModel | GeneralViewsModel
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


def build_model(
    required_params: dict[str, Any],
    optional_params: dict[str, Any] | None = None,
    regularization: dict[str, Any] | None = None,
) -> Model:
    """A model from the dictionaries of model.get_all_params(). The reconstruction is sized to fit, unless
    optional_params has recon_shape."""
    required, optional = dict(required_params), dict(optional_params or {})
    wanted = required.pop("geometry_type", None)
    models = (ParallelBeamModel, ConeBeamModel, MultiAxisParallelModel, TranslationModel, GeneralViewsModel)
    classes = {str(c): c for c in models}
    if wanted not in classes:
        raise ValueError(f"build_model: geometry_type is {wanted!r}, expected one of {', '.join(classes)}")
    shape = optional.pop("recon_shape", None)
    shifts = numpy.asarray(required.get("helical_z_shifts", ()))
    if shifts.size == len(required.get("angles", ())) and not shifts.any():
        required.pop("helical_z_shifts", None)  # a circular scan
    model = classes[wanted](**required)
    if optional:
        model.set_params(**optional)
    if regularization:
        flag = {k: v for k, v in regularization.items() if k == "auto_regularize_flag"}
        model.set_params(no_warning=True, **{k: v for k, v in regularization.items() if k not in flag})
        model.set_params(no_warning=True, **flag)
    model.auto_set_recon_geometry()
    if shape is not None:
        model.set_params(no_warning=True, recon_shape=shape)
    return model


def copy_ct_model(
    ct_model: Model,
    new_angles: Any = None,
    new_helical_z_shifts: Any = None,
    new_num_det_rows: int | None = None,
    new_num_det_cols: int | None = None,
) -> Model:
    """An independent model with equal parameters, or with other views or another number of detector rows and channels.

    New angles for a helical scan require new shifts. A new detector size resizes the reconstruction."""
    if all(v is None for v in (new_angles, new_helical_z_shifts, new_num_det_rows, new_num_det_cols)):
        return ct_model.copy()
    required, optional, regularization = ct_model.get_all_params()
    shifts = numpy.asarray(required.get("helical_z_shifts", ()))
    if new_angles is not None and new_helical_z_shifts is None and shifts.any():
        raise ValueError(
            "copy_ct_model: new_helical_z_shifts is None, expected one shift per view for new angles of a helical scan"
        )
    angles = required["angles"] if new_angles is None else numpy.asarray(new_angles)
    if "helical_z_shifts" in required:
        shifts = numpy.zeros(len(angles)) if new_helical_z_shifts is None and new_angles is not None else shifts
        required["helical_z_shifts"] = shifts if new_helical_z_shifts is None else numpy.asarray(new_helical_z_shifts)
    _, rows, channels = required["sinogram_shape"]
    required |= {
        "angles": angles,
        "sinogram_shape": (len(angles), new_num_det_rows or rows, new_num_det_cols or channels),
    }
    if new_num_det_rows or new_num_det_cols:
        optional.pop("recon_shape")
    return build_model(required, optional, regularization)


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


def _helix(
    num_views: int, detector_height: float, pitch: float | None, z_range: float | None, z_center: float
) -> tuple[Any, Any]:
    """Angles and shifts of a helical scan. detector_height: of its image at the axis."""
    if pitch is None or z_range is None:
        raise ValueError("generate_demo_data: helical_pitch or helical_z_range is None, expected both with use_helical")
    if not pitch > 0 or z_range < 0:
        raise ValueError(
            f"generate_demo_data: helical_pitch is {pitch} and helical_z_range {z_range}, expected more than 0 and "
            "at least 0"
        )
    turns = z_range / (pitch * detector_height) if z_range > 0 else 1.0
    angles = -numpy.pi + 2 * numpy.pi * turns / num_views * numpy.arange(num_views)
    shifts = numpy.linspace(z_center - z_range / 2, z_center + z_range / 2, num_views)
    return angles.astype(numpy.float32), shifts.astype(numpy.float32)


def generate_demo_data(
    object_type: str = "shepp-logan",
    model_type: str = "cone",
    num_views: int = 64,
    num_det_rows: int = 96,
    num_det_channels: int = 128,
    *,
    use_helical: bool = False,
    helical_pitch: float | None = None,
    helical_z_range: float | None = None,
    helical_z_center: float = 0.0,
    use_curved_detector: bool = False,
    voxel_row_aspect: float = 1.0,
    voxel_slice_aspect: float = 1.0,
    target_max_attenuation: float | None = None,
    devices: Any = None,
    threads: int = 0,
) -> tuple[Floats, Floats, dict[str, Any]]:
    """A phantom ("shepp-logan" or "cube") and its sinogram: half a turn in "parallel" beam, a full turn in "cone" beam.

    The source of the cone beam is 4 detector widths from the detector and 2 from the axis. use_helical: a scan that
    moves by helical_z_range about helical_z_center, and per turn by helical_pitch times the height of the detector at
    the axis. voxel_..._aspect: sizes of the phantom's voxels. target_max_attenuation: the largest sample that the
    Shepp-Logan phantom is scaled to, about. devices is ignored.
    Returns (phantom, sinogram, params): (rows, cols, slices), (views, rows, channels), and the arguments of the model
    in addition to the shape of the sinogram.
    """
    if object_type not in ("shepp-logan", "cube"):
        raise ValueError(f'generate_demo_data: object_type is "{object_type}", expected shepp-logan or cube')
    if model_type not in ("parallel", "cone"):
        raise ValueError(f'generate_demo_data: model_type is "{model_type}", expected parallel or cone')
    shape = (num_views, num_det_rows, num_det_channels)
    first = -numpy.pi if model_type == "cone" else 0.0
    params: dict[str, Any] = {"angles": numpy.linspace(first, numpy.pi, num_views, endpoint=False, dtype=numpy.float32)}
    ct_model: Model
    if model_type == "parallel":
        ct_model = ParallelBeamModel(shape, **params)
    else:
        full, iso = 4.0 * num_det_channels, 2.0 * num_det_channels
        params |= {"source_detector_dist": full, "source_iso_dist": iso}
        if use_helical:
            height = num_det_rows * iso / full
            angles, shifts = _helix(num_views, height, helical_pitch, helical_z_range, helical_z_center)
            params |= {"angles": angles, "helical_z_shifts": shifts}
        if use_curved_detector:
            params["use_curved_detector"] = True
        ct_model = ConeBeamModel(shape, **params)
    if (voxel_row_aspect, voxel_slice_aspect) != (1, 1):
        aspects = {"voxel_row_aspect": voxel_row_aspect, "voxel_slice_aspect": voxel_slice_aspect}
        ct_model.set_params(no_warning=True, **aspects)
        ct_model.auto_set_recon_geometry()
    if object_type == "cube":
        phantom = gen_cube_phantom(ct_model.recon_shape)
    else:
        phantom = generate_3d_shepp_logan_low_dynamic_range(
            ct_model.recon_shape, target_max_attenuation=target_max_attenuation
        )
    return phantom, ct_model.forward_project(phantom, threads=threads), params
