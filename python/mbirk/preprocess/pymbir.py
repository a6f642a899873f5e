"""Sinograms in the HDF5 files of pyMBIR (Oak Ridge National Laboratory). Needs h5py."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from .._optional import need
from .corrections import correct_det_rotation
from .utilities import finalize_model

__all__ = [
    "apply_bh_correction",
    "create_proj_params_dict_ornl",
    "find_linearization_fit",
    "get_sino_and_model",
    "load_projection_data_ornl",
]

Floats = NDArray[numpy.float32]
SINOGRAM = "projection/NegativeLogNorm_Proj"
NO_ROTATION = 1e-6


def get_sino_and_model(
    filename: str | os.PathLike[str],
    *,
    bh_correction: bool = True,
    auto_crop: bool = False,
    subsample_view_factor: int = 1,
) -> tuple[Any, Any]:
    """(sino, model) of a file, ready for model.recon(sino, ...).

    bh_correction: removes beam hardening as the file describes it. auto_crop: removes what does not see the object.
    subsample_view_factor: keeps every n-th view."""
    sino, required, optional = _compute_sino_and_params(filename, bh_correction)
    if subsample_view_factor > 1:
        sino = sino[::subsample_view_factor]
        required |= {"angles": required["angles"][::subsample_view_factor], "sinogram_shape": sino.shape}
    return finalize_model(sino, required, optional, auto_crop=auto_crop)


def _compute_sino_and_params(
    filename: str | os.PathLike[str], bh_correction: bool
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    from ..models import ConeBeamModel

    with need("h5py", "HDF5 files").File(filename, "r") as file:
        required, optional, rotation = create_proj_params_dict_ornl(file)
        sino = load_projection_data_ornl(file)
        if bh_correction:
            sino = apply_bh_correction(sino, _attribute(file, "BHC_params"))
    if abs(rotation) > NO_ROTATION:
        sino = correct_det_rotation(sino, rotation)
    return sino, required | {"geometry_type": str(ConeBeamModel)}, optional


def _attribute(file: Any, name: str) -> Any:
    if name not in file.attrs:
        raise ValueError(f"{file.filename}: has no attribute {name}, expected a file of pyMBIR")
    return file.attrs[name]


def _sinogram(file: Any) -> Any:
    if SINOGRAM not in file:
        raise ValueError(f"{file.filename}: has no dataset {SINOGRAM}, expected a file of pyMBIR")
    return file[SINOGRAM]


def create_proj_params_dict_ornl(h5_file: Any) -> tuple[dict[str, Any], dict[str, Any], float]:
    """(required, optional, det_rotation) of an open file: the arguments of ConeBeamModel and its other parameters, in
    detector pixels, and radians."""
    pixel = float(_attribute(h5_file, "det_pixel_size"))
    if not pixel > 0:
        raise ValueError(f"{h5_file.filename}: det_pixel_size is {pixel}, expected more than 0")
    names = ("src_iso_dist", "iso_det_dist", "voxel_size", "det_column_offset", "det_row_offset")
    iso, rest, voxel, column, row = (float(_attribute(h5_file, name)) / pixel for name in names)
    unit = 1.0 if _attribute(h5_file, "angle unit") == "radian" else numpy.pi / 180
    required = {
        "sinogram_shape": tuple(_sinogram(h5_file).shape),
        "angles": numpy.asarray(_attribute(h5_file, "angles")) * unit,
        "source_detector_dist": iso + rest,
        "source_iso_dist": iso,
    }
    optional = {
        "delta_det_channel": 1.0,
        "delta_det_row": 1.0,
        "delta_voxel": voxel,
        "det_channel_offset": -column,
        "det_row_offset": -row,
    }
    return required, optional, float(_attribute(h5_file, "det_angle")) * unit


def load_projection_data_ornl(h5_file: Any) -> Floats:
    """The line integrals of an open file, (views, rows, channels)."""
    return _sinogram(h5_file)[()].astype(numpy.float32)


def apply_bh_correction(sinogram: ArrayLike, BHCN_params: Sequence[float]) -> Floats:
    """Line integrals without beam hardening. BHCN_params: (alpha, density1, density2, max_thick) of
    find_linearization_fit."""
    alpha, density1, density2, thickest = (float(v) for v in BHCN_params)
    coefficients = find_linearization_fit(alpha, density1, density2, max_thick=thickest)
    return numpy.polyval(coefficients, numpy.asarray(sinogram, float)).astype(numpy.float32)


def find_linearization_fit(
    alpha: float,
    density1: float,
    density2: float,
    poly_order: int = 8,
    max_thick: float = 30.25,
    step_size: float = 0.25,
) -> NDArray[numpy.float64]:
    """Coefficients, highest power first, of the polynomial from a measured line integral to one that is proportional to
    the thickness.

    The beam has two energies with the attenuations density1 and density2 and the weights alpha and 1; the polynomial
    fits thicknesses from 0 to max_thick in steps of step_size, in the unit of 1 / attenuation."""
    thickness = numpy.arange(0, max_thick, step_size)
    mixed = (alpha * density1 + density2) / (1 + alpha)
    transmitted = alpha * numpy.exp(-density1 * thickness) + numpy.exp(-density2 * thickness)
    measured = numpy.log1p(alpha) - numpy.log(transmitted)
    # (0, 0) twice, as in pyMBIR, so that nothing stays nothing.
    return numpy.polyfit(numpy.r_[0, measured], numpy.r_[0, mixed * thickness], poly_order)
