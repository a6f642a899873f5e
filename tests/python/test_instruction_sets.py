"""The kernels of every instruction set that the module and this processor have."""

import os
import subprocess
import sys

import pytest
from conftest import GOLDEN

import mbirk


def run(name: str, *command: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-B", *map(str, command)], env=os.environ | {"MBIRK_INSTRUCTION_SET": name},
                          capture_output=True, text=True)


def test_the_chosen_set_is_the_greatest_that_can_run():
    assert mbirk.instruction_set() in mbirk.instruction_sets()
    above = mbirk.instruction_sets()[mbirk.instruction_sets().index(mbirk.instruction_set()) + 1 :]
    for name in above:
        assert run(name, "-c", "import mbirk; mbirk.instruction_set()").returncode != 0


@pytest.mark.parametrize("name", mbirk.instruction_sets())
def test_golden_cases(name):
    if mbirk.instruction_sets().index(name) > mbirk.instruction_sets().index(mbirk.instruction_set()):
        pytest.skip("this processor lacks it")
    tests = GOLDEN.parent / "python/test_golden.py"
    result = run(name, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", GOLDEN.parents[1], tests,
                 "-k", "projections or weights")
    assert result.returncode == 0, result.stdout


def test_an_unknown_set_is_an_error():
    code = "import mbirk, numpy as np\nmbirk.median_filter3d(np.zeros((3, 3, 3), np.float32))"
    result = run("x86-64-v9", "-c", code)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(
        'ValueError: MBIRK_INSTRUCTION_SET is "x86-64-v9", expected what this build and this processor have: ')
