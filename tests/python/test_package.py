"""What the package adds to the compiled module: signatures, copies, files, logs, progress, operators, preprocessing."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import mbirk
from mbirk import preprocess


def test_signatures_are_readable(cone):
    for model in (mbirk.ParallelBeamModel, mbirk.ConeBeamModel, mbirk.QGGMRFDenoiser):
        for name in ("recon", "forward_project", "direct_recon") if model is not mbirk.QGGMRFDenoiser else ("denoise",):
            signature = inspect.signature(getattr(model, name))
            assert all(p.annotation is not p.empty for p in list(signature.parameters.values())[1:]) and inspect.getdoc(
                getattr(model, name)
            )
    with pytest.raises(TypeError, match="unexpected keyword argument 'iterations'"):
        cone[0].recon(cone[2], iterations=3)


def test_keywords_of_mbirjax(scanner, capsys):
    model, y = scanner
    plain, _ = model.recon(y, max_iterations=2)
    again, record = model.recon(y, max_iterations=2, print_logs=True, logfile_path=None, output_sharded=False)
    assert (
        np.array_equal(plain, again) and record["logs"].count("\n") == 2 and capsys.readouterr().out == record["logs"]
    )
    model.configure_devices(1)
    model.set_params(no_warning=True, no_compile=True, verbose=0, sigma_y=2.0)
    assert model.get_params("sigma_y") == 2


def test_progress(scanner, capsys, monkeypatch):
    model, y = scanner
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    model.recon(y, max_iterations=2, stop_threshold_change_pct=0, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[0].startswith("iteration 1 of 2: change ")


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda m: m.copy(), lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(scanner, way):
    model, y = scanner
    model.set_params(sharpness=0.5, recon_shape=(12, 13, 5), positivity_flag=True)
    model.auto_set_regularization_params(y)
    other = way(model)
    assert type(other) is type(model) and other.params == model.params
    other.set_params(sharpness=2)
    assert model.get_params("sharpness") == 0.5


def test_view_parameters(cone):
    model = cone[0]
    views = model.get_params("view_params_array")
    assert views.shape == (11, 2) and not views[:, 1].any()
    other = model.copy()
    other.set_view_parameters(views + np.float32([0.25, 0]))
    assert np.allclose(other.get_params("angles"), np.asarray(model.get_params("angles")) + 0.25)
    fresh = mbirk.ConeBeamModel((11, 6, 17), np.float32(other.get_params("angles")), 60.0, 30.0)
    assert np.array_equal(other.forward_project(cone[1]), fresh.forward_project(cone[1]))
    with pytest.raises(
        ValueError, match=r"view_params has shape \(3, 2\), expected that of the current views, \(11, 2\)"
    ):
        model.set_view_parameters(views[:3])
    parallel = mbirk.ParallelBeamModel((3, 4, 5), [0, 1, 2])
    parallel.set_view_parameters([2, 1, 0])
    assert parallel.get_params("angles") == (2, 1, 0)


def cone_views(angles, dist, iso_dist, pitch):
    """The vectors of a circular cone beam: source, detector, step between channels, step between rows."""
    c, s, zero = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    towards, across = np.stack([s, c, zero], 1), np.stack([c, -s, zero], 1)
    up = np.tile([0.0, 0.0, pitch], (len(angles), 1))
    return np.hstack([towards * iso_dist, towards * (iso_dist - dist), across * pitch, up])


@pytest.mark.filterwarnings("ignore:the object reaches the edge of the detector")
@pytest.mark.filterwarnings("ignore:the background of the sinogram")
def test_general_views():
    angles = np.linspace(0, 2 * np.pi, 6, endpoint=False, dtype=np.float32).astype(np.float64)
    cone = mbirk.ConeBeamModel((6, 9, 11), angles, 60.0, 20.0)
    vectors = cone_views(angles, 60.0, 20.0, 1.0)
    pitch = cone.get_params("delta_voxel")
    model = mbirk.GeneralViewsModel((6, 9, 11), vectors, cone.recon_shape, pitch)
    assert np.array_equal(model.get_params("view_vectors"), vectors)
    assert np.array_equal(model.get_params("view_params_array"), vectors)
    x = np.random.default_rng(5).random(cone.recon_shape, np.float32)
    expected = cone.forward_project(x)
    assert np.abs(model.forward_project(x) - expected).max() <= 1e-6 * expected.max()
    y = np.random.default_rng(6).random((6, 9, 11), np.float32)
    left, right = np.vdot(model.forward_project(x), y), np.vdot(x, model.back_project(y))
    assert abs(left - right) <= 1e-6 * abs(left)
    model.set_params(granularity=[1, 8, 32], partition_sequence=[0, 1, 2])
    recon, record = model.recon(expected, max_iterations=2, stop_threshold_change_pct=0)
    assert recon.shape == tuple(cone.recon_shape) and np.isfinite(recon).all()
    with pytest.raises(TypeError, match="no direct reconstruction"):
        model.direct_recon(y)
    for bad, message in (
        (vectors[:5], "view_vectors has 60 values, expected twelve per view, of 6 views"),
        (vectors[:, :11], r"expected \(views, 12\)"),
    ):
        with pytest.raises(ValueError, match=message):
            mbirk.GeneralViewsModel((6, 9, 11), bad, cone.recon_shape, pitch)
    tilted = vectors.copy()
    tilted[:, 9] += 0.02
    model.set_view_parameters(tilted)
    assert np.abs(model.forward_project(x) - expected).max() > 1e-3 * expected.max()
    assert model.copy().params["view_vectors"] == model.params["view_vectors"]


def test_translation():
    vectors = mbirk.gen_translation_vectors(3, 2, 4.0, 3.0)
    assert vectors.shape == (6, 3) and vectors.dtype == np.float32 and tuple(vectors[5]) == (4.0, 0.0, 1.5)
    model = mbirk.TranslationModel((6, 9, 11), vectors.tolist(), 60.0, 20.0)
    assert model.get_magnification() == 3 and model.get_params("max_alpha") == 1.3
    assert model.get_params("qggmrf_nbr_wts") == (0.1, 1, 1) and model.get_params("use_ror_mask") is False
    assert np.array_equal(model.get_params("translation_vectors"), vectors)
    assert np.array_equal(model.get_params("view_params_array"), vectors)
    model.set_params(no_warning=True, voxel_row_aspect=2.0, recon_shape=(5, 12, 8))
    assert model.copy().params == model.params and pickle.loads(pickle.dumps(model)).params == model.params
    assert mbirk.build_model(*model.get_all_params()).params == model.params
    x = np.random.default_rng(1).random(model.recon_shape, dtype=np.float32)
    y = model.forward_project(x)
    model.set_view_parameters(-vectors)
    assert np.allclose(model.forward_project(x[:, ::-1, ::-1]), y[:, ::-1, ::-1], rtol=1e-5, atol=1e-5 * y.max())
    for bad in (vectors[:, :2], vectors.T, vectors.ravel()):
        with pytest.raises(ValueError, match=r"translation_vectors has shape .*, expected \(views, 3\)"):
            model.set_params(translation_vectors=bad)
    with pytest.raises(ValueError, match="source_detector_dist is inf, expected a positive number"):
        mbirk.TranslationModel((6, 9, 11), vectors, np.inf, 20.0)
    empty = mbirk.TranslationModel((6, 9, 11), np.zeros((6, 3)), 60.0, 20.0)
    with pytest.raises(ValueError, match="recon_shape .* expected three sizes >= 1"):
        empty.forward_project(x)
    empty.set_params(no_warning=True, voxel_row_aspect=2.0, recon_shape=(5, 12, 8))
    assert empty.forward_project(x).max() > 0


def test_build_model(cone):
    model = cone[0]
    model.set_params(no_warning=True, delta_det_row=0.5, sharpness=1.0)
    required, optional, regularization = model.get_all_params()
    assert mbirk.build_model(required, optional, regularization).params == model.params
    assert (
        mbirk.build_model(required).recon_shape
        == mbirk.ConeBeamModel((11, 6, 17), required["angles"], 60.0, 30.0).recon_shape
    )
    with pytest.raises(ValueError, match="geometry_type is 'fan', expected one of"):
        mbirk.build_model({"geometry_type": "fan"})
    fewer = mbirk.copy_ct_model(model, new_angles=required["angles"][:4])
    assert fewer.sinogram_shape == (4, 6, 17) and fewer.recon_shape == model.recon_shape


def test_a_wrong_number_of_views_is_refused_at_once():
    with pytest.raises(ValueError, match="angles"):
        mbirk.ParallelBeamModel((3, 4, 5), [0, 1])
    with pytest.raises(ValueError, match="helical_z_shifts"):
        mbirk.ConeBeamModel((3, 4, 5), [0, 1, 2], 60.0, 30.0, [0.0, 0.0])


def test_prior_as_in_mbirjax():
    x = np.random.default_rng(1).random((4, 5, 6))
    params = (mbirk.get_b_from_nbr_wts((1, 2, 3)), 0.3, 2.0, 1.2, 1.0)
    own = dict(sigma_x=0.3, p=2.0, q=1.2, T=1.0, qggmrf_nbr_wts=(1, 2, 3))
    assert mbirk.qggmrf_loss(x, params) == pytest.approx(mbirk.qggmrf_loss(x, **own), rel=1e-6)
    flat = mbirk.qggmrf_gradient_and_hessian_at_indices(x.reshape(20, 6), (4, 5, 6), [3, 7], params)
    for a, b in zip(flat, mbirk.qggmrf_gradient_and_hessian_at_indices(x, [3, 7], **own)):
        assert np.allclose(a, b, rtol=1e-5)


def test_demo_data():
    """A helix of two turns, as MBIRJAX draws it: the table moves by the detector's height at the axis in each."""
    phantom, sinogram, params = mbirk.generate_demo_data(
        "cube",
        "cone",
        20,
        8,
        24,
        use_helical=True,
        helical_pitch=1.0,
        helical_z_range=8.0,
        helical_z_center=3.0,
        use_curved_detector=True,
    )
    angles, shifts = params["angles"], params["helical_z_shifts"]
    assert np.allclose(np.diff(angles), 2 * 2 * np.pi / 20, rtol=1e-5) and angles[0] == np.float32(-np.pi)
    assert (shifts[0], shifts[-1]) == (-1, 7) and np.allclose(np.diff(shifts), 8 / 19, rtol=1e-5)
    model = mbirk.ConeBeamModel(sinogram.shape, **params)
    assert model.get_params("use_curved_detector") and np.array_equal(model.forward_project(phantom), sinogram)
    flat, _, _ = mbirk.generate_demo_data("cube", "cone", 4, 8, 24, voxel_row_aspect=0.5, voxel_slice_aspect=2.0)
    cubic, _, _ = mbirk.generate_demo_data("cube", "cone", 4, 8, 24)
    assert flat.shape[0] == 2 * cubic.shape[0] and flat.shape[2] < cubic.shape[2]
    with pytest.raises(ValueError, match="helical_pitch or helical_z_range is None, expected both"):
        mbirk.generate_demo_data(num_views=4, num_det_rows=4, num_det_channels=8, use_helical=True)


