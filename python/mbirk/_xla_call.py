"""Python functions as custom calls of XLA on the CPU, through the C interface of its foreign functions (FFI, version
0).

XLA passes addresses of its buffers; NumPy arrays over them need no copies. The structures are those of
xla/ffi/api/c_api.h, as far as they are needed: every one begins with its size and a list of extensions.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable
from typing import Any

import numpy

METADATA_EXTENSION, EXECUTE_STAGE, SCALAR_ATTRIBUTE, INTERNAL_ERROR = 1, 3, 3, 13
# Numbers of the element types that are passed.
TYPES = {4: numpy.int32, 11: numpy.float32}


class Extension(ctypes.Structure):
    """XLA_FFI_Extension_Base, followed by a pointer to XLA_FFI_Metadata where its type says so."""


Extension._fields_ = [
    ("size", ctypes.c_size_t),
    ("type", ctypes.c_int),
    ("next", ctypes.POINTER(Extension)),
    ("metadata", ctypes.c_void_p),
]
HEAD = [("size", ctypes.c_size_t), ("extensions", ctypes.POINTER(Extension))]


class Version(ctypes.Structure):
    _fields_ = [*HEAD, ("major", ctypes.c_int), ("minor", ctypes.c_int)]


class Metadata(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("version", Version),
        ("traits", ctypes.c_uint32),
        ("state_type", ctypes.c_int64),
    ]


class Buffer(ctypes.Structure):
    _fields_ = [
        *HEAD,
        ("type", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("extents", ctypes.POINTER(ctypes.c_int64)),
    ]


class Scalar(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("value", ctypes.POINTER(ctypes.c_int64))]


class Buffers(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = [
        *HEAD,
        ("count", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("items", ctypes.POINTER(ctypes.POINTER(Buffer))),
    ]


class Attributes(ctypes.Structure):
    _fields_ = [
        *HEAD,
        ("count", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("names", ctypes.c_void_p),
        ("items", ctypes.POINTER(ctypes.POINTER(Scalar))),
    ]


class ErrorCreate(ctypes.Structure):
    _fields_ = [*HEAD, ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


class Api(ctypes.Structure):
    _fields_ = [
        *HEAD,
        ("version", Version),
        ("internal", ctypes.c_void_p),
        ("create_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ErrorCreate))),
    ]


class CallFrame(ctypes.Structure):
    _fields_ = [
        *HEAD,
        ("api", ctypes.POINTER(Api)),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("arguments", Buffers),
        ("results", Buffers),
        ("attributes", Attributes),
    ]


def _array(buffer: Buffer) -> numpy.ndarray:
    """A NumPy array over the memory of a buffer."""
    dtype = numpy.dtype(TYPES[buffer.type])
    shape = tuple(buffer.extents[d] for d in range(buffer.rank))
    size = int(numpy.prod(shape)) * dtype.itemsize
    if size == 0:
        return numpy.empty(shape, dtype)
    memory = (ctypes.c_char * size).from_address(buffer.data)
    return numpy.frombuffer(memory, dtype).reshape(shape)


def make_handler(functions: dict[int, Callable[..., Any]]) -> Any:
    """A C function that calls functions[key](*arguments, out=result), where key is the attribute of a call."""

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(CallFrame))
    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        extension = frame.extensions
        while extension:
            if (
                extension.contents.type == METADATA_EXTENSION
            ):  # XLA asks for the version when the function is registered
                metadata = ctypes.cast(extension.contents.metadata, ctypes.POINTER(Metadata)).contents
                metadata.version.major, metadata.version.minor = 0, min(frame.api.contents.version.minor, 3)
                metadata.traits = 0
                if metadata.size >= ctypes.sizeof(Metadata):
                    metadata.state_type = 0
                return None
            extension = extension.contents.next
        if frame.stage != EXECUTE_STAGE:
            return None
        try:
            key = frame.attributes.items[0].contents.value[0]
            arguments = [_array(frame.arguments.items[k].contents) for k in range(frame.arguments.count)]
            functions[key](*arguments, out=_array(frame.results.items[0].contents))
        except BaseException as error:  # an exception must not leave a C function
            message = "".join(traceback.format_exception_only(error)).strip().encode()
            details = ErrorCreate(ctypes.sizeof(ErrorCreate), None, message, INTERNAL_ERROR)
            return frame.api.contents.create_error(ctypes.byref(details))
        return None

    return handle
