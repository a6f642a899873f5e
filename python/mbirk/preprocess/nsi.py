"""Scans of North Star Imaging: a folder with an .nsipro file, a geometry report, radiographs and corrections.

Lengths are in mm, in the coordinates of the .nsipro file: r_s is the source, r_r the middle of the detector's first
pixel, r_n the normal from source to detector, r_h the direction of its rows and r_a the rotation axis, pointing down.
Needs tifffile.
"""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from .images import read_tif_img, read_tif_stack_dir
from .utilities import apply_config_crop, correct_background_offset, crop_view_data, finalize_model, scan_to_sino

__all__ = [
    "calc_det_rotation",
    "calc_row_channel_params",
    "calc_source_detector_params",
    "convert_nsi_to_mbirjax_params",
    "get_sino_and_model",
    "load_scans_and_params",
]

Vector = NDArray[numpy.float64]
Path = str | os.PathLike[str]


def get_sino_and_model(
    dataset_dir: Path,
    *,
    downsample_factor: Sequence[int] = (1, 1),
    subsample_view_factor: int = 1,
    crop_pixels_sides: int | None = None,
    crop_pixels_top: int | None = None,
    crop_pixels_bottom: int | None = None,
    auto_crop: bool = False,
    verbose: int = 1,
    offset_correction: bool = True,
) -> tuple[Any, Any]:
    """(sino, model) of the scan in a folder, ready for model.recon(sino, ...).

    downsample_factor: of rows and channels. subsample_view_factor: reads every n-th view. crop_pixels_...: at the
    border, before anything else; None: the largest crop in the .nsipro file; above and below the axis the larger one is
    used for both. auto_crop: removes what does not see the object. offset_correction: uses the position of the detector
    in the geometry report, if there is one. verbose: above 0, says which files are read."""
    sino, required, optional = _compute_sino_and_params(
        dataset_dir,
        downsample_factor,
        subsample_view_factor,
        crop_pixels_sides,
        crop_pixels_top,
        crop_pixels_bottom,
        verbose,
        offset_correction,
    )
    return finalize_model(sino, required, optional, auto_crop=auto_crop)