def test_records(cone, capsys):
    record = cone[0].get_recon_dict({"num_iterations": 0}, "by hand")
    assert record["recon_params"] == {"num_iterations": 0} and record["notes"] == "by hand"
    assert record["model_params"] == cone[0].params and set(cone[0].get_recon_dict(save_model=False)) == {
        "recon_params",
        "notes",
        "logs",
    }
    assert isinstance(cone[0].get_recon_dict(str_format=True)["model_params"], str)
    (stats,) = mbirk.get_memory_stats()
    assert stats["peak_bytes_in_use"] >= stats["bytes_in_use"] > 1 << 20 and capsys.readouterr().out.startswith(
        "CPU\n  bytes_in_use: 0."
    )


def test_hdf5_files(tmp_path, scanner):
    pytest.importorskip("h5py")
    model, y = scanner
    recon, record = model.recon(y, max_iterations=1)
    for path in (tmp_path / "a" / "recon.h5", tmp_path / "b.h5"):
        model.save_recon_hdf5(path, recon, record)
        loaded, found = model.load_recon_hdf5(path)
        assert np.array_equal(loaded, recon) and found["recon_params"]["num_iterations"] == 1
        assert found["model_params"]["sharpness"] == model.get_params("sharpness")
    mbirk.save_data_hdf5(tmp_path / "c.h5", y, "sinogram", {"unit": "mm"})
    array, attributes = mbirk.load_data_hdf5(tmp_path / "c.h5")
    assert np.array_equal(array, y) and attributes == {"unit": "mm"}
    with pytest.raises(ValueError, match=r"c\.h5: has no attribute format"):
        preprocess.load_cone_preprocessing(tmp_path / "c.h5")
    required, optional, _ = model.get_all_params()
    preprocess.save_cone_preprocessing(tmp_path / "d.h5", y, required, optional)
    sinogram, required, optional, weights = preprocess.load_cone_preprocessing(tmp_path / "d.h5")
    assert (
        np.array_equal(sinogram, y)
        and weights is None
        and mbirk.build_model(required, optional).recon_shape == model.recon_shape
    )
    assert not list(tmp_path.glob("*.part"))


