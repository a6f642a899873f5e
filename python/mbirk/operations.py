"""Functions on arrays without a model. Arrays may have any type and layout (`strict=True`: dense float32, or an
error)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core, prior
from ._arrays import floats, indices, like

Floats = NDArray[numpy.float32]


def gen_weights(
    sinogram: ArrayLike,
    weight_type: str,
    ct_model: Any = None,
    *,
    out: Floats | None = None,
    threads: int = 0,
    strict: bool = False,
) -> Floats:
    """Weights of the samples y of a sinogram (views, rows, channels), line integrals.

    weight_type: unweighted (1), transmission (exp(-y)), transmission_root (exp(-y / 2)) or emission (1 / (|y| + 0.1)).
    ct_model is ignored. Returns (views, rows, channels)."""
    return _core.gen_weights(floats(sinogram, "sinogram", "gen_weights", strict), weight_type, out=out, threads=threads)


def median_filter3d(
    x: ArrayLike,
    max_block_gb: float = 4.0,
    return_min_max: bool = False,
    *,
    out: Floats | None = None,
    threads: int = 0,
    strict: bool = False,
) -> Any:
    """The median of the 27 voxels around each one; border voxels are repeated outside the image.

    x: (rows, cols, slices). max_block_gb is ignored. Returns the same shape; with return_min_max (median, minimum,
    maximum)."""
    return _core.median_filter3d(floats(x, "x", "median_filter3d", strict), return_min_max, out=out, threads=threads)


def multi_threshold_otsu(
    image: ArrayLike,
    classes: int = 2,
    num_bins: int = 1024,
    valid_mask: ArrayLike | None = None,
    *,
    threads: int = 0,
    strict: bool = False,
) -> list[float]:
    """Otsu's thresholds that split the values of an image, any three axes, into classes of least variance.

    valid_mask: restricts the voxels; its shape is that of the image or of its first axes. Returns classes - 1 numbers,
    ascending."""
    values = floats(image, "image", "multi_threshold_otsu", strict)
    if valid_mask is not None:
        mask, array = numpy.asarray(valid_mask, bool), numpy.asarray(values)
        if mask.shape != array.shape[: mask.ndim]:
            raise ValueError(
                f"multi_threshold_otsu: valid_mask has shape {mask.shape}, expected {array.shape} or its first axes"
            )
        values = numpy.ascontiguousarray(array[mask].reshape(1, 1, -1))
    return _core.multi_threshold_otsu(values, classes, num_bins, threads=threads)


def stitch_arrays(
    array_list: Sequence[ArrayLike],
    overlap: int,
    axis: int = 2,
    ramp_overlap: int | None = None,
    *,
    ramp: int | None = None,
    out: Floats | None = None,
    strict: bool = False,
) -> Floats:
    """Joins volumes that overlap along an axis, with a linear cross-fade over ramp_overlap (also named ramp) of the
    overlap."""
    arrays = [floats(a, "an array of the list", "stitch_arrays", strict) for a in array_list]
    return _core.stitch_arrays(arrays, overlap, axis, ramp=ramp if ramp_overlap is None else ramp_overlap, out=out)


def apply_cylindrical_mask(
    recon: ArrayLike,
    radial_margin: float = 0,
    top_margin: int = 0,
    bottom_margin: int = 0,
    *,
    out: Floats | None = None,
    strict: bool = False,
) -> Any:
    """Sets voxels outside the inscribed cylinder (smaller by radial_margin pixels) and the margin slices to 0. Returns
    (rows, cols, slices), as a JAX array if recon is one."""
    image = floats(recon, "recon", "apply_cylindrical_mask", strict)
    return like(recon, _core.apply_cylindrical_mask(image, radial_margin, top_margin, bottom_margin, out=out))


def frame_mean(frames: ArrayLike, *, out: Floats | None = None, strict: bool = False) -> Floats:
    """The mean of white or dark frames (frames, rows, channels), in double. Returns (rows, channels)."""
    return _core.frame_mean(floats(frames, "frames", "frame_mean", strict), out=out)


def counts_to_line_integrals(
    counts: ArrayLike,
    white: ArrayLike,
    dark: ArrayLike,
    *,
    out: Floats | None = None,
    threads: int = 0,
    strict: bool = False,
) -> tuple[Floats, int, int]:
    """-log((counts - dark) / (white - dark)), with dead pixels repaired from their neighbours.

    counts: (views, rows, channels). white, dark: (rows, channels), the same unit. out may be the counts. Returns
    (sinogram, repaired, lost): line integrals, dimensionless; how many pixels were repaired; how many were too far from
    a good one and are 0."""
    given = [
        floats(a, n, "counts_to_line_integrals", strict)
        for a, n in ((counts, "counts"), (white, "white"), (dark, "dark"))
    ]
    return _core.counts_to_line_integrals(*given, out=out, threads=threads)


def generate_3d_shepp_logan_low_dynamic_range(
    phantom_shape: Sequence[int],
    devices: Any = None,
    max_block_gb: float = 4.0,
    target_max_attenuation: float | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """The Shepp-Logan phantom with values of similar size. devices and max_block_gb are ignored. Returns (rows, cols,
    slices)."""
    return _core.generate_3d_shepp_logan_low_dynamic_range(phantom_shape, target_max_attenuation, out=out)


def gen_set_of_pixel_partitions(
    recon_shape: Sequence[int],
    granularity: Sequence[int],
    output_device: Any = None,
    use_ror_mask: Any = True,
    *,
    seed: int = 0,
) -> Any:
    """One partition of the pixels for each number of subsets in granularity. output_device is ignored."""
    return _core.gen_set_of_pixel_partitions(recon_shape, granularity, use_ror_mask, seed=seed)


def get_b_from_nbr_wts(qggmrf_nbr_wts: Sequence[float]) -> tuple[float, ...]:
    """Weights of the neighbours at row, column and slice +- 1, two of each, with the sum 1."""
    weights = numpy.repeat(numpy.asarray(qggmrf_nbr_wts, float), 2)
    return tuple(float(b) for b in weights / weights.sum())


def _prior(qggmrf_params: Sequence[Any] | None, **parameters: Any) -> dict[str, Any]:
    """The separate parameters, from MBIRJAX's tuple (b, sigma_x, p, q, T) if it is given."""
    if qggmrf_params is None:
        return parameters
    b, sigma_x, p, q, T = qggmrf_params
    return {
        "sigma_x": float(sigma_x),
        "p": float(p),
        "q": float(q),
        "T": float(T),
        "qggmrf_nbr_wts": tuple(float(w) for w in b[::2]),
    }


