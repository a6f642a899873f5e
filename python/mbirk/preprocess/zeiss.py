"""Scans of Zeiss Xradia microscopes, .txrm: Versa in cone beam, Ultra in parallel beam. Needs olefile.

The streams' names are those that DXchange (De Carlo et al. 2014) reads.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from .._optional import need
from .corrections import correct_zinger_pixels, sample_bilinear
from .utilities import (
    apply_config_crop,
    correct_background_offset,
    crop_view_data,
    finalize_model,
    scan_to_sino,
    to_alu,
)

__all__ = [
    "classify_zeiss_system",
    "convert_zeiss_to_mbirjax_params",
    "correct_sino_shifts",
    "get_sino_and_model",
    "load_scans_and_params",
    "read_metadata",
]

Floats = NDArray[numpy.float32]
Path = str | os.PathLike[str]
# Types of pixels by their codes.
PIXELS = {3: numpy.dtype("u1"), 5: numpy.dtype("<u2"), 10: numpy.dtype("<f4")}
VIEWS_PER_STORAGE = 100


def get_sino_and_model(
    dataset_dir: Path,
    *,
    downsample_factor: Sequence[int] = (1, 1),
    subsample_view_factor: int = 1,
    crop_pixels_sides: int = 0,
    crop_pixels_top: int = 0,
    crop_pixels_bottom: int = 0,
    alu_unit: str = "mm",
    bg_option: str | None = "global",
    zinger_correction: bool = True,
    auto_crop: bool = False,
    verbose: int = 1,
) -> tuple[Any, Any]:
    """(sino, model) of a .txrm file, ready for model.recon(sino, ...): a ParallelBeamModel for an Ultra microscope,
    otherwise a ConeBeamModel.

    downsample_factor: of rows and channels. subsample_view_factor: reads every n-th view. crop_pixels_...: at the
    border, before anything else. alu_unit: of the model's lengths: um, mm, cm or m. bg_option: of
    correct_background_offset. zinger_correction: correct_zinger_pixels. auto_crop: removes what does not see the
    object. verbose: above 0, says what is read."""
    sino, required, optional = _compute_sino_and_params(
        dataset_dir,
        downsample_factor,
        subsample_view_factor,
        crop_pixels_sides,
        crop_pixels_top,
        crop_pixels_bottom,
        alu_unit,
        bg_option,
        zinger_correction,
        verbose,
    )
    return finalize_model(sino, required, optional, auto_crop=auto_crop)


def _compute_sino_and_params(
    dataset_dir: Path,
    downsample_factor: Sequence[int],
    subsample_view_factor: int,
    crop_pixels_sides: int,
    crop_pixels_top: int,
    crop_pixels_bottom: int,
    alu_unit: str,
    bg_option: str | None,
    zinger_correction: bool,
    verbose: int,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    from ..models import ConeBeamModel, ParallelBeamModel

    *scans, params = load_scans_and_params(dataset_dir, subsample_view_factor, verbose)
    crops = (crop_pixels_sides, crop_pixels_top, crop_pixels_bottom)
    required, optional, metadata = convert_zeiss_to_mbirjax_params(params, downsample_factor, *crops, alu_unit)
    *scans, defects = crop_view_data(*scans, *crops)
    sino = correct_background_offset(scan_to_sino(*scans, defects, downsample_factor), option=bg_option)
    if zinger_correction:
        sino = correct_zinger_pixels(sino)  # before the shifts, which would smear them
    sino = correct_sino_shifts(sino, params, downsample_factor, subsample_view_factor)
    model = ParallelBeamModel if metadata["scanner_type"] == "ultra" else ConeBeamModel
    return sino, required | {"geometry_type": str(model)}, optional


@contextlib.contextmanager
def _opened(path: pathlib.Path) -> Iterator[Any]:
    olefile = need("olefile", "Zeiss files")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file, expected a .txrm file")
    if not olefile.isOleFile(str(path)):
        raise ValueError(f"{path}: is not an OLE2 file, expected a .txrm file")
    with olefile.OleFileIO(str(path)) as ole:
        yield ole


def _values(ole: Any, streams: Sequence[str], dtype: str, count: int) -> NDArray[Any] | None:
    """The first `count` values of the first of the streams that exists."""
    for stream in streams:
        if ole.exists(stream):
            data = ole.openstream(stream).read()
            kind = numpy.dtype(dtype)
            if len(data) < count * kind.itemsize:
                expected = count * kind.itemsize
                raise ValueError(f"stream {stream} has {len(data)} bytes, expected {expected}: the file is damaged")
            return numpy.frombuffer(data, kind, count)
    return None


def _value(ole: Any, streams: Sequence[str], dtype: str, default: Any = None) -> Any:
    found = _values(ole, streams, dtype, 1)
    if found is not None:
        return found[0].item()
    if default is None:
        raise ValueError(f"there is no stream {streams[0]}, expected a .txrm file of a finished scan")
    return default


def _texts(ole: Any, stream: str) -> list[str]:
    if not ole.exists(stream):
        return []
    return [part.decode("utf-8", "replace") for part in ole.openstream(stream).read().split(b"\0") if part]


def _image(ole: Any, stream: str, shape: tuple[int, int], code: int) -> NDArray[Any]:
    if code not in PIXELS:
        raise ValueError(f"pixels of {stream} have the type {code}, expected one of {', '.join(map(str, PIXELS))}")
    found = _values(ole, [stream], PIXELS[code].str, shape[0] * shape[1])
    if found is None:
        raise ValueError(f"there is no stream {stream}, expected one per view")
    return found.reshape(shape)


def read_metadata(ole: Any) -> dict[str, Any]:
    """What an open olefile.OleFileIO says of a scan, and its white frames as "reference" (frames, rows, channels): all
    1, with a warning, if it has none."""
    views = _value(ole, ["ImageInfo/NoOfImages", "ImageInfo/ImagesTaken"], "<i4")
    shape = _value(ole, ["ImageInfo/ImageHeight"], "<i4"), _value(ole, ["ImageInfo/ImageWidth"], "<i4")
    if min(views, *shape) < 1:
        raise ValueError(f"the scan has {views} views of {shape} pixels, expected at least 1")
    code = _value(ole, ["ImageInfo/DataType"], "<i4")
    white = _value(ole, ["ReferenceData/DataType", "MultiReferenceData/DataType"], "<i4", code)
    zeros = numpy.zeros(views, numpy.float32)

    def per_view(stream: str) -> NDArray[Any]:
        found = _values(ole, [stream], "<f4", views)
        return zeros if found is None else found

    angles = _values(ole, ["ImageInfo/Angles"], "<f4", views)
    if angles is None:
        raise ValueError("there is no stream ImageInfo/Angles, expected a .txrm file of a finished scan")
    count = _value(ole, ["MultiReferenceData/ImageInfo/NoOfImages"], "<i4", 0)
    frames = ["ReferenceData/Image", *(f"MultiReferenceData/Image{k + 1}" for k in range(count))]
    frames = [frame for frame in frames if ole.exists(frame)]
    if not frames:
        warnings.warn("the scan has no white frame: its pixels are taken as transmission", stacklevel=2)
    reference = [_image(ole, f, shape, white) for f in frames] or [numpy.ones(shape, numpy.float32)]
    return {
        "num_views": views,
        "num_det_rows": shape[0],
        "num_det_channels": shape[1],
        "data_type": code,
        "thetas": angles,
        "source_iso_dist": _value(ole, ["ImageInfo/StoRADistance"], "<f4"),
        "iso_det_dist": _value(ole, ["ImageInfo/DtoRADistance"], "<f4"),
        "iso_pixel_pitch": _value(ole, ["ImageInfo/PixelSize"], "<f4"),
        "det_pixel_pitch": _value(ole, ["DetAssemblyInfo/CamPixelSize"], "<f4", 0.0),
        "opt_mag": _value(ole, ["DetAssemblyInfo/OpticalMagnification"], "<f4", 1.0),
        "center_shift": _value(ole, ["AutoRecon/CenterShift", "ReconSettings/CenterShift"], "<f4", 0.0),
        "x_shifts": per_view("alignment/x-shifts"),
        "y_shifts": per_view("alignment/y-shifts"),
        "axis_names": _texts(ole, "PositionInfo/AxisNames"),
        "axis_units": _texts(ole, "PositionInfo/AxisUnits"),
        "reference": numpy.stack(reference),
    }


def classify_zeiss_system(fname: Path) -> str:
    """ "ultra" (parallel beam), "versa" (cone beam), or, with a warning, "unknown", for which cone beam is assumed."""
    with _opened(pathlib.Path(fname)) as ole:
        paths = ["/".join(entry) for entry in ole.listdir()]
    if any("ConfigZonePlates" in path for path in paths):
        return "ultra"
    if any(f"/{path}".endswith("/ConfigXrayFilters/Filter0/Name") for path in paths):
        return "versa"
    warnings.warn(f"{fname}: neither of an Ultra nor of a Versa microscope; cone beam is assumed", stacklevel=2)
    return "unknown"


def load_scans_and_params(
    dataset_dir: Path, subsample_view_factor: int = 1, verbose: int = 1
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
    """(obj_scan, blank_scan, dark_scan, zeiss_params) of a .txrm file. Scans are (views or frames, rows, channels);
    there are no dark frames in these files, so dark_scan is 0."""
    path = pathlib.Path(dataset_dir)
    scanner = classify_zeiss_system(path)
    if verbose > 0:
        print(f"reads {path}")
    with _opened(path) as ole:
        try:
            found = read_metadata(ole)
            shape = found["num_det_rows"], found["num_det_channels"]
            views = numpy.arange(0, found["num_views"], subsample_view_factor)
            names = [f"ImageData{1 + v // VIEWS_PER_STORAGE}/Image{v + 1}" for v in views]
            scan = numpy.stack([_image(ole, name, shape, found["data_type"]) for name in names])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    units = dict(zip(found["axis_names"], found["axis_units"]))
    length = units.get("Source Z", "mm")
    params = {
        "scanner_type": scanner,
        "source_iso_dist": abs(found["source_iso_dist"]),
        "iso_det_dist": abs(found["iso_det_dist"]),
        "delta_det_channel": abs(found["det_pixel_pitch"]),
        "delta_det_row": abs(found["det_pixel_pitch"]),
        "iso_pixel_pitch": abs(found["iso_pixel_pitch"]),
        "source_iso_dist_unit": length,
        "iso_det_dist_unit": length,
        "delta_det_row_unit": units.get("CCD_X", "um"),
        "delta_det_channel_unit": units.get("CCD_X", "um"),
        "iso_pixel_pitch_unit": units.get("Sample X", "um"),
        "angle_unit": units.get("Sample Theta", "deg"),
        "opt_mag": found["opt_mag"],
        "num_views": found["num_views"],
        "num_det_rows": shape[0],
        "num_det_channels": shape[1],
        # The stage turns against MBIRJAX's direction, and the shift has the other sign.
        "angles": -found["thetas"].astype(float)[views],
        "det_row_offset": 0.0,
        "det_channel_offset": -found["center_shift"],
        "x_shifts": found["x_shifts"],
        "y_shifts": found["y_shifts"],
    }
    return scan, found["reference"], numpy.zeros((1, *shape), scan.dtype), params


def convert_zeiss_to_mbirjax_params(
    zeiss_params: dict[str, Any],
    downsample_factor: Sequence[int] = (1, 1),
    crop_pixels_sides: int = 0,
    crop_pixels_top: int = 0,
    crop_pixels_bottom: int = 0,
    alu_unit: str = "mm",
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """(required, optional, metadata): the arguments of the model and its other parameters, in alu_unit, for a detector
    that is cropped first and downsampled then, and {"scanner_type"}.

    The detector is a scintillator behind which optics magnify the image: its pixels are taken as those at the object
    times the whole magnification, which puts it further away."""
    names = ("source_iso_dist", "iso_det_dist", "iso_pixel_pitch")
    iso, rest, pixel = (to_alu(zeiss_params[name], zeiss_params[f"{name}_unit"], alu_unit) for name in names)
    optics = zeiss_params["opt_mag"]
    magnification = 1.0 if optics is None or numpy.isinf(optics) else optics * (iso + rest) / iso
    pitch = magnification * pixel
    rows, channels, row_offset, channel_offset = apply_config_crop(
        zeiss_params["num_det_rows"],
        zeiss_params["num_det_channels"],
        zeiss_params["det_row_offset"] * pitch,  # the file has pixels
        zeiss_params["det_channel_offset"] * pitch,
        pitch,
        pitch,
        crop_pixels_top=crop_pixels_top,
        crop_pixels_bottom=crop_pixels_bottom,
        crop_pixels_sides=crop_pixels_sides,
    )
    down, across = downsample_factor
    angles = numpy.asarray(zeiss_params["angles"])
    required = {
        "sinogram_shape": (len(angles), rows // down, channels // across),
        "angles": numpy.deg2rad(angles) if zeiss_params["angle_unit"] == "deg" else angles,
    }
    is_parallel = zeiss_params["scanner_type"] == "ultra"
    if not is_parallel:
        required |= {"source_detector_dist": magnification * iso, "source_iso_dist": iso}
    optional = {
        "delta_det_channel": pitch * across,
        "delta_det_row": pitch * down,
        "delta_voxel": pitch * across if is_parallel else pixel * down,
        "det_row_offset": row_offset,
        "det_channel_offset": channel_offset,
        "alu_unit": alu_unit,
        "alu_value": 1.0,
    }
    return required, optional, {"scanner_type": zeiss_params["scanner_type"]}


def correct_sino_shifts(
    sino: ArrayLike,
    zeiss_params: dict[str, Any],
    downsample_factor: Sequence[int] = (1, 1),
    subsample_view_factor: int = 1,
) -> Floats:
    """Moves each view by the alignment in zeiss_params, "x_shifts" to the right and "y_shifts" down in detector pixels
    of all views, with linear interpolation; the border is repeated outside of a view."""
    views = numpy.array(sino, numpy.float32)
    right, down = (numpy.asarray(zeiss_params[k], float)[::subsample_view_factor] for k in ("x_shifts", "y_shifts"))
    if right.shape != (len(views),) or down.shape != right.shape:
        raise ValueError(f"{right.size} x_shifts and {down.size} y_shifts, expected {len(views)}: one per view")
    _, rows, channels = views.shape
    r, c = numpy.meshgrid(numpy.arange(rows), numpy.arange(channels), indexing="ij")
    for view, dx, dy in zip(views, right / downsample_factor[1], down / downsample_factor[0]):
        if dx != 0 or dy != 0:
            view[:] = sample_bilinear(view, numpy.clip(r - dy, 0, rows - 1), numpy.clip(c - dx, 0, channels - 1))
    return views