def test_logs(tmp_path, scanner):
    model, y = scanner
    path = tmp_path / "logs" / "recon.log"
    model.recon(y, max_iterations=1, logfile_path=str(path))
    assert path.read_text().startswith("iteration 1 of 1: change ")
    other = model.copy()
    other.setup_logger(print_logs=False)
    other.logger.info("a message")
    assert (
        other.logger is not model.logger
        and other.log_buffer.getvalue() == "a message\n"
        and "message" not in model.log_buffer.getvalue()
    )


def test_least_squares(scanner):
    """The methods of least squares reach a small residual; with noise-free data that is the object."""
    model, y = scanner
    start = float(np.linalg.norm(y))
    for recon, share in (
        (mbirk.sirt(model, y, 40), 0.1),
        (mbirk.cgls(model, y, 15), 0.03),
        (mbirk.fista_tv(model, y, 30, tv_weight=1e-4), 0.1),
    ):
        assert recon.shape == model.recon_shape and np.linalg.norm(y - model.forward_project(recon)) < share * start
    assert mbirk.sirt(model, y, 2, positivity=True).min() >= 0
    with pytest.raises(ValueError, match="tv_weight is 0, expected more than 0"):
        mbirk.fista_tv(model, y, tv_weight=0)


def test_linear_operator(cone):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    model, x, y = cone
    a = mbirk.linear_operator(model)
    assert isinstance(a, linalg.LinearOperator) and a.shape == (y.size, x.size)
    left, right = np.vdot(y.astype(float), a @ x.ravel()), np.vdot(x.ravel().astype(float), a.T @ y.ravel())
    assert left == pytest.approx(right, rel=1e-5)


