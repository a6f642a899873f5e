#!/usr/bin/env python3
"""adding_geometry_test.py WORK [--program] COMPILER...: does what docs/adding_a_geometry.md says in an overlay of the
project in the folder WORK, compiles and runs the tests of the document, and counts the files that the geometry touches.
The compiler comes with its flags; GoogleTest is where it finds it. Without --program the tests of the program are left
out, because they need its dependencies."""
import pathlib
import re
import subprocess
import sys

from overlay import Overlay, empty_folder

MOST_FILES = 25

folder = empty_folder(sys.argv[1])
overlay = Overlay("docs/adding_a_geometry.md", folder)
touched = overlay.touched()
print(f"{len(touched)} files of at most {MOST_FILES}:", *touched, sep="\n  ")
if len(touched) > MOST_FILES:
    sys.exit(f"a geometry touches {len(touched)} files, expected at most {MOST_FILES}")
with_program = sys.argv[2] == "--program"
compiler = sys.argv[2 + with_program:]
tests = [path for path in overlay.created
         if path.endswith("_test.cpp") and (with_program or not path.startswith("tests/program"))]
readers = ["input/geometry_file.cpp", "input/geometry_json.cpp", "input/similar_name.cpp", "input/view_import.cpp",
           "machine/memory.cpp"]
sources = tests + [f"bench/mbirk/{name}" for name in readers] * with_program
program = overlay.compile(compiler, sources, "all", ["-lgtest", "-lgtest_main"] + ["-lfmt"] * with_program)
done = subprocess.run([program], stdout=subprocess.PIPE, text=True)
print(done.stdout)
passed = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
written = sum(len(re.findall(r"^TEST(?:_F)?\(", (folder / path).read_text(), re.M)) for path in tests)
sys.exit(0 if done.returncode == 0 and passed and int(passed[1]) == written > 0 else 1)
