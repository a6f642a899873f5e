"""Threads, callbacks, cancelling, resuming from states, and errors of the library."""

import threading
import time
import warnings

import numpy as np
import pytest

import mbirk


def test_other_threads_run_meanwhile():
    """Times at which this thread ran, during one call by another thread; none if that call held the GIL throughout."""
    model = mbirk.ParallelBeamModel((400, 16, 160), np.linspace(0, np.pi, 400, endpoint=False))
    image = np.ones(model.recon_shape, np.float32)
    call = []

    def work():
        begin = time.perf_counter()
        model.forward_project(image, threads=1)
        call.extend((begin, time.perf_counter()))

    worker = threading.Thread(target=work)
    ticks = []
    worker.start()
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(1e-4)
    begin, end = call
    middle = [t for t in ticks if begin + 0.2 * (end - begin) < t < end - 0.2 * (end - begin)]
    assert middle


def test_several_threads_use_one_model(cone):
    """Calls keep their initial parameters, even if parameters are set meanwhile."""
    model, image, _ = cone
    expected = {offset: None for offset in (0.0, 1.5)}
    for offset in expected:
        model.set_params(det_channel_offset=offset)
        expected[offset] = model.forward_project(image).tobytes()
    stop, found = threading.Event(), []

    def work():
        while not stop.is_set():
            found.append(model.forward_project(image, threads=1).tobytes() in expected.values())

    workers = [threading.Thread(target=work) for _ in range(2)]
    for w in workers:
        w.start()
    k, deadline = 0, time.monotonic() + 60
    while (len(found) < 20 or k < 10) and time.monotonic() < deadline:
        model.set_params(det_channel_offset=1.5 * (k % 2))
        time.sleep(1e-3)
        k += 1
    stop.set()
    for w in workers:
        w.join()
    assert len(found) >= 20 and k >= 10 and all(found)


def test_the_number_of_threads_changes_no_bit(scanner):
    model, y = scanner
    weights = mbirk.gen_weights(y, "transmission_root")
    image = mbirk.nested_ellipsoids(model.recon_shape)
    pixels = model.full_indices()[3:17]
    calls = [
        lambda n: model.forward_project(image, threads=n),
        lambda n: model.back_project(y, threads=n),
        lambda n: model.sparse_back_project(y, pixels, coeff_power=2, threads=n),
        lambda n: model.compute_hessian_diagonal(weights, threads=n),
        lambda n: model.direct_recon(y, threads=n),
        lambda n: model.gen_weights_mar(y, threads=n),
        lambda n: model.recon(y, weights, max_iterations=2, threads=n)[0],
        lambda n: mbirk.median_filter3d(image, threads=n),
        lambda n: mbirk.QGGMRFDenoiser(image.shape).denoise(image + 0.01 * model.direct_recon(y), max_iterations=2,
                                                            threads=n)[0],
    ]
    for k, run in enumerate(calls):
        one = run(1)
        assert one.any(), k
        for threads in (3, 0):
            assert run(threads).tobytes() == one.tobytes(), (k, threads)


def test_progress_and_cancel(scanner):
    model, y = scanner
    seen = []

    def progress(report):
        seen.append((report.iteration, report.iterations, report.change, report.alpha, report.fm_rmse))
        return len(seen) < 3

    _, record = model.recon(y, max_iterations=9, stop_threshold_change_pct=0, progress=progress)
    used = record["recon_params"]
    assert [s[0] for s in seen] == [1, 2, 3] and all(s[1] == 9 for s in seen)
    assert used["cancelled"] and used["num_iterations"] == 3
    assert used["fm_rmse"] == tuple(s[4] for s in seen) and used["alpha_values"] == tuple(s[3] for s in seen)
    silent = []
    # None means continue
    assert not model.recon(y, max_iterations=2, progress=silent.append)[1]["recon_params"]["cancelled"]
    assert len(silent) == 2


def test_an_exception_in_a_callback_comes_back(scanner):
    model, y = scanner

    def progress(report):
        raise KeyError(report.iteration)

    with pytest.raises(KeyError, match="1"):
        model.recon(y, progress=progress)
    image = mbirk.nested_ellipsoids((9, 8, 7)) + np.linspace(0, 0.01, 504, dtype=np.float32).reshape(9, 8, 7)
    with pytest.raises(KeyError, match="1"):
        mbirk.QGGMRFDenoiser((9, 8, 7)).denoise(image, progress=progress)


