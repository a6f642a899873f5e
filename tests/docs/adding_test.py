#!/usr/bin/env python3
"""adding_test.py WORK [--libraries MBIRK_OPERATIONS MBIRK] COMPILER...: does what docs/adding_an_operation.md and
docs/adding_a_policy.md say in an overlay of the project in the folder WORK, compiles and runs their tests, and counts
the files that the operation touches.

With the libraries of the program and of mbirk::compiled, the lists that name the operation are compiled too, as the
project has them, and adding_program_test.cpp runs it as the program does. The compiler comes with its flags; GoogleTest
is where it finds it."""
import pathlib
import re
import subprocess
import sys

from overlay import Overlay, empty_folder, root

MOST_FILES = 7
arguments, libraries = sys.argv[2:], []
if arguments[0] == "--libraries":
    libraries, arguments = arguments[1:3], arguments[3:]


def run(program, expected, *options):
    """Runs tests; ends this program when not all of them pass or when there are fewer than expected."""
    done = subprocess.run([program, "--gtest_brief=1", *options], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    passed = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
    if done.returncode or not passed or int(passed[1]) != expected:
        sys.exit(f"{program.name}: expected {expected} tests to pass")


def tests_in(path):
    return len(re.findall(r"^TEST\(", path.read_text(encoding="utf-8"), re.M))


folder = empty_folder(sys.argv[1])
overlay = Overlay("docs/adding_an_operation.md", folder)
print(f"{len(overlay.touched())} files:", *overlay.touched(), sep="\n  ")
if len(overlay.touched()) > MOST_FILES:
    sys.exit(f"an operation touches {len(overlay.touched())} files, expected at most {MOST_FILES}")
policy = Overlay("docs/adding_a_policy.md", folder)
tests = [path for path in overlay.created + policy.created if path.endswith("_test.cpp")]
program = overlay.compile(arguments, tests, "tests_of_documents", ["-lgtest", "-lgtest_main"])
run(program, sum(tests_in(folder / path) for path in tests))

if libraries:
    # what src/ compiles of the operation's group
    (folder / "instances.cpp").write_text("""
#include "src/images.cpp"
#include "mbirk/instances/any.hpp"
#include "mbirk/instances/counting.hpp"
namespace mbirk {
MBIRK_IMAGE_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::any_context)
MBIRK_IMAGE_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_IMAGE_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)
MBIRK_IMAGE_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_IMAGE_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)
}
""")
    program_test = "tests/docs/adding_program_test.cpp"
    table = [f"bench/mbirk/operations/{name}.cpp" for name in ("operations", "operations_image")]
    # the overlay's object comes first, so that those of the libraries which it replaces stay out
    program = overlay.compile([*arguments, "-DMBIRK_COMPILED=1"], ["instances.cpp", program_test, *table], "program",
                              [*libraries, "-lgtest", "-lgtest_main"])
    run(program, tests_in(root / program_test))
