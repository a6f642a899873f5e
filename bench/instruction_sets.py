#!/usr/bin/env python3
"""Times of the projections at 128 by what is shipped compiled, over those of builds for this machine.

    bench/instruction_sets.py --wheels SHIPPED NATIVE --packages SHIPPED NATIVE [--rounds N] [--sets x86-64,x86-64-v3]

--wheels: folders with an installed Python module (pip install --target), the second made with -C
cmake.define.MBIRK_NATIVE=ON. --packages: folders that mbirk was installed to with MBIRK_BUILD_COMPILED=ON, the first
with MBIRK_NATIVE=OFF. --sets: also the times of the shipped ones with these sets, by MBIRK_INSTRUCTION_SET.

Every build is a process of its own with one thread. In each round each of them projects once, one after another, and
what is compared are the medians of processor times: other processes disturb all builds alike. Prints a table."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROJECTIONS = ("parallel_forward", "parallel_back", "cone_forward", "cone_back")
PYTHON_WORKER = """
import sys, time
import numpy as np
import mbirk
n = 128
angles = np.pi * np.arange(n, dtype=np.float32) / n
models = {"parallel": mbirk.ParallelBeamModel((n, n, n), angles),
          "cone": mbirk.ConeBeamModel((n, n, n), angles, source_detector_dist=4.0 * n, source_iso_dist=2.0 * n)}
arrays = {k: (np.ones(m.recon_shape, np.float32), np.ones(m.sinogram_shape, np.float32)) for k, m in models.items()}
print(mbirk.instruction_set(), flush=True)
for line in sys.stdin:
    geometry, direction = line.split()[0].split("_")
    recon, sinogram = arrays[geometry]
    begin = time.process_time()
    if direction == "forward":
        models[geometry].forward_project(recon, out=sinogram, threads=1)
    else:
        models[geometry].back_project(sinogram, out=recon, threads=1)
    print(time.process_time() - begin, flush=True)
"""


class Worker:
    """A process that answers the name of a projection by the seconds of one call."""

    def __init__(self, command: list, env: dict):
        self.process = subprocess.Popen(list(map(str, command)), env=os.environ | env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.set = self.process.stdout.readline().strip()
        if not self.set:
            sys.exit(f"{command[0]} does not start")

    def seconds(self, projection: str) -> float:
        self.process.stdin.write(projection + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def build_package_worker(prefix: pathlib.Path, native: bool, work: pathlib.Path) -> pathlib.Path:
    program = work / ("native" if native else "shipped")
    flags = ["-march=native"] if native else ["-DMBIRK_DISPATCHED=1"]
    (library,) = prefix.glob("lib*/libmbirk.a")
    source = pathlib.Path(__file__).with_suffix("") / "worker.cpp"
    subprocess.run(["c++", "-std=c++20", "-O2", "-DMBIRK_COMPILED=1", *flags, "-I", prefix / "include", source, library,
                    "-pthread", "-o", program], check=True)
    return program


def compare(kind: str, shipped: Worker, native: Worker, others: list[Worker], rounds: int) -> None:
    workers = [native, shipped, *others]
    for projection in PROJECTIONS:
        times = [[] for _ in workers]
        for k in range(rounds + 1):  # the first round warms up
            for worker, seen in zip(workers, times):
                seconds = worker.seconds(projection)
                if k > 0:
                    seen.append(seconds)
        medians = [statistics.median(seen) for seen in times]
        ratios = "".join(f" {m / medians[0]:.2f} |" for m in medians[1:])
        print(f"| {kind} | {projection} | {1e3 * medians[0]:.1f} |{ratios}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", nargs=2, type=pathlib.Path, metavar=("SHIPPED", "NATIVE"))
    parser.add_argument("--packages", nargs=2, type=pathlib.Path, metavar=("SHIPPED", "NATIVE"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sets", default="", help="further sets of the shipped builds, with commas")
    args = parser.parse_args()
    if not (args.wheels or args.packages):
        parser.error("give --wheels or --packages")
    sets = [s for s in args.sets.split(",") if s]
    with tempfile.TemporaryDirectory() as work:
        commands = {}
        if args.wheels:
            python = [sys.executable, "-c", PYTHON_WORKER]
            commands["wheel"] = [(python, {"PYTHONPATH": str(folder.resolve())}) for folder in args.wheels]
        if args.packages:
            commands["package"] = [([build_package_worker(p.resolve(), native, pathlib.Path(work))], {})
                                   for p, native in zip(args.packages, (False, True))]
        print("| build | projection | native, ms | shipped |" + "".join(f" {s} |" for s in sets)
              + "\n|---|---|---|---|" + "---|" * len(sets))
        for kind, (shipped, native) in commands.items():
            others = [Worker(shipped[0], shipped[1] | {"MBIRK_INSTRUCTION_SET": s}) for s in sets]
            one, other = Worker(*shipped), Worker(*native)
            compare(f"{kind}: {one.set} over {other.set}", one, other, others, args.rounds)


if __name__ == "__main__":
    main()
