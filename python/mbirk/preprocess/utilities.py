"""Detector counts to line integrals, with MBIRJAX's names; arrays of any type.

Pixels that are defective in every view are listed as (pixels, 2): detector row and channel.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from ..operations import apply_cylindrical_mask, counts_to_line_integrals, frame_mean, multi_threshold_otsu
from .corrections import correct_det_rotation

__all__ = [
    "apply_config_crop",
    "apply_cylindrical_mask",
    "apply_detector_crop",
    "compute_sino_transmission",
    "correct_background_offset",
    "crop_view_data",
    "detect_blank_margins",
    "downsample_view_data",
    "finalize_model",
    "load_cone_preprocessing",
    "multi_threshold_otsu",
    "save_cone_preprocessing",
    "scan_to_sino",
    "to_alu",
]

Floats = NDArray[numpy.float32]
MICROMETRES = {"um": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}
FORMAT = "mbirjax_preprocessing_v1"  # files of MBIRJAX and of mbirk are the same


def to_alu(value: Any, from_unit: str, alu_unit: str) -> Any:
    """Converts a length from from_unit to alu_unit; both are one of um, mm, cm and m."""
    for unit in (from_unit, alu_unit):
        if unit not in MICROMETRES:
            raise ValueError(f'to_alu: the unit is "{unit}", expected one of {", ".join(MICROMETRES)}')
    return value * MICROMETRES[from_unit] / MICROMETRES[alu_unit]


def _without_defects(scan: ArrayLike, defective_pixel_array: ArrayLike) -> Floats:
    """A copy in which the listed pixels are NaN."""
    counts, defects = numpy.array(scan, numpy.float32), numpy.asarray(defective_pixel_array)
    if defects.size:
        counts[:, defects[:, 0], defects[:, 1]] = numpy.nan
    return counts


def crop_view_data(
    obj_scan: ArrayLike,
    blank_scan: ArrayLike,
    dark_scan: ArrayLike,
    crop_pixels_sides: int = 0,
    crop_pixels_top: int = 0,
    crop_pixels_bottom: int = 0,
    defective_pixel_array: ArrayLike = (),
) -> tuple[Any, Any, Any, Any]:
    """Crops rows at the top and bottom, and the same number of channels on both sides, so that the axis stays in place.

    Scans are (views or frames, rows, channels). Returns the three scans and the remaining defective pixels, relative to
    the new corner."""
    scans = [numpy.asarray(s) for s in (obj_scan, blank_scan, dark_scan)]
    _, rows, channels = scans[0].shape
    if min(crop_pixels_sides, crop_pixels_top, crop_pixels_bottom) < 0:
        raise ValueError("crop_view_data: a number of pixels is negative, expected 0 or more")
    if crop_pixels_top + crop_pixels_bottom >= rows or 2 * crop_pixels_sides >= channels:
        raise ValueError(
            f"crop_view_data: nothing is left of {rows} rows and {channels} channels, expected smaller crops"
        )
    first, end = (crop_pixels_top, crop_pixels_sides), (rows - crop_pixels_bottom, channels - crop_pixels_sides)
    cropped = [s[:, first[0] : end[0], first[1] : end[1]] for s in scans]
    defects = numpy.asarray(defective_pixel_array)
    if defects.size:
        inside = ((defects >= first) & (defects < end)).all(axis=1)
        defects = defects[inside] - first
    return *cropped, defects if defects.size else ()


def downsample_view_data(
    obj_scan: ArrayLike,
    blank_scan: ArrayLike,
    dark_scan: ArrayLike,
    downsample_factor: Sequence[int],
    defective_pixel_array: ArrayLike = (),
    batch_size: int = 90,
) -> tuple[Floats, Floats, Floats, Any]:
    """Means of blocks of (rows, channels) = downsample_factor pixels, without the defective ones; incomplete blocks are
    dropped.

    Returns the three scans and the blocks in which all pixels are defective. batch_size is ignored."""
    down, across = (int(f) for f in downsample_factor)
    if min(down, across) < 1:
        raise ValueError(
            f"downsample_view_data: downsample_factor is {tuple(downsample_factor)}, "
            "expected whole numbers of at least 1"
        )

    def means(scan: ArrayLike) -> Floats:
        counts = _without_defects(scan, defective_pixel_array)
        frames, rows, channels = counts.shape
        blocks = counts[:, : rows // down * down, : channels // across * across]
        blocks = blocks.reshape(frames, rows // down, down, channels // across, across)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing, which are NaN
            return numpy.nanmean(blocks, axis=(2, 4))

    scans = [means(s) for s in (obj_scan, blank_scan, dark_scan)]
    lost = numpy.argwhere(numpy.isnan(scans[1]).any(axis=0))
    return *scans, lost if lost.size else ()


def compute_sino_transmission(
    obj_scan: ArrayLike,
    blank_scan: ArrayLike,
    dark_scan: ArrayLike,
    defective_pixel_array: ArrayLike = (),
    batch_size: int = 90,
    *,
    threads: int = 0,
) -> Floats:
    """-log((obj - dark) / (blank - dark)) with the means of the blank and dark frames; counts_to_line_integrals.

    Defective pixels, and those that are NaN, get the mean of their valid neighbours. batch_size is ignored.
    Returns (views, rows, channels), dimensionless."""
    counts = _without_defects(obj_scan, defective_pixel_array)
    return counts_to_line_integrals(counts, frame_mean(blank_scan), frame_mean(dark_scan), out=counts, threads=threads)[
        0
    ]


def correct_background_offset(sino: ArrayLike, edge_width: int = 9, option: str | None = "global") -> Any:
    """Subtracts the background: the median of the medians of edge_width channels on both sides and rows at the top.

    option: "global" (one value, the 10th percentile over all views), "per_view", or None (no change)."""
    if option is None:
        return sino
    if option not in ("global", "per_view"):
        raise ValueError(f'correct_background_offset: option is "{option}", expected global, per_view or None')
    if edge_width < 1:
        raise ValueError(f"correct_background_offset: edge_width is {edge_width}, expected at least 1")
    values = numpy.asarray(sino)
    edges = (values[:, :, :edge_width], values[:, :, -edge_width:], values[:, :edge_width, :])
    offsets = numpy.median([numpy.median(e.reshape(len(values), -1), axis=1) for e in edges], axis=0)
    if option == "global":
        return values - values.dtype.type(numpy.percentile(offsets, 10))
    return values - offsets[:, None, None].astype(values.dtype)


def scan_to_sino(
    obj_scan: ArrayLike,
    blank_scan: ArrayLike,
    dark_scan: ArrayLike,
    defective_pixel_array: ArrayLike = (),
    downsample_factor: Sequence[int] = (1, 1),
    det_rotation: float = 0.0,
    batch_size: int = 90,
    devices: Any = None,
    *,
    threads: int = 0,
) -> Floats:
    """downsample_view_data, then compute_sino_transmission, then correct_det_rotation. batch_size and devices are
    ignored."""
    if tuple(downsample_factor) != (1, 1):
        obj_scan, blank_scan, dark_scan, defective_pixel_array = downsample_view_data(
            obj_scan, blank_scan, dark_scan, downsample_factor, defective_pixel_array
        )
    sino = compute_sino_transmission(obj_scan, blank_scan, dark_scan, defective_pixel_array, threads=threads)
    return sino if det_rotation == 0 else correct_det_rotation(sino, det_rotation)


def apply_detector_crop(
    required_params: dict[str, Any],
    optional_params: dict[str, Any],
    crop_top: int,
    crop_bottom: int,
    crop_left: int,
    crop_right: int,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copies of the parameters of model.get_all_params() for a cropped detector: its shape and, if present,
    its offsets, because its centre moves."""
    views, rows, channels = required_params["sinogram_shape"]
    # MBIRJAX's callers expect an AssertionError here.
    if (
        min(crop_top, crop_bottom, crop_left, crop_right) < 0
        or crop_top + crop_bottom >= rows
        or crop_left + crop_right >= channels
    ):
        raise AssertionError(
            f"apply_detector_crop: crops of {crop_top}, {crop_bottom} rows and {crop_left}, {crop_right} channels, "
            f"expected 0 or more that leave something of {rows} and {channels}"
        )
    shape = (int(views), int(rows - crop_top - crop_bottom), int(channels - crop_left - crop_right))
    optional = dict(optional_params)
    for offset, pitch, shift in (
        ("det_row_offset", "delta_det_row", crop_bottom - crop_top),
        ("det_channel_offset", "delta_det_channel", crop_right - crop_left),
    ):
        if offset in optional:
            optional[offset] += shift / 2 * optional.get(pitch, 1.0)
    return dict(required_params) | {"sinogram_shape": shape}, optional


