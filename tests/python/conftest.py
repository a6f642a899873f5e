"""Cases of tests/golden and a small scan that several tests share."""

import json
import pathlib

import numpy as np
import pytest

import mbirk

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
CASES = ("parallel_32", "parallel_odd", "cone_32", "cone_odd", "cone_helical_curved", "multiaxis_a", "multiaxis_odd",
         "translation_a", "translation_odd")


class Case:
    """A folder of tests/golden; its README.md has the format."""

    def __init__(self, name: str):
        self.folder = GOLDEN / name
        self.file = json.loads((self.folder / "case.json").read_text())

    def array(self, name: str) -> np.ndarray:
        return np.load(self.folder / name)

    def model(self):
        shape, params = self.file["sinogram_shape"], dict(self.file["params"])
        angles = self.array(self.file["angles"]) if "angles" in self.file else None
        if self.file["geometry"] == "parallel":
            model = mbirk.ParallelBeamModel(shape, angles)
        elif self.file["geometry"] == "translation":
            vectors = self.array(self.file["translation_vectors"])
            model = mbirk.TranslationModel(shape, vectors, params["source_detector_dist"], params["source_iso_dist"])
        elif self.file["geometry"] == "multiaxis":
            model = mbirk.MultiAxisParallelModel(shape, angles)
        else:
            shifts = self.array(self.file["helical_z_shifts"]) if "helical_z_shifts" in self.file else None
            model = mbirk.ConeBeamModel(shape, angles, params["source_detector_dist"], params["source_iso_dist"],
                                        shifts)
        model.set_params(recon_shape=self.file["recon_shape"], **params)
        return model

    def entries(self, prefix: str):
        """(inputs by name, args, expected, entry) of the operations whose names begin with it; at least one exists."""
        found = [e for e in self.file["ops"] if e["op"].startswith(prefix)]
        assert found, prefix
        for e in found:
            yield {k: self.array(v) for k, v in e["inputs"].items()}, e["args"], self.array(e["output"]), e


@pytest.fixture(params=CASES)
def case(request) -> Case:
    return Case(request.param)


@pytest.fixture
def cone():
    """11 views of 6 x 17 samples, with more pixels than any partition has subsets: (model, an image, a sinogram)."""
    model = mbirk.ConeBeamModel((11, 6, 17), np.linspace(0, 6, 11), 60.0, 30.0)
    random = np.random.default_rng(7)
    return (model, random.random(model.recon_shape, dtype=np.float32),
            random.random(model.sinogram_shape, dtype=np.float32))


@pytest.fixture
def scanner(cone):
    """A model with the sinogram of an object, which reconstructions need."""
    model = cone[0]
    return model, model.forward_project(mbirk.nested_ellipsoids(model.recon_shape))


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    assert found.shape == expected.shape
    error = np.abs(found.astype(np.float64) - expected)
    assert np.isfinite(error).all()
    return float(error.max() / np.abs(expected).max())
