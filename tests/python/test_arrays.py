"""Arrays are read and written in place, converted, or with strict refused with one clear error; returned arrays own
their memory."""

import ctypes
import gc

import numpy as np
import pytest

import mbirk


class Producer:
    """An array that offers nothing but DLPack's protocol (the structures of dlpack.h), and records whether its memory
    was released."""

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
            ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("byte_offset", ctypes.c_uint64),
        ]  # fmt: skip

    def __init__(self, array: np.ndarray, device_type: int = 1, byte_offset: int = 0):
        self.array, self.device_type, self.returned, self.asked = array, device_type, 0, 0
        deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

        class Managed(ctypes.Structure):
            _fields_ = [("tensor", self.Tensor), ("context", ctypes.c_void_p), ("deleter", deleter)]

        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.deleter = deleter(self._returned)
        tensor = self.Tensor(
            array.ctypes.data - byte_offset, device_type, 0, array.ndim, 2, 32, 1, self.shape, None, byte_offset
        )
        self.managed = Managed(tensor, None, self.deleter)

    def _returned(self, _) -> None:
        self.returned += 1

    def __dlpack_device__(self):
        return self.device_type, 0

    def __dlpack__(self, **_):
        self.asked += 1
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return capsule(ctypes.addressof(self.managed), b"dltensor", None)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_out_is_written_in_place(cone):
    model, image, sinogram = cone
    expected = model.forward_project(image)
    out = np.full(model.sinogram_shape, np.nan, np.float32)
    before = address(out)
    assert model.forward_project(image, out=out) is out
    assert address(out) == before and np.array_equal(out, expected)
    # A part of a larger array: its neighbours are unchanged.
    block = np.full((3, *model.recon_shape), -1, np.float32)
    model.back_project(sinogram, out=block[1])
    assert np.array_equal(block[1], model.back_project(sinogram)) and (block[0] == -1).all() and (block[2] == -1).all()


def test_inputs_are_read_where_they_lie(cone):
    """A DLPack producer exports an address; the result reflects the memory at the time of the call, and the memory is
    released."""
    model, image, _ = cone
    producer = Producer(image)
    first = model.forward_project(producer)
    assert np.array_equal(first, model.forward_project(image))
    image *= 2
    assert np.array_equal(model.forward_project(producer), 2 * first)
    gc.collect()
    assert producer.asked == producer.returned == 2


def test_dlpack_output_and_offset(cone):
    model, image, _ = cone
    target = np.zeros(model.sinogram_shape, np.float32)
    producer = Producer(target, byte_offset=4096)
    assert model.forward_project(image, out=producer) is producer
    assert np.array_equal(target, model.forward_project(image)) and target.any()


def test_read_only_inputs_are_taken_and_outputs_refused(cone):
    model, image, _ = cone
    expected = model.forward_project(image)
    image.flags.writeable = False
    assert np.array_equal(model.forward_project(image), expected)
    out = np.zeros(model.sinogram_shape, np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="forward_project: out is read-only"):
        model.forward_project(image, out=out)


def test_results_own_their_memory(cone):
    model, image, _ = cone
    result = model.forward_project(image)
    assert (
        result.base.flags.owndata
        and result.flags.c_contiguous
        and result.flags.writeable
        and result.dtype == np.float32
    )
    kept = result.copy()
    del model
    gc.collect()
    assert np.array_equal(result, kept)


def test_results_are_ready(cone):
    """Scripts for JAX wait for a result. What is computed from one is a plain array."""
    model, image, sinogram = cone
    result = model.forward_project(image)
    assert result.block_until_ready() is result
    assert type(result + 1) is np.ndarray and type(np.abs(result)) is np.ndarray and type(result.sum()) is np.float32
    assert model.forward_project(image, out=sinogram) is sinogram


CONVERTIBLE = [
    (
        lambda x: x.tolist(),
        TypeError,
        "recon is of type list, expected an array of float32 .rows, cols, slices., dense in C order",
    ),
    (lambda x: x.astype(np.float64), TypeError, "recon has elements of float64, expected an array of float32"),
    (
        lambda x: np.rint(100 * x).astype(np.int32),
        TypeError,
        "recon has elements of int32, expected an array of float32",
    ),
    (lambda x: x > 0.5, TypeError, "recon has elements of bool"),
    (lambda x: x.astype(">f4"), TypeError, "recon is of type ndarray, which does not give its memory as it is"),
    (lambda x: x.transpose(1, 0, 2), ValueError, "recon is not dense in C order.*numpy.ascontiguousarray makes one"),
    (lambda x: x[:, :, ::-1], ValueError, "recon is not dense in C order"),
    (
        lambda x: np.zeros(x.shape[:2] + (2 * x.shape[2],), np.float32)[:, :, ::2],
        ValueError,
        "recon is not dense in C order",
    ),
    (
        lambda x: np.frombuffer(bytes(4 * x.size + 1), np.uint8)[1:].view(np.float32).reshape(x.shape),
        ValueError,
        "recon is not aligned",
    ),
]


