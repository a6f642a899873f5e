#!/usr/bin/env python3
"""doxygen_test.py: Doxygen has nothing to say against the comments of the public headers, and would say it. 77 where
there is no Doxygen."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
wrong_header = """#pragma once
/// A function. @param nobody  is not there.
template <class T> void twice(T value);
/// Breaks <off.
/// @seee something
void once(int value);
"""


def doxygen(folder, more=""):
    settings = (root / "docs/Doxyfile").read_text() + f"\nXML_OUTPUT = {folder}/xml\n{more}"
    done = subprocess.run(["doxygen", "-"], input=settings, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode, done.stdout


def main():
    if not shutil.which("doxygen"):
        print("doxygen was not found")
        return 77
    with tempfile.TemporaryDirectory(prefix="mbirk-doxygen-") as folder:
        code, said = doxygen(folder)
        if code:
            print(said)
            return 1
        header = pathlib.Path(folder) / "wrong.hpp"
        header.write_text(wrong_header)
        code, said = doxygen(folder, f"INPUT = {header}\n")
        if code == 0 or "nobody" not in said or "seee" not in said:
            print(f"a header with mistakes ends with {code}:\n{said}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
