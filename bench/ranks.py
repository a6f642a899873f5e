#!/usr/bin/env python3
"""Reconstructions by two ranks of one thread, over those by one rank of two threads, on two cores of this machine.

    python3 bench/ranks.py [--mbirk-mpi build/release/bench/mbirk/mbirk-mpi] [--sizes 128,256] [--rounds 3]
                           [--iterations 4] [--mpirun "mpirun --oversubscribe --bind-to none"]

A scan of a ball with noise, size/2 views, is reconstructed by vcd in parallel and in cone beam. Both ways run in turn;
a time is that of the whole program less that of a run without iterations, and the ratio is that of the medians. Needs
numpy. Exit code: 0 done, 1 a run failed, 2 bad usage."""
import argparse, json, math, pathlib, shlex, statistics, subprocess, sys, tempfile, time

import numpy

WAYS = {"two ranks of one thread": (2, 1), "one rank of two threads": (1, 2)}


def write_scan(folder, beam, size):
    views = size // 2
    at = numpy.arange(size) - (size - 1) / 2
    square = 4 * numpy.maximum(0, (0.4 * size) ** 2 - at[:, None] ** 2 - at[None, :] ** 2)
    sinogram = numpy.broadcast_to(0.02 * numpy.sqrt(square), (views, size, size)).astype(numpy.float32)
    sinogram += numpy.random.default_rng(1).normal(0, 0.01 * sinogram.max(), sinogram.shape).astype(numpy.float32)
    numpy.save(folder / "scan.npy", sinogram)
    distances = {"source_detector_dist": 8 * size, "source_iso_dist": 4 * size, "delta_det_channel": 2,
                 "delta_det_row": 2} if beam == "cone" else {}
    turn = 2 * math.pi if beam == "cone" else math.pi
    geometry = {"geometry": beam, "recon_shape": [size] * 3, "params": distances,
                "angles": {"start": 0, "stop": turn, "num": views, "endpoint": False}}
    (folder / "scan.json").write_text(json.dumps(geometry))


def seconds(args, folder, ranks, threads, iterations):
    command = shlex.split(args.mpirun) + ["-n", str(ranks), args.mbirk_mpi, "recon", str(folder / "scan.npy")]
    command += ["--geometry", str(folder / "scan.json"), "--out", str(folder / "out.npy"), "--no-png", "--quiet"]
    command += ["--threads", str(threads), "--max-iterations", str(iterations), "--stop-threshold-change-pct", "0"]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return time.monotonic() - begin


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mbirk-mpi", default="build/release/bench/mbirk/mbirk-mpi")
    ap.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    ap.add_argument("--sizes", default="128,256")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--iterations", type=int, default=4)
    args = ap.parse_args()
    if args.rounds < 1 or args.iterations < 1:
        ap.error("expected at least one round and one iteration")
    print("| beam | size | two ranks of one thread, s | one rank of two threads, s | ratio |\n|---|---|---|---|---|")
    for beam in ("parallel", "cone"):
        for size in map(int, args.sizes.split(",")):
            with tempfile.TemporaryDirectory(prefix="mbirk-ranks-") as name:
                folder = pathlib.Path(name)
                write_scan(folder, beam, size)
                times = {way: [] for way in WAYS}
                for _ in range(args.rounds):
                    for way, (ranks, threads) in WAYS.items():
                        start = seconds(args, folder, ranks, threads, 0)
                        times[way].append(seconds(args, folder, ranks, threads, args.iterations) - start)
            ranks, threads = (statistics.median(times[way]) for way in WAYS)
            print(f"| {beam} | {size} | {ranks:.3g} | {threads:.3g} | {ranks / threads:.2f} |", flush=True)


if __name__ == "__main__":
    main()