def test_torch_gradients(cone):
    torch = pytest.importorskip("torch")
    from mbirk import torch as projections

    model, x, y = cone
    image = torch.tensor(x, requires_grad=True)
    (0.5 * (projections.forward_project(model, image) - torch.tensor(y)) ** 2).sum().backward()
    expected = model.back_project(model.forward_project(x) - y)
    assert np.allclose(image.grad.numpy(), expected, rtol=1e-5, atol=1e-5 * abs(expected).max())


def test_preprocessing():
    random = np.random.default_rng(3)
    y = random.random((3, 6, 8), dtype=np.float32)
    white, dark = np.full((2, 6, 8), 1000.0), np.full((1, 6, 8), 10)
    counts = 10 + 990 * np.exp(-y.astype(float))
    sinogram = preprocess.compute_sino_transmission(counts, white, dark, [(2, 3)])
    good = np.ones((6, 8), bool)
    good[2, 3] = False
    assert np.allclose(sinogram[:, good], y[:, good], atol=1e-4)
    assert np.allclose(sinogram[:, 2, 3], (y[:, 1:4, 2:5].sum(axis=(1, 2)) - y[:, 2, 3]) / 8, atol=1e-4)
    cropped = preprocess.crop_view_data(counts, white, dark, 1, 2, 1, np.array([(0, 0), (3, 4)]))
    assert cropped[0].shape == (3, 3, 6) and np.array_equal(cropped[3], [(1, 3)])
    down = preprocess.downsample_view_data(counts, white, dark, (2, 4))
    assert np.allclose(down[0], counts.reshape(3, 3, 2, 2, 4).mean(axis=(2, 4))) and down[3] == ()
    edged = np.pad(y[:, 2:4, 3:5], ((0, 0), (2, 2), (3, 3))) + np.float32(0.125)
    assert np.allclose(preprocess.correct_background_offset(edged, 2), edged - 0.125)
    assert preprocess.detect_blank_margins(np.pad(np.ones((4, 5, 6)), ((0, 0), (7, 3), (2, 9))), 1) == (6, 2, 1, 8)
    assert preprocess.to_alu(2.0, "cm", "mm") == 20


def test_slice_viewer():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    volume = np.arange(2 * 3 * 4.0).reshape(2, 3, 4)
    figure = mbirk.slice_viewer(volume, volume[..., :2], slice_axis=[0, 2], block=False)
    figure.slider.set_val(0)
    assert np.array_equal(figure.axes[0].images[0].get_array(), volume[0]) and len(figure.axes[1].images) == 1
    with pytest.raises(ValueError, match="volume 0 has 4 axes, expected 2 or 3"):
        mbirk.slice_viewer(np.zeros((1, 1, 1, 1)), block=False)


