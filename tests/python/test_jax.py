"""The operations for JAX: in jit, with gradients, under vmap, and their errors."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import mbirk

jax = pytest.importorskip("jax")
jnp = jax.numpy
from mbirk import jax as operations  # noqa: E402

MODELS = [
    mbirk.ParallelBeamModel((11, 6, 17), np.linspace(0, 3, 11)),
    mbirk.ConeBeamModel((11, 6, 17), np.linspace(0, 6, 11), 60.0, 30.0),
]


@pytest.fixture(params=MODELS, ids=["parallel", "cone"])
def case(request):
    random = np.random.default_rng(7)
    model = request.param
    return (model, random.random(model.recon_shape, dtype=np.float32),
            random.random(model.sinogram_shape, dtype=np.float32))


def test_gradient_of_least_squares(case):
    """A' (A x - y), which differs by the rounding of the sums of XLA only."""
    model, x, y = case
    loss = jax.jit(lambda x: 0.5 * jnp.sum((operations.forward_project(model, x) - y) ** 2))
    expected = model.back_project(model.forward_project(x) - y)
    assert np.abs(jax.jit(jax.grad(loss))(x) - expected).max() <= 1e-6 * np.abs(expected).max()
    backward = jax.grad(lambda y: 0.5 * jnp.sum(operations.back_project(model, y) ** 2))(y)
    expected = model.forward_project(model.back_project(y))
    assert np.abs(backward - expected).max() <= 1e-6 * np.abs(expected).max()


def test_sparse_projections(case):
    model, _, y = case
    pixels = np.array([40, 50, 60])
    s = np.random.default_rng(8).random((3, model.recon_shape[2]), dtype=np.float32)
    gradient = jax.jit(jax.grad(
        lambda s, p: 0.5 * jnp.sum((operations.sparse_forward_project(model, s, p) - y) ** 2)))(s, pixels)
    expected = model.sparse_back_project(model.sparse_forward_project(s, pixels) - y, pixels)
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()
    assert np.array_equal(operations.sparse_back_project(model, y, pixels), model.sparse_back_project(y, pixels))


def test_the_same_bits_in_jit_and_under_vmap(case):
    model, x, y = case
    both = jax.jit(jax.vmap(lambda x: operations.forward_project(model, x)))(jnp.stack([x, 2 * x]))
    assert np.array_equal(both[0], model.forward_project(x)) and np.array_equal(both[1], model.forward_project(2 * x))
    assert np.array_equal(jax.jit(lambda y: operations.direct_recon(model, y))(y), model.direct_recon(y))
    denoiser = mbirk.QGGMRFDenoiser(x.shape)
    assert np.array_equal(jax.jit(lambda x: operations.denoise(denoiser, x, 0.1))(x), denoiser.denoise(x, 0.1)[0])


def test_a_trace_keeps_its_parameters(case):
    model, x, _ = case
    model = model.copy()
    before = operations.forward_project(model, x)
    model.set_params(no_warning=True, delta_det_channel=1.25)
    after = operations.forward_project(model, x)
    assert np.array_equal(after, model.forward_project(x)) and not np.array_equal(after, before)


def test_errors_reach_the_caller(case):
    model, x, y = case
    with pytest.raises(Exception, match=r"pixel_indices\[1\] is 1000000, expected 0 to 288"):
        jax.block_until_ready(operations.sparse_back_project(model, y, np.array([0, 10**6])))
    with pytest.raises(Exception, match=r"recon has shape \(1, 2, 3\)"):
        jax.block_until_ready(operations.forward_project(model, np.zeros((1, 2, 3))))


def test_the_example_learns():
    example = pathlib.Path(__file__).resolve().parents[2] / "examples/python/learned_prior.py"
    done = subprocess.run([sys.executable, example, "--size", "24", "--steps", "30"], capture_output=True, text=True,
                          check=True, timeout=300)
    filtered, learned = (
        float(e) for e in re.search(r"back projection ([0-9.]+), learned ([0-9.]+)", done.stdout).groups())
    assert learned < 0.8 * filtered


def test_a_mask_keeps_the_kind_of_array():
    volume = np.ones((6, 7, 3), np.float32)
    masked = mbirk.apply_cylindrical_mask(jnp.asarray(volume), top_margin=1)
    assert isinstance(masked, jax.Array) and np.array_equal(masked, mbirk.apply_cylindrical_mask(volume, top_margin=1))