def apply_config_crop(
    num_det_rows: int,
    num_det_channels: int,
    det_row_offset: float,
    det_channel_offset: float,
    delta_det_row: float,
    delta_det_channel: float,
    *,
    crop_pixels_top: int,
    crop_pixels_bottom: int,
    crop_pixels_sides: int,
) -> tuple[int, int, float, float]:
    """apply_detector_crop for separate numbers. Returns (num_det_rows, num_det_channels, det_row_offset,
    det_channel_offset)."""
    lengths = {
        "det_row_offset": det_row_offset,
        "det_channel_offset": det_channel_offset,
        "delta_det_row": delta_det_row,
        "delta_det_channel": delta_det_channel,
    }
    required, optional = apply_detector_crop(
        {"sinogram_shape": (0, num_det_rows, num_det_channels)},
        lengths,
        crop_pixels_top,
        crop_pixels_bottom,
        crop_pixels_sides,
        crop_pixels_sides,
    )
    return *required["sinogram_shape"][1:], optional["det_row_offset"], optional["det_channel_offset"]


def object_threshold(values: Floats) -> float | None:
    """Samples above it see the object: Otsu's threshold, or 5 % of the largest sample if that is less. None if all
    samples are equal."""
    if not values.size or values.max() <= values.min():
        return None
    return min(multi_threshold_otsu(numpy.ascontiguousarray(values))[0], 0.05 * float(values.max()))


