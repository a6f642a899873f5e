"""Runs nvcc, cuobjdump, nvdisasm and c++filt."""
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
import tempfile

# One run of the front end serves several capabilities; it optimises differently from 100 on.
FRONT_ENDS = {80: (80, 86, 89, 90), 100: (100, 120)}


class Missing(Exception):
    """A tool is not there."""


class Failed(Exception):
    """A tool ended with an error; one line."""


def find(name):
    """A tool on PATH, of a CUDA toolkit, or of NVIDIA's packages on PyPI."""
    places = [pathlib.Path(p) for p in sys.path + site.getsitepackages() if p]
    candidates = [shutil.which(name), os.environ.get("MBIRK_" + name.upper())]
    candidates += [str(f) for p in places for f in p.glob(f"nvidia/*/bin/{name}")]
    candidates += [f"/usr/local/cuda/bin/{name}"]
    for c in candidates:
        if c and os.access(c, os.X_OK):
            return c
    raise Missing(f"{name} was not found: it is in the CUDA toolkit, and on PyPI as nvidia-cuda-{name}")


def run(command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if result.returncode:
        text = (result.stderr or result.stdout).strip().splitlines()
        raise Failed(f"{pathlib.Path(command[0]).name}: {text[-1] if text else 'failed'}")
    return result.stdout


def demangle(symbols):
    symbols = list(symbols)
    name = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if not name:
        raise Missing("c++filt was not found: it is in binutils")
    return dict(zip(symbols, run([name], input="\n".join(symbols)).splitlines()))


def compile_kernels(nvcc, include, capabilities, folder):
    """The kernels of src/cuda with the lines of their source, as a folder of fatbinaries."""
    sources = sorted((pathlib.Path(include).resolve().parent / "src" / "cuda").glob("*.cu"))
    if not sources:
        raise Failed(f"--include {include}: found no src/cuda beside it, expected the include folder of mbirk")
    for source in sources:
        for front_end, codes in FRONT_ENDS.items():
            chosen = [c for c in codes if c in capabilities]
            if chosen:
                code = ",".join(f"sm_{c}" for c in chosen)
                output = pathlib.Path(folder, f"{source.stem}.{front_end}.fatbin")
                run([nvcc, "-std=c++20", "-lineinfo", "-gencode", f"arch=compute_{front_end},code=[{code}]",
                     "-Xcompiler=-Wno-psabi", "-I", include, "-fatbin", "-o", output, source])
    return pathlib.Path(folder)


def disassemble(fatbin, capabilities):
    """(capability, text, {symbol: facts}) of every cubin in a fatbinary. facts: what the compiler decided."""
    cuobjdump, nvdisasm = find("cuobjdump"), find("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="mbirk-cubin-") as scratch:
        run([cuobjdump, "-xelf", "all", pathlib.Path(fatbin).resolve()], cwd=scratch)
        for cubin in sorted(pathlib.Path(scratch).glob("*.cubin")):
            capability = int(re.search(r"sm_(\d+)", cubin.name)[1])
            if capability not in capabilities:
                continue
            facts = {}
            for symbol, registers, shared in re.findall(
                    r"Function ([^:\s]+):\s*\n\s*REG:(\d+).*?SHARED:(\d+)", run([cuobjdump, "-res-usage", cubin])):
                facts[symbol] = {"registers": int(registers), "shared": int(shared)}
            yield capability, run([nvdisasm, "-gi", "-c", cubin]), facts
