"""Beam hardening by a curve that is fitted to pairs of ideal and measured line integrals.

With weights exp(theta_i) of energies whose attenuation is i theta_0, i = 1, 2, ..., N, an ideal line integral p is
measured as h(p) = log(sum exp(theta_i)) - log(sum exp(theta_i - i theta_0 p)).
"""

from __future__ import annotations

import warnings

import numpy
from numpy.typing import ArrayLike, NDArray

Doubles = NDArray[numpy.float64]
LEAST_VALUE = 1e-6
STEPS = 200


def _log_sum(exponents: Doubles) -> Doubles:
    most = exponents.max(axis=0)
    return most + numpy.log(numpy.exp(exponents - most).sum(axis=0))


def _parameters(params: ArrayLike, operation: str) -> Doubles:
    values = numpy.asarray(params, float).ravel()
    if values.size < 2:
        raise ValueError(f"{operation}: params has {values.size} values, expected theta_0 and at least one weight")
    return values


def apply_beam_hardening_curve(
    linear_projection: ArrayLike, params: ArrayLike, zero_offset_normalized: bool = True
) -> Doubles:
    """What is measured of ideal line integrals: h(p) with params (theta_0, ..., theta_N), any shape.
    zero_offset_normalized=False leaves the first logarithm out, so that h(0) is not 0."""
    values, p = _parameters(params, "apply_beam_hardening_curve"), numpy.asarray(linear_projection, float)
    weights = values[1:].reshape(-1, *[1] * p.ndim)
    order = numpy.arange(1, values.size).reshape(weights.shape)
    found = -_log_sum(weights - order * values[0] * p)
    return found + _log_sum(values[1:]) if zero_offset_normalized else found


def _slopes(p: Doubles, params: Doubles, normalized: bool) -> Doubles:
    """Derivatives of h(p) with respect to the parameters, (p, parameters)."""
    order = numpy.arange(1, params.size)[:, None]
    exponents = params[1:, None] - order * params[0] * p
    shares = numpy.exp(exponents - _log_sum(exponents))
    first = numpy.exp(params[1:] - _log_sum(params[1:]))[:, None] if normalized else 0.0
    return numpy.vstack([(shares * order).sum(axis=0) * p, first - shares]).T


def fit_beam_hardening_curve(
    linear_projection: ArrayLike,
    target_projection: ArrayLike,
    num_parameters: int = 5,
    zero_offset_normalized: bool = True,
) -> Doubles:
    """params of the curve with least squared error over pairs of ideal and measured line integrals that are finite and
    above 1e-6, by Levenberg-Marquardt from theta = (1, 0, ..., 0). RuntimeWarning if it does not converge."""
    p, y = (numpy.asarray(a, float).ravel() for a in (linear_projection, target_projection))
    if num_parameters < 2:
        raise ValueError(f"fit_beam_hardening_curve: num_parameters is {num_parameters}, expected at least 2")
    if p.size != y.size:
        raise ValueError(
            f"fit_beam_hardening_curve: {p.size} ideal and {y.size} measured values, expected as many of both"
        )
    valid = numpy.isfinite(p) & numpy.isfinite(y) & (p > LEAST_VALUE) & (y > LEAST_VALUE)
    p, y = p[valid], y[valid]
    if p.size == 0:
        raise ValueError("fit_beam_hardening_curve: no pair of values is finite and above 1e-6")
    params = numpy.zeros(num_parameters)
    params[0] = 1
    error = apply_beam_hardening_curve(p, params, zero_offset_normalized) - y
    damping = 1e-3
    for _ in range(STEPS):
        slopes = _slopes(p, params, zero_offset_normalized)
        normal, gradient = slopes.T @ slopes, slopes.T @ error
        step = -numpy.linalg.solve(normal + damping * (numpy.diag(numpy.diag(normal)) + 1e-12 * numpy.eye(len(normal))),
                                   gradient)
        tried = apply_beam_hardening_curve(p, params + step, zero_offset_normalized) - y
        before, after = error @ error, tried @ tried
        if after <= before:
            params, error, damping = params + step, tried, damping / 10
            if before - after <= 1e-10 * before:
                return params
        else:
            damping *= 10
            if damping > 1e12:
                return params
    warnings.warn(f"fit_beam_hardening_curve: no convergence after {STEPS} steps", RuntimeWarning, stacklevel=2)
    return params


