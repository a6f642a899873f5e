"""The module as a whole: names, documentation, type stubs, parameters, small functions, cost, the demo."""

import ast
import copy
import importlib.resources
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import mbirk

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def stub() -> ast.Module:
    return ast.parse(importlib.resources.files("mbirk").joinpath("_core.pyi").read_text())


def test_version():
    header = (REPOSITORY / "include/mbirk/version.hpp").read_text()
    assert mbirk.__version__ == re.search('version_string = "([^"]+)"', header)[1]


def test_stubs_have_every_name_with_types():
    assert importlib.resources.files("mbirk").joinpath("py.typed").is_file()
    nodes = {n.name: n for n in stub().body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    own = {n for n in mbirk.__all__ if getattr(getattr(mbirk, n), "__module__", None) == "mbirk._core"}
    assert len(own) > 15 and own <= nodes.keys() | {n.target.id for n in stub().body if isinstance(n, ast.AnnAssign)}
    functions = [f for n in nodes.values() for f in ([n] if isinstance(n, ast.FunctionDef) else n.body)
                 if isinstance(f, ast.FunctionDef)]
    for f in functions:
        arguments = [a for a in f.args.posonlyargs + f.args.args + f.args.kwonlyargs if a.arg not in ("self", "values")]
        assert all(a.annotation for a in arguments) and f.returns, f.name
    projection = next(f for f in nodes["ConeBeamModel"].body if getattr(f, "name", "") == "forward_project")
    assert "float32" in ast.unparse(projection.returns) and "float32" in ast.unparse(projection.args.args[1].annotation)


def described(thing):
    """The documentation after the signature, which begins the docstrings of compiled functions."""
    head, _, rest = thing.__doc__.partition("\n\n")
    return len((rest if re.match(r"\w+\(", head) else thing.__doc__).split()) >= 2


def test_everything_is_documented():
    for name in mbirk.__all__:
        thing = getattr(mbirk, name)
        if isinstance(thing, str):
            continue
        if isinstance(thing, type):
            for attribute, member in vars(thing).items():
                assert attribute.startswith("_") or described(member), (name, attribute)
        else:
            assert described(thing), name
    assert "(views, rows, channels)" in mbirk.ConeBeamModel.forward_project.__doc__
    page = (REPOSITORY / "docs/python.md").read_text()
    for name in set(mbirk.__all__) - {"__version__", "IterationReport"}:
        assert name in page, f"docs/python.md does not name {name}"


def example_of(page):
    code = re.search(r"```python\n(.*?)```", (REPOSITORY / page).read_text(), re.DOTALL)[1]
    return compile(code, page, "exec")


def test_the_example_of_the_page(capsys):
    exec(example_of("docs/python.md"), {})
    assert float(re.search(r"NRMSE ([0-9.]+)", capsys.readouterr().out)[1]) < 0.5


def test_the_example_of_the_first_screen():
    names = {}
    exec(example_of("README.md"), names)
    phantom = names["phantom"]
    assert np.linalg.norm(names["recon"] - phantom) < 0.3 * np.linalg.norm(phantom)


def test_the_demo(tmp_path):
    demo = REPOSITORY / "examples/python/demo_1.py"
    done = subprocess.run([sys.executable, demo, "--size", "32", "--out", tmp_path], capture_output=True, text=True,
                          check=True, timeout=300)
    errors = [float(x) for x in re.findall(r"NRMSE ([0-9.]+)", done.stdout)]
    assert len(errors) == 2 and max(errors) < 0.35  # 0.27 at this size, 0.18 at 48 channels
    for geometry in ("parallel", "cone"):
        phantom, recon = np.load(tmp_path / f"demo_1_{geometry}.npy")
        assert phantom.max() > 0.5 and np.corrcoef(phantom.ravel(), recon.ravel())[0, 1] > 0.9


def test_parameters_in_and_out(cone):
    model = cone[0]
    values = dict(sharpness=np.float32(0.5), snr_db=40, positivity_flag=np.True_, recon_shape=np.array([12, 13, 5]),
                  qggmrf_nbr_wts=[1, 2, 3.5], granularity=(1, 2, 4), partition_sequence=[0, 1, 2], alu_unit="mm",
                  delta_voxel=0.75)  # fmt: skip
    model.set_params(**values)
    names = list(values)
    assert model.get_params(names) == [0.5, 40.0, True, (12, 13, 5), (1.0, 2.0, 3.5), (1, 2, 4), (0, 1, 2), "mm", 0.75]
    assert model.recon_shape == (12, 13, 5) and model.sinogram_shape == (11, 6, 17) and model.get_magnification() == 2
    mask = np.zeros((12, 13), np.uint8)
    mask[3:9, 2:11] = 1
    model.set_params(use_ror_mask=mask)
    assert (np.array_equal(model.get_params("use_ror_mask"), mask)
            and np.array_equal(model.full_indices(), np.flatnonzero(mask)))
    with pytest.raises(ValueError, match="use_ror_mask"):
        model.set_params(use_ror_mask=2 * mask)
    assert model.params["sharpness"] == 0.5 and len(model.params) > 25
    assert np.array_equal(np.float32(model.get_params("angles")), np.linspace(0, 6, 11, dtype=np.float32))
    for other in (model.copy(), copy.copy(model), copy.deepcopy(model), mbirk.copy_ct_model(model)):
        other.set_params(sharpness=2)
        assert model.get_params("sharpness") == 0.5 and other.recon_shape == model.recon_shape
    model.set_params(use_ror_mask=True)
    assert model.scale_recon_shape(2, 1, 1) == ((24, 13, 5), (12, 0, 0)) and model.recon_shape == (24, 13, 5)
    model.auto_set_recon_geometry()
    assert model.recon_shape == cone[1].shape and "recon_shape=" in repr(model)


def test_print_params(cone, capsys):
    cone[0].print_params()
    assert "source_iso_dist = 30" in capsys.readouterr().out


def test_regularization(scanner):
    model, y = scanner
    found = model.auto_set_regularization_params(y)
    assert found["sigma_y"] == model.get_params("sigma_y") > 0 and found["sigma_x"] == model.get_params("sigma_x") > 0
    assert model.auto_set_regularization_params(2 * y)["sigma_y"] == pytest.approx(2 * found["sigma_y"], rel=1e-6)


def test_prior():
    """The gradient is the derivative of the loss."""
    random = np.random.default_rng(5)
    x = random.random((5, 6, 7), dtype=np.float32)
    pixels = np.array([8, 15], np.int32)
    gradient, hessian = mbirk.qggmrf_gradient_and_hessian_at_indices(x, pixels, sigma_x=0.3)
    assert gradient.shape == hessian.shape == (2, 7) and (hessian > 0).all()
    step = 1 / 64
    for k, pixel in enumerate(pixels):
        i, j = divmod(int(pixel), 6)
        up, down = x.copy(), x.copy()
        up[i, j, 3] += step
        down[i, j, 3] -= step
        slope = (mbirk.qggmrf_loss(up, sigma_x=0.3) - mbirk.qggmrf_loss(down, sigma_x=0.3)) / (2 * step)
        assert slope == pytest.approx(gradient[k, 3], abs=0.02 * float(abs(gradient).max()))


def test_masks_and_partitions():
    shape = (9, 11, 4)
    mask = mbirk.get_2d_ror_mask(shape)
    assert mask.shape == (9, 11) and np.array_equal(mbirk.gen_full_indices(shape), np.flatnonzero(mask))
    assert (mbirk.get_2d_ror_mask(shape, crop_radius_pixels=2).sum() < mask.sum() < 99
            == len(mbirk.gen_full_indices(shape, use_ror_mask=False)))
    random = mbirk.gen_set_of_pixel_partitions(shape, [1, 3], seed=4)
    assert [len(p) for p in random] == [1, 3]
    assert np.array_equal(np.unique(random[1]), mbirk.gen_full_indices(shape))
    with pytest.warns(UserWarning, match="subsets"):
        mbirk.gen_pixel_partition((3, 3), 100)
    assert mbirk.gen_partition_sequence([2, 4], 4) == (2, 4, 4, 4)
    assert mbirk.scale_recon_shape((10, 10, 10), row_scale=1.25) == ((12, 10, 10), (2, 0, 0))


def test_volumes():
    a = mbirk.generate_3d_shepp_logan_low_dynamic_range((16, 16, 9))
    assert (a.max() == 1 and mbirk.generate_3d_shepp_logan_reference((16, 16, 9)).max() == 2
            and mbirk.gen_cube_phantom((16, 16, 9)).any())
    joined = mbirk.stitch_arrays([a[:, :, :6].copy(), a[:, :, 4:].copy()], 2)
    assert np.allclose(joined, a, atol=1e-6)
    median, least, greatest = mbirk.median_filter3d(a, return_min_max=True)
    assert (least <= median).all() and (median <= greatest).all() and np.array_equal(median, mbirk.median_filter3d(a))
    (threshold,) = mbirk.multi_threshold_otsu(np.where(a > 0.5, np.float32(1), np.float32(0)))
    assert 0 < threshold <= 1
    counts = np.full((2, 4, 5), 60, np.float32)
    counts[1, 2, 2] = np.nan
    white = mbirk.frame_mean(np.stack([np.full((4, 5), x, np.float32) for x in (100, 140)]))
    y, repaired, lost = mbirk.counts_to_line_integrals(counts, white, np.full((4, 5), 20, np.float32))
    assert np.allclose(y, np.log(100 / 40)) and (repaired, lost) == (1, 0)


def test_demo_data():
    for model_type in ("parallel", "cone"):
        phantom, sinogram, params = mbirk.generate_demo_data("cube", model_type, 6, 8, 16)
        model = mbirk.get_ct_model(model_type, sinogram.shape, **params)
        assert np.array_equal(model.forward_project(phantom), sinogram) and sinogram.shape == (6, 8, 16)
    with pytest.raises(ValueError, match="geometry_type"):
        mbirk.get_ct_model("fan", (6, 8, 16), params["angles"])


def test_cost(cone):
    model = cone[0]
    cost = mbirk.cost(model, "forward_project")
    assert cost["operation"] == "cone_forward_project" and cost["flops"] > 0
    # The sinogram is written once, and only the pixels inside the mask are read from the image.
    image, sinogram = len(model.full_indices()) * model.recon_shape[2], int(np.prod(model.sinogram_shape))
    assert cost["bytes_compulsory"] == 4 * (image + sinogram)
    assert (cost["bytes_accessed"] > cost["bytes_compulsory"]
            and cost["flops"] == sum(s["flops"] for s in cost["stages"]))
    once, twice = (mbirk.cost(model, "recon", max_iterations=n)["flops"] for n in (1, 2))
    assert twice > once > 0
    for operation in ("back_project", "compute_hessian_diagonal", "direct_filter", "direct_recon", "gen_weights",
                      "prox_map"):
        assert mbirk.cost(model, operation)["flops"] > 0, operation
    with pytest.raises(ValueError, match='operation is "fly", expected one of back_project'):
        mbirk.cost(model, "fly")
