"""mbirk-mpi recon with 1 to 3 ranks: the files of `mbirk recon` to the same bits for fbp and to 1e-6 for vcd, the same
bits for every number of ranks, and one line, exit code 2 and no file where the input is wrong.

program_test.py MBIRK MBIRK_MPI "MPIRUN -n" """
import array
import json
import math
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile

mbirk, mbirk_mpi, launch = sys.argv[1], sys.argv[2], shlex.split(sys.argv[3])
VIEWS, ROWS, CHANNELS = 20, 70, 24


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", values).tobytes())


def read_npy(path):
    data = path.read_bytes()
    values = array.array("f")
    values.frombytes(data[10 + struct.unpack("<H", data[8:10])[0]:])
    return values


def sinogram():
    """A disc whose size depends on the slice, and ripples that stand for noise."""
    for v in range(VIEWS):
        for m in range(ROWS):
            radius = 7 + 2 * math.sin(m / 9)
            for n in range(CHANNELS):
                t = n - 11.5 - math.cos(v / 4)
                yield 0.04 * math.sqrt(max(radius * radius - t * t, 0)) + 0.002 * math.sin(1000.0 * (v * ROWS + m) * CHANNELS + n * n)


def ranks(count, *arguments, more=()):
    return subprocess.run([*launch, str(count), mbirk_mpi, "recon", *arguments, *more], capture_output=True, text=True, timeout=120)


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def expect_failure(result, text, folder):
    lines = [line for line in result.stderr.splitlines() if line.startswith("mbirk: ")]
    expect(result.returncode == 2, f"exit code {result.returncode}, expected 2\n{result.stderr}")
    expect(len(lines) == 1 and text in lines[0], f"expected one line with {text!r}, found\n{result.stderr}")
    expect(not list(folder.glob("bad*")), "no file is left")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    scan, geometry = folder / "scan.npy", folder / "scan.json"
    write_npy(scan, (VIEWS, ROWS, CHANNELS), sinogram())
    angles = {"start": 0, "stop": math.pi, "num": VIEWS, "endpoint": False}
    geometry.write_text(json.dumps({"geometry": "parallel", "angles": angles, "params": {}}))
    common = [str(scan), "--geometry", str(geometry), "--no-png", "--threads", "1"]

    vcd = ["--max-iterations", "3", "--weights", "transmission", "--positivity"]
    for method, options in ("vcd", vcd), ("fbp", []):
        out = {n: folder / f"{method}_{n}.npy" for n in range(4)}
        subprocess.run([mbirk, "recon", *common, "--quiet", "--method", method, *options, "--out", str(out[0])], check=True)
        for n in 1, 2, 3:
            result = ranks(n, *common, "--method", method, *options, "--out", str(out[n]))
            expect(result.returncode == 0, f"{method} with {n} ranks: {result.stderr}")
            expect(out[n].read_bytes() == out[1].read_bytes(), f"{method}: {n} ranks and 1 give the same bits")
            expect(out[n].with_suffix(".json").exists(), f"{method}: the record is written")
        expected, found = read_npy(out[0]), read_npy(out[1])
        expect(len(expected) == len(found) == ROWS * CHANNELS * CHANNELS, "the shape of the volume")
        largest = max(abs(a - b) for a, b in zip(expected, found)) / max(map(abs, expected))
        # Sums in another order move the image by its rounding; direct reconstruction has no such sums.
        expect(largest <= (1e-6 if method == "vcd" else 0), f"{method} agrees with mbirk recon: {largest}")

    bad = ["--out", str(folder / "bad.npy")]
    expect_failure(ranks(4, *common, *bad), "4 ranks for 70 slices, expected at most 3", folder)
    expect_failure(ranks(2, *common, *bad, "--checkpoint", str(folder / "bad.checkpoint")), "--checkpoint is not available in mbirk-mpi", folder)
    expect_failure(ranks(2, str(folder / "none.npy"), *common[1:], *bad), "none.npy: no such file", folder)
    expect_failure(ranks(2, *common, *bad, "--memory-limit", "10kiB"), "--memory-limit", folder)
    cone = folder / "cone.json"
    cone.write_text(json.dumps({"geometry": "cone", "angles": {**angles, "stop": 2 * math.pi},
                                "params": {"source_detector_dist": 96, "source_iso_dist": 48}}))
    expect_failure(ranks(2, str(scan), "--geometry", str(cone), *bad), "mbirk-mpi reconstructs parallel beam only, found geometry cone", folder)
    expect_failure(subprocess.run([*launch, "1", mbirk_mpi, "recon", *common, *bad, ":", *launch[-1:], "1", mbirk_mpi, "recon", *common, *bad, "--seed", "1"],
                                  capture_output=True, text=True, timeout=120), "ranks were started with different options", folder)
print("mbirk-mpi: as expected")