def detect_blank_margins(
    sino: ArrayLike, safety_buffer: int = 20, max_views_to_use: int = 20
) -> tuple[int, int, int, int]:
    """Rows at the top and bottom, and channels at the left and right, that do not see the object, less safety_buffer.

    A sample sees the object where it exceeds Otsu's threshold of max_views_to_use views, evenly chosen, or of 5 % of
    the largest sample if that is less. Returns (crop_top, crop_bottom, crop_left, crop_right)."""
    values = numpy.asarray(sino, numpy.float32)
    some = values[:: max(1, len(values) // max_views_to_use)]
    threshold = object_threshold(some)
    if threshold is None:
        return 0, 0, 0, 0
    seen = (some > threshold).any(axis=0)

    def before(profile: NDArray[numpy.bool_]) -> int:
        return max(int(numpy.argmax(profile)) - safety_buffer, 0)

    rows, channels = seen.any(axis=1), seen.any(axis=0)
    return before(rows), before(rows[::-1]), before(channels), before(channels[::-1])


def _auto_crop_sino(
    sino: ArrayLike, required_params: dict[str, Any], optional_params: dict[str, Any], safety_buffer: int = 20
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The sinogram without its blank margins, and the parameters for it."""
    top, bottom, left, right = detect_blank_margins(sino, safety_buffer)
    values = numpy.asarray(sino)
    values = values[:, top : values.shape[1] - bottom, left : values.shape[2] - right]
    return values, *apply_detector_crop(required_params, optional_params, top, bottom, left, right)


def finalize_model(
    sino: ArrayLike,
    required_params: dict[str, Any],
    optional_params: dict[str, Any],
    *,
    auto_crop: bool = False,
    safety_buffer: int = 20,
) -> tuple[Any, Any]:
    """(sino, model) of a sinogram and the parameters of its scan; auto_crop: removes the detector's blank margins."""
    from ..convenience import build_model

    if auto_crop:
        sino, required_params, optional_params = _auto_crop_sino(sino, required_params, optional_params, safety_buffer)
    return sino, build_model(required_params, optional_params)


def save_cone_preprocessing(
    file_path: str | os.PathLike[str],
    sinogram: ArrayLike,
    cone_beam_params: dict[str, Any],
    optional_params: dict[str, Any],
    weights: ArrayLike | None = None,
) -> None:
    """Writes a sinogram, optional weights, and the parameters of its scan to an HDF5 file, like MBIRJAX (needs
    h5py)."""
    from ..files import _h5py, _plain, makedirs

    h5py = _h5py()
    makedirs(file_path)
    scalars: dict[str, dict[str, Any]] = {"cone_beam_params": {}, "optional_params": {}}
    with h5py.File(file_path, "w") as file:
        file["sinogram"] = numpy.asarray(sinogram, numpy.float32)
        if weights is not None:
            file["weights"] = numpy.asarray(weights, numpy.float32)
        for group, params in (("cone_beam_params", cone_beam_params), ("optional_params", optional_params)):
            for name, value in params.items():
                if numpy.ndim(value) > 0 and hasattr(value, "ndim"):
                    file[f"{group}__{name}"] = numpy.asarray(value)
                else:
                    scalars[group][name] = value
        file.attrs["params"] = json.dumps(scalars, default=_plain)
        file.attrs["format"] = FORMAT


def load_cone_preprocessing(
    file_path: str | os.PathLike[str],
) -> tuple[Floats, dict[str, Any], dict[str, Any], Floats | None]:
    """(sinogram, cone_beam_params, optional_params, weights or None) of a file of save_cone_preprocessing."""
    from ..files import _h5py

    with _h5py().File(file_path, "r") as file:
        if file.attrs.get("format") != FORMAT:
            raise ValueError(
                f"{os.fspath(file_path)}: has no attribute format = {FORMAT}, "
                "expected a file of save_cone_preprocessing"
            )
        params = json.loads(file.attrs["params"])
        for name, dataset in file.items():
            group, separator, key = name.partition("__")
            if separator and group in params:
                params[group][key] = dataset[()]
        sinogram, weights = file["sinogram"][()], file["weights"][()] if "weights" in file else None
    required = params["cone_beam_params"]
    if "sinogram_shape" in required:
        required["sinogram_shape"] = tuple(int(n) for n in required["sinogram_shape"])
    return sinogram, required, params["optional_params"], weights
