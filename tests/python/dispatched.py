"""A library with kernels for several instruction sets, as the module links it: what the linker sees of it, and a
program of sources with different flags."""

import os
import pathlib
import shutil
import subprocess

LACKING = 77  # exit code of the program where this processor lacks the set


def check(source: pathlib.Path, work: pathlib.Path, compiler: str, sets: list[str]) -> None:
    (library,) = (work / "build").rglob("libmbirk.a")
    found = check_symbols(library)
    assert found == sets, f"{library} has kernels for {found}, expected {sets}"
    program = build(source / "tests/install/dispatched", source / "include", library, compiler, work)
    ran = []
    for name in sets:
        result = subprocess.run([program, name], env=os.environ | {"MBIRK_INSTRUCTION_SET": name}, capture_output=True,
                                text=True)
        assert result.returncode in (0, LACKING), f"{name}: {result.stdout}{result.stderr}"
        ran += [name] if result.returncode == 0 else []
    print(f"dispatched: {', '.join(ran)} of {', '.join(sets)}", flush=True)
    assert "x86-64" in ran
    if emulator := shutil.which("qemu-x86_64"):
        # A processor that has no more than every x86-64: an instruction of a greater set would end the program.
        old = subprocess.run([emulator, "-cpu", "qemu64", program, "x86-64"], capture_output=True, text=True)
        assert old.returncode == 0, f"on an old processor: {old.returncode} {old.stdout}{old.stderr}"
        print("dispatched: x86-64 is chosen on an old processor", flush=True)


def check_symbols(library: pathlib.Path) -> list[str]:
    """The objects of a set must offer the linker nothing but their table: it would take an inline function with the
    instructions of one processor for all of the program. Returns the names of the sets."""
    text = subprocess.run(["nm", "--defined-only", "--extern-only", library], capture_output=True, text=True,
                          check=True).stdout
    sets = []
    for member in text.strip().split("\n\n"):
        name, *symbols = member.strip().splitlines()
        if not name.startswith("mbirk_x86_64"):
            continue
        identifier = name.removeprefix("mbirk_").removesuffix(".o:")
        visible = [line.split()[-1] for line in symbols]
        assert visible == [f"mbirk_operations_{identifier}"], f"{name} offers {len(visible)} symbols: {visible[:3]}"
        sets.append(identifier.replace("_", "-"))
    return sets


def build(sources: pathlib.Path, include: pathlib.Path, library: pathlib.Path, compiler: str,
          work: pathlib.Path) -> pathlib.Path:
    """One source is compiled for every x86-64, one for AVX2."""
    objects = []
    for name, flags in (("main", []), ("baseline", []), ("wide", ["-march=x86-64-v3"])):
        objects.append(work / f"{name}.o")
        subprocess.run([compiler, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-psabi",
                        "-DMBIRK_COMPILED=1", "-DMBIRK_DISPATCHED=1", *flags, "-I", include,
                        "-c", sources / f"{name}.cpp", "-o", objects[-1]], check=True)
    program = work / "dispatched"
    subprocess.run([compiler, *objects, library, "-pthread", "-o", program], check=True)
    return program