@pytest.mark.parametrize(("change", "error", "text"), CONVERTIBLE)
def test_other_arrays_are_converted_unless_strict(cone, change, error, text):
    model, image, _ = cone
    given = change(image)
    dense = np.require(np.asarray(given), np.float32, ["C", "ALIGNED"])
    assert np.array_equal(model.forward_project(given), model.forward_project(dense, strict=True))
    with pytest.raises(error, match="^forward_project: " + text):
        model.forward_project(given, strict=True)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (
            lambda x: x.astype(np.complex64),
            TypeError,
            r"recon has elements of complex64, expected numbers; recon.real or abs\(recon\) would be one",
        ),
        (lambda x: x.astype("U8"), TypeError, "recon has elements of <U8, expected numbers"),
        (lambda x: [[1.0], [2.0, 3.0]], TypeError, "recon is of type list, which NumPy cannot read"),
        (lambda x: x[0], ValueError, "recon has 2 axes, expected an array of float32 .rows, cols, slices."),
        (
            lambda x: np.zeros((1, 2, 3), np.float32),
            ValueError,
            r"recon has shape \(1, 2, 3\), expected \(rows, cols, slices\) = \(",
        ),
        (
            lambda x: Producer(x, device_type=2),
            ValueError,
            r"recon lies on a device \(DLPack device type 2\).*these functions run on the host",
        ),
    ],
)
def test_wrong_arrays(cone, change, error, text):
    model, image, _ = cone
    with pytest.raises(error, match="^forward_project: " + text):
        model.forward_project(change(image))


def test_wrong_outputs(cone):
    model, image, sinogram = cone
    with pytest.raises(
        ValueError, match=r"out has shape \(3, 3, 3\), expected \(views, rows, channels\) = \(11, 6, 17\)"
    ):
        model.forward_project(image, out=np.zeros((3, 3, 3), np.float32))
    with pytest.raises(TypeError, match="out has elements of float64"):
        model.forward_project(image, out=np.zeros(model.sinogram_shape))


def test_indices(cone):
    model, _, sinogram = cone
    expected = model.sparse_back_project(sinogram, np.arange(3, dtype=np.int32))
    for pixels in (np.arange(3), [0, 1, 2], np.arange(3.0)):
        assert np.array_equal(model.sparse_back_project(sinogram, pixels), expected)
    with pytest.raises(TypeError, match="pixel_indices has elements of int64, expected an array of int32"):
        model.sparse_back_project(sinogram, np.arange(3), strict=True)
    for wrong in ([0.5], [1 << 31], [np.nan]):
        with pytest.raises(ValueError, match="pixel_indices has the element .*, expected whole numbers of 32 bits"):
            model.sparse_back_project(sinogram, wrong)


def test_outputs_share_no_memory_with_inputs(cone):
    model, _, sinogram = cone
    with pytest.raises(ValueError, match="gen_weights: out shares memory with sinogram"):
        mbirk.gen_weights(sinogram, "transmission", out=sinogram)
    both = np.zeros(2 * sinogram.size, np.float32)
    first, shifted = (both[k : k + sinogram.size].reshape(sinogram.shape) for k in (0, 5))
    with pytest.raises(ValueError, match="out shares memory with"):
        model.direct_filter(first, out=shifted)
    memory = np.ones(2000, np.float32)
    weights, out = (np.ndarray(shape, np.float32, memory.data) for shape in (sinogram.shape, model.recon_shape))
    with pytest.raises(ValueError, match="recon: out shares memory with weights"):
        model.recon(sinogram, weights, out=out)


def test_in_place_where_it_is_allowed(cone):
    model, image, sinogram = cone
    expected = model.direct_filter(sinogram)
    assert model.direct_filter(sinogram, out=sinogram) is sinogram and np.array_equal(sinogram, expected)
    masked = mbirk.apply_cylindrical_mask(image, radial_margin=1)
    assert not np.shares_memory(masked, image)
    mbirk.apply_cylindrical_mask(image, radial_margin=1, out=image)
    assert np.array_equal(image, masked) and (masked == 0).any() and masked.any()


def test_empty_arrays():
    model = mbirk.ParallelBeamModel((0, 3, 5), [])
    assert not model.back_project(np.zeros((0, 3, 5), np.float32)).any()
    assert model.forward_project(np.ones(model.recon_shape, np.float32)).shape == (0, 3, 5)


def test_other_libraries(cone):
    model, image, _ = cone
    expected = model.forward_project(image)
    found = 0
    for name in ("torch", "jax.numpy"):
        try:
            library = __import__(name, fromlist=["asarray"])
        except ImportError:
            continue
        array = library.asarray(image)
        assert np.array_equal(model.forward_project(array), expected)
        if name == "torch":
            out = library.zeros(model.sinogram_shape)
            assert model.forward_project(array, out=out) is out and np.array_equal(out.numpy(), expected)
        else:
            with pytest.raises(ValueError, match="out is read-only"):
                model.back_project(expected, out=array)
        found += 1
    if not found:
        pytest.skip("neither PyTorch nor JAX is installed")
