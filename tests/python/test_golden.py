"""Every operation against arrays of MBIRJAX 0.7.3. Tolerances and their reasons are those of the C++ tests
(projector/golden_test.cpp and its kin)."""

import json

import numpy as np
import pytest
from conftest import GOLDEN, Case, relative_error

import mbirk

pytestmark = pytest.mark.filterwarnings("ignore:angles has elevations up to")


def test_projections(case):
    model = case.model()
    calls = {
        "forward_project": model.forward_project,
        "back_project": model.back_project,
        "sparse_forward_project": model.sparse_forward_project,
        "sparse_back_project": model.sparse_back_project,
        "hessian_diagonal": model.compute_hessian_diagonal,
    }
    compared = 0
    for name, run in calls.items():
        for inputs, args, expected, _ in case.entries(name):
            assert relative_error(run(**inputs, **args), expected) <= 3e-6, name
            compared += 1
    assert compared == 7


def test_direct(case):
    model = case.model()
    for taps in ("closed", "float32"):
        for inputs, _, expected, _ in case.entries("direct_filter"):
            assert relative_error(model.direct_filter(**inputs, taps=taps), expected) <= 4e-6
        for inputs, _, expected, _ in case.entries("direct_recon"):
            if case.file["name"] == "cone_helical_curved":
                with pytest.warns(UserWarning, match="helical"):
                    found = model.direct_recon(**inputs, taps=taps)
            else:
                found = model.direct_recon(**inputs, taps=taps)
            assert relative_error(found, expected) <= 5e-6


def test_weights(case):
    model = case.model()
    allowed = 2 * (4 + 2 * 0.37) * 2.0**-24  # error of both programs: the exponential and the rounding of its exponent
    for inputs, args, expected, entry in case.entries("gen_weights"):
        if entry["op"] == "gen_weights":
            found = mbirk.gen_weights(**inputs, **args)
        else:
            found = mbirk.gen_weights_mar(model, **inputs, **args)
        out = np.abs(found.astype(np.float64) - expected) > allowed * expected.max()
        assert out.mean() <= entry.get("outliers", 0), entry["output"]


@pytest.mark.filterwarnings("ignore:direct reconstruction of a helical scan")
@pytest.mark.filterwarnings("ignore:the object reaches the edge of the detector")
@pytest.mark.filterwarnings("ignore:the background of the sinogram")
@pytest.mark.parametrize("operation", ["recon", "prox_map"])
def test_iterative(case, operation):
    model = case.model()
    for inputs, args, expected, entry in case.entries(operation):
        run = getattr(model, operation)
        found, record = run(**inputs, **args, stop_threshold_change_pct=0, mbirjax_rounding=True)
        assert relative_error(found, expected) <= entry["rtol"]
        assert record["recon_params"]["num_iterations"] == args["max_iterations"]
        assert relative_error(run(**inputs, **args, stop_threshold_change_pct=0)[0], expected) <= 5e-4


def test_utilities():
    case = Case("utilities")
    for inputs, _, expected, _ in case.entries("median_filter3d"):
        found = mbirk.median_filter3d(inputs["image"])
        assert found.tobytes() == expected.tobytes()
    partitions = 0
    for _, args, expected, entry in case.entries("gen_pixel_partition"):
        found = getattr(mbirk, entry["op"])(case.file["recon_shape"], args["num_subsets"], seed=args["seed"])
        assert found.dtype == np.int32 and np.array_equal(found, expected), entry["output"]
        partitions += 1
    assert partitions == 9
    for inputs, args, expected, entry in case.entries("qggmrf_denoise"):
        found, _ = mbirk.QGGMRFDenoiser(case.file["recon_shape"]).denoise(**inputs, **args, stop_threshold_change_pct=0)
        assert relative_error(found, expected) <= entry["rtol"]


def test_every_operation_is_compared():
    names = {e["op"] for path in GOLDEN.glob("*/case.json") for e in json.loads(path.read_text())["ops"]}
    projections = {"forward_project", "back_project", "sparse_forward_project", "sparse_back_project",
                   "hessian_diagonal"}
    others = {"direct_filter", "direct_recon", "gen_weights", "gen_weights_mar", "recon", "prox_map",
              "median_filter3d", "gen_pixel_partition", "gen_pixel_partition_blue_noise", "gen_pixel_partition_grid",
              "qggmrf_denoise"}
    assert names == projections | others
