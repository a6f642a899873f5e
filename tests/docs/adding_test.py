#!/usr/bin/env python3
"""adding_test.py COMPILER...: writes the files of docs/adding_an_operation.md into an empty folder, compiles their tests with the headers of the project
behind them, and runs these. The compiler comes with its flags; GoogleTest is where it finds it."""
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
text = (root / "docs/adding_an_operation.md").read_text(encoding="utf-8")
files = re.findall(r"^<!-- file: (\S+) -->\n```cpp\n(.*?)^```$", text, re.M | re.S)

with tempfile.TemporaryDirectory(prefix="mbirk-adding-") as name:
    folder = pathlib.Path(name)
    for path, content in files:
        if (root / path).exists():
            sys.exit(f"{path} is a file of the project: the example needs a name of its own")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    tests = [path for path, _ in files if path.endswith("_test.cpp")]
    (folder / "all.cpp").write_text("".join(f'#include "{path}"\n' for path in tests))  # reading the headers once is half of the time
    subprocess.run([*sys.argv[1:], "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-array-bounds", "-I", folder, "-I", folder / "include",
                    "-I", root / "include", "-I", root / "tests", folder / "all.cpp", "-o", folder / "all", "-lgtest", "-lgtest_main", "-pthread"], check=True)
    done = subprocess.run([folder / "all"], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    passed = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
    written = sum(len(re.findall(r"^TEST\(", content, re.M)) for _, content in files)
    sys.exit(0 if done.returncode == 0 and passed and int(passed[1]) == written > 0 else 1)
