#!/usr/bin/env python3
"""make_mace4d.py: writes data/mace4d.npz, what MACE4DModel of MBIRJAX (pip install mbirjax==0.7.3) makes of a small
scan.

One subset of pixels per pass, so that no random numbers are drawn, and unequal numbers of rows and columns: with equal
ones MBIRJAX takes the scale of one prior for another one too."""

import pathlib
import warnings

import numpy as np

SETTINGS = {"granularity": [1], "partition_sequence": [0], "voxel_row_aspect": 1.25}
MACE = {"dejitter": False, "verbose": 0, "mace_prior_weight": [0.1, 0.2, 0.3], "sigma_prox": 0.02}
ITERATIONS = 4


def scan() -> tuple[np.ndarray, np.ndarray]:
    """Angles, and the sinogram (24, 8, 10) of a smooth object whose brightness varies in time."""
    angles = np.radians(15.0) * np.arange(24)
    rows, channels = np.linspace(-1, 1, 8)[:, None], np.linspace(-1, 1, 10)[None]
    base = np.exp(-(rows**2) - channels**2)
    return angles, np.stack([base * (1 + 0.1 * np.sin(0.5 * k)) for k in range(24)]).astype(np.float32)


def main() -> None:
    import mbirjax

    warnings.simplefilter("ignore")
    angles, sinogram = scan()
    model = mbirjax.ConeBeamModel(sinogram.shape, angles, source_detector_dist=100.0, source_iso_dist=50.0)
    model.set_params(**SETTINGS)
    model.auto_set_recon_geometry()
    mace = mbirjax.MACE4DModel(model, num_frames=3)
    mace.set_params(**MACE)
    mace.set_device_pool(1)
    options = {"max_iterations": ITERATIONS, "stop_threshold_change_pct": 0}
    recon, record = mace.recon(sinogram, **options)
    np.savez_compressed(
        pathlib.Path(__file__).parent / "data" / "mace4d.npz",
        recon=np.asarray(recon, np.float32),
        sigma=record["recon_params"]["denoiser sigma (global)"],
        change=[row["consensus_change_pct"] for row in record["timing"]],
        start=np.asarray(mace.recon(sinogram, **(options | {"max_iterations": 0}))[0], np.float32),
    )


if __name__ == "__main__":
    main()
