#!/usr/bin/env python3
"""Runs MBIRJAX's own tests with mbirk in its place, and prints how many pass and why the others do not.

    pip download --no-deps --no-binary :all: mbirjax==0.7.3 && tar xf mbirjax-0.7.3.tar.gz
    python3 bench/mbirjax_suite.py mbirjax-0.7.3 [--table]

Needs mbirk, pytest, jax (which the tests use for their arrays), h5py and scipy. --table prints the tests that do not
pass as a table in Markdown. Exit code: 0 when all could be run, 2 for bad usage."""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FILES = (
    "denoiser",
    "prox",
    "qggmrf",
    "recon_restart",
    "utilities",
    "view_params",
    "preprocessing",
    "logging",
    "mace4d",
)
ALIASES = """
import sys
import types
import mbirk, mbirk.mace4d, mbirk.preprocess
sys.modules["mbirjax"] = mbirk
for name in ("", ".nsi", ".pymbir", ".utilities", ".zeiss"):
    sys.modules["mbirjax.preprocess" + name] = sys.modules["mbirk.preprocess" + name]

def private(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"{name} is private to MBIRJAX")
    return missing

# The private names that a test file imports at its top, so that its other tests run.
mace4d = types.ModuleType("mbirjax.mace4d")
for name in ("_DENOISE_MAX_ITERATIONS", "_DENOISE_STOP_THRESHOLD_PCT", "_assign_tasks", "_batched_hyperplane_denoise",
             "_configure_denoiser", "_denoise_constants", "_get_qggmrf_denoiser", "_resolve_devices"):
    setattr(mace4d, name, private(name))
mace4d._normalize_prior_weights = mbirk.mace4d.agent_weights
sys.modules["mbirjax.mace4d"] = mace4d
"""
# Why a test does not pass, by what its message contains.
REASONS = (
    ("is private to MBIRJAX", "calls private functions that divide work among JAX's devices"),
    ("'devices'", "sees JAX's devices"),
    ("at least two devices", "skipped: needs two devices of JAX"),
    ("_utils", "calls a private helper for JAX's messages and for MBIRJAX's source"),
    (
        "recon_placement",
        "runs the inner loop `vcd_recon` by itself, on JAX's devices; here `checkpoint` and `resume` do this",
    ),
    ("projector_functions", "counts the compilations of JAX; nothing is compiled here"),
    ("zeiss_tct", "readers of Zeiss translation scans are not in mbirk"),
)


def reason_of(message: str) -> str:
    return next((why for part, why in REASONS if part in message), message[:110].replace("|", "/"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdist", type=pathlib.Path, help="folder of MBIRJAX's source distribution")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    tests = [args.sdist.resolve() / "tests" / f"test_{name}.py" for name in FILES]
    missing = [str(t) for t in tests if not t.is_file()]
    if missing:
        parser.error(f"{missing[0]}: there is no such file, expected the source distribution of MBIRJAX 0.7.3")
    with tempfile.TemporaryDirectory(prefix="mbirjax-suite-") as folder:
        work = pathlib.Path(folder)
        (work / "mbirk_alias.py").write_text(ALIASES)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "mbirk_alias",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
        ]
        # Copies, so that MBIRJAX's own package beside its tests is not found.
        copies = [work / t.name for t in tests]
        for test, copy in zip(tests, copies):
            copy.write_text(test.read_text())
        report = work / "report.xml"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH")))),
        }
        done = subprocess.run(
            [*command, f"--junitxml={report}", *map(str, copies)],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.is_file():
            sys.exit(f"pytest could not run: {done.stderr.strip()}")
        cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    counts, rows = collections.Counter(), []
    for case in cases:
        problem = next(
            (case.find(kind) for kind in ("failure", "error", "skipped") if case.find(kind) is not None), None
        )
        counts["passed" if problem is None else problem.tag] += 1
        if problem is not None:
            reason = " ".join((problem.get("message") or problem.text or "").split())
            rows.append((case.get("classname", "").split(".")[0], case.get("name", ""), reason_of(reason)))
    if args.table:
        print("| file | test | why |\n|---|---|---|")
        for row in rows:
            print("| " + " | ".join(row) + " |")
    print(f"{counts['passed']} of {len(cases)} pass: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
