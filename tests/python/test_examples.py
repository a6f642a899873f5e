"""The examples of examples/python run, and their reconstructions are better than those that they are compared with."""

import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


def errors(name, *arguments):
    """What an example prints as its errors, in order."""
    command = [sys.executable, FOLDER / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return [float(e) for e in re.findall(r"error (?:of the middle slice )?([0-9.]+)", done.stdout)]


def test_read_scan(tmp_path):
    pytest.importorskip("h5py")
    (error,) = errors("read_scan.py", "--size", 32, "--out", tmp_path)
    assert error < 0.5  # half of what no reconstruction at all would have
    assert (tmp_path / "volume.npy").exists()
    assert errors("read_scan.py", tmp_path / "scan.h5", "--out", tmp_path) == []  # a scan whose phantom is not known


def test_metal_artefacts():
    filtered, plain, robust = errors("metal_artefacts.py", "--size", 48)
    assert robust < plain < filtered


def test_plug_and_play():
    filtered, fused = errors("plug_and_play.py", "--size", 32)
    assert fused < filtered
