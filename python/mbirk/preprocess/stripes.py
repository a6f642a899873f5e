"""Stripes and offsets of sinograms, which are rings in the image, and the rotation axis."""

from __future__ import annotations

import numpy
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._arrays import floats

Floats = NDArray[numpy.float32]


def remove_all_stripe(
    sino: ArrayLike,
    snr: float = 3,
    large_filter_size: int = 61,
    small_filter_size: int = 21,
    *,
    threads: int = 0,
) -> Floats:
    """A sinogram (views, rows, channels) without stripes of any kind: dead and fluctuating channels, then large
    stripes, then small ones (Vo, Atwood, Drakopoulos 2018).

    snr: how many times the noise a channel has to differ. ..._filter_size: channels of the median, wider than the
    stripes. Large stripes are found by differences of line integrals, where MBIRJAX takes their ratios."""
    values = floats(sino, "sino", "remove_all_stripe", False)
    for method, size in (("dead", large_filter_size), ("large", large_filter_size), ("sorting", small_filter_size)):
        values = _core.remove_stripes(values, method, size, snr, threads=threads)
    return values


def remove_stripe_fw(
    sino: ArrayLike, wavelet_filter_name: str = "db5", sigma: float = 2, *, threads: int = 0
) -> Floats:
    """A sinogram (views, rows, channels) without vertical stripes: in the details across channels of a db5 wavelet
    transform, low frequencies along the views are damped by 1 - exp(-m^2 / (2 sigma^2)) (Muench 2009)."""
    if wavelet_filter_name != "db5":
        raise ValueError(f'remove_stripe_fw: wavelet_filter_name is "{wavelet_filter_name}", expected db5')
    values = floats(sino, "sino", "remove_stripe_fw", False)
    return _core.remove_stripes(values, "wavelet", sigma=sigma, threads=threads)


def remove_sino_offset(sino: ArrayLike) -> Floats:
    """Subtracts from each detector row of each view the excess of its mean over the least mean of that row among all
    views: what material outside the field of view adds. sino: (views, rows, channels)."""
    values = numpy.asarray(sino, numpy.float32)
    if values.ndim != 3:
        raise ValueError(f"remove_sino_offset: sino has shape {values.shape}, expected (views, rows, channels)")
    means = values.mean(axis=2, keepdims=True, dtype=float)
    return (values - (means - means.min(axis=0, keepdims=True))).astype(numpy.float32)


def find_rotation_axis(sino: ArrayLike, angles: ArrayLike) -> tuple[float, float]:
    """The channel onto which the rotation axis projects, and det_channel_offset in channels.

    sino: one detector row (views, channels), or all of them, of which the middle one is used; line integrals of a
    parallel beam, or of a cone beam, for which the result is an approximation. angles: radians, equally spaced, over at
    least half a turn. MBIRJAX has no such function. Source: Vo, Drakopoulos, Atwood, Reinhard 2014."""
    values = numpy.asarray(sino, numpy.float32)
    if values.ndim == 3:
        values = values[:, values.shape[1] // 2]
    if values.ndim != 2:
        raise ValueError(f"find_rotation_axis: sino has shape {values.shape}, expected (views, channels)")
    return _core.find_rotation_axis(numpy.ascontiguousarray(values), numpy.ascontiguousarray(angles, numpy.float32))
