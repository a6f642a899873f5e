"""Models, the denoiser and filters on a device, with arrays in its memory.

`mbirk.ConeBeamModel(..., device="cuda")` makes a model of the device, `model.to("cuda")` one with the parameters of
another. Its operations take arrays of the device (DeviceArray, or of PyTorch, CuPy and JAX) in place and copy those of
the host there; they return a DeviceArray, unless `out` is given. Lists of pixels and masks are on the host. A call
returns when the device has finished. Calls of several threads take turns.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy

from . import _arrays

MODULES = {"cuda": "MBIRK_CUDA", "emulated": "MBIRK_EMULATED"}


class DeviceArray:
    """An array in the memory of a device: dense float32. numpy.asarray copies it to the host; torch.from_dlpack,
    cupy.from_dlpack and jax.dlpack.from_dlpack use its memory, which lives as long as any of them."""

    dtype = numpy.dtype(numpy.float32)

    def __init__(self, memory: Any, device: Device):
        """memory: exports DLPack; made by the methods of models and Device."""
        self._memory = memory
        self.device = device
        self.shape: tuple[int, ...] = device._module.shape(memory)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(numpy.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self.size * self.dtype.itemsize

    def numpy(self) -> numpy.ndarray:
        """A copy on the host."""
        return self.device._module.download(self._memory)

    def block_until_ready(self) -> DeviceArray:
        """The array itself: it is complete."""
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        if copy is False:
            raise ValueError(f"an array of device {self.device.name} cannot be read on the host without a copy")
        return self.numpy().astype(dtype or self.dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        return self._memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, device={self.device.name!r})"


class Device:
    """A device: "cuda", the current one of CUDA, or "emulated", which runs the same kernels on the host, thousands of
    times slower, for tests. Both are options of the build."""

    def __init__(self, name: str):
        if name not in MODULES:
            raise ValueError(f"device is {name!r}, expected one of 'host', " + ", ".join(map(repr, MODULES)))
        try:
            self._module = importlib.import_module(f"mbirk._{name}")
        except ImportError as error:
            raise ImportError(
                f"mbirk was built without device {name}: "
                f"pip install . --config-settings=cmake.define.{MODULES[name]}=ON builds it ({error})"
            ) from error
        if missing := self._module.missing():
            raise RuntimeError(f"device {name} cannot be used: {missing}")
        self.name = name

    def __repr__(self) -> str:
        return f"Device({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.name,)

    def array(self, values: Any) -> DeviceArray:
        """A copy of an array of the host."""
        return DeviceArray(self._module.upload(_arrays.floats(values, "values", "Device.array")), self)

    def gen_weights(self, sinogram: Any, weight_type: str, *, out: Any = None, strict: bool = False) -> Any:
        """mbirk.gen_weights on the device: weights of the samples of a sinogram (views, rows, channels)."""
        y = self.floats(sinogram, "sinogram", "gen_weights", strict)
        return self.result(self._module.gen_weights(y, weight_type, out=out), out)

    def median_filter3d(self, x: Any, return_min_max: bool = False, *, out: Any = None, strict: bool = False) -> Any:
        """mbirk.median_filter3d on the device: medians of the 27 voxels around each one of (rows, cols, slices)."""
        values = self.floats(x, "x", "median_filter3d", strict)
        found = self._module.median_filter3d(values, return_min_max, out=out)
        if not return_min_max:
            return self.result(found, out)
        median, *others = found
        return self.result(median, out), *(DeviceArray(one, self) for one in others)

    def floats(self, value: Any, name: str, operation: str, strict: bool = False) -> Any:
        """`value` if it is in the memory of the device (or None), else a copy there; with `strict` an error."""
        if value is None or self._has(value):
            return value
        if strict:
            raise TypeError(
                f"{operation}: {name} is of type {type(value).__name__}, expected an array of device {self.name}"
            )
        return self._module.upload(_arrays.floats(value, name, operation))

    def initial(self, value: Any, name: str, operation: str, strict: bool = False) -> Any:
        """As `floats`; a single number stays one."""
        return value if numpy.isscalar(value) else self.floats(value, name, operation, strict)

    def result(self, memory: Any, out: Any = None) -> Any:
        """What a method returns: `out`, which the caller passed and which holds the result, or the new array."""
        return DeviceArray(memory, self) if out is None else out

    def _has(self, value: Any) -> bool:
        if isinstance(value, DeviceArray):
            if value.device != self:
                raise ValueError(f"an array of device {value.device.name} is given to device {self.name}")
            return True
        kind = getattr(value, "__dlpack_device__", None)
        # The memory of an emulated device is that of the host, whose arrays are not taken for its own.
        return self.name != "emulated" and kind is not None and int(kind()[0]) == self._module.dlpack_device()[0]


class ChoosesDevice(_arrays.HostArrays):
    """A model of the host, whose constructor makes one of a device if it is asked to."""

    device: Any = "host"  # or a Device

    def __new__(cls, *arguments: Any, device: str = "host", **options: Any) -> Any:
        if device == "host":
            return super().__new__(cls)
        return class_on(device, cls)(*arguments, **options)  # not of this class, so that __init__ does not follow


class OnDevice:
    """The arrays of a model of a device, and how it is copied and pickled."""

    device: Device
    _host_class: type

    def _floats(self, value: Any, name: str, operation: str, strict: bool = False) -> Any:
        return self.device.floats(value, name, operation, strict)

    def _initial(self, value: Any, name: str, operation: str, strict: bool = False) -> Any:
        return self.device.initial(value, name, operation, strict)

    def _result(self, memory: Any, out: Any = None) -> Any:
        return self.device.result(memory, out)

    def gen_weights(self, sinogram: Any, weight_type: str, *, threads: int = 0, strict: bool = False) -> Any:
        """Weights of the samples of a sinogram: mbirk.gen_weights."""
        return self.device.gen_weights(sinogram, weight_type, strict=strict)


@functools.cache
def class_on(device: str, host_class: type) -> type:
    """The class of models of a device that has the methods of a class of the host."""
    on = Device(device)
    compiled = getattr(on._module, host_class.__name__, None)
    if compiled is None:
        raise ValueError(
            f"{host_class.__name__} is not available on devices, expected ParallelBeamModel, ConeBeamModel or "
            "QGGMRFDenoiser"
        )
    methods = host_class.__bases__[0]
    members = {"__doc__": host_class.__doc__, "__module__": __name__, "device": on, "_host_class": host_class}
    return type(host_class.__name__, (OnDevice, methods, compiled), members)
