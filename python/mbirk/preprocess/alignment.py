"""Drift of views, found by comparison with projections of a first reconstruction."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from .corrections import sample_bilinear

Floats = NDArray[numpy.float32]
STEPS = 50
SMALLEST_STEP = 1e-4


def _gaussian(size: int, sigma: float) -> NDArray[numpy.float64]:
    """The (size, size) matrix that smooths by a Gaussian cut at four sigma; the ends are mirrored."""
    reach = int(4 * sigma + 0.5)
    weights = numpy.exp(-0.5 * (numpy.arange(-reach, reach + 1) / sigma) ** 2)
    weights /= weights.sum()
    matrix = numpy.zeros((size, size))
    for k, weight in enumerate(weights):
        at = (numpy.arange(size) + k - reach) % (2 * size)
        numpy.add.at(matrix, (numpy.arange(size), numpy.where(at < size, at, 2 * size - 1 - at)), weight)
    return matrix


def sino_high_pass_filtering(
    sino: ArrayLike, sigma_row: float = 3.0, sigma_col: float = 15.0, subtract_view_mean: bool = True
) -> Floats:
    """Each view (rows, channels) minus its mean, if asked for, and minus itself smoothed by a Gaussian of sigma_row
    along the rows and sigma_col along the channels, in pixels."""
    values = numpy.asarray(sino, float)
    if values.ndim != 3:
        raise ValueError(f"sino_high_pass_filtering: sino has shape {values.shape}, expected (views, rows, channels)")
    if subtract_view_mean:
        values = values - values.mean(axis=(1, 2), keepdims=True)
    smooth = _gaussian(values.shape[1], sigma_row) @ values @ _gaussian(values.shape[2], sigma_col).T
    return (values - smooth).astype(numpy.float32)


def _shift(view: Floats, reference: Floats) -> NDArray[numpy.float64]:
    """The (row, channel) by which the view must move to match the reference up to gain and offset: Gauss-Newton on the
    difference of both after their means are subtracted and their norms are 1 (Evangelidis, Psarakis 2008)."""
    i, j = numpy.meshgrid(*(numpy.arange(n, dtype=float) for n in view.shape), indexing="ij")
    shift = numpy.zeros(2)
    for _ in range(STEPS):
        rows, channels = i - shift[0], j - shift[1]
        inside = (rows >= 0) & (rows <= view.shape[0] - 1) & (channels >= 0) & (channels <= view.shape[1] - 1)
        moved = sample_bilinear(view, rows, channels).astype(float)
        # The derivatives with respect to the shift have the opposite sign of those with respect to the position.
        slopes = numpy.stack([-g[inside] for g in numpy.gradient(moved)])
        a, b = moved[inside], reference[inside].astype(float)
        a, b = a - a.mean(), b - b.mean()
        slopes = slopes - slopes.mean(axis=1, keepdims=True)
        energy = b @ b
        if energy == 0 or not (a @ a) > 0:
            return shift
        # The gain that fits best is solved for together with the shift.
        columns = numpy.vstack([slopes * (a @ b) / (a @ a), a])
        step = numpy.linalg.lstsq(columns.T, b, rcond=None)[0]
        update = numpy.clip(step[:2], -2, 2)
        shift += update
        if numpy.abs(update).max() < SMALLEST_STEP:
            break
    return shift


def estimate_sino_view_offset(ct_model: Any, sino: ArrayLike, direct_recon: ArrayLike) -> NDArray[numpy.float64]:
    """By how many (rows, channels) each view must move to match the projection of a first reconstruction.

    Both are filtered by sino_high_pass_filtering. Returns (views, 2); positive moves a view to higher rows and
    channels."""
    shape = tuple(ct_model.recon_shape)
    if numpy.shape(direct_recon) != shape:
        raise ValueError(f"direct_recon has shape {numpy.shape(direct_recon)}, expected recon_shape {shape}")
    measured = sino_high_pass_filtering(sino)
    projected = sino_high_pass_filtering(ct_model.forward_project(direct_recon))
    if measured.shape != projected.shape:
        raise ValueError(f"sino has shape {measured.shape}, expected sinogram_shape {projected.shape}")
    return numpy.array([_shift(a, b) for a, b in zip(measured, projected)])


def align_sino_views(ct_model: Any, sino: ArrayLike, direct_recon: ArrayLike) -> Floats:
    """The views, moved by estimate_sino_view_offset with bilinear interpolation; samples from outside are 0."""
    values = numpy.asarray(sino, numpy.float32)
    i, j = numpy.meshgrid(*(numpy.arange(n, dtype=float) for n in values.shape[1:]), indexing="ij")
    shifts = estimate_sino_view_offset(ct_model, values, direct_recon)
    return numpy.stack([sample_bilinear(view, i - s[0], j - s[1]) for view, s in zip(values, shifts)]).astype(
        numpy.float32
    )
