#!/usr/bin/env python3
"""run.py SOURCE WORK COMPILER BUILD [PYTHON_WITH_JAX]: `pip install SOURCE[test]` in a fresh virtual environment below
WORK, the module of the emulated device with the kernels of the C++ build in the folder BUILD, then pytest, the tests
with JAX by another Python if it has that, then what dispatched.py says of the library that the module is made of. Exit
code 77 where that cannot be tried: without venv, without the headers of Python, or when the packages that the build
needs cannot be had."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time

import dispatched

SKIPPED = 77


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def add_emulated(source: pathlib.Path, work: pathlib.Path, build: pathlib.Path, python: list, pip: list) -> None:
    """Adds the module of the emulated device to the installed package. Compiling its kernels again takes a minute."""
    if not (build / "src/libmbirk_emulated_instances.a").exists():
        print(f"the tests of devices are left out: {build} has no kernels of the emulated device")
        return
    nanobind = re.search(r"nanobind==[\w.]+", (source / "pyproject.toml").read_text())[0]
    subprocess.run([*pip, nanobind], check=True)
    where = subprocess.run([*python, "nanobind", "--cmake_dir"], stdout=subprocess.PIPE, text=True, check=True)
    made = work / "emulated"
    settings = [f"-DMBIRK_BUILD={build}", f"-Dnanobind_DIR={where.stdout.strip()}", f"-DPython_EXECUTABLE={python[0]}"]
    if shutil.which("ninja"):
        settings.append("-GNinja")
    if shutil.which("ccache"):
        settings.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    # This is the nanobind of the wheel, which takes ten seconds to compile. From Python 3.12 on the wheel has another
    # one, for the stable interface.
    settings += [f"-DMBIRK_NANOBIND={library}" for library in (work / "build").glob("libnanobind-static.a")]
    # Debug takes three quarters of the time to compile; as Release, a nanobind
    # that is compiled here would be compiled for size.
    quickly = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    configure = ["cmake", "-S", source / "tests/python/emulated", "-B", made, *quickly, *settings]
    for command in configure, ["cmake", "--build", made]:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (module,) = made.glob("_emulated*.so")
    shutil.copy(module, pathlib.Path(folder_of_packages(python)) / "mbirk")


def folder_of_packages(python: list) -> str:
    command = [*python[:2], "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> None:
    source, work, build = (pathlib.Path(sys.argv[k]).resolve() for k in (1, 2, 4))
    compiler = sys.argv[3]
    if sys.version_info < (3, 10):
        skip("Python is older than 3.10")
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        skip("the headers of Python are not installed")
    venv, packages = work / "venv", work / "packages"
    shutil.rmtree(work, ignore_errors=True)
    if subprocess.run([sys.executable, "-m", "venv", venv]).returncode != 0:
        skip("a virtual environment cannot be made")
    python = [venv / "bin/python", "-B", "-m"]
    # The packages that pyproject.toml pins, downloaded first, so that a missing index is a skip and every later error
    # is one.
    pinned = re.findall(r'"([\w-]+[=>]=[\w.]+)"', (source / "pyproject.toml").read_text())
    assert len(pinned) >= 4, pinned
    if subprocess.run([*python, "pip", "-q", "download", "-d", packages, *pinned]).returncode != 0:
        skip(f"pip could not get {', '.join(pinned)}")

    begin = time.monotonic()
    # Two sets, because compiling one takes a minute. The shipped module has x86-64-v4 too.
    sets = ["x86-64", "x86-64-v3"]
    # -C is shorter, but unknown to the pip of Debian 12.
    settings = [
        f"--config-settings=build-dir={work / 'build'}",
        f"--config-settings=cmake.define.MBIRK_INSTRUCTION_SETS={';'.join(sets)}",
    ]
    pip = [*python, "pip", "-q", "install", "--find-links", packages]
    subprocess.run([*pip, *settings, f"{source}[test]"], check=True)
    print(f"pip install: {time.monotonic() - begin:.0f} s", flush=True)
    add_emulated(source, work, build, python, pip)
    # Runs in another folder, so that the installed module is imported.
    subprocess.run(
        [*python, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", source, source / "tests/python"],
        cwd=work,
        check=True,
    )
    with_jax = sys.argv[5] if len(sys.argv) > 5 else ""
    if with_jax and subprocess.run([with_jax, "-c", "import jax"], stderr=subprocess.DEVNULL).returncode == 0:
        environment = {**os.environ, "PYTHONPATH": folder_of_packages(python)}
        jax_tests = ["pytest", "-q", "-p", "no:cacheprovider", "--rootdir", source, source / "tests/python/test_jax.py"]
        subprocess.run([with_jax, "-B", "-m", *jax_tests], cwd=work, env=environment, check=True)
    else:
        print("the tests with JAX are left out: it is not installed")
    if platform.machine() == "x86_64":
        dispatched.check(source, work, compiler, sets)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as e:
        sys.exit(f"{e.cmd} failed with {e.returncode}")
    except AssertionError as e:
        sys.exit(f"dispatched: {e}")
