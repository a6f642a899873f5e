"""Compiles the kernels of src/cuda for every compute capability and holds what ptxas says of each kernel against
kernel_limits.txt.

Prints registers (by capability), shared memory, stack and spills of all kernels. Ends with 0 when all are within their
limits, 1 when not or when the compiler warns. --keep leaves the compiled kernels in a folder, with the lines of their
source, for bench/predict_gpu.py. A kernel without a line in that file is a failure. --update writes the limits anew:
registers as they are now plus 8, everything else as it is now."""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ("nvcc", "include", "filt"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("--update", action="store_true")
parser.add_argument("--keep", type=pathlib.Path)
args = parser.parse_args()
folder = pathlib.Path(__file__).parent
# The front end runs once for two capabilities, and optimises differently from 100 on. No kernel differs by capability
# but in its launch bounds (exec/tuning.hpp), and those only where a device has been measured.
front_ends = {80: (80, 90), 100: (100, 120)}
capabilities = sum(front_ends.values(), ())
slack = 8  # registers that another compiler release may add without changing how many blocks fit
# These kernels dominate the run time of projections, reconstructions and filters, so they may have no stack and no
# spills, whatever the limits say.
projectors = re.compile(r"parallel_(gather|list_gather|block_back|tile_back|view_back|unweighted_hessian)|"
                        r"(cone|general|multiaxis)_(gather|list_gather|block_back|back_gather)|"
                        r"block_sort|channel_major|ramp_block_fourier")


def compile_for(source, front_end):
    """What ptxas says of the capabilities of a front end."""
    codes = ",".join(f"sm_{c}" for c in front_ends[front_end])
    output = args.keep / f"{source.stem}.{front_end}.fatbin" if args.keep else "/dev/null"
    command = [args.nvcc, "-std=c++20", "-lineinfo", "-gencode", f"arch=compute_{front_end},code=[{codes}]",
               "-Werror", "all-warnings", "-Xcompiler=-Wall,-Wextra,-Wno-psabi", "-Xptxas", "-v", "-I", args.include,
               "-fatbin", "-o", str(output), str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{source.name} does not compile:\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def readable(mangled):
    """on_warps<parallel_gather<B>, no_scratch> from _ZN5mbirk..."""
    text = subprocess.run([args.filt], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout
    names = {}
    for symbol, name in zip(mangled, text.splitlines()):
        name = name.replace("mbirk::simd::warp_backend<mbirk::exec::cuda_warp>", "B")
        name = re.sub(r"mbirk::(kernel|exec::detail)::", "", name)
        name = re.sub(r"\((?:bool|int)\)", "", name)
        body = name[name.index("run_block<") + len("run_block<"):name.index(">(")].strip()
        names[symbol] = re.sub(r"\s+(?=>)", "", body).replace(", ", ",")
    return names


def facts(log):
    """{capability: {symbol: (registers, shared, stack, spilled bytes)}}"""
    found = {c: {} for c in capabilities}
    for part in log.split("Compiling entry function '")[1:]:
        symbol, capability = re.match(r"([^']*)' for 'sm_(\d+)'", part).groups()
        stack, stores, loads = map(int, re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        shared = re.search(r"(\d+) bytes smem", part)
        found[int(capability)][symbol] = (int(re.search(r"Used (\d+) registers", part)[1]),
                                          int(shared[1]) if shared else 0, stack, stores + loads)
    return found


if args.keep:
    args.keep.mkdir(parents=True, exist_ok=True)
sources = sorted((folder.parents[1] / "src" / "cuda").glob("*.cu"))
with concurrent.futures.ThreadPoolExecutor() as pool:
    by_capability = facts("".join(pool.map(compile_for, *zip(*((s, f) for s in sources for f in front_ends)))))
names = readable(sorted(by_capability[capabilities[0]]))
kernels = {}  # name: (registers by capability, shared, stack, spills)
for symbol, name in names.items():
    rows = [by_capability[c][symbol] for c in capabilities]
    kernels[name] = ([r[0] for r in rows], *(max(r[k] for r in rows) for k in (1, 2, 3)))

limits_file = folder / "kernel_limits.txt"
if args.update:
    with open(limits_file, "w") as out:
        out.write("# Limits of tests/codegen/kernels.py, written by its --update. Registers for sm_"
                  + ", ".join(map(str, capabilities)) + "; then bytes of shared memory, stack, spills.\n")
        for name, (registers, *rest) in sorted(kernels.items()):
            out.write(" ".join(str(min(r + slack, 255)) for r in registers) + "  " + " ".join(map(str, rest))
                      + "  " + name + "\n")
limits = {}
for line in limits_file.read_text().splitlines():
    if not line.startswith("#"):
        *numbers, name = line.split(maxsplit=len(capabilities) + 3)
        numbers = list(map(int, numbers))
        limits[name] = (numbers[:len(capabilities)], *numbers[len(capabilities):])

failures = []
print("registers " + " ".join(f"{'sm_' + str(c):>6}" for c in capabilities) + "   shared  stack spills  kernel")
for name, (registers, shared, stack, spills) in sorted(kernels.items()):
    print(" " * 10 + " ".join(f"{r:6}" for r in registers) + f"   {shared:6} {stack:6} {spills:6}  {name}")
    if name not in limits:
        failures.append(f"{name} has no line in {limits_file.name}, expected one: run with --update")
        continue
    most, *others = limits[name]
    for c, r, m in zip(capabilities, registers, most):
        if r > m:
            failures.append(f"{name} has {r} registers on sm_{c}, the limit is {m}")
    for what, value, m in zip(("bytes of shared memory", "bytes of stack", "spilled bytes"),
                              (shared, stack, spills), others):
        if value > m:
            failures.append(f"{name} has {value} {what}, the limit is {m}")
    if projectors.search(name) and stack + spills:
        failures.append(f"{name} is a kernel of a projector and has a stack of {stack} bytes and {spills} spilled "
                        "bytes")
for name in sorted(limits.keys() - kernels.keys()):
    failures.append(f"{limits_file.name} has limits for {name}, which does not exist")
print(f"\n{len(kernels)} kernels")
for f in failures:
    print("FAILED:", f)
sys.exit(bool(failures))
