"""mbirk-mpi recon --policy emulated: ranks that each have an emulated device reconstruct what ranks of the host do.

devices_program_test.py MBIRK_MPI "MPIRUN -n" """
import json
import math
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from program_case import VIEWS, expect, expect_failure, read_npy, sinogram, write_npy

mbirk_mpi, launch = sys.argv[1], shlex.split(sys.argv[2])


def ranks(count, policy, *arguments, program=mbirk_mpi):
    return subprocess.run([*launch, str(count), program, "recon", *arguments, "--policy", policy],
                          capture_output=True, text=True, timeout=300)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    scan = folder / "scan.npy"
    # Two units of slices, the second of which is not full.
    rows, channels = 37, 16
    values = list(sinogram(rows, channels))
    write_npy(scan, (VIEWS, rows, channels), values)
    distances = {"source_detector_dist": 64, "source_iso_dist": 32}
    for beam, turn, params, method in (("parallel", math.pi, {}, "fbp"), ("cone", 2 * math.pi, distances, "fdk")):
        geometry = folder / f"{beam}.json"
        angles = {"start": 0, "stop": turn, "num": VIEWS, "endpoint": False}
        geometry.write_text(json.dumps({"geometry": beam, "angles": angles, "params": params}))
        common = [str(scan), "--geometry", str(geometry), "--no-png", "--threads", "1"]
        vcd = ["--method", "vcd", "--max-iterations", "2", "--weights", "transmission"]
        for options in ["--method", method], vcd:
            found = {}
            for count, policy in (1, "host"), (1, "emulated"), (2, "emulated"):
                out = folder / f"{policy}_{count}.npy"
                result = ranks(count, policy, *common, *options, "--out", str(out))
                expect(result.returncode == 0, f"{beam}, {count} ranks, policy {policy}: {result.stderr}")
                found[policy, count] = read_npy(out)
            expected = found.pop(("host", 1))
            for of, volume in found.items():
                expect(len(volume) == len(expected), f"{beam} {options[1]}: the shape of the volume")
                expect(all(map(math.isfinite, volume)), f"{beam} {options[1]}: finite values")
                # Sums are made in another order; iterations amplify the rounding.
                largest = max(abs(a - b) for a, b in zip(expected, volume)) / max(map(abs, expected))
                expect(largest <= 2e-6, f"{beam} {options[1]}, {of}: differs from the host by {largest} of the peak")
            if beam == "cone":
                expect(found["emulated", 1] == found["emulated", 2], f"cone {options[1]}: 2 ranks give the bits of one")

    # mbirk-mpi bench: two devices give what one of them gives alone. 10 slices are too few for two ranks.
    for size, names in (33, "parallel_*"), (10, "[cq]*"):
        out = folder / f"bench_{size}.json"
        result = subprocess.run([*launch, "2", mbirk_mpi, "bench", "--policy", "emulated", "--sizes", str(size),
                                 "--ops", names, "--threads", "1", "--budget", "0.01", "--out", str(out)],
                                capture_output=True, text=True, timeout=300)
        expect(result.returncode == 0, f"bench on devices: {result.stderr}")
        run = json.loads(out.read_text())
        expect(run["environment"]["backend"] == "emulated" and not run["errors"], f"bench on devices: {run}")
        found = {name: result_of["difference"] for name, result_of in run["ranks"]["operations"][str(size)].items()}
        expect(len(found) == 5 and max(found.values()) <= 2e-6, f"bench on devices: {found}")

    bad = [*common, "--out", str(folder / "bad.npy")]
    # A program without its device half.
    alone = folder / "mbirk-mpi"
    shutil.copy(mbirk_mpi, alone)
    expect_failure(ranks(2, "emulated", *bad, program=str(alone)),
                   "the program mbirk-mpi-devices next to mbirk-mpi is not there", folder, code=3)
    if not os.path.exists("/dev/nvidiactl"):
        expect_failure(ranks(2, "cuda", *bad), "policy cuda is not available here", folder, code=3)
    expect_failure(ranks(2, "emulate", *bad), "--policy", folder)
print("mbirk-mpi on devices: as expected")
