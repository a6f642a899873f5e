"""The prior in double precision: finite differences, and agreement with the compiled functions."""

import numpy as np
import pytest

import mbirk

PARAMS = (mbirk.get_b_from_nbr_wts((1, 2, 3)), 0.3, 1.9, 1.2, 0.8)
FLOAT32 = float(np.finfo(np.float32).eps)


@pytest.fixture
def image():
    return np.random.default_rng(5).random((4, 5, 6))


def test_gradient_is_the_slope_of_the_loss(image):
    """A central difference of step h has the errors h^2 (third derivative, about sigma_x^-3 per voxel) and eps / h."""
    direction, step = np.random.default_rng(6).standard_normal(image.shape), 1e-5
    up, down = (mbirk.qggmrf_loss(image + s * step * direction, PARAMS) for s in (1, -1))
    pixels = np.arange(20)
    gradient, hessian = mbirk.qggmrf_gradient_and_hessian_at_indices(image, pixels, qggmrf_params=PARAMS)
    slope = float(np.sum(gradient * direction.reshape(20, 6)))
    assert gradient.dtype == hessian.dtype == np.float64
    assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-6)


def test_surrogate(image):
    """It touches the prior at its own point, lies above it elsewhere, and its slope there is that of the prior."""
    other = image + 0.1 * np.random.default_rng(7).standard_normal(image.shape)
    at, slope = mbirk.compute_surrogate_and_grad(image, image, PARAMS)
    there, _ = mbirk.compute_surrogate_and_grad(other, image, PARAMS)
    gradient, _ = mbirk.compute_qggmrf_grad_and_hessian(image, PARAMS)
    assert np.allclose(slope, gradient, rtol=1e-14, atol=1e-14 * abs(gradient).max())
    assert there - at >= mbirk.qggmrf_loss(other, PARAMS) - mbirk.qggmrf_loss(image, PARAMS)
    # Quadratic: the slope at the middle of two points is their difference.
    middle = (image + other) / 2
    _, half = mbirk.compute_surrogate_and_grad(middle, image, PARAMS)
    assert there - at == pytest.approx(float(np.sum(half * (other - image))), rel=1e-12)


def test_compiled_functions_agree(image):
    """In float32 a difference of neighbours has the error eps, its weight a relative error of eps sigma^-1 at most."""
    single, pixels = image.astype(np.float32), [3, 0, 17]
    exact = mbirk.qggmrf_gradient_and_hessian_at_indices(single.astype(float), pixels, qggmrf_params=PARAMS)
    found = mbirk.qggmrf_gradient_and_hessian_at_indices(single, pixels, qggmrf_params=PARAMS)
    for a, b in zip(found, exact):
        assert a.dtype == np.float32 and np.abs(a - b).max() < 50 * FLOAT32 * np.abs(b).max()
    assert mbirk.qggmrf_loss(single, PARAMS) == pytest.approx(
        mbirk.qggmrf_loss(single.astype(float), PARAMS), rel=50 * FLOAT32
    )


def test_errors(image):
    for params, message in (
        ((PARAMS[0], 0.3, 1.2, 1.9, 1.0), "q is 1.9 and p is 1.2, expected 0 < q <= p"),
        ((PARAMS[0], 0.0, 2.0, 1.2, 1.0), "sigma_x is 0.0 and T is 1.0, expected both above 0"),
        (((1, 1), 0.3, 2.0, 1.2, 1.0), "expected six weights"),
    ):
        with pytest.raises(ValueError, match=message):
            mbirk.qggmrf_loss(image, params)
    with pytest.raises(ValueError, match="pixel_indices has 0 to 20, expected 0 to 19"):
        mbirk.qggmrf_gradient_and_hessian_at_indices(image, [0, 20], qggmrf_params=PARAMS)
    with pytest.raises(ValueError, match=r"x has shape \(4, 5, 6\) and x_prime \(1, 5, 6\), expected equal shapes"):
        mbirk.compute_surrogate_and_grad(image, image[:1], PARAMS)
