"""Learns the prior of a reconstruction from few views: unrolled gradient descent with a small network, in JAX, jitted.

    python3 examples/python/learned_prior.py [--size 32] [--views 12] [--steps 60]

Each of five stages takes a gradient step of |A x - y|^2 / 2, whose projections are mbirk's, and adds what a network of
two convolutions makes of the image. All parameters are learned together from phantoms of random ellipses; the result is
compared with filtered back projection on phantoms that training has not seen. Needs JAX.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import mbirk
from mbirk.jax import back_project, direct_recon, forward_project

STAGES, FEATURES = 5, 8


def phantom(random, shape):
    """Six ellipses of random places, sizes and values in each slice."""
    rows, cols, slices = shape
    i, j = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : cols * 1j]
    image = np.zeros(shape, np.float32)
    for k in range(slices):
        for _ in range(6):
            x, y = random.uniform(-0.5, 0.5, 2)
            a, b = random.uniform(0.1, 0.4, 2)
            image[:, :, k] += random.uniform(0.2, 1) * (((i - x) / a) ** 2 + ((j - y) / b) ** 2 < 1)
    return image


def initial_parameters(random):
    first = random.normal(0, 0.2, (FEATURES, 1, 3, 3)).astype(np.float32)
    second = random.normal(0, 0.02, (1, FEATURES, 3, 3)).astype(np.float32)
    return {
        "step": np.full(STAGES, 0.5, np.float32),
        "first": np.stack([first] * STAGES),
        "second": np.stack([second] * STAGES),
    }


def correct(x, first, second):
    """Two convolutions of each slice, with a rectifier between them."""
    slices = jnp.moveaxis(x, 2, 0)[:, None]
    hidden = jax.nn.relu(jax.lax.conv(slices, first, (1, 1), "SAME"))
    return x + jnp.moveaxis(jax.lax.conv(hidden, second, (1, 1), "SAME")[:, 0], 0, 2)


def reconstruct(model, scale, parameters, y):
    x = direct_recon(model, y)
    for k in range(STAGES):
        gradient = scale * back_project(model, forward_project(model, x) - y)
        x = correct(x - parameters["step"][k] * gradient, parameters["first"][k], parameters["second"][k])
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--views", type=int, default=12)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    model = mbirk.ParallelBeamModel((args.views, 4, args.size), np.linspace(0, np.pi, args.views, endpoint=False))
    random = np.random.default_rng(1)
    # The inverse of the largest eigenvalue of A'A, by power iterations, so that steps of about 1 converge.
    probe = np.ones(model.recon_shape, np.float32)
    for _ in range(10):
        probe = model.back_project(model.forward_project(probe / np.linalg.norm(probe)))
    scale = np.float32(1 / np.linalg.norm(probe))

    def loss(parameters, x, y):
        return jnp.mean((reconstruct(model, scale, parameters, y) - x) ** 2)

    @jax.jit
    def update(parameters, moments, x, y, step):
        """One step of Adam (Kingma and Ba 2015)."""
        value, gradient = jax.value_and_grad(loss)(parameters, x, y)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
        square = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], gradient)
        rate = 0.01 * jnp.sqrt(1 - 0.99**step) / (1 - 0.9**step)
        return (
            jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-6), parameters, mean, square),
            (mean, square),
            value,
        )

    parameters = jax.tree.map(jnp.asarray, initial_parameters(random))
    moments = (jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters))
    for step in range(1, args.steps + 1):
        x = phantom(random, model.recon_shape)
        parameters, moments, value = update(parameters, moments, x, model.forward_project(x), step)
        if step % 10 == 0 or step == args.steps:
            print(f"step {step}: mean squared error {value:.5f}", flush=True)
    learned, filtered = [], []
    for _ in range(5):
        x = phantom(random, model.recon_shape)
        y = model.forward_project(x)
        learned.append(np.linalg.norm(reconstruct(model, scale, parameters, y) - x) / np.linalg.norm(x))
        filtered.append(np.linalg.norm(model.direct_recon(y) - x) / np.linalg.norm(x))
    print(f"error of unseen phantoms: filtered back projection {np.mean(filtered):.3f}, learned {np.mean(learned):.3f}")


if __name__ == "__main__":
    main()