def _is_double(recon: Any, strict: bool) -> bool:
    return not strict and getattr(recon, "dtype", None) == numpy.float64


def _double_params(qggmrf_params: Sequence[Any] | None, **parameters: Any) -> tuple[Any, ...]:
    """MBIRJAX's tuple, from the separate parameters if it is not given."""
    if qggmrf_params is not None:
        return tuple(qggmrf_params)
    names = ("sigma_x", "p", "q", "T")
    return get_b_from_nbr_wts(parameters["qggmrf_nbr_wts"]), *(parameters[name] for name in names)


def qggmrf_loss(
    recon: ArrayLike,
    qggmrf_params: Sequence[Any] | None = None,
    *,
    sigma_x: float = 1.0,
    p: float = 2.0,
    q: float = 1.2,
    T: float = 1.0,
    qggmrf_nbr_wts: Sequence[float] = (1, 1, 1),
    threads: int = 0,
    strict: bool = False,
) -> float:
    """The qGGMRF prior of recon (rows, cols, slices), dimensionless.

    Separate parameters, or MBIRJAX's tuple qggmrf_params = (b, sigma_x, p, q, T). An array of float64 is not converted
    but computed in double precision by NumPy, for any 0 < q <= p; see mbirk.prior."""
    given = {"sigma_x": sigma_x, "p": p, "q": q, "T": T, "qggmrf_nbr_wts": qggmrf_nbr_wts}
    if _is_double(recon, strict):
        return prior.loss(recon, _double_params(qggmrf_params, **given))
    parameters = _prior(qggmrf_params, **given)
    return _core.qggmrf_loss(floats(recon, "recon", "qggmrf_loss", strict), **parameters, threads=threads)


def qggmrf_gradient_and_hessian_at_indices(
    recon: ArrayLike,
    recon_shape: Any = None,
    pixel_indices: ArrayLike | None = None,
    qggmrf_params: Sequence[Any] | None = None,
    *,
    sigma_x: float = 1.0,
    p: float = 2.0,
    q: float = 1.2,
    T: float = 1.0,
    qggmrf_nbr_wts: Sequence[float] = (1, 1, 1),
    threads: int = 0,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Gradient and curvature of the qGGMRF prior at listed pixels.

    Called as (recon, pixel_indices) with recon (rows, cols, slices), or as in MBIRJAX with a flat recon (pixels,
    slices), recon_shape, pixel_indices and qggmrf_params = (b, sigma_x, p, q, T). pixel_indices: (pixels), i * cols +
    j. sigma_x in the unit of recon. Returns two of (pixels, slices): 1 / unit of recon, and 1 / unit squared. An array
    of float64 is not converted but computed in double precision by NumPy, at all pixels and for any 0 < q <= p; see
    mbirk.prior."""
    name = "qggmrf_gradient_and_hessian_at_indices"
    is_double = _is_double(recon, strict)
    image = numpy.asarray(recon) if is_double else floats(recon, "recon", name, strict)
    if pixel_indices is None:
        recon_shape, pixel_indices = None, recon_shape
    if recon_shape is not None:
        image = numpy.asarray(image).reshape(tuple(recon_shape))
    pixels = indices(pixel_indices, "pixel_indices", name, strict)
    given = {"sigma_x": sigma_x, "p": p, "q": q, "T": T, "qggmrf_nbr_wts": qggmrf_nbr_wts}
    if is_double:
        values = prior.compute_qggmrf_grad_and_hessian(image, _double_params(qggmrf_params, **given))
        count, at = image.shape[0] * image.shape[1], numpy.asarray(pixels)
        if at.size and not (0 <= at.min() and at.max() < count):
            raise ValueError(f"{name}: pixel_indices has {at.min()} to {at.max()}, expected 0 to {count - 1}")
        gradient, hessian = (v.reshape(count, -1)[at] for v in values)
        return gradient, hessian
    parameters = _prior(qggmrf_params, **given)
    return _core.qggmrf_gradient_and_hessian_at_indices(image, pixels, **parameters, threads=threads)
