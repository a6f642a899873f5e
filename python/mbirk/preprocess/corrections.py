"""Corrections of single views: rotation of the detector, defective pixels, zingers."""

from __future__ import annotations

import warnings

import numpy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[numpy.float32]
NOISE_VIEWS = 20


def _copy(sino: ArrayLike) -> Floats:
    values = numpy.array(sino, numpy.float32)
    if values.ndim != 3:
        raise ValueError(f"sino has shape {values.shape}, expected (views, rows, channels)")
    return values


def sample_bilinear(view: Floats, rows: NDArray, channels: NDArray) -> Floats:
    """The view at fractional positions, linear between four samples, 0 outside of it."""
    inside = (rows >= 0) & (rows <= view.shape[0] - 1) & (channels >= 0) & (channels <= view.shape[1] - 1)
    r = numpy.clip(rows, 0, view.shape[0] - 1)
    c = numpy.clip(channels, 0, view.shape[1] - 1)
    r0, c0 = numpy.floor(r).astype(int), numpy.floor(c).astype(int)
    r1, c1 = numpy.minimum(r0 + 1, view.shape[0] - 1), numpy.minimum(c0 + 1, view.shape[1] - 1)
    fr, fc = (r - r0).astype(numpy.float32), (c - c0).astype(numpy.float32)
    upper = (1 - fc) * view[r0, c0] + fc * view[r0, c1]
    lower = (1 - fc) * view[r1, c0] + fc * view[r1, c1]
    return ((1 - fr) * upper + fr * lower) * inside


def correct_det_rotation(sino: ArrayLike, det_rotation: float = 0.0, batch_size: int = 30) -> Floats:
    """Turns each view (rows, channels) by det_rotation, the angle in radians from the rotation axis to the detector's
    columns, about its middle; samples from outside are 0. batch_size is ignored."""
    views = _copy(sino)
    if det_rotation == 0:
        return views
    middle = [(n - 1) / 2 for n in views.shape[1:]]
    i, j = numpy.meshgrid(*(numpy.arange(n) - m for n, m in zip(views.shape[1:], middle)), indexing="ij")
    cosine, sine = numpy.cos(det_rotation), numpy.sin(det_rotation)
    rows, channels = cosine * i + sine * j + middle[0], cosine * j - sine * i + middle[1]
    for view in views:
        view[:] = sample_bilinear(view, rows, channels)
    return views


def _fill(values: Floats, num_passes: int, operation: str) -> Floats:
    """Replaces samples that are not finite, in place, by the mean of their finite neighbours in the view, of eight at
    most; with each pass one sample further. What remains becomes 0, with a warning."""
    values[~numpy.isfinite(values)] = numpy.nan
    for _ in range(num_passes):
        missing = numpy.argwhere(numpy.isnan(values))
        if not missing.size:
            return values
        v, r, c = missing.T
        sums, counts = numpy.zeros(len(v)), numpy.zeros(len(v))
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                at = (r + dr, c + dc)
                inside = (at[0] >= 0) & (at[0] < values.shape[1]) & (at[1] >= 0) & (at[1] < values.shape[2])
                near = values[v[inside], at[0][inside], at[1][inside]]
                finite = numpy.isfinite(near)
                sums[inside] += numpy.where(finite, near, 0)
                counts[inside] += finite
        known = counts > 0
        values[v[known], r[known], c[known]] = sums[known] / counts[known]
    lost = numpy.isnan(values)
    if lost.any():
        values[lost] = 0
        warnings.warn(f"{operation}: {int(lost.sum())} samples have no valid neighbour and are set to 0", stacklevel=3)
    return values


def interpolate_defective_pixels(sino: ArrayLike, defective_pixel_array: ArrayLike = (), num_passes: int = 3) -> Floats:
    """Replaces the listed pixels (pixels, 2: row and channel) of every view, and samples that are not finite, by the
    mean of their valid neighbours. num_passes: how far from a valid sample they may be."""
    values, defects = _copy(sino), numpy.asarray(defective_pixel_array, int)
    if defects.size:
        values[:, defects[:, 0], defects[:, 1]] = numpy.nan
    return _fill(values, num_passes, "interpolate_defective_pixels")


def correct_zinger_pixels(
    sino: ArrayLike,
    zinger_pixel_ratio: float = 0.1,
    num_passes: int = 3,
    batch_size: int = 90,
    devices: object = None,
    max_views_to_use: int = NOISE_VIEWS,
) -> Floats:
    """Replaces samples that are far below 0 by the mean of their valid neighbours: photons that hit the detector
    directly look like rays with more light than the source has. Remove the background offset first.

    Far: below -zinger_pixel_ratio times the typical value, the root of the mean square over the samples that see the
    object, of max_views_to_use views. batch_size and devices are ignored."""
    from .utilities import object_threshold

    values = _copy(sino)
    finite = numpy.nan_to_num(values[:: max(1, len(values) // max_views_to_use)], posinf=0.0, neginf=0.0)
    threshold = object_threshold(finite)
    seen = finite[finite > threshold] if threshold is not None else finite
    typical = numpy.sqrt(numpy.mean(numpy.square(seen, dtype=float))) if seen.size else 0.0
    values[values < -zinger_pixel_ratio * typical] = numpy.nan
    return _fill(values, num_passes, "correct_zinger_pixels")
