"""Arrays of any library, type and layout, as the compiled functions read them."""

from __future__ import annotations

from typing import Any

import numpy

INDICES = numpy.iinfo(numpy.int32)


class Array(numpy.ndarray):
    """A NumPy array with the method that scripts for JAX call before they take a time. What is computed from it is a
    plain array."""

    def block_until_ready(self) -> Array:
        """The array itself: it is complete."""
        return self

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array


def result(array: numpy.ndarray, out: Any = None) -> Any:
    """What a method returns: `out`, which the caller passed and which holds the result, or the new array."""
    return array.view(Array) if out is None else out


def _is_ready(value: Any, dtype: numpy.dtype) -> bool:
    """Whether the compiled functions can read `value` in place, or should report the error themselves."""
    if isinstance(value, numpy.ndarray):
        return value.dtype == dtype and value.dtype.isnative and value.flags.c_contiguous and value.flags.aligned
    if not hasattr(value, "__dlpack__"):
        return False
    if not hasattr(value, "__array__"):
        return True
    is_contiguous = getattr(value, "is_contiguous", None)  # PyTorch
    return str(value.dtype).rpartition(".")[2] == dtype.name and (is_contiguous is None or is_contiguous())


def _to_numpy(value: Any, name: str, operation: str) -> numpy.ndarray:
    try:
        array = numpy.asarray(value)
    # A device array, a tensor with a gradient, rows of several lengths.
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{operation}: {name} is of type {type(value).__name__}, which NumPy cannot read: {error}"
        ) from error
    if array.dtype.kind in "biuf":
        return array
    remedy = f"; {name}.real or abs({name}) would be one" if array.dtype.kind == "c" else ""
    raise TypeError(f"{operation}: {name} has elements of {array.dtype}, expected numbers{remedy}")


def floats(value: Any, name: str, operation: str, strict: bool = False) -> Any:
    """`value` if it is a dense array of float32 in C order (or None, or `strict`), else a copy that is one."""
    float32 = numpy.dtype(numpy.float32)
    if value is None or strict or _is_ready(value, float32):
        return value
    return numpy.require(_to_numpy(value, name, operation), float32, ["C", "ALIGNED"])


def initial(value: Any, name: str, operation: str, strict: bool = False) -> Any:
    """As `floats`; a single number stays one."""
    return value if numpy.isscalar(value) else floats(value, name, operation, strict)


class HostArrays:
    """How a model reads and returns arrays: on the host, as the functions above."""

    _floats = staticmethod(floats)
    _initial = staticmethod(initial)
    _result = staticmethod(result)


def like(given: Any, result: numpy.ndarray) -> Any:
    """`result`, as a JAX array if `given` is one."""
    if not type(given).__module__.startswith(("jax", "jaxlib")):
        return result
    from jax import numpy as jax_numpy

    return jax_numpy.asarray(result)


def indices(value: Any, name: str, operation: str, strict: bool = False) -> Any:
    """`value` if it is a dense array of int32 (or `strict`), else a copy that is one."""
    int32 = numpy.dtype(numpy.int32)
    if strict or _is_ready(value, int32):
        return value
    array = _to_numpy(value, name, operation)
    whole = array if array.dtype.kind in "iu" else numpy.rint(array)
    wrong = ~((whole == array) & (whole >= INDICES.min) & (whole <= INDICES.max))
    if wrong.any():
        raise ValueError(f"{operation}: {name} has the element {array[wrong][0]}, expected whole numbers of 32 bits")
    return numpy.require(whole, int32, ["C", "ALIGNED"])
