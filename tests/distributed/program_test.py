"""mbirk-mpi recon with 1 to 3 ranks: the files of `mbirk recon`, to the bit. Wrong input: one line, exit code 2, no
file.

program_test.py MBIRK MBIRK_MPI "MPIRUN -n" """
import array
import gzip
import json
import math
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from program_case import CHANNELS, ROWS, VIEWS, expect, expect_failure, read_npy, sinogram, write_npy

TALL = (70, 20, 24)  # rows, columns and slices of a volume that is written in bands
mbirk, mbirk_mpi, launch = sys.argv[1], sys.argv[2], shlex.split(sys.argv[3])

def ranks(count, *arguments, more=()):
    return subprocess.run([*launch, str(count), mbirk_mpi, "recon", *arguments, *more], capture_output=True, text=True,
                          timeout=300)


def ranks_of(job, program):
    """Processes of a program that a job has started."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                parents[int(entry.name)] = int(fields[1])
            except OSError:
                pass
    def below(pid):
        while pid in parents:
            if pid == job:
                return True
            pid = parents[pid]
        return False
    return sorted(pid for pid in parents if below(pid) and executable(pid) == os.path.realpath(program))


def executable(pid):
    try:
        return os.path.realpath(f"/proc/{pid}/exe")
    except OSError:
        return None


def check_trace(folder, scan_options, gathered):
    """Two ranks write one timeline, in which what they do together overlaps, and what they have sent."""
    out = folder.parent / "traced.npy"
    plain, traced = (ranks(2, *scan_options, "--max-iterations", "2", "--out", str(out), *more)
                     for more in ([], ["--trace", str(folder)]))
    expect(plain.returncode == 0 and traced.returncode == 0, f"a traced reconstruction: {traced.stderr}")
    expect("in messages" in traced.stdout and "in messages" not in plain.stdout, f"the table\n{traced.stdout}")
    with gzip.open(folder / "trace.perfetto.json.gz") as file:
        events = json.load(file)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    expect(names == {1: "rank 0 of 2", 2: "rank 1 of 2"}, f"the processes: {names}")
    spans = [[e for e in events if e["ph"] == "X" and e["pid"] == pid] for pid in (1, 2)]
    both = [sorted((e for e in of_rank if e["name"] == "gather " + gathered), key=lambda e: e["ts"])
            for of_rank in spans]
    expect(len(both[0]) == len(both[1]) > 0, f"every subset gathers its {gathered}")
    for a, b in zip(*both):
        # No rank has gathered before the other has begun. The clocks agree to half of a message's journey.
        expect(a["ts"] <= b["ts"] + b["dur"] + 100 and b["ts"] <= a["ts"] + a["dur"] + 100,
               f"the clocks of the ranks agree: {a}, {b}")
    records = json.loads((folder / "ranks.json").read_text())
    expect([r["rank"] for r in records] == [0, 1], "a record of each rank")
    for r, of_rank in zip(records, spans):
        for what, sent in r["sent"].items():
            calls = [e for e in of_rank if e["cat"] == "stage" and e["name"].split(" ", 1)[1:] == [what]
                     and e["name"].split()[0] in ("gather", "broadcast", "exchange", "reduce", "send")]
            found = sum(e.get("args", {}).get("bytes", 0) for e in calls)
            expect(found == sent["bytes"], f"{what}: the spans have {found} bytes, expected {sent['bytes']}")
        expect(r["sent"][gathered]["messages"] == len(both[0]), f"the messages of {gathered}")
        expect(r["bytes"] == sum(sent["bytes"] for sent in r["sent"].values()), "the sum of the bytes")
        expect(0 < r["seconds of messages"] < r["seconds"] and r["peak bytes of temporaries"] > 0, f"{r}")
    expect(len(list(folder.glob("plugins/profile/*/rank_[01].xplane.pb"))) == 2, "a file for XProf of each rank")


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
        subprocess.run([mbirk, "recon", *common, "--quiet", "--method", method, *options, "--out", str(out[0])],
                       check=True)
        for n in 1, 2, 3:
            result = ranks(n, *common, "--method", method, *options, "--out", str(out[n]))
            expect(result.returncode == 0, f"{method} with {n} ranks: {result.stderr}")
            expect(out[n].read_bytes() == out[0].read_bytes(), f"{method}: {n} ranks give the bits of mbirk recon")
            expect(out[n].with_suffix(".json").exists(), f"{method}: the record is written")
        volume = read_npy(out[1])
        expect(len(volume) == ROWS * CHANNELS * CHANNELS and max(volume) > 0, "there is a volume")

    bad = ["--out", str(folder / "bad.npy")]
    expect_failure(ranks(4, *common, *bad), "4 ranks for 70 slices, expected at most 3", folder)
    expect_failure(ranks(2, str(folder / "none.npy"), *common[1:], *bad), "none.npy: no such file", folder)
    expect_failure(ranks(2, *common, *bad, "--memory-limit", "10kiB"), "--memory-limit", folder)
    cone = folder / "cone.json"
    cone.write_text(json.dumps({"geometry": "cone", "angles": {**angles, "stop": 2 * math.pi},
                                "params": {"source_detector_dist": 96, "source_iso_dist": 48}}))
    fan, flat = folder / "fan.json", folder / "flat.npy"
    fan.write_text(cone.read_text().replace('"cone"', '"fan"'))
    write_npy(flat, (VIEWS, 1, CHANNELS), [0.1] * VIEWS * CHANNELS)
    expect_failure(ranks(2, str(flat), "--geometry", str(fan), *bad), "found geometry fan and --method vcd", folder)
    turned = folder / "turned.json"
    distances = {"source_detector_dist": 96, "source_iso_dist": 48}
    turned.write_text(json.dumps({"geometry": "cone", "angles": {**angles, "stop": 4}, "params": distances}))
    done = ranks(2, str(scan), "--geometry", str(turned), "--method", "fdk", *bad)
    expect_failure(done, "the views do not cover a full turn", folder)

    in_cone = [str(scan), "--geometry", str(cone), "--no-png", "--threads", "1"]
    for method, options in ("fdk", []), ("vcd", vcd), ("vcd", ["--max-iterations", "2"]):
        out = {n: folder / f"cone_{n}.npy" for n in range(5)}
        subprocess.run([mbirk, "recon", *in_cone, "--quiet", "--method", method, *options, "--out", str(out[0])],
                       check=True)
        for n in 1, 2, 3, 4:
            result = ranks(n, *in_cone, "--method", method, *options, "--out", str(out[n]))
            expect(result.returncode == 0, f"{method} with {n} ranks: {result.stderr}")
            expect(out[n].read_bytes() == out[1].read_bytes(), f"{method}: {n} ranks give the bits of one")
        expected, found = read_npy(out[0]), read_npy(out[1])
        expect(len(expected) == len(found), f"{method}: the shape of the volume")
        # The sum of 20 views in another order; iterations amplify its rounding.
        largest = max(abs(a - b) for a, b in zip(expected, found)) / max(map(abs, expected))
        expect(largest <= (1e-6 if method == "fdk" else 2e-6), f"{method} agrees with mbirk recon: {largest}")
    # Rows that rank 0 receives in three bands, of which the ranks have other parts, and a file of slices, for which it
    # receives all at once.
    rows, cols, depth = TALL
    tall = folder / "tall.json"
    tall.write_text(cone.read_text()[:-1] + f', "recon_shape": {list(TALL)}}}')
    for n in 1, 3:
        for end in ".npy", ".nrrd":
            result = ranks(n, str(scan), "--geometry", str(tall), "--threads", "1", "--method", "fdk",
                           "--out", str(folder / f"tall_{n}{end}"))
            expect(result.returncode == 0, f"{n} ranks, {end}: {result.stderr}")
        expect((folder / f"tall_{n}.png").stat().st_size > 0, "a picture is written")
        voxels, whole = read_npy(folder / f"tall_{n}.npy"), (folder / f"tall_{n}.nrrd").read_bytes()
        by_slices = array.array("f")
        by_slices.frombytes(whole[-4 * len(voxels):])
        expect(len(voxels) == rows * cols * depth and max(voxels) > 0, "there is a volume")
        expect(all(by_slices[k::rows * cols] == voxels[depth * k:depth * (k + 1)] for k in range(rows * cols)),
               f"{n} ranks: rows and slices are the same volume")
    for end in ".npy", ".nrrd", ".png":
        expect((folder / f"tall_1{end}").read_bytes() == (folder / f"tall_3{end}").read_bytes(), f"3 ranks write {end}")
    for scan_options, gathered in (in_cone, "direction"), (common, "line search"):
        check_trace(folder / gathered, scan_options, gathered)
    expect_failure(ranks(2, *common, *bad, "--trace", str(scan)), "cannot be created", folder)
    expect_failure(ranks(2, *common, *bad, "--slab-sweeps", "2"), "--slab-sweeps is not available", folder)
    expect_failure(subprocess.run([*launch, "1", mbirk_mpi, "recon", *common, *bad, ":",
                                   *launch[-1:], "1", mbirk_mpi, "recon", *common, *bad, "--seed", "1"],
                                  capture_output=True, text=True, timeout=300),
                   "ranks were started with different options", folder)

    # A rank, or all of them, are killed after some iteration; another number of ranks goes on to the bits of one run.
    # The run that is killed has more iterations than it can get to; the others need not wait for as many.
    def iterations(most):
        return ["--max-iterations", str(most), "--stop-threshold-change-pct", "0"]
    whole, state = folder / "whole.npy", folder / "state.checkpoint"
    result = ranks(1, *in_cone, *iterations(6), "--quiet", "--out", str(whole))
    expect(result.returncode == 0, f"cone beam: {result.stderr}")
    for scan_options, first, then, kill_all in (in_cone, 3, 2, False), (common, 2, 3, False), (common, 3, 1, True):
        endless, long = ([*scan_options, *iterations(4000)],
                         [*scan_options, *iterations(6 if scan_options is in_cone else 100)])
        if scan_options is common:
            subprocess.run([mbirk, "recon", *long, "--quiet", "--out", str(whole)], check=True)
        state.unlink(missing_ok=True)
        job = subprocess.Popen([*launch, str(first), mbirk_mpi, "recon", *endless, "--quiet",
                                "--checkpoint", str(state), "--out", str(folder / "killed.npy")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not state.exists() and time.monotonic() < deadline:
            time.sleep(0.002)
        expect(state.exists() and job.poll() is None, "the job runs and has written its first state")
        of_job = ranks_of(job.pid, mbirk_mpi)
        expect(len(of_job) == first, f"{len(of_job)} ranks run, expected {first}")
        for pid in of_job if kill_all else of_job[:1]:
            os.kill(pid, signal.SIGKILL)
        expect(job.wait(timeout=60) != 0, "the job fails")
        expect(not (folder / "killed.npy").exists(), "a killed job leaves no volume")
        resumed = folder / f"resumed_{then}.npy"
        result = ranks(then, *long, "--resume", str(state), "--out", str(resumed))
        expect(result.returncode == 0, f"resuming with {then} ranks: {result.stderr}")
        expect(resumed.read_bytes() == whole.read_bytes(),
               f"{first} ranks, killed, and {then} give the bits of one run")
    resumed = folder / "resumed_alone.npy"
    subprocess.run([mbirk, "recon", *long, "--quiet", "--resume", str(state), "--out", str(resumed)], check=True)
    expect(resumed.read_bytes() == whole.read_bytes(), "mbirk recon goes on where ranks were killed")
    done = ranks(2, *long, *bad, "--resume", str(state), "--weights", "transmission")
    expect_failure(done, "was made with other parameters", folder)
print("mbirk-mpi: as expected")
