"""Holds the headers of include/mbirk to the order of their folders (CONTRIBUTING.md), and their size to budgets.

A header includes only headers of its own layer and of those below. Budgets are sizes after preprocessing, which a busy machine does not change: they follow
the time that g++ needs to read a header, about 25 MB a second on the machine that they were chosen on. Exit code: 0 when both hold, 1 when not."""
import pathlib
import re
import subprocess
import sys

include, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
# Layers from bottom to top: a folder, or single headers that stand below the rest of their folder.
LAYERS = [
    ["core", "version.hpp"],
    ["geometry", "prior/parameters.hpp", "recon/parameter_value.hpp", "recon/options.hpp"],
    ["definition", "exec/block.hpp", "exec/tuning.hpp"],
    ["simd"],
    ["kernel/shared"],
    ["kernel/host", "kernel/device"],
    ["exec"],
    ["instrument"],
    ["context.hpp", "memory.hpp", "launch.hpp", "operation.hpp"],
    ["projector"],
    ["filter", "prior", "util"],
    ["recon"],
    ["instances", "interop", "io", "mbirk.hpp"],
    ["record"],
    ["profile"],
]
# The headers of operations end by declaring the instances in mbirk::compiled, which belong to them.
UPWARD = re.compile(r"#if defined\(MBIRK_COMPILED\)\n.*?#endif", re.S)
# Kilobytes after preprocessing.
BUDGETS = {"instrument/none.hpp": 500, "exec/task_runner.hpp": 100, "exec/host.hpp": 2500, "projector/parallel.hpp": 2500, "mbirk.hpp": 3700,
           "recon/model.hpp": 3700}


def layer_of(header):
    folders = [(len(entry), rank) for rank, layer in enumerate(LAYERS) for entry in layer if header == entry or header.startswith(entry + "/")]
    if not folders:
        sys.exit(f"{header} is in no layer: add its folder to LAYERS in {__file__}")
    return max(folders)[1]


failures = []
headers = sorted(p for p in include.glob("mbirk/**/*") if p.suffix in (".hpp", ".cuh"))
for path in headers:
    header = str(path.relative_to(include / "mbirk"))
    text = UPWARD.sub("", path.read_text())
    for included in re.findall(r'#include "mbirk/([^"]+)"', text):
        if layer_of(included) > layer_of(header):
            failures.append(f"{header} includes {included}, which stands above it")
print(f"{len(headers)} headers in {len(LAYERS)} layers")
for header, budget in BUDGETS.items():
    command = [compiler, "-std=c++20", "-E", "-P", "-I", str(include), "-x", "c++", "-"]
    size = len(subprocess.run(command, input=f'#include "mbirk/{header}"\n', capture_output=True, text=True, check=True).stdout) / 1000
    print(f"{header}: {size:.0f} kB of at most {budget}")
    if size > budget:
        failures.append(f"{header} has {size:.0f} kB after preprocessing, expected at most {budget}")
print(*failures, sep="\n")
sys.exit(bool(failures))
