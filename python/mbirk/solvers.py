"""The projections as linear operators, and short iterative methods over them."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from ._arrays import floats

Floats = NDArray[numpy.float32]


def _projections(model: Any, threads: int) -> tuple[Any, Any]:
    """forward_project and back_project of arrays of the host, also where the model is on a device."""

    def forward(x: Floats) -> Floats:
        return numpy.asarray(model.forward_project(x, threads=threads))

    def back(y: Floats) -> Floats:
        return numpy.asarray(model.back_project(y, threads=threads))

    return forward, back


def linear_operator(model: Any, *, threads: int = 0) -> Any:
    """scipy.sparse.linalg.LinearOperator of a model: matvec is forward_project, rmatvec back_project, its exact
    transpose.

    Vectors are ravelled volumes (rows, cols, slices) and sinograms (views, rows, channels) of float32. Needs SciPy."""
    try:
        from scipy.sparse.linalg import LinearOperator
    except ImportError as error:
        raise ImportError("linear_operator needs the package scipy: pip install scipy") from error
    recon_shape, sinogram_shape = model.recon_shape, model.sinogram_shape
    shape = (int(numpy.prod(sinogram_shape)), int(numpy.prod(recon_shape)))

    forward, back = _projections(model, threads)
    return LinearOperator(
        shape,
        matvec=lambda x: forward(numpy.reshape(x, recon_shape)).ravel(),
        rmatvec=lambda y: back(numpy.reshape(y, sinogram_shape)).ravel(),
        dtype=numpy.float32,
    )


def _start(model: Any, sinogram: ArrayLike, init_recon: ArrayLike | None, name: str) -> tuple[Floats, Floats]:
    y = numpy.asarray(floats(sinogram, "sinogram", name))
    x = numpy.zeros(model.recon_shape, numpy.float32) if init_recon is None else numpy.array(init_recon, numpy.float32)
    return y, x


def _inverse(sums: Floats) -> Floats:
    """1 / sums, or 0 for rays and voxels that meet nothing."""
    return numpy.divide(1, sums, out=numpy.zeros_like(sums), where=sums > 1e-6 * sums.max(initial=0))


def sirt(
    model: Any,
    sinogram: ArrayLike,
    iterations: int = 100,
    *,
    init_recon: ArrayLike | None = None,
    positivity: bool = False,
    threads: int = 0,
) -> Floats:
    """Simultaneous iterative reconstruction (Gilbert 1972): x += C A' R (y - A x), with C and R the inverse column and
    row sums of A.

    sinogram: (views, rows, channels), line integrals. Returns (rows, cols, slices). Takes two projections per
    iteration."""
    y, x = _start(model, sinogram, init_recon, "sirt")
    forward, back = _projections(model, threads)
    rows = _inverse(forward(numpy.ones_like(x)))
    columns = _inverse(back(numpy.ones_like(y)))
    for _ in range(iterations):
        x += columns * back(rows * (y - forward(x)))
        if positivity:
            numpy.maximum(x, 0, out=x)
    return x


def cgls(
    model: Any, sinogram: ArrayLike, iterations: int = 20, *, init_recon: ArrayLike | None = None, threads: int = 0
) -> Floats:
    """Conjugate gradients for least squares (Hestenes and Stiefel 1952): minimises |y - A x|^2; few iterations
    regularise.

    sinogram: (views, rows, channels), line integrals. Returns (rows, cols, slices). Takes two projections per
    iteration."""
    y, x = _start(model, sinogram, init_recon, "cgls")
    forward, back = _projections(model, threads)
    residual = y - forward(x)
    gradient = back(residual)
    direction, norm = gradient.copy(), numpy.vdot(gradient, gradient)
    for _ in range(iterations):
        if norm == 0:
            break
        projected = forward(direction)
        step = norm / numpy.vdot(projected, projected)
        x += step * direction
        residual -= step * projected
        gradient = back(residual)
        previous, norm = norm, numpy.vdot(gradient, gradient)
        direction = gradient + (norm / previous) * direction
    return x


def _differences(x: Floats) -> list[Floats]:
    """Forward differences along each axis, 0 at its end."""
    return [numpy.diff(x, axis=axis, append=x.take([-1], axis=axis)) for axis in range(3)]


def _divergence(fields: list[Floats]) -> Floats:
    """The negative transpose of _differences, whose fields are 0 at the end of their axis."""
    return sum(numpy.diff(f, axis=axis, prepend=numpy.float32(0)) for axis, f in enumerate(fields))


def _denoise_tv(x: Floats, weight: float, iterations: int) -> Floats:
    """Minimises |u - x|^2 / 2 + weight TV(u) by projected gradients of the dual (Beck and Teboulle 2009)."""
    dual = [numpy.zeros_like(x) for _ in range(3)]
    for _ in range(iterations):
        steps = _differences(x + weight * _divergence(dual))
        dual = [d + s / numpy.float32(12 * weight) for d, s in zip(dual, steps)]
        scale = numpy.maximum(1, numpy.sqrt(sum(d * d for d in dual)))
        dual = [d / scale for d in dual]
    return x + weight * _divergence(dual)


def fista_tv(
    model: Any,
    sinogram: ArrayLike,
    iterations: int = 30,
    *,
    tv_weight: float,
    init_recon: ArrayLike | None = None,
    positivity: bool = True,
    inner_iterations: int = 20,
    threads: int = 0,
) -> Floats:
    """Accelerated proximal gradients with total variation (Beck and Teboulle 2009): minimises |y - A x|^2 / 2 +
    tv_weight TV(x).

    sinogram: (views, rows, channels), line integrals. Returns (rows, cols, slices). Takes two projections per
    iteration, and ten more at the start for the norm of A."""
    y, x = _start(model, sinogram, init_recon, "fista_tv")
    forward, back = _projections(model, threads)
    if tv_weight <= 0:
        raise ValueError(f"fista_tv: tv_weight is {tv_weight}, expected more than 0")
    probe = numpy.ones_like(x)
    for _ in range(5):
        probe = back(forward(probe / numpy.linalg.norm(probe)))
    step = numpy.float32(1 / (1.05 * numpy.linalg.norm(probe)))  # power iterations approach the norm of A'A from below
    point, momentum = x, 1.0
    for _ in range(iterations):
        gradient = back(forward(point) - y)
        previous, x = x, _denoise_tv(point - step * gradient, numpy.float32(step * tv_weight), inner_iterations)
        if positivity:
            numpy.maximum(x, 0, out=x)
        next_momentum = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        point = x + numpy.float32((momentum - 1) / next_momentum) * (x - previous)
        momentum = next_momentum
    return x