def fit_inverse_beam_hardening_curve(
    forward_params: ArrayLike,
    vmin: float = 0.0,
    vmax: float = 5.0,
    degree: int = 10,
    num_samples: int = 2000,
    zero_offset_normalized: bool = True,
) -> tuple[Doubles, tuple[float, float]]:
    """A Chebyshev polynomial that makes measured values between vmin and vmax proportional to path lengths: h'(0) times
    the inverse of the curve. Returns (coefficients, (vmin, vmax)) for apply_inverse_beam_hardening_curve."""
    params = _parameters(forward_params, "fit_inverse_beam_hardening_curve")
    if not (numpy.isfinite([vmin, vmax]).all() and vmax > vmin):
        raise ValueError(f"fit_inverse_beam_hardening_curve: vmin is {vmin}, vmax {vmax}, expected finite, vmin < vmax")
    if degree < 1 or num_samples < degree + 1:
        raise ValueError(
            f"fit_inverse_beam_hardening_curve: degree is {degree} with {num_samples} samples, expected at least 1 and "
            "more samples than that"
        )

    def curve(p: ArrayLike) -> Doubles:
        return apply_beam_hardening_curve(p, params, zero_offset_normalized)

    last = abs(vmax) + 1.0
    for _ in range(64):
        if curve(last) >= vmax:
            break
        last *= 2
    else:
        raise ValueError(f"fit_inverse_beam_hardening_curve: the curve does not reach vmax = {vmax}")
    samples = numpy.linspace(vmin, vmax, num_samples)
    if vmin < curve(0.0):
        warnings.warn(
            "fit_inverse_beam_hardening_curve: vmin is below the curve at 0; the inverse is 0 there", RuntimeWarning,
            stacklevel=2,
        )
    # The curve rises, so that bisection finds where it passes a value.
    low, high = numpy.zeros(num_samples), numpy.full(num_samples, last)
    for _ in range(60):
        middle = (low + high) / 2
        above = curve(middle) > samples
        low, high = numpy.where(above, low, middle), numpy.where(above, middle, high)
    shares = numpy.exp(params[1:] - _log_sum(params[1:]))
    slope = float(params[0] * (shares * numpy.arange(1, params.size)).sum())  # h'(0)
    scaled = 2 * (samples - vmin) / (vmax - vmin) - 1
    coefficients = numpy.polynomial.chebyshev.chebfit(scaled, slope * (low + high) / 2, degree)
    return coefficients, (float(vmin), float(vmax))


def apply_inverse_beam_hardening_curve(
    beam_hardened_projection: ArrayLike, cheb_coeffs: ArrayLike, y_domain: tuple[float, float], clip: bool = False
) -> Doubles:
    """Measured line integrals, any shape, made proportional to path lengths by fit_inverse_beam_hardening_curve's
    result. clip: values outside of y_domain become its ends; otherwise the polynomial goes on, with a warning."""
    low, high = (float(v) for v in y_domain)
    if not high > low:
        raise ValueError(f"apply_inverse_beam_hardening_curve: y_domain is {y_domain}, expected two ascending values")
    y = numpy.asarray(beam_hardened_projection, float)
    if clip:
        y = numpy.clip(y, low, high)
    elif ((y < low) | (y > high)).any():
        warnings.warn(
            "apply_inverse_beam_hardening_curve: values outside of y_domain are extrapolated", RuntimeWarning,
            stacklevel=2,
        )
    return numpy.polynomial.chebyshev.chebval(2 * (y - low) / (high - low) - 1, numpy.asarray(cheb_coeffs, float))