def _compute_sino_and_params(
    dataset_dir: Path,
    downsample_factor: Sequence[int],
    subsample_view_factor: int,
    crop_pixels_sides: int | None,
    crop_pixels_top: int | None,
    crop_pixels_bottom: int | None,
    verbose: int,
    offset_correction: bool,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    from ..models import ConeBeamModel

    *scans, params, defects = load_scans_and_params(
        dataset_dir,
        subsample_view_factor=subsample_view_factor,
        verbose=verbose,
        offset_correction=offset_correction,
    )
    wanted = (crop_pixels_sides, crop_pixels_top, crop_pixels_bottom)
    sides, top, bottom = (params["max_crop"] if crop is None else crop for crop in wanted)
    top = bottom = max(top, bottom)
    required, optional = convert_nsi_to_mbirjax_params(params, downsample_factor, sides, top, bottom)
    *scans, defects = crop_view_data(*scans, sides, top, bottom, defects)
    rotation = optional.pop("det_rotation")
    sino = scan_to_sino(*scans, defects, downsample_factor, rotation)
    sino = correct_background_offset(sino, option="per_view")
    return sino, required | {"geometry_type": str(ConeBeamModel)}, optional


class _Description:
    """The fields of an .nsipro file: lines <tag>value within <section> ... </section>."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.lines = path.read_text(errors="replace").splitlines()

    def texts(self, section: str, tag: str) -> list[str]:
        found, inside = [], False
        for line in map(str.strip, self.lines):
            if line.startswith(f"<{section}>"):
                inside = True
            elif line.startswith(f"</{section}>"):
                break  # a later section of this name belongs to another step of the scanner's program
            elif inside and line.startswith(f"<{tag}>"):
                found.append(line[len(tag) + 2 :].removesuffix(f"</{tag}>").strip())
        return found

    def text(self, section: str, tag: str, default: str | None = None) -> str:
        found = self.texts(section, tag) or ([] if default is None else [default])
        if not found:
            raise ValueError(f"{self.path}: has no <{tag}> in <{section}>, expected an .nsipro file of a finished scan")
        return found[0]

    def numbers(self, section: str, tag: str, count: int, default: str | None = None) -> Vector:
        text = self.text(section, tag, default)
        try:
            values = numpy.array([float(part) for part in text.split()])
        except ValueError:
            values = numpy.empty(0)
        if values.size < count or not numpy.isfinite(values).all():
            raise ValueError(f'{self.path}: <{tag}> in <{section}> is "{text}", expected {count} numbers')
        return values[:count] if count > 0 else values

    def count(self, section: str, tag: str) -> int:
        value = float(self.numbers(section, tag, 1)[0])
        if value != round(value) or value < 1:
            raise ValueError(f"{self.path}: <{tag}> in <{section}> is {value}, expected a whole number of at least 1")
        return int(value)

    def flag(self, section: str, tag: str) -> bool:
        return self.text(section, tag, "False").lower() == "true"


def _only(folder: pathlib.Path, patterns: Sequence[str], what: str, required: bool = True) -> pathlib.Path | None:
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    if len(found) == 1 or (not found and not required):
        return found[0] if found else None
    names = ", ".join(path.name for path in found) or "none"
    raise ValueError(f"{folder}: {what} ({' or '.join(patterns)}): found {names}, expected exactly one")


def _report_position(path: pathlib.Path) -> tuple[float, float] | None:
    """x and y of the detector's first pixel from the line "Image center (x, y) [mm]" of the geometry report."""
    number = r"(-?\d+(?:\.\d*)?)"
    text = path.read_text(errors="replace")
    found = re.search(rf"Image center[^(\n]*\(\s*{number}\s*,\s*{number}\s*\)[^\n]*?\[mm\]", text)
    return (float(found[1]), float(found[2])) if found else None


def load_scans_and_params(
    dataset_dir: Path,
    view_id_start: int = 0,
    view_id_end: int | None = None,
    subsample_view_factor: int = 1,
    verbose: int = 1,
    offset_correction: bool = True,
) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32], NDArray[numpy.float32], dict[str, Any], Any]:
    """(obj_scan, blank_scan, dark_scan, nsi_params, defective_pixel_array) of a folder with one *.nsipro, a folder
    Radiographs* and, below it, gain0.tif, and possibly offset.tif, *.defect and Geometry*.rtf.

    Views view_id_start to view_id_end, every subsample_view_factor-th. Scans are (views, rows, channels) as the object
    stood, turned and mirrored as the description says."""
    folder = pathlib.Path(dataset_dir)
    description = _Description(_only(folder, ["*.nsipro"], "the description of the scan"))
    radiographs = _only(folder, ["Radiographs*"], "the folder of the views")
    blank_path = _only(folder, ["*/gain0.tif"], "the white frame")
    dark_path = _only(folder, ["*/offset.tif"], "the dark frame", required=False)
    defect_path = _only(folder, ["*/*.defect"], "the list of defective pixels", required=False)
    report = _only(folder, ["Geometry*.rtf"], "the geometry report", required=False)

    r_s, r_r = (description.numbers("Result", tag, 3) for tag in ("source", "reference"))
    position = _report_position(report) if offset_correction and report is not None else None
    if position is not None:
        r_r[:2] = position
    r_a = description.numbers("Result", "axis", 3, "0 -1 0")
    pitch = description.numbers("Object Radiograph", "pitch", 2)
    channels, rows = (description.count("Detector", tag) for tag in ("width pixels", "height pixels"))
    turn = int(description.numbers("Correction", "rotate", 1, "0")[0])
    if turn not in (0, 90, 180, 270):
        raise ValueError(f"{description.path}: <rotate> in <Correction> is {turn}, expected 0, 90, 180 or 270")
    if turn % 180:
        channels, rows = rows, channels
    step = float(description.numbers("Object Radiograph", "angleStep", 1)[0])
    step *= 1 if description.flag("Processed", "clockwise") else -1
    end = description.count("Object Radiograph", "number") if view_id_end is None else view_id_end
    view_ids = numpy.arange(view_id_start, end, subsample_view_factor)
    if not view_ids.size:
        raise ValueError(f"{folder}: views {view_id_start} to {end} are none, expected at least one")

    if verbose > 0:
        print(f"reads {view_ids.size} views of {radiographs}, {blank_path.name} and {dark_path and dark_path.name}")
    scans = [read_tif_stack_dir(radiographs, view_ids), read_tif_img(blank_path)[None]]
    scans.append(numpy.zeros_like(scans[1]) if dark_path is None else read_tif_img(dark_path)[None])
    good = numpy.ones(scans[1].shape, bool)
    if defect_path is not None:
        for text in _Description(defect_path).texts("Defective Pixels", "Defect"):
            channel, row = (int(part) for part in text.split()[:2])
            good[0, row, channel] = False
    scans.append(good)
    for axis, tag in ((1, "flipV"), (2, "flipH")):
        if description.flag("Correction", tag):
            scans = [numpy.flip(s, axis) for s in scans]
    *scans, good = (numpy.ascontiguousarray(numpy.rot90(s, turn // 90, axes=(2, 1))) for s in scans)
    for scan in scans:
        if scan.shape[1:] != (rows, channels):
            raise ValueError(
                f"{folder}: frames have {scan.shape[1:]} pixels, but {description.path.name} says {rows, channels}"
            )
    defects = numpy.argwhere(~good[0])
    params = {
        "r_a": -r_a if r_a[1] > 0 else r_a,
        "r_n": description.numbers("Result", "normal", 3),
        "r_h": description.numbers("Result", "horizontal", 3),
        "r_s": r_s,
        "r_r": r_r,
        "delta_det_channel": float(pitch[0]),
        "delta_det_row": float(pitch[1]),
        "num_det_channels": channels,
        "num_det_rows": rows,
        "angles": numpy.deg2rad(view_ids * step % 360),
        "max_crop": int(description.numbers("Radiograph", "crop", 0, "0").max(initial=0)),
    }
    return *scans, params, defects if defects.size else ()


def convert_nsi_to_mbirjax_params(
    nsi_params: dict[str, Any],
    downsample_factor: Sequence[int] = (1, 1),
    crop_pixels_sides: int = 0,
    crop_pixels_top: int = 0,
    crop_pixels_bottom: int = 0,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(required, optional): the arguments of ConeBeamModel and its other parameters, in mm, for a detector that is
    cropped first and downsampled then. optional has also "det_rotation", for correct_det_rotation."""
    vectors = [numpy.asarray(nsi_params[name], float) for name in ("r_a", "r_n", "r_h", "r_s", "r_r")]
    pitches = nsi_params["delta_det_channel"], nsi_params["delta_det_row"]
    channels, rows = nsi_params["num_det_channels"], nsi_params["num_det_rows"]
    full, iso, magnification, rotation = calc_source_detector_params(*vectors)
    channel_offset, row_offset = calc_row_channel_params(*vectors, *pitches, channels, rows, magnification)
    slice_offset = -row_offset / magnification
    rows, channels, row_offset, channel_offset = apply_config_crop(
        rows,
        channels,
        row_offset,
        channel_offset,
        pitches[1],
        pitches[0],
        crop_pixels_top=crop_pixels_top,
        crop_pixels_bottom=crop_pixels_bottom,
        crop_pixels_sides=crop_pixels_sides,
    )
    down, across = downsample_factor
    delta_channel, delta_row = pitches[0] * across, pitches[1] * down
    required = {
        "sinogram_shape": (len(nsi_params["angles"]), rows // down, channels // across),
        "angles": nsi_params["angles"],
        "source_detector_dist": full,
        "source_iso_dist": iso,
    }
    optional = {
        "delta_det_channel": delta_channel,
        "delta_det_row": delta_row,
        "delta_voxel": delta_channel / magnification,
        "det_channel_offset": channel_offset,
        "det_row_offset": row_offset,
        "recon_slice_offset": slice_offset,
        "det_rotation": rotation,
        "alu_unit": "mm",
        "alu_value": 1.0,
    }
    return required, optional


def _unit(vector: Vector) -> Vector:
    length = float(numpy.linalg.norm(vector))
    if not (numpy.isfinite(length) and length > 0):
        raise ValueError(f"the direction {vector} has the length {length}, expected more than 0")
    return vector / length


def calc_det_rotation(r_a: Vector, r_n: Vector, r_h: Vector, r_v: Vector) -> float:
    """The angle in radians from the rotation axis, seen on the detector, to the detector's columns."""
    axis = r_a - numpy.dot(r_a, r_n) * r_n
    return -float(numpy.arctan(numpy.dot(axis, r_h) / numpy.dot(axis, r_v)))


def calc_source_detector_params(
    r_a: Vector, r_n: Vector, r_h: Vector, r_s: Vector, r_r: Vector
) -> tuple[float, float, float, float]:
    """(source_detector_dist, source_iso_dist, magnification, det_rotation) along the normal of the detector."""
    normal = _unit(r_n)
    full, iso = abs(float(numpy.dot(r_r - r_s, normal))), abs(float(numpy.dot(r_s, normal)))
    if not full > 0 or not iso > 0:
        raise ValueError(f"source, reference and normal give the distances {iso} and {full}, expected more than 0")
    return full, iso, full / iso, calc_det_rotation(r_a, normal, r_h, numpy.cross(normal, r_h))


def calc_row_channel_params(
    r_a: Vector,
    r_n: Vector,
    r_h: Vector,
    r_s: Vector,
    r_r: Vector,
    delta_det_channel: float,
    delta_det_row: float,
    num_det_channels: int,
    num_det_rows: int,
    magnification: float,
) -> tuple[float, float]:
    """(det_channel_offset, det_row_offset): from the detector's middle to where the ray through the axis meets it."""
    normal, across = _unit(r_n), _unit(r_h)
    down = numpy.cross(normal, across)
    half_height, half_width = delta_det_row * (num_det_rows - 1) / 2, delta_det_channel * (num_det_channels - 1) / 2
    middle = r_r - r_s + half_height * down + half_width * across
    # The axis need not meet the line from the source along the normal; its distance is magnified on the detector.
    beside = float(numpy.dot(r_s, numpy.cross(normal, _unit(r_a))))
    return magnification * beside - float(numpy.dot(middle, across)), -float(numpy.dot(middle, down))
