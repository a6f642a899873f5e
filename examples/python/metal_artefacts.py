#!/usr/bin/env python3
"""Streaks of metal: filtered back projection, a plain reconstruction, and one with weights against metal.

python metal_artefacts.py [--size N] [--iterations N]

Two pins in a phantom attenuate soft X-rays more than hard ones, so that what is measured behind them is too low. Prints
the errors of the three reconstructions away from the pins.
"""

import argparse

import numpy as np

import mbirk


def phantom_and_pins(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A soft phantom, pins of 5 attenuation lengths each, and the voxels farther than a radius from the pins."""
    soft = mbirk.generate_3d_shepp_logan_low_dynamic_range(shape) / (0.25 * shape[1])
    rows, cols = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape[:2]), indexing="ij")
    radius = 0.06
    distance = np.minimum(*(np.hypot(rows - r, cols - c) for r, c in ((0.2, -0.35), (-0.1, 0.4))))[:, :, None]
    pins = np.where(distance < radius, 5 / (radius * shape[0]), 0) * np.ones(shape)
    return soft, pins.astype(np.float32), np.broadcast_to(distance > 2 * radius, shape)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--iterations", type=int, default=40)
    arguments = parser.parse_args()
    size = arguments.size
    model = mbirk.ParallelBeamModel((size, 4, size), np.linspace(0, np.pi, size, endpoint=False))
    phantom, pins, far = phantom_and_pins(model.recon_shape)

    metal = model.forward_project(pins)
    transmitted = np.exp(-model.forward_project(phantom)) * (np.exp(-0.4 * metal) + np.exp(-1.6 * metal)) / 2
    counts = np.random.default_rng(1).poisson(1e5 * transmitted)
    sinogram = -np.log(np.maximum(counts, 0.5) / 1e5).astype(np.float32)

    filtered = model.direct_recon(sinogram)
    plain, _ = model.recon(sinogram, max_iterations=arguments.iterations)
    weights = mbirk.gen_weights_mar(model, sinogram, filtered)
    robust, _ = model.recon(sinogram, weights=weights, max_iterations=arguments.iterations)

    for name, recon in (("filtered back projection", filtered), ("plain", plain), ("weights against metal", robust)):
        error = np.linalg.norm((recon - phantom)[far]) / np.linalg.norm(phantom[far])
        print(f"{name}: error {error:.3f}")


if __name__ == "__main__":
    main()
