"""MACE4DModel against that of MBIRJAX."""

import pathlib
import warnings

import make_mace4d
import numpy as np
import pytest

import mbirk

# The iterations amplify rounding errors by little: what is above these bounds is another formula. A volume is the
# result of 15 iterations of reconstruction, and of 4 with 3 of the proximal map and at most 15 of the denoisers in
# each. An iteration adds an error of about eps = 6e-8 times the square root of the 60 terms that a voxel sums.
EPS = float(np.finfo(np.float32).eps) / 2
START, END = 15 * 60**0.5 * EPS, (15 + 4 * 18) * 60**0.5 * EPS


def test_agrees_with_mbirjax():
    expected = np.load(pathlib.Path(__file__).parent / "data" / "mace4d.npz")
    angles, sinogram = make_mace4d.scan()
    model = mbirk.ConeBeamModel(sinogram.shape, angles, 100.0, 50.0)
    model.set_params(no_warning=True, **make_mace4d.SETTINGS)
    model.auto_set_recon_geometry()
    mace = mbirk.MACE4DModel(model, num_frames=3)
    mace.set_params(**make_mace4d.MACE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a reconstruction says of this small object
        start, _ = mace.recon(sinogram, max_iterations=0)
        recon, record = mace.recon(sinogram, max_iterations=make_mace4d.ITERATIONS, stop_threshold_change_pct=0)
    for found, name, tolerance in ((start, "start", START), (recon, "recon", END)):
        error = np.linalg.norm(found - expected[name]) / np.linalg.norm(expected[name])
        assert error < tolerance, (name, error)
    assert record["recon_params"]["denoiser sigma (global)"] == pytest.approx(float(expected["sigma"]), rel=START)
    changes = [row["consensus_change_pct"] for row in record["timing"]]
    assert changes == pytest.approx(list(expected["change"]), rel=1e-3)
    assert np.linalg.norm(recon - start) > 0.05 * np.linalg.norm(start)
