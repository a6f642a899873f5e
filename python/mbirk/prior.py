"""The qGGMRF prior in double precision, by its formulas: what the compiled functions are compared with.

For small images, and for checks by finite differences, which float32 cannot resolve. qggmrf_params is MBIRJAX's tuple
(b, sigma_x, p, q, T): six weights of the neighbours at row, column and slice +- 1, and the parameters of

    rho(d) = |d|^p / (p sigma_x^p) * r / (1 + r),   r = |d / (T sigma_x)|^(q - p),   0 < q <= p.

Outside the image the border voxels are repeated, so that the differences there are 0. As in the compiled functions and
in MBIRJAX, |d| is at least T sigma_x times the epsilon of float32, because rho'(d) / d has the form 0 / 0 at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

__all__ = ["b_tilde_by_definition", "compute_qggmrf_grad_and_hessian", "compute_surrogate_and_grad"]

Doubles = NDArray[numpy.float64]
SMALLEST = float(numpy.finfo(numpy.float32).eps)


def _checked(sigma_x: float, p: float, q: float, T: float) -> None:
    if not (sigma_x > 0 and T > 0):
        raise ValueError(f"sigma_x is {sigma_x} and T is {T}, expected both above 0")
    if not 0 < q <= p:
        raise ValueError(f"q is {q} and p is {p}, expected 0 < q <= p")


def _axis_weights(b: Sequence[float]) -> Doubles:
    """The weight of one difference along each axis; all six weights have the sum 1."""
    weights = numpy.asarray(b, float)
    if weights.shape != (6,) or weights.min() < 0 or not weights.sum() > 0:
        raise ValueError(f"b is {b}, expected six weights, none below 0 and not all 0")
    return weights.reshape(3, 2).mean(axis=1) / weights.sum()


def _image(values: ArrayLike, name: str) -> Doubles:
    image = numpy.asarray(values, float)
    if image.ndim != 3:
        raise ValueError(f"{name} has shape {image.shape}, expected (rows, cols, slices)")
    return image


def _differences(image: Doubles, axis: int) -> tuple[Doubles, Doubles]:
    """Differences to the next and from the previous voxel along an axis, 0 at the border."""
    border = numpy.zeros_like(image.take([0], axis))
    inner = numpy.diff(image, axis=axis)
    return numpy.concatenate((inner, border), axis), numpy.concatenate((border, inner), axis)


def _scaled(delta: ArrayLike, sigma_x: float, p: float, q: float, T: float) -> tuple[Doubles, Doubles]:
    """|d| and r."""
    size = numpy.maximum(numpy.abs(numpy.asarray(delta, float)), T * sigma_x * SMALLEST)
    return size, (size / (T * sigma_x)) ** (q - p)


def b_tilde_by_definition(delta: ArrayLike, sigma_x: float, p: float, q: float, T: float) -> Doubles:
    """rho'(d) / (2 d), the weight of (x_s - x_r)^2 in the surrogate of the prior."""
    _checked(sigma_x, p, q, T)
    size, r = _scaled(delta, sigma_x, p, q, T)
    return size ** (p - 2) / (2 * sigma_x**p) * r * (q / p + r) / (1 + r) ** 2


def loss(recon: ArrayLike, qggmrf_params: Sequence[Any]) -> float:
    """The prior of recon (rows, cols, slices): the sum of weight * rho(d) over all pairs of neighbours."""
    b, sigma_x, p, q, T = qggmrf_params
    _checked(sigma_x, p, q, T)
    image, total = _image(recon, "recon"), 0.0
    for axis, weight in enumerate(_axis_weights(b)):
        size, r = _scaled(numpy.diff(image, axis=axis), sigma_x, p, q, T)
        total += float(weight * numpy.sum(size**p / (p * sigma_x**p) * r / (1 + r)))
    return total


def compute_qggmrf_grad_and_hessian(full_recon: ArrayLike, qggmrf_params: Sequence[Any]) -> tuple[Doubles, Doubles]:
    """Gradient of the prior and diagonal of the Hessian of its surrogate at full_recon (rows, cols, slices), both of
    that shape."""
    b, *shape_params = qggmrf_params
    image = _image(full_recon, "full_recon")
    gradient, hessian = numpy.zeros_like(image), numpy.zeros_like(image)
    for axis, weight in enumerate(_axis_weights(b)):
        for delta, sign in zip(_differences(image, axis), (-1, 1)):
            coefficient = 2 * weight * b_tilde_by_definition(delta, *shape_params)
            hessian += coefficient
            gradient += sign * coefficient * delta
    return gradient, hessian


def compute_surrogate_and_grad(x: ArrayLike, x_prime: ArrayLike, qggmrf_params: Sequence[Any]) -> tuple[float, Doubles]:
    """Value and gradient at x of the quadratic surrogate whose weights are those of x_prime; both (rows, cols,
    slices)."""
    b, *shape_params = qggmrf_params
    image, point = _image(x, "x"), _image(x_prime, "x_prime")
    if image.shape != point.shape:
        raise ValueError(f"x has shape {image.shape} and x_prime {point.shape}, expected equal shapes")
    value, gradient = 0.0, numpy.zeros_like(image)
    for axis, weight in enumerate(_axis_weights(b)):
        sides = zip(_differences(image, axis), _differences(point, axis), (-1, 1))
        for delta, delta_prime, sign in sides:
            b_tilde = b_tilde_by_definition(delta_prime, *shape_params)
            # Each pair is met from both sides, hence the half.
            value += float(weight / 2 * numpy.sum(b_tilde * delta * delta))
            gradient += sign * 2 * weight * b_tilde * delta
    return value, gradient
