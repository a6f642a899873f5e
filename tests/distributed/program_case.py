"""A small scan for the tests of the programs of ranks, and what they expect of a program."""
import array
import math
import struct
import sys

VIEWS, ROWS, CHANNELS = 20, 70, 24


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + array.array("f", values).tobytes())


def read_npy(path):
    data = path.read_bytes()
    values = array.array("f")
    values.frombytes(data[10 + struct.unpack("<H", data[8:10])[0]:])
    return values


def sinogram(rows=ROWS, channels=CHANNELS):
    """A disc whose size depends on the slice, and ripples that stand for noise."""
    for v in range(VIEWS):
        for m in range(rows):
            radius = (channels - 3) / 3 + 2 * math.sin(m / 9)
            for n in range(channels):
                t = n - (channels - 1) / 2 - math.cos(v / 4)
                yield (0.04 * math.sqrt(max(radius * radius - t * t, 0))
                       + 0.002 * math.sin(1000.0 * (v * rows + m) * channels + n * n))


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def expect_failure(result, text, folder, code=2):
    lines = [line for line in result.stderr.splitlines() if line.startswith("mbirk: ")]
    expect(result.returncode == code, f"exit code {result.returncode}, expected {code}\n{result.stderr}")
    expect(len(lines) == 1 and text in lines[0], f"expected one line with {text!r}, found\n{result.stderr}")
    expect(not list(folder.glob("bad*")), "no file is left")
