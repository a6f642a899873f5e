"""Writes the binary inputs that the fuzzer begins with: make_corpus.py [folder of corpora]. Texts lie there as files of their own."""
import pathlib
import struct
import sys
import zlib

top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus")


def put(reader, name, data):
    (top / reader).mkdir(parents=True, exist_ok=True)
    (top / reader / name).write_bytes(data)


def npy(dtype, shape, data, order="False", version=1):
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


floats = struct.pack("<60f", *[0.25 * k for k in range(60)])
put("npy", "f4", npy("<f4", (4, 3, 5), floats))
put("npy", "fortran_f8", npy("<f8", (2, 3), struct.pack("<6d", 1, -2, 0.5, 1e300, float("nan"), 0), "True"))
put("npy", "i8", npy("<i8", (2, 2, 2), struct.pack("<8q", *range(-4, 4))))
put("npy", "u2_version_2", npy("<u2", (3,), struct.pack("<3H", 0, 1, 65535), version=2))
put("npy", "bool", npy("|b1", (1, 2), b"\0\1"))
put("npy", "scalar", npy("<i4", (), struct.pack("<i", 7)))
put("npy", "empty", npy("<f4", (0, 3), b""))
put("npy", "sizes_that_overflow", npy("<f4", (3, 6148914691236517206), floats))

# A measurement: the length of its first array, that array, and the white field.
counts = npy("<u2", (4, 3, 5), struct.pack("<60H", *range(100, 160)))
white = npy("<u2", (2, 3, 5), struct.pack("<30H", *range(200, 230)))
put("measurement", "counts", struct.pack("<H", len(counts)) + counts + white)
put("measurement", "one_white", struct.pack("<H", len(counts)) + counts + npy("<f4", (3, 5), floats))
put("measurement", "line_integrals", struct.pack("<H", 0) + npy("<f4", (4, 3, 5), floats))

fields = [
    "note 1", ' {"geometry": "cone"}\\n', "sinogram_shape 3 2 1 3", "recon_shape 3 2 2 1", "seed 7", "num_iterations 2",
    "granularity 3 1 2 4", "partition_sequence 2 0 1", "fm_rmse 2 1.8p-1 1p-2", "prior_loss 2 1p+0 nan", "sigma_y 1p+0",
    "sigma_x 1.4p-3", "sigma_prox 1p+0", "stop_threshold_change_pct 2 1p+1 1p+0", "alpha_values 2 1p+0 1p+0",
    "delta_norm_per_slice 2", " 1 1p+0", " 1 1p-1", "warnings 1", " some text", "cancelled 0"]


def checkpoint(lines, values):
    text = "mbirk checkpoint\nversion 1\nbyte_order little\n" + "\n".join(lines) + "\ndata"
    text += " " * (63 - len(text) % 64) + "\n"
    data = text.encode() + struct.pack(f"<{values}f", *range(values))
    return data + b"crc32 %08x\n" % zlib.crc32(data)


put("checkpoint", "two_iterations", checkpoint(fields, 4 + 6 + 4))
put("checkpoint", "lists_of_unequal_lengths",
    checkpoint([f.replace("alpha_values 2 1p+0 1p+0", "alpha_values 1 1p+0") for f in fields], 4 + 6 + 4))
start = [f.replace("3 2 1 3", "3 0 0 0").replace("3 2 2 1", "3 0 0 0") for f in fields]
put("checkpoint", "no_arrays", checkpoint(start, 0))

# Laid over a page that is valid: the header, the sequence, and the beginning of the state.
page = b"mbirklv\0" + struct.pack("<II", 1, 0) + struct.pack("<qq", 1, 1) + b"recon".ljust(64, b"\0") + b"0.1.0".ljust(16, b"\0")
put("live", "header", page)
put("live", "state", page[:12] + b"\xff\xff" + page[14:] + b"\2" + bytes(63) + b"x" * 200)
put("live", "short", b"w" + page)

# Sets of a Data Exchange file, as hdf5_readers.cpp makes them: for each, 16 bytes that say what it is.
def data_set(present, kind, rank, sizes, chunked, units=0):
    return bytes([present, kind, rank, *sizes, *[0] * (4 - len(sizes)), chunked, units]).ljust(16, b"\0")


views, rows, channels = 4, 3, 5
put("hdf5", "counts", data_set(1, 4, 3, (views, rows, channels), 0) + data_set(1, 4, 3, (2, rows, channels), 0) +
    data_set(1, 4, 3, (1, rows, channels), 1) + data_set(1, 1, 1, (views,), 0) + bytes(range(100, 200)))
put("hdf5", "line_integrals", data_set(1, 0, 3, (views, rows, channels), 1) + data_set(0, 0, 0, (), 0) +
    data_set(0, 0, 0, (), 0) + data_set(1, 0, 1, (views,), 0, 1) + bytes(100))
put("hdf5", "sizes_that_overflow", data_set(1, 4, 3, (views, rows, channels), 0) + data_set(1, 4, 2, (3, 14), 1) +
    data_set(0, 0, 0, (), 0) + data_set(0, 0, 0, (), 0) + bytes(100))
