"""numpy_test.py LIBRARY: arrays go from mbirk to numpy and back as DLPack tensors, in place, and every deleter is
called once."""
import ctypes
import gc
import sys

import numpy as np

if not hasattr(np, "from_dlpack"):
    print("skipped: this numpy has no from_dlpack")
    sys.exit(77)
versioned_numpy = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
mbirk = ctypes.CDLL(sys.argv[1])
for name in ("mbirk_lend", "mbirk_lend_versioned"):
    getattr(mbirk, name).restype = ctypes.c_void_p
mbirk.mbirk_take.restype = ctypes.c_double
mbirk.mbirk_take.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
mbirk.mbirk_message.restype = ctypes.c_char_p

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
# capsules keep the address of the text
names = {False: (b"dltensor", b"used_dltensor"), True: (b"dltensor_versioned", b"used_dltensor_versioned")}


class Lent:
    """An object for from_dlpack."""

    def __init__(self, tensor, versioned):
        self.tensor, self.versioned = tensor, versioned

    def __dlpack__(self, **_):
        return api.PyCapsule_New(self.tensor, names[self.versioned][0], None)

    def __dlpack_device__(self):
        return (1, 0)


def take(array, versioned, write=False):
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    tensor = api.PyCapsule_GetPointer(capsule, names[versioned][0])
    api.PyCapsule_SetName(capsule, names[versioned][1])  # the consumer owns the tensor from here on
    return mbirk.mbirk_take(tensor, versioned, write)


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}; mbirk said: {mbirk.mbirk_message().decode()}")


for versioned in (False, True) if versioned_numpy else (False,):
    kind = "versioned" if versioned else "plain"
    array = np.from_dlpack(Lent(mbirk.mbirk_lend_versioned(0) if versioned else mbirk.mbirk_lend(), versioned))
    expect(array.dtype == np.float32 and array.shape == (4, 4) and array.strides == (24, 4),
           f"{kind}: {array.dtype} {array.shape} {array.strides}")
    expect(np.array_equal(array, 6 * np.arange(4)[:, None] + np.arange(4)), f"{kind}: {array}")
    expect(mbirk.mbirk_alive() == 1, f"{kind}: the owner lives while numpy has its elements")
    del array
    gc.collect()
    expect(mbirk.mbirk_alive() == 0, f"{kind}: the owner is gone when numpy lets go")

    own = np.arange(40, dtype=np.float32).reshape(5, 8)
    part = own[1:4, 2:6]
    references = sys.getrefcount(part)
    expect(take(part, versioned, write=True) == part.astype(float).sum() - 42 + 11,
           f"{kind}: sum of an array with gaps")
    expect(own[1, 3] == 42, f"{kind}: written in place")
    expect(sys.getrefcount(part) == references, f"{kind}: numpy's deleter was called")
    for refused, why in ((part.T, "strides"), (part.astype(np.float64), "holds float64, expected float32"),
                         (own[0], "expected 2 axes")):
        references = sys.getrefcount(refused)
        expect(np.isnan(take(refused, versioned)) and why in mbirk.mbirk_message().decode(),
               f"{kind}: refused for {why}")
        expect(sys.getrefcount(refused) == references, f"{kind}: deleted though it was refused for {why}")

if versioned_numpy:
    array = np.from_dlpack(Lent(mbirk.mbirk_lend_versioned(1), True))
    expect(not array.flags.writeable, "constant elements are read-only in numpy")
    del array
    fixed = np.arange(12, dtype=np.float32).reshape(3, 4)
    fixed.flags.writeable = False
    expect(take(fixed, True) == 66, "a read-only array is read")
    expect(np.isnan(take(fixed, True, write=True)) and "read-only" in mbirk.mbirk_message().decode(),
           "a read-only array is not written")
    gc.collect()
    expect(mbirk.mbirk_alive() == 0, "nothing is left")
print(f"numpy {np.__version__}, {'plain and versioned' if versioned_numpy else 'plain'} tensors")
