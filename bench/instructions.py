#!/usr/bin/env python3
"""Counts the instructions of every inner kernel: a witness of speed that no other process disturbs.

    python3 bench/instructions.py [--write FILE | --check FILE] [--tolerance 0.02] [--build build/instructions]
                                  [--cxx g++]

Builds bench/instructions/kernels.cpp with -O2 -march=x86-64-v3 (callgrind knows no AVX-512) and lets callgrind run each
operation once, by one thread, at size 32. --write keeps the counts; --check compares with kept ones. Counts of another
compiler differ: they are shown and not judged. Needs valgrind.

Exit code: 0 done; 1 an operation takes more instructions than kept by more than the tolerance, or is missing; 2 bad
usage, or it could not be run."""
import argparse, json, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-O2", "-march=x86-64-v3"]


def output(*words):
    try:
        done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        fail(f"{words[0]} could not be run: {error.strerror}")
    if done.returncode:
        fail(f"{words[0]} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout, done.stderr


def fail(what):
    print(f"instructions.py: {what}", file=sys.stderr)
    sys.exit(2)


def count(program, name):
    _, said = output("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                     "--toggle-collect=*measured_call*", program, name)
    found = re.search(r"Collected : (\d+)", said)
    if not found or int(found[1]) == 0:
        fail(f"callgrind counted nothing in {name}: {said.strip()[-300:]}")
    return int(found[1])


def counts(args):
    args.build.mkdir(parents=True, exist_ok=True)
    program = args.build / "kernels"
    output(args.cxx, *FLAGS, "-I", ROOT / "include", ROOT / "bench/instructions/kernels.cpp", "-o", program)
    compiler = output(args.cxx, "--version")[0].splitlines()[0]
    names = output(program)[0].split()
    return {"compiler": compiler, "flags": " ".join(FLAGS), "size": 32,
            "instructions": {name: count(program, name) for name in names}}


def kept(file):
    try:
        document = json.loads(file.read_text())
        return document | {"instructions": {str(k): int(v) for k, v in document["instructions"].items()}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fail(f"{file} is no file of --write: {error}")


def compare(now, before, tolerance):
    """Number of operations that got worse."""
    same, worse = now["compiler"] == before.get("compiler"), 0
    print(f"{'operation':34}{'kept':>14}{'now':>14}{'ratio':>8}")
    for name, old in before["instructions"].items():
        new = now["instructions"].get(name)
        ratio = new / old if new else float("inf")
        bad = same and ratio > 1 + tolerance
        worse += bad
        print(f"{name:34}{old:14}{new if new else 'missing':>14}{ratio:8.3f}{'  MORE' if bad else ''}")
    for name in now["instructions"].keys() - before["instructions"].keys():
        print(f"{name:34}{'-':>14}{now['instructions'][name]:14}     new")
    if not same:
        print(f"not judged: kept counts are of {before.get('compiler')}, these of {now['compiler']}")
    return worse


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = ap.add_mutually_exclusive_group()
    what.add_argument("--write", type=pathlib.Path, metavar="FILE")
    what.add_argument("--check", type=pathlib.Path, metavar="FILE")
    ap.add_argument("--tolerance", type=float, default=0.02, help="allowed increase (default %(default)s)")
    ap.add_argument("--build", type=pathlib.Path, default=ROOT / "build/instructions",
                    help="where the program is built (default %(default)s)")
    ap.add_argument("--cxx", default="g++", help="compiler (default %(default)s)")
    args = ap.parse_args()
    before = kept(args.check) if args.check else None
    now = counts(args)
    if args.write:
        args.write.write_text(json.dumps(now, indent=1) + "\n")
    if before:
        return 1 if compare(now, before, args.tolerance) else 0
    for name, instructions in now["instructions"].items():
        print(f"{name:34}{instructions:14}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
