#!/usr/bin/env python3
"""Plug and play: any denoiser as the prior of a reconstruction, by ADMM with the proximal map of the data.

python plug_and_play.py [--size N] [--rounds N]

Each round fits the data near the denoised volume (prox_map), then denoises. The denoiser here is that of the qGGMRF
prior; replace it by a network of your own. (Venkatakrishnan, Bouman and Wohlberg, 2013.)
"""

import argparse
from collections.abc import Callable

import numpy as np

import mbirk


def plug_and_play(
    model: mbirk.TomographyModel, sinogram: np.ndarray, denoise: Callable[[np.ndarray], np.ndarray], rounds: int
) -> np.ndarray:
    model.auto_set_regularization_params(sinogram)
    sigma = 2 * float(model.get_params("sigma_prox"))  # how far from its input a proximal map may move
    denoised = model.direct_recon(sinogram)
    scaled_dual = np.zeros_like(denoised)
    for _ in range(rounds):
        fitted, _ = model.prox_map(denoised - scaled_dual, sinogram, sigma, init_recon=denoised)
        denoised = denoise(fitted + scaled_dual)
        scaled_dual += fitted - denoised
    return denoised


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=16)
    arguments = parser.parse_args()
    size = arguments.size
    model = mbirk.ParallelBeamModel((size // 3, 8, size), np.linspace(0, np.pi, size // 3, endpoint=False))
    phantom = mbirk.generate_3d_shepp_logan_low_dynamic_range(model.recon_shape)

    random = np.random.default_rng(2)
    sinogram = model.forward_project(phantom)
    sinogram += random.normal(0, 0.01 * sinogram.max(), sinogram.shape).astype(np.float32)
    denoiser = mbirk.QGGMRFDenoiser(phantom.shape)

    def denoise(volume: np.ndarray) -> np.ndarray:
        return denoiser.denoise(volume, sigma_noise=0.05)[0]

    for name, recon in (
        ("filtered back projection", model.direct_recon(sinogram)),
        ("plug and play", plug_and_play(model, sinogram, denoise, arguments.rounds)),
    ):
        print(f"{name}: error {np.linalg.norm(recon - phantom) / np.linalg.norm(phantom):.3f}")


if __name__ == "__main__":
    main()
