#!/usr/bin/env python3
"""MBIRJAX's demo 1 with mbirk: a Shepp-Logan phantom, its sinogram, weights, a reconstruction and its error.

python demo_1.py [--size N] [--iterations N] [--out FOLDER]

N is the number of detector channels. Writes FOLDER/demo_1_<geometry>.npy: the phantom and the reconstruction.
"""

import argparse
import pathlib
import time

import numpy as np

import mbirk


def reconstruct(model_type: str, size: int, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    phantom, sinogram, params = mbirk.generate_demo_data(
        object_type="shepp-logan",
        model_type=model_type,
        num_views=size,
        num_det_rows=max(8, size // 3),
        num_det_channels=size,
    )
    # The rest also works for a measurement: a sinogram (views, rows, channels) and the parameters of the scanner.
    ct_model = mbirk.get_ct_model(model_type, sinogram.shape, **params)
    ct_model.set_params(sharpness=1.0)
    weights = mbirk.gen_weights(sinogram / sinogram.max(), weight_type="transmission_root")

    begin = time.perf_counter()
    recon, recon_dict = ct_model.recon(sinogram, weights=weights, max_iterations=iterations)
    seconds = time.perf_counter() - begin

    error = np.abs(recon - phantom)
    record = recon_dict["recon_params"]
    steps = record["num_iterations"]
    print(f"{model_type}: {ct_model!r}")
    print(f"  {steps} iterations, {seconds:.2f} s, last change {record['stop_threshold_change_pct'][-1]:.2f} %")
    nrmse = np.linalg.norm(error) / np.linalg.norm(phantom)
    most = np.percentile(error, 95)
    print(f"  NRMSE {nrmse:.4f}, 95 % of the voxels within {most:.4f}, all within {error.max():.4f}")
    return phantom, recon


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("output"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for model_type in ("parallel", "cone"):
        phantom, recon = reconstruct(model_type, arguments.size, arguments.iterations)
        path = arguments.out / f"demo_1_{model_type}.npy"
        np.save(path, np.stack([phantom, recon]))
        print(f"  {path}: (phantom or reconstruction, rows, cols, slices)")


if __name__ == "__main__":
    main()