def test_checkpoint_and_resume(scanner, tmp_path):
    model, y = scanner
    whole, _ = model.recon(y, max_iterations=4, stop_threshold_change_pct=0, seed=3)
    states = []
    model.recon(y, max_iterations=2, stop_threshold_change_pct=0, seed=3, checkpoint=states.append, checkpoint_every=2)
    assert [s.num_iterations for s in states] == [2]
    mbirk.save_checkpoint(str(tmp_path / "state"), states[0])
    state = mbirk.load_checkpoint(str(tmp_path / "state"))
    assert np.array_equal(state.recon, states[0].recon)
    resumed, _ = model.recon(y, max_iterations=4, stop_threshold_change_pct=0, seed=3, resume=state)
    assert resumed.tobytes() == whole.tobytes()
    with pytest.raises(OSError, match="nowhere"):
        mbirk.load_checkpoint(str(tmp_path / "nowhere"))


def test_init_recon(scanner):
    model, y = scanner
    start = mbirk.nested_ellipsoids(model.recon_shape)
    by_number, _ = model.recon(y, init_recon=0.02, max_iterations=1)
    by_array, _ = model.recon(y, init_recon=np.full(model.recon_shape, 0.02, np.float32), max_iterations=1)
    assert by_number.tobytes() == by_array.tobytes()
    expected, _ = model.recon(y, init_recon=start, max_iterations=1)
    assert expected.tobytes() != by_number.tobytes()
    assert model.recon(y, init_recon=start, max_iterations=1, out=start)[0] is start and np.array_equal(start, expected)


def test_prox_map_keeps_its_sigmas(scanner):
    model, y = scanner
    v = model.direct_recon(y)
    with pytest.raises(ValueError, match="do_initialization is false, expected true in the first call"):
        model.prox_map(v, y, do_initialization=False)
    _, first = model.prox_map(v, y, max_iterations=1)
    _, second = model.prox_map(v, 2 * y, do_initialization=False, max_iterations=1)
    sigmas = [r["recon_params"]["regularization_params"] for r in (first, second)]
    assert sigmas[0] == sigmas[1] and sigmas[0]["sigma_y"] == model.get_params("sigma_y")


def test_split():
    model = mbirk.ConeBeamModel((20, 32, 24), np.linspace(0, 6, 20), 96.0, 48.0)
    phantom = mbirk.nested_ellipsoids(model.recon_shape)
    y = model.forward_project(phantom)
    plan = model.plan_split(half_overlap=2)
    assert plan["possible"] and plan["top"]["rows"] < 32
    whole, _ = model.recon(y, max_iterations=3)
    halves, record = model.split_sino_recon(y, half_overlap=2, max_iterations=3)
    assert record["plan"] == plan and record["recon_params_bottom"]["num_iterations"] >= 1
    assert np.linalg.norm(halves - whole) < 0.1 * np.linalg.norm(whole)  # one image by different partitions


def test_errors_of_the_library(cone):
    model, _, sinogram = cone
    with pytest.raises(ValueError, match="angles has 2 values, expected one per view = 5"):
        mbirk.ParallelBeamModel((5, 3, 8), [0, 1]).verify_valid_params()
    with pytest.raises(ValueError,
                       match="'sharpnes' is not a parameter of a model with geometry cone; similar: sharpness"):
        model.set_params(sharpnes=1)
    with pytest.raises(ValueError, match="p is 3, expected a number from 1 to 2"):
        model.set_params(sharpness=0.5, p=3)
    assert model.get_params("sharpness") == 1  # all or none
    with pytest.raises(TypeError, match="sharpness is of type dict, expected a number"):
        model.set_params(sharpness={})
    with pytest.raises(ValueError,
                       match='weight_type is "none", expected unweighted, transmission, transmission_root or emission'):
        mbirk.gen_weights(sinogram, "none")
    with pytest.raises(ValueError, match="forward_project: threads is -1"):
        model.forward_project(np.zeros(model.recon_shape, np.float32), threads=-1)
    with pytest.raises(ValueError, match="sparse_back_project.*pixel"):
        model.sparse_back_project(sinogram, np.array([10**6], np.int32))
    sinogram[2, 1, 3] = np.nan
    with pytest.raises(ValueError, match=r"sinogram\(2, 1, 3\) is nan, expected finite values"):
        model.recon(sinogram)


def test_warnings_are_warnings(cone):
    model = cone[0]
    with pytest.warns(UserWarning, match="automatic regularization is off"):
        model.set_params(sigma_y=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="the scan has changed"):
            model.set_params(delta_det_channel=2.0)
