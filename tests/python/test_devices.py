"""Models of mbirk.devices: the operations of the host's models, on arrays of the device. It is the emulated one, or
that of the environment variable MBIRK_TEST_DEVICE: cuda."""

import gc
import os
import pickle
import threading

import numpy as np
import pytest

import mbirk

DEVICE = os.environ.get("MBIRK_TEST_DEVICE", "emulated")
pytest.importorskip(f"mbirk._{DEVICE}", reason="run.py builds it where the C++ build has its kernels")

VIEWS, ROWS, CHANNELS = 9, 7, 13
ANGLES = np.linspace(0, 2 * np.pi, VIEWS, endpoint=False)


def models(geometry):
    """(on the host, on the device)"""
    shape = (VIEWS, ROWS, CHANNELS)
    if geometry == "parallel":
        return mbirk.ParallelBeamModel(shape, ANGLES), mbirk.ParallelBeamModel(shape, ANGLES, device=DEVICE)
    distances = {"source_detector_dist": 52, "source_iso_dist": 26}
    host = mbirk.ConeBeamModel(shape, ANGLES, **distances)
    return host, mbirk.ConeBeamModel(shape, ANGLES, **distances, device=DEVICE)


@pytest.fixture(params=["parallel", "cone"])
def pair(request):
    return models(request.param)


@pytest.fixture
def device():
    return mbirk.Device(DEVICE)


def image_of(model):
    return mbirk.generate_3d_shepp_logan_low_dynamic_range(model.recon_shape).astype(np.float32)


def expect_close(found, expected, terms):
    """A float32 sum of so many terms errs by at most that many times 2^-24, on the host and on the device."""
    assert isinstance(found, mbirk.DeviceArray)
    found = np.asarray(found)
    assert found.shape == expected.shape and found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=2 * terms * 2.0**-24 * max(np.abs(expected).max(), 1e-30))


def test_projections(pair):
    host, device = pair
    x = image_of(host)
    y = host.forward_project(x)
    pixels = host.full_indices()[3:40]
    columns = x.reshape(-1, x.shape[2])[pixels]
    terms = 8 * CHANNELS
    expect_close(device.forward_project(x), y, terms)
    expect_close(device.back_project(y), host.back_project(y), terms)
    expect_close(device.sparse_forward_project(columns, pixels), host.sparse_forward_project(columns, pixels), terms)
    for power in 1, 2:
        expected = host.sparse_back_project(y, pixels, coeff_power=power)
        expect_close(device.sparse_back_project(y, pixels, coeff_power=power), expected, terms)
    for weights in None, np.exp(-y):
        expect_close(device.compute_hessian_diagonal(weights), host.compute_hessian_diagonal(weights), terms)


@pytest.mark.filterwarnings("ignore:gen_pixel_partition")  # there are fewer pixels than subsets
def test_reconstructions(pair):
    host, device = pair
    y = host.forward_project(image_of(host))
    weights = host.gen_weights(y, "transmission_root")
    expect_close(device.gen_weights(y, "transmission_root"), weights, 4)
    expect_close(device.direct_filter(y), host.direct_filter(y), 8 * CHANNELS)
    expect_close(device.direct_recon(y), host.direct_recon(y), 16 * CHANNELS)
    expect_close(device.gen_weights_mar(y), host.gen_weights_mar(y), 64)
    sigmas, expected = (m.auto_set_regularization_params(y, weights) for m in (device, host))
    assert sigmas == pytest.approx(expected, rel=1e-5)
    for name, arguments in (
        ("recon", {"sinogram": y, "weights": weights, "max_iterations": 3}),
        ("recon", {"sinogram": y, "init_recon": 0.01, "max_iterations": 2}),
        ("prox_map", {"prox_input": host.direct_recon(y), "sinogram": y, "max_iterations": 2}),
    ):
        found, record = getattr(device, name)(**arguments)
        expected, expected_record = getattr(host, name)(**arguments)
        expect_close(found, expected, 200)  # iterations amplify the rounding of their sums
        assert record["recon_params"]["num_iterations"] == expected_record["recon_params"]["num_iterations"]
        assert record["logs"]


def test_images(device):
    noisy = np.random.default_rng(1).normal(1, 0.1, (6, 9, 5)).astype(np.float32)
    median, least, greatest = device.median_filter3d(noisy, return_min_max=True)
    expected = mbirk.median_filter3d(noisy, return_min_max=True)
    for found, of_host in zip((median, least, greatest), expected):
        assert np.array_equal(np.asarray(found), of_host)
    assert np.array_equal(device.median_filter3d(noisy), expected[0])
    found, _ = mbirk.QGGMRFDenoiser(noisy.shape, device=DEVICE).denoise(noisy, max_iterations=3)
    expect_close(found, mbirk.QGGMRFDenoiser(noisy.shape).denoise(noisy, max_iterations=3)[0], 200)


