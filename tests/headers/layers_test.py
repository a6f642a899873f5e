"""Holds the headers of include/mbirk to the order of their folders (CONTRIBUTING.md), and their size to budgets.

A header includes only headers of its own layer and of those below. Budgets are sizes after preprocessing, which a busy
machine does not change: they follow the time that g++ needs to read a header, about 25 MB a second on the machine that
they were chosen on. For programs that link mbirk::compiled there is also a budget of code: what a program that
reconstructs with a model compiles itself, in which there may be no kernel. Exit code: 0 when all hold, 1 when not."""
import pathlib
import re
import subprocess
import sys
import tempfile

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
    ["context.hpp", "host_context.hpp", "memory.hpp", "launch.hpp", "operation.hpp"],
    ["projector"],
    ["filter", "prior", "util"],
    ["recon"],
    ["distributed"],
    ["instances", "interop", "io", "mbirk.hpp"],
    ["record"],
    ["profile"],
]
# The headers of operations end by declaring the instances in mbirk::compiled, which belong to them.
UPWARD = re.compile(r"#if defined\(MBIRK_COMPILED\)\n.*?#endif", re.S)
# Kilobytes after preprocessing.
BUDGETS = {"instrument/none.hpp": 500, "exec/task_runner.hpp": 100, "exec/host.hpp": 2300,
           "projector/parallel.hpp": 2500, "mbirk.hpp": 3700, "recon/model.hpp": 3625}
# The same for programs that link mbirk::compiled, which declare the kernels of all five geometries.
COMPILED_BUDGETS = {"projector/parallel.hpp": 2715, "recon/model.hpp": 3550}
# Bytes of code in such a program at -O2.
CODE_BUDGET = 25000
PROGRAM = """
#include "mbirk/recon/model.hpp"
int main() {
  using namespace mbirk;
  context const ctx{exec::host{}, instrument::none{}};
  cone_beam_model model({60, 24, 32}, std::vector<float>(60), 128, 64);
  model.set_params({{"sharpness", 1.5}, {"positivity_flag", true}});
  auto recon = model.new_recon(), sinogram = model.new_sinogram();
  model.forward_project(ctx, model.recon_view(recon), model.sinogram_view(sinogram));
  return model.recon(ctx, model.sinogram_view(sinogram), {}, model.recon_view(recon)).num_iterations;
}
"""


def layer_of(header):
    folders = [(len(entry), rank) for rank, layer in enumerate(LAYERS) for entry in layer
               if header == entry or header.startswith(entry + "/")]
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
for flags, budgets in ([], BUDGETS), (["-DMBIRK_COMPILED=1"], COMPILED_BUDGETS):
    for header, budget in budgets.items():
        command = [compiler, "-std=c++20", *flags, "-E", "-P", "-I", str(include), "-x", "c++", "-"]
        size = len(subprocess.run(command, input=f'#include "mbirk/{header}"\n', capture_output=True, text=True,
                                  check=True).stdout) / 1000
        print(f"{header} {' '.join(flags)}: {size:.0f} kB of at most {budget}")
        if size > budget:
            failures.append(f"{header} {' '.join(flags)} has {size:.0f} kB after preprocessing, "
                            f"expected at most {budget}")
with tempfile.TemporaryDirectory() as folder:
    object_file = pathlib.Path(folder, "program.o")
    subprocess.run([compiler, "-std=c++20", "-O2", "-DMBIRK_COMPILED=1", "-I", str(include), "-x", "c++", "-c", "-",
                    "-o", object_file], input=PROGRAM, text=True, check=True)
    symbols = [line.split() for line in subprocess.run(["nm", "-S", object_file], capture_output=True, text=True,
                                                       check=True).stdout.splitlines()]
functions = {name: int(size, 16) for _, size, kind, name in (s for s in symbols if len(s) == 4) if kind in "tTwW"}
code = sum(functions.values())
print(f"a program that links mbirk::compiled: {len(functions)} functions, {code} bytes of at most {CODE_BUDGET}")
if code > CODE_BUDGET:
    failures.append(f"a program that links mbirk::compiled compiles {code} bytes of code, "
                    f"expected at most {CODE_BUDGET}")
if kernels := [name for name in functions if "5mbirk6kernel" in name]:
    failures.append(f"a program that links mbirk::compiled compiles kernels: {', '.join(kernels)}")
print(*failures, sep="\n")
sys.exit(bool(failures))
