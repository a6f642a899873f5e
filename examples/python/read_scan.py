#!/usr/bin/env python3
"""From a file of counts to a picture: reads a scan, makes line integrals, and reconstructs it by FDK.

python read_scan.py [SCAN.h5] [--size N] [--out FOLDER]

The file has the layout of Data Exchange: /exchange/data, data_white, data_dark and theta in degrees. Without one, a
cone-beam scan of a phantom with N channels is simulated and written to FOLDER first. Needs h5py; with matplotlib, a
picture of the middle slice is written too.
"""

import argparse
import pathlib

import h5py
import numpy as np

import mbirk

SOURCE_DETECTOR, SOURCE_ISO = 4.0, 2.0  # distances in widths of the detector: not in the file


def model_of(shape: tuple[int, ...], angles: np.ndarray) -> mbirk.ConeBeamModel:
    width = shape[2]
    return mbirk.ConeBeamModel(shape, angles, SOURCE_DETECTOR * width, SOURCE_ISO * width)


def simulate(path: pathlib.Path, size: int) -> np.ndarray:
    """Writes counts of a Shepp-Logan phantom with photon noise and an uneven beam. Returns the phantom."""
    random = np.random.default_rng(0)
    theta = np.arange(size) * 360.0 / size
    model = model_of((size, size // 2, size), np.deg2rad(theta))
    phantom = mbirk.generate_3d_shepp_logan_low_dynamic_range(model.recon_shape) / (0.3 * size)
    beam = 4e4 * random.uniform(0.8, 1.2, model.sinogram_shape[1:])
    offset = 100.0
    with h5py.File(path, "w") as file:
        exchange = file.create_group("exchange")
        exchange["data"] = random.poisson(beam * np.exp(-model.forward_project(phantom))) + offset
        exchange["data_white"] = random.poisson(beam, (20, *beam.shape)) + offset
        exchange["data_dark"] = np.full((5, *beam.shape), offset)
        exchange["theta"] = theta
    return phantom


def reconstruct(path: pathlib.Path) -> np.ndarray:
    with h5py.File(path) as file:
        exchange = file["exchange"]
        counts, white, dark = (exchange[name][()] for name in ("data", "data_white", "data_dark"))
        angles = np.deg2rad(exchange["theta"][()])
    sinogram = mbirk.preprocess.compute_sino_transmission(counts, white, dark)
    return model_of(sinogram.shape, angles).fdk_recon(sinogram)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scan", nargs="?", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("output"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    scan, phantom = arguments.scan, None
    if scan is None:
        scan = arguments.out / "scan.h5"
        phantom = simulate(scan, arguments.size)
    recon = reconstruct(scan)
    print(f"{scan}: volume {recon.shape}")
    if phantom is not None:
        middle = recon.shape[2] // 2  # a circular scan measures slices far from its plane incompletely
        error = np.linalg.norm((recon - phantom)[:, :, middle]) / np.linalg.norm(phantom[:, :, middle])
        print(f"error of the middle slice {error:.3f}")
    np.save(arguments.out / "volume.npy", recon)
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    plt.imsave(arguments.out / "slice.png", recon[:, :, recon.shape[2] // 2], cmap="gray", vmin=0)
    print(f"picture: {arguments.out / 'slice.png'}")


if __name__ == "__main__":
    main()
