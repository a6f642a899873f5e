"""Operations for JAX: `from mbirk.jax import forward_project`, usable in jit, grad and vmap.

Arrays are float32 on the CPU and are read and written where XLA has them. The gradient of a projection is the other
one, its exact transpose; direct_recon and denoise have none. A call uses the parameters that the model has when it is
traced.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from ._xla_call import make_handler

__all__ = [
    "back_project",
    "denoise",
    "direct_recon",
    "forward_project",
    "sparse_back_project",
    "sparse_forward_project",
]

TARGET = "mbirk_call"
_functions: dict[int, Callable[..., Any]] = {}
_handler = make_handler(_functions)
_lock = threading.Lock()
_snapshots: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()


def _capsule(function: Any) -> Any:
    """The address of a C function as JAX registers it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.cast(function, ctypes.c_void_p).value, None, None)


jax.ffi.register_ffi_target(TARGET, _capsule(_handler), platform="cpu")


def _snapshot(model: Any) -> Any:
    """A copy of the model as it is now, the same one until a parameter changes."""
    with _lock:
        params = model.params
        known = _snapshots.get(model)
        if known is None or known[0] != params:
            known = _snapshots[model] = (params, model.copy())
        return known[1]


def _call(shape: tuple[int, ...], function: Callable[..., Any]) -> Callable[..., jax.Array]:
    """A function of arrays for JAX that runs function(*arrays, out=result)."""
    with _lock:
        key = len(_functions)
        _functions[key] = function
    result = jax.ShapeDtypeStruct(shape, jnp.float32)
    call = jax.ffi.ffi_call(TARGET, result, vmap_method="sequential")
    return lambda *arrays: call(*arrays, key=numpy.int64(key))


def _float32(array: Any) -> jax.Array:
    return jnp.asarray(array, jnp.float32)


def _linear(
    shape: tuple[int, ...], function: Any, transposed_shape: tuple[int, ...], transpose: Any
) -> tuple[Any, Any]:
    """A linear operation and its transpose, each with the other as its derivative. Arguments after the first are
    constants."""
    operations = [_call(shape, function), _call(transposed_shape, transpose)]
    made: list[Any] = []

    def differentiable(own: int) -> Any:
        @jax.custom_vjp
        def run(x: jax.Array, *constants: jax.Array) -> jax.Array:
            return operations[own](x, *constants)

        def forward(x: jax.Array, *constants: jax.Array) -> tuple[jax.Array, Any]:
            return run(x, *constants), constants

        def backward(constants: Any, gradient: jax.Array) -> tuple[Any, ...]:
            nothing = tuple(numpy.zeros(c.shape, jax.dtypes.float0) for c in constants)
            return made[1 - own](gradient, *constants), *nothing

        run.defvjp(forward, backward)
        return run

    made += [differentiable(0), differentiable(1)]
    return made[0], made[1]


@functools.cache
def _projections(model: Any) -> tuple[Any, Any]:
    return _linear(model.sinogram_shape, model.forward_project, model.recon_shape, model.back_project)


@functools.cache
def _sparse_projections(model: Any, pixels: int) -> tuple[Any, Any]:
    def back(y: Any, indices: Any, out: Any) -> Any:
        return model.sparse_back_project(y, indices, out=out)

    return _linear(model.sinogram_shape, model.sparse_forward_project, (pixels, model.recon_shape[2]), back)


@functools.cache
def _direct_recon(model: Any, filter_name: str) -> Any:
    return _call(model.recon_shape, lambda y, out: model.direct_recon(y, filter_name, out=out))


def forward_project(model: Any, recon: Any) -> jax.Array:
    """model.forward_project(recon): (rows, cols, slices) to (views, rows, channels)."""
    return _projections(_snapshot(model))[0](_float32(recon))


def back_project(model: Any, sinogram: Any) -> jax.Array:
    """model.back_project(sinogram): (views, rows, channels) to (rows, cols, slices)."""
    return _projections(_snapshot(model))[1](_float32(sinogram))


def sparse_forward_project(model: Any, voxel_values: Any, pixel_indices: Any) -> jax.Array:
    """model.sparse_forward_project, with a derivative in voxel_values: (pixels, slices) to (views, rows, channels)."""
    indices = jnp.asarray(pixel_indices, jnp.int32)
    return _sparse_projections(_snapshot(model), indices.shape[0])[0](_float32(voxel_values), indices)


def sparse_back_project(model: Any, sinogram: Any, pixel_indices: Any) -> jax.Array:
    """model.sparse_back_project, with a derivative in the sinogram: (views, rows, channels) to (pixels, slices)."""
    indices = jnp.asarray(pixel_indices, jnp.int32)
    return _sparse_projections(_snapshot(model), indices.shape[0])[1](_float32(sinogram), indices)


def direct_recon(model: Any, sinogram: Any, filter_name: str = "ramp") -> jax.Array:
    """model.direct_recon(sinogram), without a derivative: (views, rows, channels) to (rows, cols, slices)."""
    return _direct_recon(_snapshot(model), filter_name)(_float32(sinogram))


@functools.cache
def _denoising(denoiser: Any, shape: tuple[int, ...], sigma_noise: float, max_iterations: int) -> Any:
    return _call(shape, lambda x, out: denoiser.denoise(x, sigma_noise, max_iterations=max_iterations, out=out))


def denoise(denoiser: Any, image: Any, sigma_noise: float, max_iterations: int = 15) -> jax.Array:
    """denoiser.denoise(image, sigma_noise)[0], without a derivative."""
    x = _float32(image)
    return _denoising(denoiser, x.shape, sigma_noise, max_iterations)(x)
