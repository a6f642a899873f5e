"""The notebooks of examples/python: their cells run one after the other, in one namespace, without Jupyter."""

import importlib.util
import json
import pathlib

import pytest

import mbirk

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def cells(name):
    """The code cells of a notebook that can run here: those with the tag "picture" need matplotlib."""
    notebook = json.loads((FOLDER / name).read_text())
    assert notebook["nbformat"] == 4 and notebook["metadata"]["kernelspec"]["name"] == "python3"
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code and all(
        cell["outputs"] == [] and cell["execution_count"] is None for cell in code
    ), "is kept without results"
    has_pictures = importlib.util.find_spec("matplotlib") is not None
    return ["".join(c["source"]) for c in code if has_pictures or "picture" not in c["metadata"].get("tags", ())]


def test_first_reconstruction(monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    for number, source in enumerate(cells("first_reconstruction.ipynb")):
        exec(compile(source, f"cell {number}", "exec"), names)
    direct, recon = names["error"](names["direct"]), names["error"](names["recon"])
    assert recon < 0.7 * direct, (direct, recon)
    assert names["cost"] == mbirk.cost(names["model"], "forward_project")
    assert f"relative error {recon:.3f}" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda p: p.stem)
def test_cells_are_python(path):
    for number, source in enumerate(cells(path.name)):
        compile(source, f"cell {number}", "exec")