def test_arrays_stay_on_the_device(pair, device):
    host, on_device = pair
    x = image_of(host)
    copied = device.array(x)
    assert repr(copied) == f"DeviceArray(shape={x.shape}, device={DEVICE!r})"
    assert (copied.ndim, copied.size, copied.nbytes) == (3, x.size, x.nbytes)
    assert copied.__dlpack_device__()[0] == (1 if DEVICE == "emulated" else 2) and copied.block_until_ready() is copied
    assert np.array_equal(copied, x) and np.array_equal(copied.numpy(), x)
    assert np.asarray(copied, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="cannot be read on the host without a copy"):
        np.asarray(copied, copy=False)
    y = on_device.forward_project(copied, strict=True)
    again = on_device.forward_project(copied, out=y)
    assert again is y
    out = device.array(np.zeros(host.recon_shape))
    assert on_device.back_project(y, out=out, strict=True) is out
    assert np.array_equal(out, on_device.back_project(np.asarray(y)))
    with pytest.raises(TypeError, match="back_project: sinogram is of type ndarray, expected an array of device"):
        on_device.back_project(np.asarray(y), strict=True)


@pytest.mark.skipif(DEVICE != "emulated", reason="NumPy does not read the memory of a device")
def test_memory_outlives_its_owner(device):
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    shared = np.from_dlpack(device.array(values))
    gc.collect()
    assert np.array_equal(shared, values)


def test_values_are_converted(pair):
    host, device = pair
    x = image_of(host)
    expected = np.asarray(device.forward_project(x))
    for given in x.astype(np.float64), np.asfortranarray(x), x.tolist():
        assert np.array_equal(device.forward_project(given), expected)
    with pytest.raises(TypeError, match="recon has elements of complex128, expected numbers"):
        device.forward_project(x.astype(complex))
    with pytest.raises(ValueError, match="recon"):
        device.forward_project(x[1:])
    bad = x.copy()
    bad[2, 3, 1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        device.recon(host.forward_project(x), init_recon=bad, max_iterations=1)


def test_parameters(pair):
    host, device = pair
    device.set_params(sharpness=0.7, positivity_flag=True)
    back = device.to("host")
    assert back.device == "host" and type(back) is type(host) and back.get_params("sharpness") == 0.7
    for copy in device.copy(), pickle.loads(pickle.dumps(device)), back.to(DEVICE):
        assert type(copy) is type(device) and copy.device == device.device and copy.params == device.params
    assert isinstance(device, mbirk.TomographyModel) and type(device).__name__ == type(host).__name__
    assert pickle.loads(pickle.dumps(device.device)) == device.device


@pytest.mark.filterwarnings("ignore:gen_pixel_partition")
def test_callbacks_may_call_operations(pair):
    host, device = pair
    y = host.forward_project(image_of(host))
    seen = []

    def progress(report):
        seen.append(np.asarray(device.forward_project(image_of(host))).sum())
        return report.iteration < 2

    found, record = device.recon(y, max_iterations=5, stop_threshold_change_pct=0, progress=progress)
    assert len(seen) == 2 and record["recon_params"]["num_iterations"] == 2
    states = []
    device.recon(y, max_iterations=2, stop_threshold_change_pct=0, checkpoint=states.append)
    whole = np.asarray(device.recon(y, max_iterations=3, stop_threshold_change_pct=0)[0])
    resumed, _ = device.recon(y, max_iterations=3, stop_threshold_change_pct=0, resume=states[-1])
    assert np.array_equal(resumed, whole)


def test_threads_take_turns(pair):
    host, device = pair
    x = image_of(host)
    expected, found = np.asarray(device.forward_project(x)), {}
    threads = [
        threading.Thread(target=lambda k=k: found.update({k: np.asarray(device.forward_project(x))})) for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(one, expected) for one in found.values())


def test_solvers(pair):
    host, device = pair
    y = host.forward_project(image_of(host))
    expected = mbirk.cgls(host, y, 3)
    np.testing.assert_allclose(mbirk.cgls(device, y, 3), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_what_is_not_there():
    with pytest.raises(ValueError, match="device is 'gpu', expected one of 'host', 'cuda', 'emulated'"):
        mbirk.ParallelBeamModel((VIEWS, ROWS, CHANNELS), ANGLES, device="gpu")
    with pytest.raises(ValueError, match="MultiAxisParallelModel is not available on devices, expected ParallelBeamM"):
        mbirk.MultiAxisParallelModel((3, 4, 5), np.zeros((3, 2)), device=DEVICE)
    if DEVICE != "cuda":
        with pytest.raises((ImportError, RuntimeError), match="without device cuda|device cuda cannot be used"):
            mbirk.Device("cuda")
