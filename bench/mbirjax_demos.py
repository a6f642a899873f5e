#!/usr/bin/env python3
"""Runs MBIRJAX's demo scripts with only the import line changed, and prints which of them end without an error.

    git clone https://github.com/cabouman/mbirjax
    python3 bench/mbirjax_demos.py mbirjax/demo [--compare] [--only N ...]

Needs mbirk, jax (some demos use it for angles), h5py and matplotlib, whose windows are not shown. --compare also runs
them with MBIRJAX, which must be installed, and compares all that the demos display. Both begin with the same random
numbers. Prints a table in Markdown. Exit code: 0 if all demos ran, else 1; 2 for bad usage."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy

IMPORT = "import mbirjax as mj"
RUNNER = """
import importlib, runpy, sys, warnings
import numpy
module, script, results = sys.argv[1:]
warnings.simplefilter("ignore")
package, shown = importlib.import_module(module), {}
show = package.slice_viewer

def record(*volumes, **options):
    for k, volume in enumerate(volumes):
        shown[f"{len(shown):03}"] = numpy.asarray(volume)
    if module == "mbirk":
        show(*volumes, **options)

package.slice_viewer = record
numpy.random.seed(0)
runpy.run_path(script, run_name="__main__")
numpy.savez(results, **shown)
"""


def run(module: str, demo: pathlib.Path, folder: pathlib.Path) -> tuple[float, str, dict[str, numpy.ndarray]]:
    """(seconds, the last line of an error or "", the volumes that it displayed)."""
    text = demo.read_text()
    if text.count(IMPORT) != 1:
        sys.exit(f"{demo}: does not have the line {IMPORT} once, expected a demo of MBIRJAX")
    script, results = folder / demo.name, folder / "results.npz"
    text = text.replace(IMPORT, f"import {module} as mj")
    if module == "mbirjax":  # version 0.7.3 returns NumPy arrays; the demos are older
        text = text.replace("recon.block_until_ready()\n", "\n")
    script.write_text(text)
    results.unlink(missing_ok=True)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, module, str(script), str(results)],
        cwd=folder,
        # One device for MBIRJAX: with several, XLA aborts where a busy machine lets one wait for 40 seconds.
        env={"MBIRJAX_NUM_CPU_DEVICES": "1", **os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        return seconds, f"{last or 'no message'} (exit code {done.returncode})", {}
    with numpy.load(results) as file:
        return seconds, "", {name: file[name] for name in file.files}


def difference(found: dict[str, numpy.ndarray], expected: dict[str, numpy.ndarray]) -> str:
    """The largest relative error (Euclidean norm) among the volumes displayed."""
    if [a.shape for a in found.values()] != [a.shape for a in expected.values()]:
        return "other shapes"
    errors = [
        float(numpy.linalg.norm(found[name].astype(float) - a) / max(numpy.linalg.norm(a), 1e-30))
        for name, a in expected.items()
    ]
    return f"{max(errors, default=0):.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demos", type=pathlib.Path, help="folder of MBIRJAX's demos")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the demos to run")
    args = parser.parse_args()
    found = {int(re.match(r"demo_(\d+)", path.name)[1]): path for path in args.demos.glob("demo_[0-9]*.py")}
    if not found:
        parser.error(f"{args.demos}: has no demo_1_....py, expected the folder demo of MBIRJAX's repository")
    print("| demo | with mbirk | seconds | with MBIRJAX | largest difference |\n|---|---|---|---|---|")
    failed = False
    for number, path in sorted(found.items()):
        if args.only and number not in args.only:
            continue
        with tempfile.TemporaryDirectory(prefix="mbirjax-demo-") as folder:
            seconds, error, shown = run("mbirk", path.resolve(), pathlib.Path(folder))
            row = [path.stem, error.replace("|", "/") if error else "runs", f"{seconds:.0f}"]
            failed |= bool(error)
            if args.compare and not error:
                other, problem, expected = run("mbirjax", path.resolve(), pathlib.Path(folder))
                row += [problem.replace("|", "/"), ""] if problem else [f"{other:.0f} s", difference(shown, expected)]
            else:
                row += ["", ""]
        print("| " + " | ".join(row) + " |", flush=True)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