@pytest.fixture
def turning():
    """24 views of a full turn, of an object that grows brighter: (model, sinogram)."""
    model = mbirk.ConeBeamModel((24, 6, 12), np.radians(15.0) * np.arange(24), 100.0, 50.0)
    model.set_params(no_warning=True, granularity=[1, 4], partition_sequence=[0, 1])
    brightness = np.linspace(1, 2, 24, dtype=np.float32)[:, None, None]
    return model, model.forward_project(mbirk.nested_ellipsoids(model.recon_shape)) * brightness


def test_mace4d(turning, tmp_path):
    model, y = turning
    mace = mbirk.MACE4DModel(model, frames_per_rotation=6, frame_overlap_factor=2)
    assert mace.num_frames == 5 and mace.view_slices[1] == slice(4, 12) and len(mace.model_list) == 5
    mace.set_params(dejitter=False, verbose=0)
    recon, record = mace.recon(y, max_iterations=6, stop_threshold_change_pct=0, init_dir=tmp_path, log_dir=tmp_path)
    assert recon.shape == (5, *model.recon_shape) and len(record["timing"]) == 6
    # The frames are as bright as their views were, and their sum is in the middle of the turn.
    means = recon.mean(axis=(1, 2, 3))
    assert (np.diff(means) > 0).all() and means[4] / means[0] == pytest.approx((2 - 4 / 23) / (1 + 3.5 / 23), rel=0.1)
    changes = [row["consensus_change_pct"] for row in record["timing"]]
    assert changes[-1] < changes[0]
    assert (tmp_path / "task_log.csv").read_text().count("denoise") == 18 and (tmp_path / "run_info.txt").exists()
    again, record = mace.recon(y, max_iterations=6, stop_threshold_change_pct=0, init_dir=tmp_path)
    assert np.array_equal(again, recon) and record["recon_params"]["init source"] == "cached"


def test_mace4d_errors(turning, tmp_path):
    model, y = turning
    for wrong in (1.5, [0.5, 0.5, 0.5], [0.1, 0.2], -0.1):
        with pytest.raises(ValueError, match="mace_prior_weight is .*, expected a number or three"):
            mbirk.MACE4DModel(model).set_params(mace_prior_weight=wrong)
    with pytest.raises(
        ValueError, match=r"sinogram has shape \(3, 6, 12\), expected \(views, rows, channels\) = \(24, 6, 12\)"
    ):
        mbirk.MACE4DModel(model).recon(y[:3])
    with pytest.raises(ValueError, match="a frame takes 48 views, expected 1 to 24"):
        mbirk.MACE4DModel(model, frames_per_rotation=1)
    with pytest.raises(ValueError, match="angles of ct_model are not uniform"):
        mbirk.MACE4DModel(mbirk.ConeBeamModel((3, 6, 12), [0, 1, 3], 100.0, 50.0))
    np.save(tmp_path / "init_recon.npy", np.zeros((1, 2, 3, 4)))
    with pytest.warns(UserWarning, match="is invalid and will be replaced"):
        assert mbirk.MACE4DModel(model)._load_cached_init(tmp_path) is None


def test_jitter_is_removed():
    pytest.importorskip("scipy")
    from mbirk.mace4d import remove_period

    jitter = np.cos(2 * np.pi * np.arange(25) / 6, dtype=np.float32)[:, None]
    cleaned = remove_period(np.float32(5) + jitter, 6)
    assert np.abs(cleaned - 5).max() < 1e-4


def test_multi_axis_views():
    angles = np.float32([[0, 0.1], [1, -0.2], [2, 0.3]])
    model = mbirk.MultiAxisParallelModel((3, 4, 5), angles)
    assert np.array_equal(np.float32(model.get_params("angles")), angles)
    assert np.array_equal(model.get_params("view_params_array"), angles)
    assert np.array_equal(np.float32(model.copy().get_params("angles")), angles)
    model.set_view_parameters(angles + np.float32(0.25))
    again = mbirk.build_model(*model.get_all_params())
    assert np.array_equal(np.float32(again.get_params("angles")), angles + np.float32(0.25))
    assert again.recon_shape == model.recon_shape
    for bad in (angles[:, 0], angles.T, np.zeros((3, 3))):
        with pytest.raises(ValueError, match=r"angles has shape \(.*\), expected \(views, 2\)"):
            mbirk.MultiAxisParallelModel((3, 4, 5), bad)
    with pytest.raises(ValueError, match=r"expected \(azimuth, elevation\) per view"):
        mbirk.MultiAxisParallelModel((4, 4, 5), angles)
    with pytest.warns(UserWarning, match="elevations up to 57"):
        mbirk.MultiAxisParallelModel((1, 4, 5), [[0, 1]])
